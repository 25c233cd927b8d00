/**
 * Which partition a keyed message belongs to: murmur2 of the key's bytes, made positive, modulo the partition count, as
 * the Java producers of other logs do it. Stable for ever: the order of a key's messages depends on it.
 */
export function partitionForKey(key: string | Uint8Array, partitionCount: number): number {
  const bytes = typeof key === "string" ? Buffer.from(key) : key;
  return (murmur2(bytes) & 0x7fffffff) % partitionCount;
}

const seed = 0x9747b28c;
const multiplier = 0x5bd1e995;

/** 32-bit murmur2, signed. */
export function murmur2(bytes: Uint8Array): number {
  const { length } = bytes;
  let hash = seed ^ length;
  const tailAt = length & ~3;
  for (let at = 0; at < tailAt; at += 4) {
    let word =
      byteAt(bytes, at) | (byteAt(bytes, at + 1) << 8) | (byteAt(bytes, at + 2) << 16) | (byteAt(bytes, at + 3) << 24);
    word = Math.imul(word, multiplier);
    word ^= word >>> 24;
    hash = Math.imul(hash, multiplier) ^ Math.imul(word, multiplier);
  }
  const rest = length & 3;
  if (rest === 3) hash ^= byteAt(bytes, tailAt + 2) << 16;
  if (rest >= 2) hash ^= byteAt(bytes, tailAt + 1) << 8;
  if (rest >= 1) hash = Math.imul(hash ^ byteAt(bytes, tailAt), multiplier);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, multiplier);
  return hash ^ (hash >>> 15);
}

function byteAt(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0;
}
