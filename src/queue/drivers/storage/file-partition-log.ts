import { assert } from "../../../platform/errors/assert.ts";
import type { BatchView, Priority, RecordBatch } from "../../model/record-batch.ts";
import { RecordCursor } from "../../model/record-cursor.ts";
import { uint53Limit } from "../../model/varint.ts";
import {
  type CompactionOptions,
  type CompactionResult,
  type PartitionDamage,
  PartitionDamagedError,
  type PartitionId,
  type PartitionLog,
  type ReadOptions,
  type RetentionPolicy,
} from "../../service/partition-log.ts";
import { type CompactionOwner, compactPartition } from "./compaction.ts";
import { emptySegment, Segment, type SegmentState } from "./segment.ts";
import { type SegmentCursor, SegmentDamagedError } from "./segment-cursor.ts";

/**
 * The log of one partition: segments in the order of their offsets, the last one active. Removal only takes segments
 * out of the list; their files stay until the checkpoint that no longer names them.
 */
export interface PartitionState {
  readonly topicId: string;
  readonly partition: number;
  readonly logStartOffset: number;
  readonly logEndOffset: number;
  /** Below this, every key had only its newest record when compaction last ran. */
  readonly compactedTo: number;
  readonly segments: readonly SegmentState[];
}

export interface PartitionOwner extends CompactionOwner {
  noteChange(log: FilePartitionLog): void;
}

const pointReadBytes = 16 * 1024;

export class FilePartitionLog implements PartitionLog {
  readonly id: PartitionId;
  readonly #owner: PartitionOwner;
  #segments: Segment[];
  #logStartOffset: number;
  #logEndOffset: number;
  #compactedTo: number;
  #sizeBytes = 0;
  #recordCount = 0;
  #damage: PartitionDamage[] = [];
  #isDeleted = false;

  constructor(owner: PartitionOwner, state: PartitionState) {
    this.id = { topicId: state.topicId, partition: state.partition };
    this.#owner = owner;
    this.#logStartOffset = state.logStartOffset;
    this.#logEndOffset = state.logEndOffset;
    this.#compactedTo = state.compactedTo;
    this.#segments = state.segments.map(
      (segment) => new Segment(owner.context, this.folder, segment, { isNew: false }),
    );
    for (const segment of this.#segments.slice(0, -1)) segment.close();
    this.#recount();
  }

  get folder(): string {
    return `${this.#owner.context.folder}/topics/${this.id.topicId}/${this.id.partition}`;
  }
  get logStartOffset(): number {
    return this.#logStartOffset;
  }
  get logEndOffset(): number {
    return this.#logEndOffset;
  }
  get sizeBytes(): number {
    return this.#sizeBytes;
  }
  get recordCount(): number {
    return this.#recordCount;
  }
  get damage(): readonly PartitionDamage[] {
    return this.#damage;
  }
  get segments(): readonly Segment[] {
    return this.#segments;
  }
  get owner(): PartitionOwner {
    return this.#owner;
  }
  get compactedTo(): number {
    return this.#compactedTo;
  }
  get isDeleted(): boolean {
    return this.#isDeleted;
  }

  append(batch: RecordBatch, timestampMs?: number): number {
    const baseOffset = this.#logEndOffset;
    assert(baseOffset < uint53Limit - 2 ** 32, "offsets stay below 2^53");
    this.#appendTo(this.#activeFor(batch, baseOffset), batch, { baseOffset, timestampMs });
    return baseOffset;
  }

