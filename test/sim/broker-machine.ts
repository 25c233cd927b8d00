import { assert } from "../../src/platform/errors/assert.ts";
import type { Disk } from "../../src/platform/files/disk.ts";
import { createStorageFactory } from "../../src/queue/drivers/storage/shard-storage.ts";
import {
  type CommandTime,
  encodeShardCommand,
  type PartitionRef,
} from "../../src/queue/model/commands/shard-command.ts";
import { RecordBatchBuilder } from "../../src/queue/model/record-batch-builder.ts";
import { RecordCursor } from "../../src/queue/model/record-cursor.ts";
import type { CommittedEntry } from "../../src/queue/service/ports.ts";
import { ShardMachine } from "../../src/queue/service/state-machines/shard-machine.ts";
import type { ShardResult } from "../../src/queue/service/state-machines/shard-result.ts";
import type { AppendCommand, AppendResult, SimMachine } from "./sim-machine.ts";

/**
 * The broker's own state machine of a shard on its own storage, with segments so small that a run fills several.
 * Appends carry an idempotency key, so that a repeated one is one append.
 */
export interface BrokerMachineOptions {
  readonly shard: number;
  readonly disk: Disk;
  readonly runSoon: (run: () => void) => void;
  readonly onApply: (entry: CommittedEntry) => void;
  readonly onLeadership: (isLeader: boolean, term: number) => void;
}

const topicNumber = 1;

export class BrokerMachine implements SimMachine {
  readonly #options: BrokerMachineOptions;
  readonly #machine: ShardMachine;

  constructor(options: BrokerMachineOptions) {
    const { disk, runSoon, shard } = options;
    this.#options = options;
    const limits = { segmentBytes: 4 * 1024, unwrittenBytes: 8 * 1024, openFiles: 4 };
    const factory = createStorageFactory({ disk, folder: "shards", runSoon, limits });
    const storage = factory.openShard(shard);
    this.#machine = new ShardMachine({ shard, storage, delays: factory.openDelayStore(shard) });
  }

  values(partition: number, fromOffset: number): readonly string[] {
    const log = this.#machine.findPartition(refOf(partition))?.log;
    const values: string[] = [];
    if (log === undefined) return values;
    for (let offset = fromOffset; offset < log.logEndOffset; ) {
      const batches = log.read({ offset, maxBytes: 16 * 1024 });
      assert(batches.length > 0, `records from ${offset} on can be read`);
      for (const batch of batches) {
        const cursor = new RecordCursor(batch);
        while (cursor.next()) if (cursor.offset >= offset) values.push(cursor.valueText ?? "");
        offset = batch.nextOffset;
      }
    }
    return values;
  }

  endOffset(partition: number): number {
    return this.#machine.findPartition(refOf(partition))?.log.logEndOffset ?? 0;
  }

  encode(command: AppendCommand, time: CommandTime): readonly Uint8Array[] {
    const { partition, producer, sequence, value } = command;
    const builder = new RecordBatchBuilder({ timestampMs: time.nowMs });
    builder.append({ value, key: producer });
    const keys = [{ index: 0, key: `${producer}/${sequence}` }];
    return encodeShardCommand(time, [{ kind: "append", batch: builder.finish(), keys, ...refOf(partition) }]);
  }

  toAppendResult(result: unknown): AppendResult {
    const [first] = result as readonly ShardResult[];
    if (first?.kind === "appended") return { offset: first.baseOffset, isDuplicate: false };
    assert(first?.kind === "keysKnown", `an append is done or was done: ${first?.kind}`);
    return { offset: first.known[0]?.offset ?? -1, isDuplicate: true };
  }

  apply(entry: CommittedEntry): unknown {
    this.#options.onApply(entry);
    return this.#machine.apply(entry);
  }
  noteSkipped(index: number, term: number): void {
    this.#machine.noteSkipped(index, term);
  }
  lastAppliedIndex(): number {
    return this.#machine.lastAppliedIndex();
  }
  checkpoint(): Promise<number> {
    return this.#machine.checkpoint();
  }
  createSnapshot(): AsyncIterable<Uint8Array> {
    return this.#machine.createSnapshot();
  }
  installSnapshot(index: number, term: number, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    return this.#machine.installSnapshot(index, term, chunks);
  }
  onLeadership(isLeader: boolean, term: number): void {
    this.#options.onLeadership(isLeader, term);
    this.#machine.onLeadership(isLeader, term);
  }
  close(): Promise<void> {
    return this.#machine.close();
  }
}

function refOf(partition: number): PartitionRef {
  return { topicNumber, partition };
}
