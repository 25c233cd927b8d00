import { crc32 } from "node:zlib";

/**
 * The sparse index of a segment: one entry of 16 bytes per 4 KiB of log (a granule), in one buffer. It answers for
 * offsets, times and all five priorities: an entry says which priorities occur in its granule, so the index of one
 * priority is the list of granules with its bit. It costs 0.4 % of the log whatever the mix of priorities.
 *
 *   0 first offset − base u32   4 position u32   8 max timestamp u48   14 priorities u8   15 zero u8
 */
const granuleSize = 4096;
export const granuleEntrySize = 16;
/** Set beside the priorities when control records are in the granule: it then holds offsets that nobody is given. */
export const controlBit = 0x80;

export class GranuleIndex {
  #bytes: Buffer;
  #count: number;

  constructor(bytes: Uint8Array = new Uint8Array(0)) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#count = bytes.length / granuleEntrySize;
  }

  get count(): number {
    return this.#count;
  }
  get sizeBytes(): number {
    return this.#count * granuleEntrySize;
  }

  /** The stored form of the first `count` entries. */
  encoded(count = this.#count): Uint8Array {
    return this.#bytes.subarray(0, count * granuleEntrySize);
  }

  /** Notes a batch at the end of the log; begins a new granule when the last one is full. */
  add(offsetDelta: number, position: number, maxTimestampMs: number, priorities: number): void {
    const last = this.#count - 1;
    if (last < 0 || position - this.position(last) >= granuleSize) {
      this.#push(offsetDelta, position, maxTimestampMs, priorities);
      return;
    }
    const at = last * granuleEntrySize;
    if (maxTimestampMs > this.maxTimestampMs(last)) this.#bytes.writeUIntLE(maxTimestampMs, at + 8, 6);
    this.#bytes[at + 14] = (this.#bytes[at + 14] ?? 0) | priorities;
  }

  truncate(count: number): void {
    this.#count = Math.min(count, this.#count);
  }

  offsetDelta(granule: number): number {
    return this.#bytes.readUInt32LE(granule * granuleEntrySize);
  }
  position(granule: number): number {
    return this.#bytes.readUInt32LE(granule * granuleEntrySize + 4);
  }
  maxTimestampMs(granule: number): number {
    return this.#bytes.readUIntLE(granule * granuleEntrySize + 8, 6);
  }
  priorities(granule: number): number {
    return this.#bytes[granule * granuleEntrySize + 14] ?? 0;
  }

  /** The last granule that begins at or before the offset; 0 when there is none. */
  granuleOf(offsetDelta: number): number {
    let low = 0;
    let high = this.#count - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.offsetDelta(middle) <= offsetDelta) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  /** The first granule at or behind `granule` in which the priority occurs, or undefined. */
  nextWithPriority(priority: number, granule: number): number | undefined {
    const bit = 1 << priority;
    for (let at = granule; at < this.#count; at += 1) if ((this.priorities(at) & bit) !== 0) return at;
    return undefined;
  }

  /** The first granule at or behind `granule` that may hold a record of this time or later, or undefined. */
  nextWithTime(timestampMs: number, granule: number): number | undefined {
    for (let at = granule; at < this.#count; at += 1) if (this.maxTimestampMs(at) >= timestampMs) return at;
    return undefined;
  }

  #push(offsetDelta: number, position: number, maxTimestampMs: number, priorities: number): void {
    const at = this.#count * granuleEntrySize;
    if (at + granuleEntrySize > this.#bytes.length) {
      const grown = Buffer.alloc(Math.max(granuleEntrySize * 4, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, at));
      this.#bytes = grown;
    }
    this.#bytes.writeUInt32LE(offsetDelta, at);
    this.#bytes.writeUInt32LE(position, at + 4);
    this.#bytes.writeUIntLE(maxTimestampMs, at + 8, 6);
    this.#bytes[at + 14] = priorities;
    this.#bytes[at + 15] = 0;
    this.#count += 1;
  }
}

export function indexChecksum(encoded: Uint8Array): number {
  return crc32(encoded);
}
