import type { BatchView, Priority, RecordBatch } from "../model/record-batch.ts";

/**
 * What a shard's state machine sees of the disk. Appends go to memory and to files that nobody has synced: the
 * write-ahead log is what makes an entry durable. `writeCheckpoint` syncs the files and names, in one atomic step, the
 * exact state of every partition at one log index; opening starts from the last checkpoint and the state machine is
 * then given the entries behind it again.
 *
 * All calls are synchronous and come from the one thread that applies entries, unless they return a promise.
 */
export interface PartitionId {
  /** The internal id of the topic: a re-created topic has another one. Letters, digits, `-` and `_`. */
  readonly topicId: string;
  readonly partition: number;
}

export interface ReadOptions {
  /** The first offset wanted. The first batch returned may begin before it: step with `RecordCursor.seek`. */
  readonly offset: number;
  /** At least one batch is returned, however large. */
  readonly maxBytes: number;
  /** Stops after the batch in which this many records at or behind `offset` are reached. */
  readonly maxRecords?: number;
}

export interface RetentionPolicy {
  readonly nowMs: number;
  /** 0 keeps for ever. */
  readonly retentionMs: number;
  /** 0 is unlimited. */
  readonly retentionBytes: number;
}

export interface CompactionOptions {
  readonly nowMs: number;
  /** A tombstone is kept at least this long, so that every reader can see it. */
  readonly deleteRetentionMs: number;
}

export interface CompactionResult {
  readonly recordsRemoved: number;
  readonly bytesFreed: number;
}

/** A range that cannot be read. It is reported and never served; the rest of the partition is. */
export interface PartitionDamage {
  readonly fromOffset: number;
  /** First readable offset behind the damage. */
  readonly toOffset: number;
  readonly reason: string;
}

export class PartitionDamagedError extends Error {
  readonly partition: PartitionId;
  readonly damage: PartitionDamage;

  constructor(partition: PartitionId, damage: PartitionDamage) {
    super(
      `Cannot read partition ${partition.partition} of topic id "${partition.topicId}" from offset ${damage.fromOffset}: ${damage.reason}; readable again from ${damage.toOffset}`,
    );
    this.name = "PartitionDamagedError";
    this.partition = partition;
    this.damage = damage;
  }
}

export interface PartitionLog {
  readonly id: PartitionId;
  /** First offset that is kept. */
  readonly logStartOffset: number;
  /** Next offset to be written. */
  readonly logEndOffset: number;
  /** Bytes of stored batches from the segment of the first kept offset on. */
  readonly sizeBytes: number;
  /** Records stored in those segments; exact unless the first segment is partly trimmed. */
  readonly recordCount: number;
  readonly damage: readonly PartitionDamage[];

  /**
   * Places a batch at the end and returns its base offset. The bytes are copied, the caller may reuse them. Never fails
   * for lack of space: what cannot be written stays in memory and `ShardStorage.isDiskFull` turns true.
   *
   * @param timestampMs replaces the batch's own time when given
   */
  append(batch: RecordBatch, timestampMs?: number): number;
  /** Appends a stored batch as it is, with its offset and time; for snapshots. Its base offset is at least the end. */
  appendPlaced(batch: BatchView): void;
  /**
   * Whole batches from the one that holds `offset` on; empty at the end of the log.
   *
   * @throws PartitionDamagedError when `offset` lies in a damaged range
   */
  read(options: ReadOptions): readonly BatchView[];
  /** The batch that holds `offset`, or undefined when it was compacted away, trimmed or not yet written. */
  findBatch(offset: number): BatchView | undefined;
  /** The first offset at or behind `fromOffset` whose record has this priority, or undefined when there is none yet. */
  nextOffset(priority: Priority, fromOffset: number): number | undefined;
  /** The first offset whose record has a time at or behind `timestampMs`; the end of the log when there is none. */
  offsetForTimestamp(timestampMs: number): number;

  /** Makes `offset` the first one kept (never lower than now, never beyond the end); files go at the next checkpoint. */
  trimTo(offset: number): void;
  /** Empties the log; the next record gets `offset`. For installing a snapshot. */
  resetTo(offset: number): void;
  /** Up to which offset the policy allows `trimTo`: whole closed segments only, never a record that has not expired. */
  retentionOffset(policy: RetentionPolicy): number;
  /** Closes the active segment when it is older than the limit, so that retention and compaction can reach it. */
  rollIfOlder(nowMs: number, maxAgeMs: number): void;
  /** Keeps the newest record of every key in closed segments; offsets stay, and so do records without a key. */
  compact(options: CompactionOptions): Promise<CompactionResult>;
}

export interface PartitionLogStore {
  find(id: PartitionId): PartitionLog | undefined;
  /** The log, created empty when it does not exist; nothing touches the disk before the first append. */
  ensure(id: PartitionId): PartitionLog;
  /** Forgets the log; its files go at the next checkpoint. */
  delete(id: PartitionId): void;
  list(): readonly PartitionId[];
}

export interface Checkpoint {
  readonly index: number;
  readonly term: number;
  /** The state machine's own state at that index. */
  readonly state: readonly Uint8Array[];
}

/** All files of one shard. */
export interface ShardStorage {
  readonly partitions: PartitionLogStore;
  /** What opening started from: the partitions are as they were at this index. */
  readonly lastCheckpoint: Checkpoint | undefined;
  /**
   * Takes the state of all partitions now, together with `state`, and resolves when both are durable. The state
   * machine may go on meanwhile. One at a time. After a sync error every later call fails with the same error.
   */
  writeCheckpoint(checkpoint: Checkpoint): Promise<void>;
  /** True while unwritten batches wait in memory because the disk has no room. */
  readonly isDiskFull: boolean;
  /** Bytes that wait in memory for being written; worth a checkpoint when large. */
  readonly unwrittenBytes: number;
  close(): Promise<void>;
}

export interface StorageFactory {
  /** Opens or creates the files of a shard; the folder is the shard's alone. */
  openShard(shard: number): ShardStorage;
}
