/**
 * Which offsets of a partition a group is done with: everything below the floor, and single offsets above it.
 *
 * What lies above the floor is kept in bitmaps of 4096 offsets, a full one as a mark only. One message that stays open
 * for hours then costs a few bytes per thousand messages behind it, and a mix of priorities, which is acknowledged far
 * out of order, costs one bit per message instead of a range each.
 */
const chunkSize = 4096;
const wordCount = chunkSize / 32;

interface Chunk {
  /** Undefined when all offsets of the chunk are done. */
  words: Uint32Array | undefined;
  count: number;
}

export type AckedSetImage = readonly [floor: number, chunks: readonly (readonly [index: number, bits: string])[]];

export class AckedSet {
  #floor: number;
  #aboveCount = 0;
  readonly #chunks = new Map<number, Chunk>();

  constructor(floor: number) {
    this.#floor = floor;
  }

  static restore(image: AckedSetImage): AckedSet {
    const set = new AckedSet(image[0]);
    for (const [index, bits] of image[1]) set.#restoreChunk(index, bits);
    return set;
  }

  /** The first offset that is not done. */
  get floor(): number {
    return this.#floor;
  }
  /** Offsets above the floor that are done. */
  get aboveCount(): number {
    return this.#aboveCount;
  }

  has(offset: number): boolean {
    if (offset < this.#floor) return true;
    const chunk = this.#chunks.get(Math.floor(offset / chunkSize));
    return chunk !== undefined && hasBit(chunk, offset % chunkSize);
  }

  /** False when it was done already. */
  add(offset: number): boolean {
    if (this.has(offset)) return false;
    if (offset === this.#floor) {
      this.#floor += 1;
      this.#advance();
      return true;
    }
    this.#set(offset);
    this.#aboveCount += 1;
    return true;
  }

  /** Everything below `offset` is done. No effect when the floor is there already. */
  raiseFloor(offset: number): void {
    if (offset <= this.#floor) return;
    for (const [index, chunk] of this.#chunks) {
      const start = index * chunkSize;
      if (start + chunkSize <= offset) {
        this.#aboveCount -= countFrom(chunk, start, this.#floor);
        this.#chunks.delete(index);
      } else if (start < offset) {
        this.#aboveCount -= countFrom(chunk, start, this.#floor) - countFrom(chunk, start, offset);
      }
    }
    this.#floor = offset;
    this.#advance();
  }

  image(): AckedSetImage {
    return [this.#floor, [...this.#chunks].map(([index, chunk]) => [index, encodeWords(chunk.words)] as const)];
  }

  #set(offset: number): void {
    const index = Math.floor(offset / chunkSize);
    let chunk = this.#chunks.get(index);
    if (chunk === undefined) {
      chunk = { words: new Uint32Array(wordCount), count: 0 };
      this.#chunks.set(index, chunk);
    }
    const bit = offset % chunkSize;
    const { words } = chunk;
    if (words === undefined) return;
    words[bit >>> 5] = (words[bit >>> 5] ?? 0) | (1 << (bit & 31));
    chunk.count += 1;
    if (chunk.count === chunkSize) chunk.words = undefined;
  }

  /** Moves the floor over what is done right behind it. */
  #advance(): void {
    for (;;) {
      const index = Math.floor(this.#floor / chunkSize);
      const chunk = this.#chunks.get(index);
      if (chunk === undefined) return;
      const end = firstClear(chunk, this.#floor % chunkSize);
      const floor = index * chunkSize + end;
      this.#aboveCount -= floor - this.#floor;
      this.#floor = floor;
      if (end < chunkSize) return;
      this.#chunks.delete(index);
    }
  }

  #restoreChunk(index: number, bits: string): void {
    const start = index * chunkSize;
    const words = decodeWords(bits);
    const chunk: Chunk = { words, count: words === undefined ? chunkSize : countWords(words, 0) };
    this.#chunks.set(index, chunk);
    this.#aboveCount += countFrom(chunk, start, this.#floor);
  }
}

function hasBit(chunk: Chunk, bit: number): boolean {
  return chunk.words === undefined || ((chunk.words[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
}

/** Set bits of the chunk that begins at `start`, counted from `offset` on. */
function countFrom(chunk: Chunk, start: number, offset: number): number {
  const from = Math.min(Math.max(offset - start, 0), chunkSize);
  return chunk.words === undefined ? chunkSize - from : countWords(chunk.words, from);
}

function countWords(words: Uint32Array, fromBit: number): number {
  let count = 0;
  for (let at = fromBit >>> 5; at < wordCount; at += 1) {
    let word = words[at] ?? 0;
    if (at === fromBit >>> 5) word &= -1 << (fromBit & 31);
    while (word !== 0) {
      word &= word - 1;
      count += 1;
    }
  }
  return count;
}

function firstClear(chunk: Chunk, fromBit: number): number {
  if (chunk.words === undefined) return chunkSize;
  for (let bit = fromBit; bit < chunkSize; ) {
    const open = ~(chunk.words[bit >>> 5] ?? 0) & (-1 << (bit & 31));
    if (open !== 0) return (bit & ~31) + 31 - Math.clz32(open & -open);
    bit = (bit & ~31) + 32;
  }
  return chunkSize;
}

function encodeWords(words: Uint32Array | undefined): string {
  if (words === undefined) return "";
  return Buffer.from(words.buffer, words.byteOffset, words.byteLength).toString("base64");
}

function decodeWords(bits: string): Uint32Array | undefined {
  if (bits === "") return undefined;
  const words = new Uint32Array(wordCount);
  Buffer.from(words.buffer).set(Buffer.from(bits, "base64").subarray(0, chunkSize / 8));
  return words;
}
