import { crc32 } from "node:zlib";
import type { WalEntry } from "../../../service/ports.ts";
import type { ShardLogIndex } from "./shard-log-index.ts";
import type { WalFiles } from "./wal-files.ts";
import { readKnownRecordHeader, recordHeaderSize } from "./wal-format.ts";
import { walFileName } from "./wal-recovery.ts";

const windowSize = 256 * 1024;

/** Reads entries back from the files; neighbours come out of one read. What does not verify is never returned. */
export class EntryReader {
  readonly #files: WalFiles;
  #fileNumber = -1;
  #start = 0;
  #bytes: Uint8Array = new Uint8Array(0);

  constructor(files: WalFiles) {
    this.#files = files;
  }

  /** @throws Error when the entry is damaged or its file is gone */
  read(log: ShardLogIndex, index: number): WalEntry {
    const place = log.placeOf(index);
    if (place === undefined) throw new Error(`Cannot read entry ${index} of shard ${log.shard}: it has no place`);
    const { fileNumber, position } = place;
    let header = readKnownRecordHeader(this.#need(fileNumber, position, recordHeaderSize), 0);
    const size = recordHeaderSize + (header?.payloadSize ?? 0);
    const bytes = this.#need(fileNumber, position, Math.min(size, this.#files.fileBytes));
    header = readKnownRecordHeader(bytes, 0);
    const payload = bytes.subarray(recordHeaderSize, size);
    const isIntact =
      header?.kind === "entry" &&
      header.shard === log.shard &&
      header.index === index &&
      header.term === log.termAt(index) &&
      bytes.length >= size &&
      header.payloadCrc === crc32(payload);
    if (!isIntact || header === undefined) {
      throw new Error(
        `Cannot read entry ${index} of shard ${log.shard}: damaged at ${walFileName(fileNumber)} position ${position}`,
      );
    }
    return { shard: log.shard, index, term: header.term, kind: header.entryKind, payload: [payload] };
  }

  #need(fileNumber: number, position: number, length: number): Uint8Array {
    const isInside =
      fileNumber === this.#fileNumber &&
      position >= this.#start &&
      position + length <= this.#start + this.#bytes.length;
    if (!isInside) {
      this.#bytes = this.#files.read(fileNumber, position, Math.max(length, windowSize));
      this.#fileNumber = fileNumber;
      this.#start = position;
    }
    return this.#bytes.subarray(position - this.#start);
  }
}
