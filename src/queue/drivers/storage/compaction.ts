import { type BatchView, CorruptBatchError } from "../../model/record-batch.ts";
import { filterBatch } from "../../model/record-batch-filter.ts";
import { RecordCursor } from "../../model/record-cursor.ts";
import type { CompactionOptions, CompactionResult } from "../../service/partition-log.ts";
import { emptySegment, Segment } from "./segment.ts";
import { SegmentDamagedError } from "./segment-cursor.ts";
import type { StorageContext } from "./storage-context.ts";

/**
 * Keeps the newest record per key. First the keys of the segments written since the last run are gathered, as many as
 * memory allows, each with its newest offset; then every closed segment up to there is written anew without the records
 * that a newer one replaces. Small results are joined. The old segments are read until the new ones take their place in
 * one step, and their files stay until the next checkpoint: a crash at any moment leaves the one or the other.
 *
 * A tombstone goes in a later run than the one that took what it deletes, and not before its time. A segment with
 * damage is left as it is, and so is every tombstone behind it: what it deletes may be in there.
 */
export interface CompactableLog {
  readonly owner: CompactionOwner;
  readonly folder: string;
  readonly segments: readonly Segment[];
  readonly compactedTo: number;
  readonly isDeleted: boolean;
  /** Puts compacted segments in the place of others; false when those are not there any more. */
  replaceCompacted(sources: readonly Segment[], compacted: readonly Segment[]): boolean;
  noteCompacted(offset: number): void;
}

export interface PartitionLimits {
  readonly segmentBytes: number;
  /** Keys that compaction holds in memory at a time. */
  readonly compactionKeysMax: number;
}

export interface CompactionOwner {
  readonly context: StorageContext;
  readonly limits: PartitionLimits;
  /** Files to remove after the next checkpoint. */
  discard(segment: Segment): void;
  /** Lets other work run between slices of a long one. */
  pause(): Promise<void>;
}

interface Plan {
  readonly newestByKey: ReadonlyMap<string, number>;
  /** Below this, the keys are known. */
  readonly upToOffset: number;
  readonly hasDamage: boolean;
}

/** Records looked at before other work may run: about two milliseconds. */
const sliceRecords = 2000;

export async function compactPartition(log: CompactableLog, options: CompactionOptions): Promise<CompactionResult> {
  const closed = log.segments.slice(0, -1);
  const plan = await gatherKeys(log, closed);
  const cleanBefore = log.compactedTo;
  let { hasDamage } = plan;
  const isKept = (record: RecordCursor): boolean => {
    if (!record.hasKey) return true;
    const newest = plan.newestByKey.get(keyOf(record));
    if (newest !== undefined && newest > record.offset) return false;
    const isOver = record.timestampMs + options.deleteRetentionMs <= options.nowMs;
    return !(record.isTombstone && isOver && record.offset < cleanBefore && !hasDamage);
  };
  let recordsRemoved = 0;
  let bytesFreed = 0;
  for (const group of groupSegments(log, closed, plan.upToOffset)) {
    const result = await rewrite(log, group, isKept);
    if (result === "damaged") {
      hasDamage = true;
      continue;
    }
    recordsRemoved += result.recordsRemoved;
    bytesFreed += result.bytesFreed;
  }
  log.noteCompacted(plan.upToOffset);
  return { recordsRemoved, bytesFreed };
}

async function gatherKeys(log: CompactableLog, closed: readonly Segment[]): Promise<Plan> {
  const newestByKey = new Map<string, number>();
  let upToOffset = log.compactedTo;
  let hasDamage = false;
  for (const segment of closed) {
    if (segment.nextOffset <= log.compactedTo) continue;
    const hasRoom = newestByKey.size < log.owner.limits.compactionKeysMax;
    if (!hasRoom) break;
    const isWhole = await forEachBatch(log, segment, (batch) => {
      const record = new RecordCursor(batch);
      while (record.next()) if (record.hasKey) newestByKey.set(keyOf(record), record.offset);
    });
    hasDamage ||= !isWhole;
    upToOffset = segment.nextOffset;
  }
  return { newestByKey, upToOffset, hasDamage };
}

/** Neighbours whose sizes together fit into one segment are written into one. */
function groupSegments(log: CompactableLog, closed: readonly Segment[], upToOffset: number): readonly Segment[][] {
  const groups: Segment[][] = [];
  let size = 0;
  for (const segment of closed) {
    if (segment.nextOffset > upToOffset) break;
    const group = groups.at(-1);
    const fits = size + segment.sizeBytes <= log.owner.limits.segmentBytes;
    const isNear = group?.[0] !== undefined && segment.nextOffset - group[0].baseOffset < 2 ** 31;
    if (group !== undefined && fits && isNear) group.push(segment);
    else {
      groups.push([segment]);
      size = 0;
    }
    size += segment.sizeBytes;
  }
  return groups;
}

async function rewrite(
  log: CompactableLog,
  sources: readonly Segment[],
  isKept: (record: RecordCursor) => boolean,
): Promise<CompactionResult | "damaged"> {
  const [first] = sources;
  const nothing = { recordsRemoved: 0, bytesFreed: 0 };
  if (first === undefined || log.isDeleted) return nothing;
  const { owner } = log;
  const target = new Segment(owner.context, log.folder, emptySegment(first.baseOffset, owner.context.takeSequence()), {
    isNew: true,
  });
  let sourceBytes = 0;
  let sourceRecords = 0;
  for (const source of sources) {
    sourceBytes += source.sizeBytes;
    sourceRecords += source.recordCount;
    const isWhole = await forEachBatch(log, source, (batch) => {
      const kept = batch.isControl ? batch : filterBatch(batch, isKept);
      if (kept !== undefined) target.append(kept, undefined);
    });
    if (!isWhole) {
      owner.discard(target);
      return "damaged";
    }
    target.coverUpTo(source.nextOffset);
  }
  target.tryFlush();
  const isBetter = target.recordCount < sourceRecords || sources.length > 1;
  const isWritten = target.unwrittenBytes === 0;
  const isDone = isBetter && isWritten && log.replaceCompacted(sources, target.recordCount > 0 ? [target] : []);
  target.close();
  if (!isDone) {
    owner.discard(target);
    return nothing;
  }
  return { recordsRemoved: sourceRecords - target.recordCount, bytesFreed: sourceBytes - target.sizeBytes };
}

/** False when damage ended it early. */
async function forEachBatch(
  log: CompactableLog,
  segment: Segment,
  visit: (batch: BatchView) => void,
): Promise<boolean> {
  try {
    const cursor = segment.cursorAtGranule(0, 1024 * 1024);
    let recordsInSlice = 0;
    for (let batch = cursor.next(); batch !== undefined; batch = cursor.next()) {
      visit(batch);
      recordsInSlice += batch.recordCount;
      if (recordsInSlice < sliceRecords) continue;
      recordsInSlice = 0;
      await log.owner.pause();
    }
    return true;
  } catch (error) {
    if (error instanceof SegmentDamagedError || error instanceof CorruptBatchError) return false;
    throw error;
  }
}

/** Keys are bytes: latin1 keeps each as one character. */
function keyOf(record: RecordCursor): string {
  const key = record.key ?? new Uint8Array(0);
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString("latin1");
}
