import { crc32 } from "node:zlib";

/**
 * CRC-32 of a part of a buffer. Headers are so short that making a view and calling into native code costs several times
 * the sum itself: up to `inlineSizeMax` bytes it is done here, by the same polynomial.
 */
const inlineSizeMax = 96;
const table = makeTable();

export function crc32Of(bytes: Uint8Array, start: number, end: number, seed = 0): number {
  if (end - start > inlineSizeMax) return crc32(bytes.subarray(start, end), seed);
  let crc = ~seed;
  for (let at = start; at < end; at += 1) crc = (table[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}

function makeTable(): Int32Array {
  const made = new Int32Array(256);
  for (let value = 0; value < 256; value += 1) {
    let crc = value;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 0 ? crc >>> 1 : (crc >>> 1) ^ 0xedb8_8320;
    made[value] = crc;
  }
  return made;
}
