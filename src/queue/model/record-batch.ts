import { crc32 } from "node:zlib";
import { crc32Of } from "./checksum.ts";
import { getUint53, setUint53 } from "./varint.ts";

/**
 * A record batch: the unit that is published, replicated, stored and sent. It is encoded once at the edge, and the same
 * body bytes go into the replicated entry, the write-ahead log, the segment and out to a raw reader.
 *
 * A batch is a header of 80 bytes and a body. What only `apply` knows (the offset, the time) lies in the header alone,
 * and the header has its own checksum: placing a batch never touches or re-reads the body.
 *
 *   0 magic u16   2 version u8   3 zero u8    4 header CRC u32 (over bytes 8–79)
 *   8 base offset u53   16 first timestamp u53 (ms)   24 max timestamp − first u32   28 last offset − base u32
 *  32 record count u32  36 body size u32 (stored)     40 body CRC u32 (stored)       44 body size unpacked u32
 *  48 priorities u8 (bit p: a record of priority p)   49 compression u8              50 flags u8  51 zero u8
 *  52 producer epoch u32   56 producer id u53 (0: none)   64 base sequence u53       72 zero u64
 */
export const batchHeaderSize = 80;
const batchMagic = 0x5142;
const batchVersion = 1;
export const recordCountMax = 1_000_000;

export const priorityCount = 5;
/** 0 critical, 1 high, 2 normal, 3 low, 4 background. */
export type Priority = 0 | 1 | 2 | 3 | 4;
export const normalPriority: Priority = 2;

export type Compression = "none" | "gzip" | "zstd";
const compressions: readonly Compression[] = ["none", "gzip", "zstd"];

const flagControl = 1;
const flagSparse = 2;

/** Bytes that are no intact batch. `reason` names what was wrong. */
export class CorruptBatchError extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(`Cannot read record batch: ${reason}`);
    this.name = "CorruptBatchError";
    this.reason = reason;
  }
}

export interface ProducerPosition {
  /** At least 1. */
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly baseSequence: number;
}

export interface BatchHeaderFields {
  readonly baseOffset: number;
  readonly firstTimestampMs: number;
  readonly maxTimestampDeltaMs: number;
  readonly lastOffsetDelta: number;
  readonly recordCount: number;
  readonly bodyCrc: number;
  readonly bodySize: number;
  readonly rawBodySize: number;
  readonly priorities: number;
  readonly compression: Compression;
  readonly producer: ProducerPosition | undefined;
  /** Written by the broker for itself; never delivered. */
  readonly isControl: boolean;
  /** Records carry their own offset because compaction took some of their neighbours. */
  readonly isSparse: boolean;
}

/** A batch in two parts that are written one behind the other. */
export interface RecordBatch {
  readonly header: Uint8Array;
  readonly body: Uint8Array;
}

export function encodeBatchHeader(fields: BatchHeaderFields): Uint8Array {
  const bytes = new Uint8Array(batchHeaderSize);
  const view = viewOf(bytes);
  view.setUint16(0, batchMagic, true);
  view.setUint8(2, batchVersion);
  view.setUint8(50, (fields.isControl ? flagControl : 0) | (fields.isSparse ? flagSparse : 0));
  setUint53(view, 8, fields.baseOffset);
  setUint53(view, 16, fields.firstTimestampMs);
  view.setUint32(24, fields.maxTimestampDeltaMs, true);
  view.setUint32(28, fields.lastOffsetDelta, true);
  view.setUint32(32, fields.recordCount, true);
  view.setUint32(36, fields.bodySize, true);
  view.setUint32(40, fields.bodyCrc, true);
  view.setUint32(44, fields.rawBodySize, true);
  view.setUint8(48, fields.priorities);
  view.setUint8(49, compressions.indexOf(fields.compression));
  view.setUint32(52, fields.producer?.producerEpoch ?? 0, true);
  setUint53(view, 56, fields.producer?.producerId ?? 0);
  setUint53(view, 64, fields.producer?.baseSequence ?? 0);
  sealHeader(bytes, view);
  return bytes;
}

/** A copy of a batch's header placed at an offset and, when given, at another time; the body stays as it is. */
export function placeBatchHeader(header: Uint8Array, baseOffset: number, firstTimestampMs?: number): Uint8Array {
  const placed = new Uint8Array(batchHeaderSize);
  placed.set(header.length === batchHeaderSize ? header : header.subarray(0, batchHeaderSize));
  placeBatchInPlace(placed, 0, baseOffset, firstTimestampMs);
  return placed;
}

/** Places the batch whose header begins at `position`, changing it there. */
export function placeBatchInPlace(
  bytes: Uint8Array,
  position: number,
  baseOffset: number,
  firstTimestampMs?: number,
): void {
  const header = bytes.subarray(position, position + batchHeaderSize);
  const view = viewOf(header);
  setUint53(view, 8, baseOffset);
  if (firstTimestampMs !== undefined) setUint53(view, 16, firstTimestampMs);
  sealHeader(header, view);
}

