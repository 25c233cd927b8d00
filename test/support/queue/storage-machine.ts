import { SimDisk } from "../../../src/platform/files/sim-disk.ts";
import { createSeededRandom, type Random } from "../../../src/platform/random/random.ts";
import { createStorageFactory, type StorageLimits } from "../../../src/queue/drivers/storage/shard-storage.ts";
import type { BatchView, Compression, Priority, RecordBatch } from "../../../src/queue/model/record-batch.ts";
import { RecordBatchBuilder, type RecordInput } from "../../../src/queue/model/record-batch-builder.ts";
import { RecordCursor } from "../../../src/queue/model/record-cursor.ts";
import type { PartitionLog, ShardStorage } from "../../../src/queue/service/partition-log.ts";
import { VirtualTime } from "./virtual-time.ts";

export const smallLimits: Partial<StorageLimits> = {
  segmentBytes: 32 * 1024,
  openFiles: 4,
  unwrittenBytes: 256 * 1024,
};
export const startMs = 1_700_000_000_000;
export const partitionId = { topicId: "t1", partition: 0 };

/** A machine with one disk, whose time stands still unless something waits. */
export class StorageMachine {
  readonly time = new VirtualTime();
  readonly random: Random;
  readonly disk: SimDisk;

  constructor(seed = 1) {
    this.random = createSeededRandom(seed);
    this.disk = new SimDisk({ random: this.random, schedule: this.time.schedule });
  }

  open(limits: Partial<StorageLimits> = smallLimits): ShardStorage {
    const { disk, time } = this;
    return createStorageFactory({ disk: disk.mount(), folder: "data/shards", runSoon: time.runSoon, limits }).openShard(
      3,
    );
  }

  async finish<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const ending = work.finally(() => {
      isDone = true;
    });
    ending.catch(() => undefined);
    for (let turn = 0; !isDone && turn < 100_000; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      this.time.advance(1);
    }
    return ending;
  }

  checkpoint(storage: ShardStorage, index = 1, state = "state"): Promise<void> {
    return this.finish(storage.writeCheckpoint({ index, term: 1, state: [Buffer.from(state)] }));
  }

  powerFailure(): void {
    this.disk.crash();
    this.time.clear();
  }
}

export function batchOf(
  records: readonly RecordInput[],
  timestampMs = startMs,
  compression: Compression = "none",
): RecordBatch {
  const builder = new RecordBatchBuilder({ timestampMs, compression });
  for (const record of records) builder.append(record);
  return builder.finish();
}

export function one(value: string, priority?: Priority, timestampMs?: number): RecordBatch {
  return batchOf([{ value, priority }], timestampMs);
}

export function recordsOf(batches: readonly BatchView[], from = 0): { offset: number; value: string | undefined }[] {
  return batches.flatMap((batch) => {
    const found: { offset: number; value: string | undefined }[] = [];
    const cursor = new RecordCursor(batch);
    while (cursor.next()) if (cursor.offset >= from) found.push({ offset: cursor.offset, value: cursor.valueText });
    return found;
  });
}

export function readAll(log: PartitionLog, from = log.logStartOffset): { offset: number; value: string | undefined }[] {
  const found: { offset: number; value: string | undefined }[] = [];
  for (let offset = from; offset < log.logEndOffset; ) {
    const batches = log.read({ offset, maxBytes: 10_000 });
    const last = batches.at(-1);
    if (last === undefined) break;
    found.push(...recordsOf(batches, offset));
    offset = last.nextOffset;
  }
  return found;
}

export const offsetsOf = (records: readonly { offset: number }[]): number[] => records.map((record) => record.offset);
export const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
