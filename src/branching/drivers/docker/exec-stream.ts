/**
 * The engine multiplexes a program's two outputs over one connection: an 8-byte header (stream number, three zeroes,
 * length) before each piece. Both outputs are bounded here: standard output fails the call beyond its limit, of standard
 * error the end is kept.
 */
export interface DemuxSink {
  onOutput(piece: Buffer): void;
  onError(piece: Buffer): void;
}

const headerSize = 8;

export class StreamDemuxer {
  readonly #sink: DemuxSink;
  #header = Buffer.alloc(0);
  #stream = 0;
  #rest = 0;

  constructor(sink: DemuxSink) {
    this.#sink = sink;
  }

  /** False in the middle of a piece: an end here is a cut. */
  get isAtBoundary(): boolean {
    return this.#rest === 0 && this.#header.length === 0;
  }

  push(chunk: Buffer): void {
    let data = chunk;
    while (data.length > 0) {
      if (this.#rest === 0) {
        data = this.#readHeader(data);
        continue;
      }
      const piece = data.subarray(0, this.#rest);
      data = data.subarray(piece.length);
      this.#rest -= piece.length;
      if (this.#stream === 2) this.#sink.onError(piece);
      else this.#sink.onOutput(piece);
    }
  }

  #readHeader(data: Buffer): Buffer {
    const missing = headerSize - this.#header.length;
    this.#header = Buffer.concat([this.#header, data.subarray(0, missing)]);
    if (this.#header.length === headerSize) {
      this.#stream = this.#header[0] ?? 0;
      this.#rest = this.#header.readUInt32BE(4);
      this.#header = Buffer.alloc(0);
    }
    return data.subarray(missing);
  }
}

/** Keeps the last `bytesMax` bytes. */
export class TailBuffer {
  readonly #bytesMax: number;
  #bytes = Buffer.alloc(0);

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  push(piece: Buffer): void {
    const joined = Buffer.concat([this.#bytes, piece]);
    this.#bytes = joined.length > this.#bytesMax ? joined.subarray(joined.length - this.#bytesMax) : joined;
  }

  toString(): string {
    return this.#bytes.toString("utf8");
  }
}

/** Cuts text into lines; carriage returns end lines too, as progress output uses them. */
export class LineSplitter {
  readonly #onLine: (line: string) => void;
  #rest = "";

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(piece: Buffer): void {
    const lines = (this.#rest + piece.toString("utf8")).split(/[\r\n]+/);
    this.#rest = (lines.pop() ?? "").slice(-lineSizeMax);
    for (const line of lines) if (line !== "") this.#onLine(line);
  }
}

const lineSizeMax = 64 * 1024;
