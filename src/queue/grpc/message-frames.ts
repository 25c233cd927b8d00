import { FramedMessages, frameHeaderSize } from "../../platform/grpc/framed-messages.ts";
import type { RecordCursor } from "../model/record-cursor.ts";
import { varintSize, writeVarint } from "../model/varint.ts";
import { fromPriority } from "./convert.ts";

/**
 * Stored records as queue.v1.Message, encoded straight from the bytes of their batch and framed for the wire: no object
 * per message. A test holds it against the generated codec.
 */
const tag = {
  topic: 10,
  partition: 16,
  offset: 24,
  timestamp: 34,
  key: 42,
  payload: 50,
  headers: 58,
  priority: 64,
  tombstone: 96,
  seconds: 8,
  nanos: 16,
  entryName: 10,
  entryValue: 18,
} as const;

/** A piece ends with the message that passes this. */
export const pieceBytes = 64 * 1024;
const initialBytes = pieceBytes + 8 * 1024;

/**
 * Buffers of one stream that are written out and free again. Memory outside the heap that is left to the collector is
 * most of what a fast reader costs: each 64 MB of it make the collector walk the whole heap.
 */
export class FrameBuffers {
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(initialBytes);
  }

  /** Only for buffers that nothing reads any more; grown ones are dropped. */
  giveBack(buffer: Buffer): void {
    if (buffer.length === initialBytes && this.#free.length < freeBuffersMax) this.#free.push(buffer);
  }
}

const freeBuffersMax = 20;

export class MessageFrames {
  readonly #buffers: FrameBuffers;
  /** Topic and partition, the same in every message. */
  readonly #prefix: Uint8Array;
  #bytes: Buffer;
  #size = 0;
  #count = 0;

  constructor(topic: string, partition: number, buffers: FrameBuffers) {
    this.#buffers = buffers;
    this.#bytes = buffers.take();
    const name = Buffer.from(topic);
    const prefix = Buffer.alloc(16 + name.length);
    let at = writeBytes(prefix, 0, tag.topic, name);
    if (partition > 0) at = writeNumber(prefix, at, tag.partition, partition);
    this.#prefix = prefix.subarray(0, at);
  }

  get sizeBytes(): number {
    return this.#size;
  }
  get count(): number {
    return this.#count;
  }

  append(cursor: RecordCursor): void {
    const key = cursor.key;
    const value = cursor.value;
    const headers = cursor.hasHeaders ? cursor.headers() : [];
    // Upper bound: the fixed fields take less than 64 bytes.
    let bound = frameHeaderSize + this.#prefix.length + 64 + (key?.length ?? 0) + (value?.length ?? 0);
    for (const [name, text] of headers) bound += 24 + 3 * (name.length + text.length);
    this.#reserve(bound);
    const bytes = this.#bytes;
    const start = this.#size + frameHeaderSize;
    bytes.set(this.#prefix, start);
    let at = start + this.#prefix.length;
    if (cursor.offset > 0) at = writeNumber(bytes, at, tag.offset, cursor.offset);
    at = writeTimestamp(bytes, at, cursor.timestampMs);
    if (key !== undefined && key.length > 0) at = writeBytes(bytes, at, tag.key, key);
    if (value !== undefined && value.length > 0) at = writeBytes(bytes, at, tag.payload, value);
    for (const [name, text] of headers) at = writeHeader(bytes, at, name, text);
    at = writeNumber(bytes, at, tag.priority, fromPriority(cursor.priority));
    if (value === undefined) at = writeNumber(bytes, at, tag.tombstone, 1);
    bytes[this.#size] = 0;
    bytes.writeUInt32BE(at - start, this.#size + 1);
    this.#size = at;
    this.#count += 1;
  }

  /** What was appended since the last call. */
  take(): FramedMessages {
    const bytes = this.#bytes;
    const framed = new FramedMessages(bytes.subarray(0, this.#size), () => this.#buffers.giveBack(bytes));
    this.#bytes = this.#buffers.take();
    this.#size = 0;
    this.#count = 0;
    return framed;
  }

  /** After the last `take`. */
  close(): void {
    this.#buffers.giveBack(this.#bytes);
  }

  #reserve(extra: number): void {
    if (this.#size + extra <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#size + extra));
    grown.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = grown;
  }
}

function writeNumber(bytes: Buffer, position: number, fieldTag: number, value: number): number {
  bytes[position] = fieldTag;
  return writeVarint(bytes, position + 1, value);
}

function writeBytes(bytes: Buffer, position: number, fieldTag: number, part: Uint8Array): number {
  bytes[position] = fieldTag;
  const at = writeVarint(bytes, position + 1, part.length);
  bytes.set(part, at);
  return at + part.length;
}

function writeTimestamp(bytes: Buffer, position: number, epochMs: number): number {
  const seconds = Math.floor(epochMs / 1000);
  const nanos = (epochMs - seconds * 1000) * 1_000_000;
  const secondsSize = seconds > 0 ? 1 + varintSize(seconds) : 0;
  const nanosSize = nanos > 0 ? 1 + varintSize(nanos) : 0;
  bytes[position] = tag.timestamp;
  let at = writeVarint(bytes, position + 1, secondsSize + nanosSize);
  if (seconds > 0) at = writeNumber(bytes, at, tag.seconds, seconds);
  if (nanos > 0) at = writeNumber(bytes, at, tag.nanos, nanos);
  return at;
}

function writeHeader(bytes: Buffer, position: number, name: string, text: string): number {
  const nameSize = Buffer.byteLength(name);
  const textSize = Buffer.byteLength(text);
  bytes[position] = tag.headers;
  const size = 2 + varintSize(nameSize) + nameSize + varintSize(textSize) + textSize;
  let at = writeVarint(bytes, position + 1, size);
  at = writeText(bytes, at, tag.entryName, name, nameSize);
  return writeText(bytes, at, tag.entryValue, text, textSize);
}

function writeText(bytes: Buffer, position: number, fieldTag: number, text: string, size: number): number {
  bytes[position] = fieldTag;
  const at = writeVarint(bytes, position + 1, size);
  bytes.write(text, at, size, "utf8");
  return at + size;
}
