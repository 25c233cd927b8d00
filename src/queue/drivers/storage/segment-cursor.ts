import { BatchView, batchHeaderSize, CorruptBatchError, indexOfBatchStart } from "../../model/record-batch.ts";
import type { GranuleIndex } from "./granule-index.ts";

/** What a cursor needs of a segment. */
interface CursorSource {
  readonly path: string;
  readonly baseOffset: number;
  readonly nextOffset: number;
  readonly sizeBytes: number;
  index(): GranuleIndex;
  bytesAt(position: number, length: number): { readonly bytes: Uint8Array; readonly isFromDisk: boolean };
}

/** Bytes of a segment that are no batch. */
export class SegmentDamagedError extends Error {
  readonly position: number;
  readonly reason: string;

  constructor(path: string, position: number, reason: string) {
    super(`${path} is damaged at position ${position}: ${reason}`);
    this.name = "SegmentDamagedError";
    this.position = position;
    this.reason = reason;
  }
}

const readAheadMin = 16 * 1024;
const nothing = new Uint8Array(0);

/** Steps over the batches of a segment, verifying what comes from the disk. */
export class SegmentCursor {
  readonly #segment: CursorSource;
  readonly #readAhead: number;
  #bytes: Uint8Array = nothing;
  #isFromDisk = false;
  #start: number;
  #at = 0;
  #expectedOffset: number;
  #batchPosition = 0;

  constructor(segment: CursorSource, position: number, expectedOffset: number, readAhead: number) {
    this.#segment = segment;
    this.#start = position;
    this.#expectedOffset = expectedOffset;
    this.#readAhead = Math.max(readAheadMin, readAhead);
  }

  /** Position of the batch that `next` returned last. */
  get batchPosition(): number {
    return this.#batchPosition;
  }
  /** No record below this offset is still to come. */
  get expectedOffset(): number {
    return this.#expectedOffset;
  }
  get position(): number {
    return this.#start + this.#at;
  }

  /**
   * The next batch, or undefined at the end of the segment.
   *
   * @throws SegmentDamagedError
   */
  next(): BatchView | undefined {
    if (this.position >= this.#segment.sizeBytes) return undefined;
    const batch = this.#parse();
    this.#batchPosition = this.position;
    this.#at += batch.sizeBytes;
    this.#expectedOffset = batch.nextOffset;
    return batch;
  }

  /** After damage: moves to the next granule of the index; false when there is none, the cursor is then at the end. */
  skipGranule(): boolean {
    const index = this.#segment.index();
    const { position } = this;
    for (let granule = 0; granule < index.count; granule += 1) {
      if (index.position(granule) <= position) continue;
      this.#load(index.position(granule), this.#readAhead);
      this.#expectedOffset = this.#segment.baseOffset + index.offsetDelta(granule);
      return true;
    }
    this.#moveToEnd();
    return false;
  }

  /** After damage, while there is no index: searches for the next bytes that are a whole batch. */
  searchBatch(): boolean {
    const { sizeBytes, nextOffset } = this.#segment;
    for (let position = this.position + 1; position + batchHeaderSize <= sizeBytes; position = this.position + 1) {
      this.#load(position, 1024 * 1024);
      const found = indexOfBatchStart(this.#bytes, 0);
      this.#at = found < 0 ? Math.max(0, this.#bytes.length - 3) : found;
      if (found < 0) continue;
      try {
        const batch = this.#parse();
        if (batch.nextOffset <= nextOffset) return true;
      } catch (error) {
        if (!(error instanceof SegmentDamagedError)) throw error;
      }
    }
    this.#moveToEnd();
    return false;
  }

  #moveToEnd(): void {
    this.#bytes = nothing;
    this.#start = this.#segment.sizeBytes;
    this.#at = 0;
    this.#expectedOffset = this.#segment.nextOffset;
  }

  #parse(): BatchView {
    const position = this.position;
    if (this.#bytes.length - this.#at < batchHeaderSize) this.#load(position, this.#readAhead);
    const size = BatchView.sizeAt(this.#bytes, this.#at);
    if (size === undefined) throw this.#damage("no batch begins here");
    if (position + size > this.#segment.sizeBytes) throw this.#damage("batch reaches beyond the segment");
    if (this.#bytes.length - this.#at < size) this.#load(position, Math.max(size, this.#readAhead));
    try {
      const batch = BatchView.at(this.#bytes, this.#at);
      if (batch.baseOffset < this.#expectedOffset) throw new CorruptBatchError("its offset is out of order");
      if (this.#isFromDisk) batch.assertBodyIntact();
      return batch;
    } catch (error) {
      if (error instanceof CorruptBatchError) throw this.#damage(error.reason);
      throw error;
    }
  }

  #load(position: number, length: number): void {
    const { bytes, isFromDisk } = this.#segment.bytesAt(position, length);
    this.#bytes = bytes;
    this.#isFromDisk = isFromDisk;
    this.#start = position;
    this.#at = 0;
  }

  #damage(reason: string): SegmentDamagedError {
    return new SegmentDamagedError(this.#segment.path, this.position, reason);
  }
}
