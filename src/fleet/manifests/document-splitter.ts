/**
 * Cuts a stream of bytes into documents as kubectl does: at lines that begin with `---` (or `...`), and between JSON
 * values that follow each other without one. It holds one document and one chunk at a time; a document above its limit
 * is refused as soon as it has grown past it.
 */
import { maxDocumentSizeBytes } from "./limits.ts";

export interface RawDocument {
  /** Valid until the next call. */
  readonly bytes: Uint8Array;
  /** Line of its first byte in the stream, from 1. */
  readonly firstLine: number;
}

export interface OversizedDocument {
  readonly firstLine: number;
  readonly oversized: true;
}

const lineFeed = 10;
const dash = 45;
const dot = 46;
const quote = 34;
const backslash = 92;
const braceOpen = 123;
const bracketOpen = 91;
const braceClose = 125;
const bracketClose = 93;
/** A marker and the byte behind it, counted from the line feed before. */
const lookaheadSize = 5;

/** Chunks below it wait for more. */
const minAppendSize = 64 * 1024;

const empty = new Uint8Array(0);

export class DocumentSplitter {
  readonly #maxSizeBytes: number;
  #data: Uint8Array = empty;
  #waiting: Uint8Array = empty;
  #waitingSize = 0;
  /** Where the current document begins in `#data`, and where the search goes on. */
  #start = 0;
  #position = 0;
  #isAtLineStart = true;
  /** Line feeds before `#position`, and the line that the document begins on. */
  #line = 1;
  #firstLine = 1;
  #mode: "undecided" | "yaml" | "json" = "undecided";
  #jsonDepth = 0;
  #isInText = false;

  constructor(maxSizeBytes: number = maxDocumentSizeBytes) {
    this.#maxSizeBytes = maxSizeBytes;
  }

  /** The chunk stays untouched until the next call. */
  *push(chunk: Uint8Array): Generator<RawDocument | OversizedDocument, void> {
    const pending = this.#data.length - this.#start;
    // Small chunks wait until they are worth a copy of what is pending: a body of single bytes costs no more than others.
    if (this.#waitingSize > 0 || chunk.length < Math.min(minAppendSize, pending)) {
      this.#wait(chunk);
      if (this.#waitingSize < Math.max(minAppendSize, pending)) return;
      this.#append(this.#takeWaiting());
    } else {
      this.#append(chunk);
    }
    yield* this.#scan(false);
  }

  *finish(): Generator<RawDocument | OversizedDocument, void> {
    if (this.#waitingSize > 0) this.#append(this.#takeWaiting());
    yield* this.#scan(true);
    if (this.#start < this.#data.length) yield this.#cut(this.#data.length);
    this.#data = empty;
  }

  #wait(chunk: Uint8Array): void {
    const size = this.#waitingSize + chunk.length;
    if (size > this.#waiting.length) {
      const larger = new Uint8Array(Math.max(minAppendSize, 2 * size));
      larger.set(this.#waiting.subarray(0, this.#waitingSize));
      this.#waiting = larger;
    }
    this.#waiting.set(chunk, this.#waitingSize);
    this.#waitingSize = size;
  }

  #takeWaiting(): Uint8Array {
    const taken = this.#waiting.subarray(0, this.#waitingSize);
    this.#waiting = empty;
    this.#waitingSize = 0;
    return taken;
  }

  #append(chunk: Uint8Array): void {
    const rest = this.#data.subarray(this.#start);
    this.#position -= this.#start;
    this.#start = 0;
    if (rest.length === 0) {
      this.#data = chunk;
      return;
    }
    const joined = new Uint8Array(rest.length + chunk.length);
    joined.set(rest);
    joined.set(chunk, rest.length);
    this.#data = joined;
  }

  *#scan(isLast: boolean): Generator<RawDocument | OversizedDocument, void> {
    for (;;) {
      const end = this.#findEnd(isLast);
      const size = (end < 0 ? this.#position : end) - this.#start;
      if (size > this.#maxSizeBytes) {
        yield { firstLine: this.#firstLine, oversized: true };
        return;
      }
      if (end < 0) return;
      yield this.#cut(end);
    }
  }

  /** Takes the document that ends before `end`; the search goes on at `#position`. */
  #cut(end: number): RawDocument {
    const document = { bytes: this.#data.subarray(this.#start, end), firstLine: this.#firstLine };
    this.#start = this.#position;
    this.#firstLine = this.#line;
    this.#mode = "undecided";
    return document;
  }

  /** End of the current document, or -1 when more bytes are needed. */
  #findEnd(isLast: boolean): number {
    if (this.#mode === "undecided") this.#decideMode();
    return this.#mode === "json" ? this.#findJsonEnd(isLast) : this.#findMarker(isLast);
  }

  #decideMode(): void {
    const data = this.#data;
    for (let position = this.#position; position < data.length; position += 1) {
      const code = data[position];
      if (code === 32 || code === 9 || code === 13 || code === lineFeed) continue;
      this.#mode = code === braceOpen ? "json" : "yaml";
      this.#jsonDepth = 0;
      this.#isInText = false;
      return;
    }
  }

  #findMarker(isLast: boolean): number {
    const data = this.#data;
    const end = data.length;
    const safeEnd = isLast ? end : end - lookaheadSize;
    let position = this.#position;
    let line = this.#line;
    if (this.#isAtLineStart) {
      if (position > safeEnd && !isLast) return -1;
      if (this.#isMarkerAt(position)) return this.#endAtMarker(position);
      this.#isAtLineStart = false;
    }
    while (position < safeEnd) {
      if (data[position] !== lineFeed) {
        position += 1;
        continue;
      }
      position += 1;
      line += 1;
      const next = data[position];
      if ((next === dash || next === dot) && this.#isMarkerAt(position)) {
        this.#line = line;
        return this.#endAtMarker(position);
      }
    }
    this.#position = position;
    this.#line = line;
    return -1;
  }

  #isMarkerAt(position: number): boolean {
    const data = this.#data;
    const code = data[position];
    if ((code !== dash && code !== dot) || data[position + 1] !== code || data[position + 2] !== code) return false;
    const after = data[position + 3];
    return after === undefined || after === 32 || after === 9 || after === 13 || after === lineFeed;
  }

  /** What stands behind `---` on its line belongs to the next document. */
  #endAtMarker(position: number): number {
    this.#position = position + 3;
    this.#isAtLineStart = false;
    return position;
  }

  /** JSON ends with its outermost bracket; a marker at the beginning of a line ends it too. */
  #findJsonEnd(isLast: boolean): number {
    const data = this.#data;
    const safeEnd = isLast ? data.length : data.length - lookaheadSize;
    while (this.#position < safeEnd) {
      const code = data[this.#position];
      this.#position += 1;
      if (code === lineFeed) {
        this.#line += 1;
        this.#isInText = false;
        if (this.#isMarkerAt(this.#position)) return this.#endAtMarker(this.#position);
      } else if (this.#isInText) {
        if (code === backslash) this.#position += 1;
        else if (code === quote) this.#isInText = false;
      } else if (code === quote) {
        this.#isInText = true;
      } else if (code === braceOpen || code === bracketOpen) {
        this.#jsonDepth += 1;
      } else if (code === braceClose || code === bracketClose) {
        this.#jsonDepth -= 1;
        if (this.#jsonDepth <= 0) return this.#position;
      }
    }
    return -1;
  }
}
