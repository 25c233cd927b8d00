import { assert } from "../../../platform/errors/assert.ts";
import { BatchView, batchHeaderSize, placeBatchInPlace, type RecordBatch } from "../../model/record-batch.ts";
import { controlBit, GranuleIndex, granuleEntrySize, indexChecksum } from "./granule-index.ts";
import { SegmentCursor, SegmentDamagedError } from "./segment-cursor.ts";
import type { StorageContext } from "./storage-context.ts";

/**
 * One append-only file of a partition's log. Appends gather in a tail in memory, which is written when it has grown to
 * `tailBytes`, at a checkpoint, or when all tails together are too large. Nothing is synced before a checkpoint.
 *
 * What a checkpoint keeps of a segment is `SegmentState`; the file may be longer afterwards and is then overwritten.
 * The index of an active segment is kept up to its last full granule, the rest is read again from the log.
 */
export interface SegmentState {
  readonly baseOffset: number;
  readonly nextOffset: number;
  /** Makes the file name unique, whatever happened to a file of the same base before. */
  readonly sequence: number;
  readonly sizeBytes: number;
  readonly recordCount: number;
  readonly firstTimestampMs: number;
  readonly maxTimestampMs: number;
  readonly priorities: number;
  /** Compaction took records out: an offset inside may be missing. */
  readonly isSparse: boolean;
  readonly indexBytes: number;
  readonly indexCrc: number;
}

const tailBytes = 128 * 1024;
const emptyTail = Buffer.alloc(0);
/** A smaller index is not stored: reading that much log again costs less than another file to sync. */
const indexEntriesStoredMin = 64;

export class Segment {
  readonly baseOffset: number;
  readonly sequence: number;
  readonly path: string;
  readonly #context: StorageContext;
  #nextOffset: number;
  #sizeBytes: number;
  #recordCount: number;
  #firstTimestampMs: number;
  #maxTimestampMs: number;
  #priorities: number;
  #isSparse: boolean;
  #indexBytes: number;
  #indexCrc: number;
  /** Held while the segment is active; a closed one's is in the cache. */
  #index: GranuleIndex | undefined;
  #isClosed: boolean;
  #hasFile: boolean;
  #writtenBytes: number;
  #tail: Buffer = emptyTail;
  #tailSize = 0;
  /** Views of the tail were given away: it must not be written to again from the start. */
  #isTailShared = false;

  constructor(context: StorageContext, folder: string, state: SegmentState, options: { readonly isNew: boolean }) {
    this.#context = context;
    this.baseOffset = state.baseOffset;
    this.sequence = state.sequence;
    this.path = `${folder}/${String(state.baseOffset).padStart(16, "0")}.${state.sequence}.log`;
    this.#nextOffset = state.nextOffset;
    this.#sizeBytes = state.sizeBytes;
    this.#writtenBytes = state.sizeBytes;
    this.#recordCount = state.recordCount;
    this.#firstTimestampMs = state.firstTimestampMs;
    this.#maxTimestampMs = state.maxTimestampMs;
    this.#priorities = state.priorities;
    this.#isSparse = state.isSparse;
    this.#indexBytes = state.indexBytes;
    this.#indexCrc = state.indexCrc;
    this.#index = options.isNew ? new GranuleIndex() : undefined;
    this.#hasFile = !options.isNew;
    this.#isClosed = false;
  }

  get nextOffset(): number {
    return this.#nextOffset;
  }
  get sizeBytes(): number {
    return this.#sizeBytes;
  }
  get recordCount(): number {
    return this.#recordCount;
  }
  get firstTimestampMs(): number {
    return this.#firstTimestampMs;
  }
  get maxTimestampMs(): number {
    return this.#maxTimestampMs;
  }
  get priorities(): number {
    return this.#priorities;
  }
  get isSparse(): boolean {
    return this.#isSparse;
  }
  get unwrittenBytes(): number {
    return this.#tailSize;
  }
  get indexPath(): string {
    return `${this.path.slice(0, -4)}.index`;
  }
  get hasIndexFile(): boolean {
    return this.#indexBytes > 0;
  }
  get hasFile(): boolean {
    return this.#hasFile;
  }

