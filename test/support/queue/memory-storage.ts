import { BatchView, type Priority, placeBatchHeader, type RecordBatch } from "../../../src/queue/model/record-batch.ts";
import { RecordCursor } from "../../../src/queue/model/record-cursor.ts";
import type {
  Checkpoint,
  CompactionResult,
  PartitionDamage,
  PartitionId,
  PartitionLog,
  PartitionLogStore,
  ReadOptions,
  RetentionPolicy,
  ShardStorage,
} from "../../../src/queue/service/partition-log.ts";

/** Partition logs in memory, for tests of what stands on them. A checkpoint is a copy that a new instance can open. */
export class MemoryPartitionLog implements PartitionLog {
  readonly id: PartitionId;
  logStartOffset = 0;
  logEndOffset = 0;
  readonly damage: readonly PartitionDamage[] = [];
  batches: BatchView[] = [];

  constructor(id: PartitionId) {
    this.id = id;
  }

  get sizeBytes(): number {
    return this.batches.reduce((total, batch) => total + batch.sizeBytes, 0);
  }
  get recordCount(): number {
    return this.logEndOffset - this.logStartOffset;
  }

  append(batch: RecordBatch, timestampMs?: number): number {
    const baseOffset = this.logEndOffset;
    const header = placeBatchHeader(batch.header, baseOffset, timestampMs);
    this.appendPlaced(BatchView.at(Buffer.concat([header, batch.body])));
    return baseOffset;
  }
  appendPlaced(batch: BatchView): void {
    this.batches.push(BatchView.at(Uint8Array.from(batch.bytes)));
    this.logEndOffset = batch.nextOffset;
  }
  read(options: ReadOptions): readonly BatchView[] {
    const found: BatchView[] = [];
    let bytes = 0;
    let records = 0;
    for (let index = this.#indexOf(options.offset); index < this.batches.length; index += 1) {
      const batch = this.batches[index];
      if (batch === undefined) break;
      if (found.length > 0 && bytes + batch.sizeBytes > options.maxBytes) break;
      found.push(batch);
      bytes += batch.sizeBytes;
      records += batch.nextOffset - Math.max(options.offset, batch.baseOffset);
      if (options.maxRecords !== undefined && records >= options.maxRecords) break;
    }
    return found;
  }
  findBatch(offset: number): BatchView | undefined {
    const batch = this.batches[this.#indexOf(offset)];
    return batch !== undefined && offset >= this.logStartOffset && offset >= batch.baseOffset ? batch : undefined;
  }
  nextOffset(priority: Priority, fromOffset: number): number | undefined {
    const from = Math.max(fromOffset, this.logStartOffset);
    for (let index = this.#indexOf(from); index < this.batches.length; index += 1) {
      const batch = this.batches[index];
      if (batch === undefined || (batch.priorities & (1 << priority)) === 0) continue;
      const cursor = new RecordCursor(batch);
      while (cursor.next()) if (cursor.offset >= from && cursor.priority === priority) return cursor.offset;
    }
    return undefined;
  }
  offsetForTimestamp(timestampMs: number): number {
    for (const batch of this.batches) {
      if (batch.maxTimestampMs >= timestampMs) return Math.max(batch.baseOffset, this.logStartOffset);
    }
    return this.logEndOffset;
  }
  trimTo(offset: number): void {
    if (offset <= this.logStartOffset) return;
    this.logStartOffset = Math.min(offset, this.logEndOffset);
    this.batches = this.batches.filter((batch) => batch.nextOffset > this.logStartOffset);
  }
  resetTo(offset: number): void {
    this.batches = [];
    this.logStartOffset = offset;
    this.logEndOffset = offset;
  }
  retentionOffset(policy: RetentionPolicy): number {
    if (policy.retentionMs === 0) return this.logStartOffset;
    const kept = this.batches.find((batch) => batch.maxTimestampMs >= policy.nowMs - policy.retentionMs);
    return kept?.baseOffset ?? this.logEndOffset;
  }
  rollIfOlder(): void {}
  async compact(): Promise<CompactionResult> {
    return { recordsRemoved: 0, bytesFreed: 0 };
  }

  /** Of the first batch that ends behind `offset`. */
  #indexOf(offset: number): number {
    let low = 0;
    let high = this.batches.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.batches[middle]?.nextOffset ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

interface SavedLog {
  readonly id: PartitionId;
  readonly start: number;
  readonly end: number;
  readonly batches: readonly BatchView[];
}

/** What survives a restart. */
export interface SavedShard {
  checkpoint: Checkpoint | undefined;
  logs: readonly SavedLog[];
}

export class MemoryShardStorage implements ShardStorage {
  readonly #saved: SavedShard;
  readonly #logs = new Map<string, MemoryPartitionLog>();
  readonly partitions: PartitionLogStore;
  isDiskFull = false;
  readonly unwrittenBytes = 0;

  constructor(saved: SavedShard = { checkpoint: undefined, logs: [] }) {
    this.#saved = saved;
    for (const { id, start, end, batches } of saved.logs) {
      const log = new MemoryPartitionLog(id);
      log.batches = [...batches];
      log.logStartOffset = start;
      log.logEndOffset = end;
      this.#logs.set(keyOf(id), log);
    }
    this.partitions = {
      find: (id) => this.#logs.get(keyOf(id)),
      ensure: (id) => {
        const log = this.#logs.get(keyOf(id)) ?? new MemoryPartitionLog(id);
        this.#logs.set(keyOf(id), log);
        return log;
      },
      delete: (id) => {
        this.#logs.delete(keyOf(id));
      },
      list: () => [...this.#logs.values()].map((log) => log.id),
    };
  }

  get lastCheckpoint(): Checkpoint | undefined {
    return this.#saved.checkpoint;
  }

  async writeCheckpoint(checkpoint: Checkpoint): Promise<void> {
    this.#saved.logs = [...this.#logs.values()].map((log) => ({
      id: log.id,
      start: log.logStartOffset,
      end: log.logEndOffset,
      batches: [...log.batches],
    }));
    this.#saved.checkpoint = checkpoint;
  }

  async close(): Promise<void> {}
}

function keyOf(id: PartitionId): string {
  return `${id.topicId}/${id.partition}`;
}
