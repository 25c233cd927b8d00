import { type BatchView, CorruptBatchError, type Priority, priorityCount } from "./record-batch.ts";
import { recordFlags } from "./record-batch-builder.ts";
import { unpackBody } from "./record-batch-compression.ts";
import { unfoldSign } from "./varint.ts";

/**
 * Walks over the records of a batch. The cursor itself is the current record: nothing is allocated per record until
 * `key`, `value` or `headers` is asked for, and those are views into the batch.
 */
export class RecordCursor {
  readonly #batch: BatchView;
  readonly #bytes: Buffer;
  readonly #isSparse: boolean;
  readonly #baseOffset: number;
  readonly #firstTimestampMs: number;
  #at = 0;
  #start = 0;
  #end = 0;
  #remaining: number;
  #ordinal = -1;
  #flags = 0;
  #timestampAt = 0;
  #keyAt = 0;
  #keySize = 0;
  #valueAt = 0;
  #valueSize = 0;
  #headersAt = 0;

  offset = 0;
  timestampMs = 0;
  priority: Priority = 2;
  /** Relative to `timestampMs`; undefined when the record does not expire by itself. */
  ttlMs: number | undefined = undefined;

  /** @throws CorruptBatchError when a compressed body does not unpack */
  constructor(batch: BatchView) {
    const body = unpackBody(batch);
    this.#batch = batch;
    this.#bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
    this.#isSparse = batch.isSparse;
    this.#baseOffset = batch.baseOffset;
    this.#firstTimestampMs = batch.firstTimestampMs;
    this.#remaining = batch.recordCount;
  }

  /**
   * Steps to the next record; false behind the last one.
   *
   * @throws CorruptBatchError when the record does not fit into the body
   */
  next(): boolean {
    if (this.#remaining === 0) return false;
    this.#remaining -= 1;
    this.#ordinal += 1;
    this.#at = this.#end;
    const size = this.#varint();
    this.#start = this.#at;
    this.#end = this.#at + size;
    if (this.#end > this.#bytes.length || size < 3) throw this.#corrupt();
    this.#readFields();
    return true;
  }

  /** Steps to the first record at or behind `offset`; false when there is none. */
  seek(offset: number): boolean {
    while (this.next()) if (this.offset >= offset) return true;
    return false;
  }

  get isTombstone(): boolean {
    return (this.#flags & recordFlags.hasValue) === 0;
  }
  get isPayload(): boolean {
    return (this.#flags & recordFlags.isPayload) !== 0;
  }
  get isBinary(): boolean {
    return (this.#flags & recordFlags.isBinary) !== 0;
  }
  get isKeyBinary(): boolean {
    return (this.#flags & recordFlags.isKeyBinary) !== 0;
  }
  get hasKey(): boolean {
    return (this.#flags & recordFlags.hasKey) !== 0;
  }
  get hasHeaders(): boolean {
    return (this.#flags & recordFlags.hasHeaders) !== 0;
  }
  get keySize(): number {
    return this.#keySize;
  }
  get valueSize(): number {
    return this.#valueSize;
  }
  get key(): Uint8Array | undefined {
    return this.hasKey ? this.#bytes.subarray(this.#keyAt, this.#keyAt + this.#keySize) : undefined;
  }
  get keyText(): string | undefined {
    return this.hasKey ? this.#bytes.toString("utf8", this.#keyAt, this.#keyAt + this.#keySize) : undefined;
  }
  /** Undefined for a tombstone. */
  get value(): Uint8Array | undefined {
    return this.isTombstone ? undefined : this.#bytes.subarray(this.#valueAt, this.#valueAt + this.#valueSize);
  }
  get valueText(): string | undefined {
    return this.isTombstone ? undefined : this.#bytes.toString("utf8", this.#valueAt, this.#valueAt + this.#valueSize);
  }
  /** Flags and priority as encoded. */
  get encodedHead(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#start + 2);
  }
  /** Everything behind the offset as encoded. */
  get encodedRest(): Uint8Array {
    return this.#bytes.subarray(this.#timestampAt, this.#end);
  }

  /** Names and values in the order they were given. */
  headers(): readonly (readonly [string, string])[] {
    if (!this.hasHeaders) return [];
    this.#at = this.#headersAt;
    const count = this.#varint();
    const headers: [string, string][] = [];
    for (let i = 0; i < count; i += 1) headers.push([this.#text(), this.#text()]);
    return headers;
  }

  #readFields(): void {
    const bytes = this.#bytes;
    this.#flags = bytes[this.#at] ?? 0;
    const priority = bytes[this.#at + 1] ?? priorityCount;
    if (priority >= priorityCount) throw this.#corrupt();
    this.priority = priority as Priority;
    this.#at += 2;
    this.offset = this.#baseOffset + (this.#isSparse ? this.#varint() : this.#ordinal);
    this.#timestampAt = this.#at;
    this.timestampMs = this.#firstTimestampMs + unfoldSign(this.#varint());
    this.ttlMs = (this.#flags & recordFlags.hasTtl) === 0 ? undefined : this.#varint();
    this.#keySize = this.hasKey ? this.#varint() : 0;
    this.#keyAt = this.#at;
    this.#at += this.#keySize;
    this.#valueSize = this.isTombstone ? 0 : this.#varint();
    this.#valueAt = this.#at;
    this.#at += this.#valueSize;
    this.#headersAt = this.#at;
    if (this.#at > this.#end) throw this.#corrupt();
  }

  #text(): string {
    const size = this.#varint();
    const start = this.#at;
    this.#at += size;
    if (this.#at > this.#end) throw this.#corrupt();
    return this.#bytes.toString("utf8", start, this.#at);
  }

  #varint(): number {
    const bytes = this.#bytes;
    let byte = bytes[this.#at];
    if (byte !== undefined && byte < 128) {
      this.#at += 1;
      return byte;
    }
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 8; count += 1) {
      byte = bytes[this.#at];
      if (byte === undefined) throw this.#corrupt();
      this.#at += 1;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
    throw this.#corrupt();
  }

  #corrupt(): CorruptBatchError {
    return new CorruptBatchError(`record ${this.#ordinal} of the batch at ${this.#batch.baseOffset} is malformed`);
  }
}
