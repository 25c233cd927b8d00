/** Variable-length integers: seven bits per byte, lowest first. Signed values are folded so that small ones stay small. */

/** Bytes that `writeVarint` takes for a value from 0 to 2^53 − 1. */
export function varintSize(value: number): number {
  let size = 1;
  let rest = value;
  while (rest >= 128) {
    rest = Math.floor(rest / 128);
    size += 1;
  }
  return size;
}

/** Writes a value from 0 to 2^53 − 1 at `position`; returns the position behind it. */
export function writeVarint(bytes: Uint8Array, position: number, value: number): number {
  let at = position;
  let rest = value;
  while (rest >= 128) {
    bytes[at] = (rest % 128) | 128;
    rest = rest > 0x7fffffff ? Math.floor(rest / 128) : rest >>> 7;
    at += 1;
  }
  bytes[at] = rest;
  return at + 1;
}

export function foldSign(value: number): number {
  return value < 0 ? -value * 2 - 1 : value * 2;
}

export function unfoldSign(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

export const uint53Limit = 2 ** 53;

export function setUint53(view: DataView, position: number, value: number): void {
  view.setUint32(position, value % 4_294_967_296, true);
  view.setUint32(position + 4, Math.floor(value / 4_294_967_296), true);
}

export function getUint53(view: DataView, position: number): number {
  return view.getUint32(position + 4, true) * 4_294_967_296 + view.getUint32(position, true);
}
