import { hash, timingSafeEqual } from "node:crypto";
import { assert } from "../../../platform/errors/assert.ts";
import { writeVarint } from "../varint.ts";

/**
 * Names one delivery: group, topic, partition, offset, the attempt, and the term in which it was acquired. Signed, so
 * that a client can only settle what it was given; an attempt that is over no longer fits. Base64url of
 *
 *   version u8 · five varints · group in UTF-8 · the first 16 bytes of an HMAC-SHA-256 over all before
 */
export interface Receipt {
  readonly group: string;
  readonly topicNumber: number;
  readonly partition: number;
  readonly offset: number;
  readonly attempt: number;
  readonly term: number;
}

/**
 * The key in the two padded forms of RFC 2104. The one-shot hash over them takes a tenth of the time that an HMAC object
 * of the runtime does, and there is one per message delivered.
 */
export interface ReceiptKey {
  /** One block of key, then room for what is signed. */
  readonly inner: Buffer;
  /** One block of key, then room for the inner hash. */
  readonly outer: Buffer;
}

const blockSize = 64;
const hashSize = 32;

/** @param key at most 64 bytes */
export function createReceiptKey(key: Uint8Array): ReceiptKey {
  assert(key.length > 0 && key.length <= blockSize, "a receipt key has 1 to 64 bytes");
  const padded = Buffer.alloc(blockSize);
  padded.set(key);
  const inner = Buffer.alloc(blockSize + handleSizeMax);
  const outer = Buffer.alloc(blockSize + hashSize);
  for (const [index, byte] of padded.entries()) {
    inner[index] = byte ^ 0x36;
    outer[index] = byte ^ 0x5c;
  }
  return { inner, outer };
}

const version = 1;
const signatureSize = 16;
const fieldsSizeMax = 1 + 5 * 8;
const handleSizeMax = 2048;

export function encodeReceipt(receipt: Receipt, key: ReceiptKey): string {
  const groupSize = Buffer.byteLength(receipt.group);
  const bytes = Buffer.allocUnsafe(fieldsSizeMax + groupSize + signatureSize);
  bytes[0] = version;
  let at = writeVarint(bytes, 1, receipt.topicNumber);
  at = writeVarint(bytes, at, receipt.partition);
  at = writeVarint(bytes, at, receipt.offset);
  at = writeVarint(bytes, at, receipt.attempt);
  at = writeVarint(bytes, at, receipt.term);
  at += bytes.write(receipt.group, at, groupSize, "utf8");
  sign(bytes.subarray(0, at), key).copy(bytes, at);
  return bytes.toString("base64url", 0, at + signatureSize);
}

/** Undefined when the text is no handle that this cluster gave out. */
export function decodeReceipt(handle: string, key: ReceiptKey): Receipt | undefined {
  if (handle.length > handleSizeMax) return undefined;
  const bytes = Buffer.from(handle, "base64url");
  const end = bytes.length - signatureSize;
  if (end < 6 || bytes[0] !== version) return undefined;
  if (!timingSafeEqual(bytes.subarray(end), sign(bytes.subarray(0, end), key))) return undefined;
  const fields: number[] = [];
  let at = 1;
  while (fields.length < 5) {
    const { value, next } = readVarint(bytes, at);
    fields.push(value);
    at = next;
  }
  const [topicNumber = 0, partition = 0, offset = 0, attempt = 0, term = 0] = fields;
  return { group: bytes.toString("utf8", at, end), topicNumber, partition, offset, attempt, term };
}

function sign(bytes: Uint8Array, { inner, outer }: ReceiptKey): Buffer {
  inner.set(bytes, blockSize);
  outer.set(hash("sha256", inner.subarray(0, blockSize + bytes.length), "buffer"), blockSize);
  return hash("sha256", outer, "buffer").subarray(0, signatureSize);
}

function readVarint(bytes: Uint8Array, position: number): { value: number; next: number } {
  let value = 0;
  let scale = 1;
  for (let at = position; ; at += 1) {
    const byte = bytes[at] ?? 0;
    value += (byte & 127) * scale;
    if (byte < 128) return { value, next: at + 1 };
    scale *= 128;
  }
}
