import { crc32 } from "node:zlib";
import { assert } from "../../platform/errors/assert.ts";
import {
  batchHeaderSize,
  type Compression,
  encodeBatchHeader,
  normalPriority,
  type Priority,
  type ProducerPosition,
  type RecordBatch,
  recordCountMax,
} from "./record-batch.ts";
import { compressBody } from "./record-batch-compression.ts";
import { foldSign, varintSize, writeVarint } from "./varint.ts";

/**
 * Encodes records straight into one growing buffer. Body of a batch, record by record:
 *
 *   varint size of the rest · flags u8 · priority u8 · [varint offset − base, sparse batches only]
 *   · folded varint timestamp − first · [varint ttl ms] · [varint size, key] · [varint size, value]
 *   · [varint count, then name and value with a varint size each]
 */
export const recordFlags = {
  hasKey: 1,
  hasValue: 2,
  hasHeaders: 4,
  hasTtl: 8,
  /** The producer called the value `payload`, so output repeats it under that name. */
  isPayload: 16,
  /** The value is no UTF-8 text: text formats show it in base64. */
  isBinary: 32,
  isKeyBinary: 64,
} as const;

export interface RecordInput {
  readonly key?: string | Uint8Array | undefined;
  /** Undefined writes a tombstone: the key's delete marker. */
  readonly value: string | Uint8Array | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly priority?: Priority | undefined;
  /** Milliseconds; the batch's own time when left out. */
  readonly timestampMs?: number | undefined;
  readonly ttlMs?: number | undefined;
  readonly isPayload?: boolean | undefined;
  readonly isBinary?: boolean | undefined;
  readonly isKeyBinary?: boolean | undefined;
}

export interface BatchOptions {
  /** The time of the batch; each record's own time is kept relative to it. */
  readonly timestampMs: number;
  readonly compression?: Compression;
  readonly producer?: ProducerPosition | undefined;
  readonly isControl?: boolean;
  /** Known offset, when an existing batch is rewritten. */
  readonly baseOffset?: number;
  /** What the records will take, as far as known: a good guess spares copies. */
  readonly expectedBytes?: number;
}

const initialCapacity = 512;
const timestampDeltaMsMax = 0xffff_ffff;

export class RecordBatchBuilder {
  readonly #options: BatchOptions;
  #bytes: Buffer;
  #size = 0;
  #count = 0;
  #priorities = 0;
  #maxTimestampDeltaMs = 0;

  constructor(options: BatchOptions) {
    this.#options = options;
    this.#bytes = Buffer.allocUnsafe(Math.max(initialCapacity, options.expectedBytes ?? 0));
  }

  get recordCount(): number {
    return this.#count;
  }
  /** Size of the batch before compression. */
  get sizeBytes(): number {
    return batchHeaderSize + this.#size;
  }

  append(record: RecordInput): void {
    assert(this.#count < recordCountMax, "a batch holds at most a million records");
    const headers = record.headers === undefined ? [] : Object.entries(record.headers);
    const timestampDelta = (record.timestampMs ?? this.#options.timestampMs) - this.#options.timestampMs;
    assert(timestampDelta <= timestampDeltaMsMax, "a record's time lies at most 49 days behind that of its batch");
    const foldedTimestamp = foldSign(timestampDelta);
    const keySize = record.key === undefined ? 0 : byteSize(record.key);
    const valueSize = record.value === undefined ? 0 : byteSize(record.value);
    let size = 2 + varintSize(foldedTimestamp);
    if (record.ttlMs !== undefined) size += varintSize(record.ttlMs);
    if (record.key !== undefined) size += varintSize(keySize) + keySize;
    if (record.value !== undefined) size += varintSize(valueSize) + valueSize;
    if (headers.length > 0) size += headersSize(headers);

    this.#reserve(size + 5);
    const bytes = this.#bytes;
    const priority = record.priority ?? normalPriority;
    let at = writeVarint(bytes, this.#size, size);
    bytes[at] = flagsOf(record, headers.length > 0);
    bytes[at + 1] = priority;
    at = writeVarint(bytes, at + 2, foldedTimestamp);
    if (record.ttlMs !== undefined) at = writeVarint(bytes, at, record.ttlMs);
    if (record.key !== undefined) at = writeSized(bytes, at, record.key, keySize);
    if (record.value !== undefined) at = writeSized(bytes, at, record.value, valueSize);
    if (headers.length > 0) at = writeHeaders(bytes, at, headers);
    this.#size = at;
    this.#count += 1;
    this.#priorities |= 1 << priority;
    if (timestampDelta > this.#maxTimestampDeltaMs) this.#maxTimestampDeltaMs = timestampDelta;
  }

  /** The finished batch; its buffers belong to the caller, the builder must not be used any more. */
  finish(): RecordBatch {
    assert(this.#count > 0, "a batch holds at least one record");
    const raw = this.#bytes.subarray(0, this.#size);
    const { body, compression } = compressBody(raw, this.#options.compression ?? "none");
    const header = encodeBatchHeader({
      baseOffset: this.#options.baseOffset ?? 0,
      firstTimestampMs: this.#options.timestampMs,
      maxTimestampDeltaMs: this.#maxTimestampDeltaMs,
      lastOffsetDelta: this.#count - 1,
      recordCount: this.#count,
      bodyCrc: crc32(body),
      bodySize: body.length,
      rawBodySize: raw.length,
      priorities: this.#priorities,
      compression,
      producer: this.#options.producer,
      isControl: this.#options.isControl ?? false,
      isSparse: false,
    });
    return { header, body };
  }

  #reserve(extra: number): void {
    if (this.#size + extra <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#size + extra));
    grown.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = grown;
  }
}

function flagsOf(record: RecordInput, hasHeaders: boolean): number {
  let flags = 0;
  if (record.key !== undefined) flags |= recordFlags.hasKey;
  if (record.value !== undefined) flags |= recordFlags.hasValue;
  if (hasHeaders) flags |= recordFlags.hasHeaders;
  if (record.ttlMs !== undefined) flags |= recordFlags.hasTtl;
  if (record.isPayload) flags |= recordFlags.isPayload;
  if (record.isBinary) flags |= recordFlags.isBinary;
  if (record.isKeyBinary) flags |= recordFlags.isKeyBinary;
  return flags;
}

function byteSize(part: string | Uint8Array): number {
  return typeof part === "string" ? Buffer.byteLength(part) : part.length;
}

function headersSize(headers: readonly (readonly [string, string])[]): number {
  let size = varintSize(headers.length);
  for (const [name, value] of headers) {
    const nameSize = Buffer.byteLength(name);
    const valueSize = Buffer.byteLength(value);
    size += varintSize(nameSize) + nameSize + varintSize(valueSize) + valueSize;
  }
  return size;
}

function writeHeaders(bytes: Buffer, position: number, headers: readonly (readonly [string, string])[]): number {
  let at = writeVarint(bytes, position, headers.length);
  for (const [name, value] of headers) {
    at = writeSized(bytes, at, name, Buffer.byteLength(name));
    at = writeSized(bytes, at, value, Buffer.byteLength(value));
  }
  return at;
}

function writeSized(bytes: Buffer, position: number, part: string | Uint8Array, size: number): number {
  const at = writeVarint(bytes, position, size);
  if (typeof part === "string") bytes.write(part, at, size, "utf8");
  else bytes.set(part, at);
  return at + size;
}