  /** Copies a batch to the end. With `baseOffset` the batch is placed there, without it is taken as it is. */
  append(
    batch: RecordBatch,
    place: { readonly baseOffset: number; readonly timestampMs?: number | undefined } | undefined,
  ): void {
    assert(!this.#isClosed, "only the active segment is appended to");
    const index = this.#loadIndex();
    const size = batchHeaderSize + batch.body.length;
    const at = this.#reserveTail(size);
    this.#tail.set(batch.header, at);
    this.#tail.set(batch.body, at + batchHeaderSize);
    if (place !== undefined) placeBatchInPlace(this.#tail, at, place.baseOffset, place.timestampMs);
    const view = BatchView.at(this.#tail.subarray(0, at + size), at);
    this.#tailSize += size;
    this.#context.unwrittenBytes += size;
    this.#note(index, view);
    if (this.#tailSize >= tailBytes) this.tryFlush();
  }

  /** Writes the tail to the file. @throws what the disk says; the tail stays */
  flush(): void {
    if (this.#tailSize === 0) return;
    const file = this.#hasFile ? this.#context.files.get(this.path) : this.#context.createFile(this.path);
    this.#hasFile = true;
    file.write(this.#writtenBytes, [this.#tail.subarray(0, this.#tailSize)]);
    this.#context.dirtyFiles.add(this.path);
    this.#writtenBytes += this.#tailSize;
    this.#context.unwrittenBytes -= this.#tailSize;
    this.#tailSize = 0;
    if (this.#isTailShared || this.#tail.length > tailBytes * 2) this.#tail = emptyTail;
    this.#isTailShared = false;
  }

  /** As `flush`; lack of space is noted and leaves the tail for later. */
  tryFlush(): void {
    this.#context.tryWrite(() => this.flush());
  }

  /** Gives the tail's memory back after a flush: a partition that rests needs none. */
  releaseTail(): void {
    if (this.#tailSize === 0) this.#tail = emptyTail;
  }

  /** Writes what the log must find again of the index, and returns the state for the checkpoint. */
  checkpoint(): SegmentState {
    this.flush();
    this.releaseTail();
    this.#storeIndex();
    return this.state();
  }

  state(): SegmentState {
    return {
      baseOffset: this.baseOffset,
      nextOffset: this.#nextOffset,
      sequence: this.sequence,
      sizeBytes: this.#sizeBytes,
      recordCount: this.#recordCount,
      firstTimestampMs: this.#firstTimestampMs,
      maxTimestampMs: this.#maxTimestampMs,
      priorities: this.#priorities,
      isSparse: this.#isSparse,
      indexBytes: this.#indexBytes,
      indexCrc: this.#indexCrc,
    };
  }

  /** No more appends; the index moves to the cache. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const index = this.#index;
    this.#index = undefined;
    if (index !== undefined) this.#context.indexes.put(this.path, index);
  }

  /** Out of use: what waits in memory is forgotten. */
  drop(): void {
    this.#context.unwrittenBytes -= this.#tailSize;
    this.#tailSize = 0;
    this.#tail = emptyTail;
    this.#isClosed = true;
    this.#index = undefined;
  }

  index(): GranuleIndex {
    return this.#loadIndex();
  }

  /** Stored bytes from a position on: up to `length`, or at least one whole read of what is in memory. */
  bytesAt(position: number, length: number): { readonly bytes: Uint8Array; readonly isFromDisk: boolean } {
    if (position >= this.#writtenBytes) {
      this.#isTailShared = true;
      return { bytes: this.#tail.subarray(position - this.#writtenBytes, this.#tailSize), isFromDisk: false };
    }
    const size = Math.min(length, this.#writtenBytes - position);
    return { bytes: this.#context.files.get(this.path).read(position, size), isFromDisk: true };
  }

  /** A cursor that begins at or before the offset. */
  cursorAt(offset: number, readAhead: number): SegmentCursor {
    const index = this.#loadIndex();
    const granule = index.granuleOf(Math.max(0, offset - this.baseOffset));
    return this.cursorAtGranule(granule, readAhead);
  }

  cursorAtGranule(granule: number, readAhead: number): SegmentCursor {
    const index = this.#loadIndex();
    const position = index.count === 0 ? 0 : index.position(granule);
    return new SegmentCursor(
      this,
      position,
      this.baseOffset + (index.count === 0 ? 0 : index.offsetDelta(granule)),
      readAhead,
    );
  }

  #note(index: GranuleIndex, view: BatchView): void {
    const priorities = view.isControl ? controlBit : view.priorities;
    index.add(view.baseOffset - this.baseOffset, this.#sizeBytes, view.maxTimestampMs, priorities);
    this.#firstTimestampMs = this.#recordCount === 0 ? view.firstTimestampMs : this.#firstTimestampMs;
    this.#maxTimestampMs = Math.max(this.#maxTimestampMs, view.maxTimestampMs);
    this.#priorities |= priorities;
    this.#isSparse ||= view.isSparse || view.baseOffset !== this.#nextOffset;
    this.#recordCount += view.recordCount;
    this.#sizeBytes += view.sizeBytes;
    this.#nextOffset = view.nextOffset;
  }

  /** Extends the covered offsets over records that compaction took at the end. */
  coverUpTo(nextOffset: number): void {
    this.#nextOffset = Math.max(this.#nextOffset, nextOffset);
  }

  #reserveTail(size: number): number {
    if (this.#tailSize + size > this.#tail.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(1024, this.#tail.length * 2, this.#tailSize + size));
      grown.set(this.#tail.subarray(0, this.#tailSize));
      this.#tail = grown;
      this.#isTailShared = false;
    }
    return this.#tailSize;
  }

  #loadIndex(): GranuleIndex {
    const present = this.#index ?? (this.#isClosed ? this.#context.indexes.get(this.path) : undefined);
    if (present !== undefined) return present;
    const index = this.#readIndex() ?? new GranuleIndex();
    this.#completeIndex(index);
    if (this.#isClosed) this.#context.indexes.put(this.path, index);
    else this.#index = index;
    return index;
  }

  #readIndex(): GranuleIndex | undefined {
    if (this.#indexBytes === 0) return undefined;
    let encoded: Uint8Array | undefined;
    try {
      encoded = this.#context.files.get(this.indexPath).read(0, this.#indexBytes);
    } catch {
      encoded = undefined;
    }
    if (encoded?.length === this.#indexBytes && indexChecksum(encoded) === this.#indexCrc) {
      return new GranuleIndex(encoded);
    }
    // The index is only a help: damaged or gone, it is made from the log again and stored anew.
    this.#indexBytes = 0;
    return undefined;
  }

  /** Reads the log from the last stored granule on, or all of it. Unreadable parts get no granules of their own. */
  #completeIndex(index: GranuleIndex): void {
    const last = index.count - 1;
    const from = last < 0 ? 0 : index.position(last);
    const fromOffset = this.baseOffset + (last < 0 ? 0 : index.offsetDelta(last));
    if (last >= 0) index.truncate(last);
    const cursor = new SegmentCursor(this, from, fromOffset, 1024 * 1024);
    for (;;) {
      try {
        const batch = cursor.next();
        if (batch === undefined) return;
        const priorities = batch.isControl ? controlBit : batch.priorities;
        index.add(batch.baseOffset - this.baseOffset, cursor.batchPosition, batch.maxTimestampMs, priorities);
      } catch (error) {
        if (!(error instanceof SegmentDamagedError)) throw error;
        if (!cursor.searchBatch()) return;
      }
    }
  }

  #storeIndex(): void {
    const index = this.#index ?? (this.#isClosed ? this.#context.indexes.get(this.path) : undefined);
    if (index === undefined) return;
    const stored = this.#indexBytes / granuleEntrySize;
    // The last granule of an active segment still changes.
    const complete = this.#isClosed ? index.count : index.count - 1;
    const isWorthIt = this.#isClosed
      ? complete > stored && complete >= indexEntriesStoredMin
      : complete - stored >= indexEntriesStoredMin;
    if (!isWorthIt) return;
    const encoded = index.encoded(complete);
    const { files, dirtyFiles } = this.#context;
    const file = stored === 0 ? this.#context.createFile(this.indexPath) : files.get(this.indexPath);
    file.write(this.#indexBytes, [encoded.subarray(this.#indexBytes)]);
    dirtyFiles.add(this.indexPath);
    this.#indexBytes = encoded.length;
    this.#indexCrc = indexChecksum(encoded);
  }
}

export function emptySegment(baseOffset: number, sequence: number): SegmentState {
  return {
    baseOffset,
    nextOffset: baseOffset,
    sequence,
    sizeBytes: 0,
    recordCount: 0,
    firstTimestampMs: 0,
    maxTimestampMs: 0,
    priorities: 0,
    isSparse: false,
    indexBytes: 0,
    indexCrc: 0,
  };
}