/** Reads a batch in place: nothing is copied, fields are read when asked for. */
export class BatchView {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  private constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }

  /**
   * The batch that begins at `position`. Its header is verified; its body is verified by `assertBodyIntact`.
   *
   * @throws CorruptBatchError when no whole batch with an intact header begins there
   */
  static at(bytes: Uint8Array, position = 0): BatchView {
    const available = bytes.length - position;
    if (available < batchHeaderSize) throw new CorruptBatchError(`header cut off after ${available} bytes`);
    const header = viewOf(bytes, position, batchHeaderSize);
    const problem = headerProblem(bytes, header, position);
    if (problem !== undefined) throw new CorruptBatchError(problem);
    const sizeBytes = batchHeaderSize + header.getUint32(36, true);
    if (available < sizeBytes) throw new CorruptBatchError(`body cut off: ${available} of ${sizeBytes} bytes`);
    return new BatchView(bytes.subarray(position, position + sizeBytes));
  }

  /** Size of the batch that begins at `position`, or undefined when its header is cut off or damaged. */
  static sizeAt(bytes: Uint8Array, position: number): number | undefined {
    if (bytes.length - position < batchHeaderSize) return undefined;
    const header = viewOf(bytes, position, batchHeaderSize);
    if (headerProblem(bytes, header, position) !== undefined) return undefined;
    return batchHeaderSize + header.getUint32(36, true);
  }

  /** Header and body as stored. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }
  get header(): Uint8Array {
    return this.#bytes.subarray(0, batchHeaderSize);
  }
  /** The body as stored, compressed if it is. */
  get body(): Uint8Array {
    return this.#bytes.subarray(batchHeaderSize);
  }
  get sizeBytes(): number {
    return this.#bytes.length;
  }
  get baseOffset(): number {
    return getUint53(this.#view, 8);
  }
  get lastOffset(): number {
    return this.baseOffset + this.#view.getUint32(28, true);
  }
  /** The offset behind the last record, kept or compacted away. */
  get nextOffset(): number {
    return this.lastOffset + 1;
  }
  get recordCount(): number {
    return this.#view.getUint32(32, true);
  }
  get firstTimestampMs(): number {
    return getUint53(this.#view, 16);
  }
  get maxTimestampMs(): number {
    return this.firstTimestampMs + this.#view.getUint32(24, true);
  }
  /** Bit p is set when a record of priority p is in the batch. */
  get priorities(): number {
    return this.#view.getUint8(48);
  }
  get compression(): Compression {
    return compressions[this.#view.getUint8(49)] ?? "none";
  }
  get rawBodySize(): number {
    return this.#view.getUint32(44, true);
  }
  get isControl(): boolean {
    return (this.#view.getUint8(50) & flagControl) !== 0;
  }
  get isSparse(): boolean {
    return (this.#view.getUint8(50) & flagSparse) !== 0;
  }
  get producer(): ProducerPosition | undefined {
    const producerId = getUint53(this.#view, 56);
    if (producerId === 0) return undefined;
    return {
      producerId,
      producerEpoch: this.#view.getUint32(52, true),
      baseSequence: getUint53(this.#view, 64),
    };
  }

  /** @throws CorruptBatchError when the body does not match its checksum */
  assertBodyIntact(): void {
    if (crc32(this.body) !== this.#view.getUint32(40, true)) {
      throw new CorruptBatchError(`body checksum differs at offset ${this.baseOffset}`);
    }
  }

  /** All header fields, for writing a changed copy. */
  fields(): BatchHeaderFields {
    return {
      baseOffset: this.baseOffset,
      firstTimestampMs: this.firstTimestampMs,
      maxTimestampDeltaMs: this.#view.getUint32(24, true),
      lastOffsetDelta: this.#view.getUint32(28, true),
      recordCount: this.recordCount,
      bodyCrc: this.#view.getUint32(40, true),
      bodySize: this.#view.getUint32(36, true),
      rawBodySize: this.rawBodySize,
      priorities: this.priorities,
      compression: this.compression,
      producer: this.producer,
      isControl: this.isControl,
      isSparse: this.isSparse,
    };
  }
}

function sealHeader(bytes: Uint8Array, view: DataView): void {
  view.setUint32(4, crc32Of(bytes, 8, batchHeaderSize), true);
}

function headerProblem(bytes: Uint8Array, header: DataView, position: number): string | undefined {
  if (header.getUint16(0, true) !== batchMagic) return "no batch begins here";
  if (header.getUint8(3) !== 0) return "no batch begins here";
  if (header.getUint8(2) !== batchVersion) return `unknown version ${header.getUint8(2)}`;
  if (crc32Of(bytes, position + 8, position + batchHeaderSize) !== header.getUint32(4, true)) {
    return "header checksum differs";
  }
  return header.getUint8(49) < compressions.length ? undefined : `unknown compression ${header.getUint8(49)}`;
}

const batchStart = new Uint8Array([batchMagic & 0xff, batchMagic >>> 8, batchVersion, 0]);

/** Where the next bytes lie that look like the start of a batch; −1 when there are none. */
export function indexOfBatchStart(bytes: Uint8Array, from: number): number {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(batchStart, from);
}

function viewOf(bytes: Uint8Array, position = 0, size = bytes.length - position): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset + position, size);
}