  appendPlaced(batch: BatchView): void {
    assert(batch.baseOffset >= this.#logEndOffset, "a placed batch lies behind the end of the log");
    this.#appendTo(this.#activeFor(batch, batch.baseOffset), batch, undefined);
  }

  read(options: ReadOptions): readonly BatchView[] {
    const { maxBytes, maxRecords = Number.POSITIVE_INFINITY } = options;
    const offset = Math.max(options.offset, this.#logStartOffset);
    const batches: BatchView[] = [];
    let size = 0;
    let records = 0;
    for (let at = this.#segmentIndexOf(offset); at < this.#segments.length; at += 1) {
      const segment = this.#segments[at];
      if (segment === undefined) break;
      const cursor = segment.cursorAt(offset, Math.min(maxBytes, 4 * 1024 * 1024) + pointReadBytes);
      for (;;) {
        const batch = this.#next(cursor, offset, batches.length > 0);
        if (batch === "stop") return batches;
        if (batch === undefined) break;
        if (batch.lastOffset < offset) continue;
        if (batches.length > 0 && size + batch.sizeBytes > maxBytes) return batches;
        batches.push(batch);
        size += batch.sizeBytes;
        records += batch.recordCount - Math.max(0, offset - batch.baseOffset);
        if (records >= maxRecords || size >= maxBytes) return batches;
      }
    }
    return batches;
  }

  findBatch(offset: number): BatchView | undefined {
    if (offset < this.#logStartOffset || offset >= this.#logEndOffset) return undefined;
    const { recentReads } = this.#owner.context;
    const known = searchBatch(recentReads.get(this), offset);
    if (known !== undefined) return known;
    const batches = this.read({ offset, maxBytes: pointReadBytes });
    recentReads.put(this, batches);
    return searchBatch(batches, offset);
  }

  nextOffset(priority: Priority, fromOffset: number): number | undefined {
    const from = Math.max(fromOffset, this.#logStartOffset);
    if (from >= this.#logEndOffset) return undefined;
    const bit = 1 << priority;
    for (let at = this.#segmentIndexOf(from); at < this.#segments.length; at += 1) {
      const segment = this.#segments[at];
      if (segment === undefined) break;
      const start = Math.max(from, segment.baseOffset);
      if ((segment.priorities & bit) === 0 || start >= segment.nextOffset) continue;
      // The usual case: one priority only and no gaps, so that the next offset is the next record.
      if (segment.priorities === bit && !segment.isSparse) return start;
      const found = this.#nextInSegment(segment, priority, start);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  offsetForTimestamp(timestampMs: number): number {
    for (const segment of this.#segments) {
      if (segment.maxTimestampMs < timestampMs || segment.nextOffset <= this.#logStartOffset) continue;
      const found = this.#findInGranules(
        segment,
        0,
        (granule) => segment.index().nextWithTime(timestampMs, granule),
        (record) => record.timestampMs >= timestampMs && record.offset >= this.#logStartOffset,
      );
      if (found !== undefined) return found;
    }
    return this.#logEndOffset;
  }

  trimTo(offset: number): void {
    const target = Math.min(Math.max(offset, this.#logStartOffset), this.#logEndOffset);
    if (target === this.#logStartOffset) return;
    this.#logStartOffset = target;
    const kept = this.#segments.filter((segment) => segment.nextOffset > target);
    this.#replaceSegments(kept);
  }

  resetTo(offset: number): void {
    this.#replaceSegments([]);
    this.#logStartOffset = offset;
    this.#logEndOffset = offset;
    this.#compactedTo = 0;
    this.#damage = [];
  }

  retentionOffset({ nowMs, retentionMs, retentionBytes }: RetentionPolicy): number {
    let allowed = this.#logStartOffset;
    let rest = this.#sizeBytes;
    for (const segment of this.#segments.slice(0, -1)) {
      rest -= segment.sizeBytes;
      const isExpired = retentionMs > 0 && segment.maxTimestampMs + retentionMs <= nowMs;
      const isSurplus = retentionBytes > 0 && rest >= retentionBytes;
      if (!isExpired && !isSurplus) break;
      allowed = Math.max(allowed, segment.nextOffset);
    }
    return allowed;
  }

  rollIfOlder(nowMs: number, maxAgeMs: number): void {
    const active = this.#segments.at(-1);
    if (active === undefined || active.recordCount === 0 || nowMs - active.firstTimestampMs < maxAgeMs) return;
    this.#startSegment(this.#logEndOffset);
  }

  compact(options: CompactionOptions): Promise<CompactionResult> {
    return compactPartition(this, options);
  }

  /** Puts compacted segments in the place of others; false when those are not there any more. */
  replaceCompacted(sources: readonly Segment[], compacted: readonly Segment[]): boolean {
    const [first] = sources;
    const start = first === undefined ? -1 : this.#segments.indexOf(first);
    const isUnchanged = start >= 0 && sources.every((source, i) => this.#segments[start + i] === source);
    if (!isUnchanged || this.#isDeleted) return false;
    this.#replaceSegments([
      ...this.#segments.slice(0, start),
      ...compacted,
      ...this.#segments.slice(start + sources.length),
    ]);
    return true;
  }

  noteCompacted(offset: number): void {
    this.#compactedTo = Math.max(this.#compactedTo, offset);
    this.#owner.noteChange(this);
  }

  /** Everything in the files, for the checkpoint; the files are not synced yet. */
  checkpoint(): PartitionState {
    return {
      topicId: this.id.topicId,
      partition: this.id.partition,
      logStartOffset: this.#logStartOffset,
      logEndOffset: this.#logEndOffset,
      compactedTo: this.#compactedTo,
      segments: this.#segments.filter((segment) => segment.sizeBytes > 0).map((segment) => segment.checkpoint()),
    };
  }

  flush(): void {
    for (const segment of this.#segments) if (segment.unwrittenBytes > 0) segment.tryFlush();
  }

  markDeleted(): void {
    this.#isDeleted = true;
    this.#replaceSegments([]);
  }

  #appendTo(segment: Segment, batch: RecordBatch, place: Parameters<Segment["append"]>[1]): void {
    const sizeBefore = segment.sizeBytes;
    const countBefore = segment.recordCount;
    segment.append(batch, place);
    this.#sizeBytes += segment.sizeBytes - sizeBefore;
    this.#recordCount += segment.recordCount - countBefore;
    this.#logEndOffset = segment.nextOffset;
    this.#owner.noteChange(this);
  }

  #activeFor(batch: RecordBatch, baseOffset: number): Segment {
    const active = this.#segments.at(-1);
    if (active === undefined) return this.#startSegment(baseOffset);
    const size = active.sizeBytes + batch.header.length + batch.body.length;
    const isFull = active.sizeBytes > 0 && size > this.#owner.limits.segmentBytes;
    const isWide = baseOffset - active.baseOffset > 2 ** 31;
    return isFull || isWide ? this.#startSegment(baseOffset) : active;
  }

  #startSegment(baseOffset: number): Segment {
    this.#segments.at(-1)?.close();
    const { context } = this.#owner;
    const state = emptySegment(baseOffset, context.takeSequence());
    const segment = new Segment(context, this.folder, state, { isNew: true });
    this.#segments.push(segment);
    this.#owner.noteChange(this);
    return segment;
  }

  #replaceSegments(next: Segment[]): void {
    for (const segment of this.#segments) if (!next.includes(segment)) this.#owner.discard(segment);
    this.#segments = next;
    this.#owner.context.recentReads.delete(this);
    this.#recount();
    this.#damage = this.#damage.filter((damage) => damage.toOffset > this.#logStartOffset);
    this.#owner.noteChange(this);
  }

  #recount(): void {
    this.#sizeBytes = 0;
    this.#recordCount = 0;
    for (const segment of this.#segments) {
      this.#sizeBytes += segment.sizeBytes;
      this.#recordCount += segment.recordCount;
    }
  }

  /** The segment that holds the offset, or the first behind it. */
  #segmentIndexOf(offset: number): number {
    let low = 0;
    let high = this.#segments.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#segments[middle]?.nextOffset ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * The next readable batch. Damage in front of `wanted` is stepped over; damage at it ends a read that has something
   * to return already, and is an error otherwise.
   */
  #next(cursor: SegmentCursor, wanted: number, hasSome: boolean): BatchView | undefined | "stop" {
    for (;;) {
      try {
        return cursor.next();
      } catch (error) {
        if (!(error instanceof SegmentDamagedError)) throw error;
        const fromOffset = cursor.expectedOffset;
        cursor.skipGranule();
        const damage = { fromOffset, toOffset: cursor.expectedOffset, reason: error.message };
        this.#noteDamage(damage);
        if (damage.toOffset <= wanted) continue;
        if (hasSome) return "stop";
        throw new PartitionDamagedError(this.id, damage);
      }
    }
  }

  #noteDamage(damage: PartitionDamage): void {
    if (this.#damage.some((known) => known.fromOffset === damage.fromOffset)) return;
    this.#damage.push(damage);
  }

  #nextInSegment(segment: Segment, priority: Priority, from: number): number | undefined {
    const index = segment.index();
    const bit = 1 << priority;
    const first = index.granuleOf(from - segment.baseOffset);
    if (!segment.isSparse && index.priorities(first) === bit) return from;
    return this.#findInGranules(
      segment,
      first,
      (granule) => index.nextWithPriority(priority, granule),
      (record, batch) => record.priority === priority && record.offset >= from && !batch.isControl,
    );
  }

  /** The first record that matches, looking only into granules that `select` names. */
  #findInGranules(
    segment: Segment,
    firstGranule: number,
    select: (granule: number) => number | undefined,
    isMatch: (record: RecordCursor, batch: BatchView) => boolean,
  ): number | undefined {
    const index = segment.index();
    for (let granule = select(firstGranule); granule !== undefined; granule = select(granule + 1)) {
      const end = granule + 1 < index.count ? index.position(granule + 1) : segment.sizeBytes;
      const cursor = segment.cursorAtGranule(granule, Math.min(end - index.position(granule), 64 * 1024));
      while (cursor.position < end) {
        const batch = this.#next(cursor, Number.POSITIVE_INFINITY, true);
        if (batch === undefined || batch === "stop") break;
        const record = new RecordCursor(batch);
        while (record.next()) if (isMatch(record, batch)) return record.offset;
      }
    }
    return undefined;
  }
}

/** Batches come in the order of their offsets. */
function searchBatch(batches: readonly BatchView[], offset: number): BatchView | undefined {
  let low = 0;
  let high = batches.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((batches[middle]?.lastOffset ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  const batch = batches[low];
  return batch !== undefined && batch.baseOffset <= offset ? batch : undefined;
}
