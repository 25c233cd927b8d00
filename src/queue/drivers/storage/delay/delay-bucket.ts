import { crc32 } from "node:zlib";
import type { DelayedEntry } from "../../../service/delay-store.ts";
import type { StorageContext } from "../storage-context.ts";

/**
 * Delayed messages of one partition whose due times lie in one range, in one append-only file. An entry is taken out by
 * a record behind it. While nobody looks inside, a bucket is a few numbers; looking reads the file once and keeps where
 * each entry lies.
 *
 *   record = size u32 (2^32 − 1: removal) · CRC u32 of the rest · due ms f64 · sequence f64 · batch
 */
export interface BucketState {
  readonly fileSequence: number;
  readonly startMs: number;
  readonly startSequence: number;
  readonly bytes: number;
  readonly liveCount: number;
  readonly minDueMs: number;
}

interface PlacedEntry {
  readonly dueMs: number;
  readonly sequence: number;
  readonly position: number;
  readonly size: number;
}

const headerSize = 24;
const removalSize = 0xffff_ffff;
const nothing = Buffer.alloc(0);

export class DelayBucket {
  readonly startMs: number;
  readonly startSequence: number;
  readonly #context: StorageContext;
  readonly #fileSequence: number;
  readonly #path: string;
  #liveCount: number;
  #minDueMs: number;
  #writtenBytes: number;
  #hasFile: boolean;
  #tail: Buffer = nothing;
  #tailSize = 0;
  #entries: Map<number, PlacedEntry> | undefined;
  #order: PlacedEntry[] | undefined;

