import { assert } from "../../../platform/errors/assert.ts";
import { varintSize, writeVarint } from "../varint.ts";

/** Below this, copying costs less than keeping a buffer of its own alive. */
const inlineSizeMax = 2_048;

/** Writes small fields into a growing buffer and takes large byte strings as parts of their own, uncopied. */
export class ByteWriter {
  #bytes: Buffer = Buffer.allocUnsafe(256);
  #start = 0;
  #at = 0;
  #parts: Uint8Array[] = [];

  u8(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at] = value;
    this.#at += 1;
  }

  /** From 0 to 2^53 − 1. */
  varint(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, `no whole number from 0 on: ${value}`);
    this.#reserve(8);
    this.#at = writeVarint(this.#bytes, this.#at, value);
  }

  text(text: string): void {
    const size = Buffer.byteLength(text);
    this.#reserve(size + varintSize(size));
    this.#at = writeVarint(this.#bytes, this.#at, size);
    this.#bytes.write(text, this.#at, size, "utf8");
    this.#at += size;
  }

  /** A size, then the parts; large ones as they are. */
  parts(parts: readonly Uint8Array[]): void {
    let size = 0;
    for (const part of parts) size += part.length;
    this.varint(size);
    if (size <= inlineSizeMax) {
      this.#reserve(size);
      for (const part of parts) {
        this.#bytes.set(part, this.#at);
        this.#at += part.length;
      }
      return;
    }
    this.#cut();
    this.#parts.push(...parts);
  }

  finish(): readonly Uint8Array[] {
    this.#cut();
    return this.#parts;
  }

  #cut(): void {
    if (this.#at > this.#start) this.#parts.push(this.#bytes.subarray(this.#start, this.#at));
    this.#start = this.#at;
  }

  #reserve(size: number): void {
    if (this.#at + size <= this.#bytes.length) return;
    const pending = this.#bytes.subarray(this.#start, this.#at);
    const grown = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, pending.length + size));
    grown.set(pending);
    this.#bytes = grown;
    this.#at = pending.length;
    this.#start = 0;
  }
}

/** Reads what `ByteWriter` wrote. What does not fit is a broken invariant: commands come from our own log. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  u8(): number {
    const value = this.#bytes[this.#at];
    assert(value !== undefined, "command is cut off");
    this.#at += 1;
    return value;
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.u8();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  }

  text(): string {
    const bytes = this.bytes();
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
  }

  /** A view. */
  bytes(): Uint8Array {
    const size = this.varint();
    assert(this.#at + size <= this.#bytes.length, "command is cut off");
    const bytes = this.#bytes.subarray(this.#at, this.#at + size);
    this.#at += size;
    return bytes;
  }
}
