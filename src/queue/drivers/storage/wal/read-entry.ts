import { crc32Of } from "../../../model/checksum.ts";
import type { WalEntry } from "../../../service/ports.ts";
import type { ShardLogIndex } from "./shard-log-index.ts";
import type { WalFiles } from "./wal-files.ts";
import { readKnownRecordHeader, recordHeaderSize } from "./wal-format.ts";
import { walFileName } from "./wal-recovery.ts";

const windowSize = 256 * 1024;

/**
 * Reads entries back from the files; neighbours come out of one read. Payloads are copied out of the window, which is
 * used again. What does not verify is never returned.
 */
export class EntryReader {
  readonly #files: WalFiles;
  #fileNumber = -1;
  #start = 0;
  #size = 0;
  #window: Buffer = Buffer.alloc(0);
  #view = new DataView(this.#window.buffer, 0, 0);

  constructor(files: WalFiles) {
    this.#files = files;
  }

  /** Forgets what was read: the files may have grown since. */
  reset(): void {
    this.#fileNumber = -1;
  }

  /** @throws Error when the entry is damaged or its file is gone */
  read(log: ShardLogIndex, index: number): WalEntry {
    const place = log.placeOf(index);
    if (place === undefined) throw new Error(`Cannot read entry ${index} of shard ${log.shard}: it has no place`);
    const { fileNumber, position } = place;
    let at = this.#need(fileNumber, position, recordHeaderSize);
    const header = readKnownRecordHeader(this.#window, this.#view, at);
    const size = recordHeaderSize + Math.min(header?.payloadSize ?? 0, this.#files.fileBytes);
    at = this.#need(fileNumber, position, size);
    const isIntact =
      header?.kind === "entry" &&
      header.shard === log.shard &&
      header.index === index &&
      header.term === log.termAt(index) &&
      this.#size - at >= size &&
      header.payloadCrc === crc32Of(this.#window, at + recordHeaderSize, at + size);
    if (!isIntact || header === undefined) {
      throw new Error(
        `Cannot read entry ${index} of shard ${log.shard}: damaged at ${walFileName(fileNumber)} position ${position}`,
      );
    }
    const payload = Buffer.allocUnsafe(size - recordHeaderSize);
    this.#window.copy(payload, 0, at + recordHeaderSize, at + size);
    return { shard: log.shard, index, term: header.term, kind: header.entryKind, payload: [payload] };
  }

  /** Where the bytes lie in the window; as many as there are in the file. */
  #need(fileNumber: number, position: number, length: number): number {
    const isInside =
      fileNumber === this.#fileNumber && position >= this.#start && position + length <= this.#start + this.#size;
    if (!isInside) {
      if (this.#window.length < length) {
        this.#window = Buffer.allocUnsafeSlow(Math.max(length, windowSize));
        this.#view = new DataView(this.#window.buffer);
      }
      this.#size = this.#files.read(fileNumber, position, this.#window);
      this.#fileNumber = fileNumber;
      this.#start = position;
    }
    return position - this.#start;
  }
}