  constructor(context: StorageContext, folder: string, state: BucketState) {
    this.#context = context;
    this.#fileSequence = state.fileSequence;
    this.#path = `${folder}/${state.fileSequence}.delayed`;
    this.startMs = state.startMs;
    this.startSequence = state.startSequence;
    this.#liveCount = state.liveCount;
    this.#minDueMs = state.minDueMs;
    this.#writtenBytes = state.bytes;
    this.#hasFile = state.bytes > 0;
    if (!this.#hasFile) this.#entries = new Map();
  }

  get path(): string {
    return this.#path;
  }
  get hasFile(): boolean {
    return this.#hasFile;
  }
  get liveCount(): number {
    return this.#liveCount;
  }
  /** Infinity when the bucket is empty. */
  get minDueMs(): number {
    return this.#minDueMs;
  }
  get sizeBytes(): number {
    return this.#writtenBytes + this.#tailSize;
  }
  get unwrittenBytes(): number {
    return this.#tailSize;
  }
  get isLoaded(): boolean {
    return this.#entries !== undefined;
  }

  /** Makes room for as many bytes at once. */
  reserve(bytes: number): void {
    this.#tail = Buffer.allocUnsafeSlow(Math.ceil(bytes));
  }

  add(entry: DelayedEntry): void {
    const position = this.#appendRecord(entry.batch.length, entry, entry.batch);
    this.#entries?.set(entry.sequence, {
      dueMs: entry.dueMs,
      sequence: entry.sequence,
      position,
      size: entry.batch.length,
    });
    this.#order = undefined;
    this.#liveCount += 1;
    this.#minDueMs = Math.min(this.#minDueMs, entry.dueMs);
  }

  /** False when it was not there. */
  remove(sequence: number): boolean {
    const entry = this.#load().get(sequence);
    if (entry === undefined) return false;
    this.#appendRecord(removalSize, entry, nothing);
    this.#load().delete(sequence);
    this.#liveCount -= 1;
    if (entry.dueMs === this.#minDueMs) this.#minDueMs = this.firstInOrder()?.dueMs ?? Number.POSITIVE_INFINITY;
    return true;
  }

  find(sequence: number): PlacedEntry | undefined {
    return this.#load().get(sequence);
  }

  firstInOrder(): PlacedEntry | undefined {
    const entries = this.#load();
    const order = this.#sort();
    while (order.length > 0) {
      const last = order.at(-1);
      if (last !== undefined && entries.get(last.sequence) === last) return last;
      order.pop();
    }
    return undefined;
  }

  /** Live entries by due time, then sequence. */
  *inOrder(): Iterable<PlacedEntry> {
    const entries = this.#load();
    const order = this.#sort();
    for (let at = order.length - 1; at >= 0; at -= 1) {
      const entry = order[at];
      if (entry !== undefined && entries.get(entry.sequence) === entry) yield entry;
    }
  }

  /**
   * The entry with its bytes; `contents` when many are read.
   *
   * @throws Error when the bytes are damaged
   */
  read(entry: PlacedEntry, contents?: Buffer): DelayedEntry {
    const end = entry.position + headerSize + entry.size;
    const bytes = contents?.subarray(entry.position, end) ?? this.#bytesAt(entry.position, headerSize + entry.size);
    const record = parseRecord(bytes, 0);
    const isIntact = record !== undefined && record.sequence === entry.sequence && record.dueMs === entry.dueMs;
    if (!isIntact) throw this.#damaged(entry.position);
    return { sequence: entry.sequence, dueMs: entry.dueMs, batch: bytes.subarray(headerSize) };
  }

  contents(): Buffer {
    return this.#bytesAt(0, this.sizeBytes);
  }

  /** Writes the tail. @throws what the disk says; the tail stays */
  flush(): void {
    if (this.#tailSize === 0) return;
    const { files } = this.#context;
    const file = this.#hasFile ? files.get(this.#path) : this.#context.createFile(this.#path);
    this.#hasFile = true;
    file.write(this.#writtenBytes, [this.#tail.subarray(0, this.#tailSize)]);
    this.#context.dirtyFiles.add(this.#path);
    this.#writtenBytes += this.#tailSize;
    this.#tailSize = 0;
    this.#tail = nothing;
  }

  /** Gives the memory of what was looked up back. */
  unload(): void {
    if (!this.#hasFile) return;
    this.#entries = undefined;
    this.#order = undefined;
  }

  state(): BucketState {
    return {
      fileSequence: this.#fileSequence,
      startMs: this.startMs,
      startSequence: this.startSequence,
      bytes: this.#writtenBytes,
      liveCount: this.#liveCount,
      minDueMs: this.#minDueMs,
    };
  }

  #appendRecord(size: number, key: { readonly dueMs: number; readonly sequence: number }, batch: Uint8Array): number {
    const needed = headerSize + batch.length;
    if (this.#tailSize + needed > this.#tail.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(256, this.#tail.length * 2, this.#tailSize + needed));
      grown.set(this.#tail.subarray(0, this.#tailSize));
      this.#tail = grown;
    }
    const at = this.#tailSize;
    this.#tail.writeUInt32LE(size, at);
    this.#tail.writeDoubleLE(key.dueMs, at + 8);
    this.#tail.writeDoubleLE(key.sequence, at + 16);
    this.#tail.set(batch, at + headerSize);
    this.#tail.writeUInt32LE(crc32(this.#tail.subarray(at + 8, at + needed), size), at + 4);
    this.#tailSize += needed;
    return this.#writtenBytes + at;
  }

  #load(): Map<number, PlacedEntry> {
    if (this.#entries !== undefined) return this.#entries;
    const bytes = this.contents();
    const entries = new Map<number, PlacedEntry>();
    for (let position = 0; position < bytes.length; ) {
      const record = parseRecord(bytes, position);
      if (record === undefined) throw this.#damaged(position);
      const { sequence, dueMs, size } = record;
      if (size === removalSize) entries.delete(sequence);
      else entries.set(sequence, { dueMs, sequence, position, size });
      position += headerSize + (size === removalSize ? 0 : size);
    }
    if (bytes.length < this.sizeBytes || entries.size !== this.#liveCount) throw this.#damaged(bytes.length);
    this.#entries = entries;
    this.#order = undefined;
    return entries;
  }

  /** Latest first, so that the earliest is taken from the end. */
  #sort(): PlacedEntry[] {
    this.#order ??= [...this.#load().values()].sort((a, b) => b.dueMs - a.dueMs || b.sequence - a.sequence);
    return this.#order;
  }

  #bytesAt(position: number, length: number): Buffer {
    const tail = this.#tail.subarray(Math.max(0, position - this.#writtenBytes), this.#tailSize);
    const fromFile = Math.max(0, Math.min(length, this.#writtenBytes - position));
    if (fromFile === 0) return Buffer.from(tail.subarray(0, length));
    const bytes = this.#context.files.get(this.#path).read(position, fromFile);
    if (fromFile === length || bytes.length < fromFile)
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    return Buffer.concat([bytes, tail.subarray(0, length - fromFile)]);
  }

  #damaged(position: number): Error {
    return new Error(`Cannot read delayed messages: ${this.#path} is damaged at position ${position}`);
  }
}

function parseRecord(
  bytes: Buffer,
  at: number,
): { readonly size: number; readonly dueMs: number; readonly sequence: number } | undefined {
  if (at + headerSize > bytes.length) return undefined;
  const size = bytes.readUInt32LE(at);
  const end = at + headerSize + (size === removalSize ? 0 : size);
  if (end > bytes.length || crc32(bytes.subarray(at + 8, end), size) !== bytes.readUInt32LE(at + 4)) return undefined;
  return { size, dueMs: bytes.readDoubleLE(at + 8), sequence: bytes.readDoubleLE(at + 16) };
}
