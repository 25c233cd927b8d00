import { crc32 } from "node:zlib";
import type { DiskFile } from "../../../../platform/files/disk.ts";
import {
  decodeRecord,
  type FileHeader,
  fileHeaderSize,
  type GroupHeader,
  groupHeaderSize,
  indexOfGroupMagic,
  type RecordHeader,
  readGroupHeader,
  readRecordHeader,
  recordHeaderSize,
  type StoredRecord,
} from "./wal-format.ts";

/**
 * Reads one file of the log from its first group on and tells torn from damaged. Unreadable bytes are a torn tail only
 * when nothing valid lies behind them, in this file or a later one: groups are written one at a time, each after the
 * one before it was durable. Records of a torn group are all dropped: none of them was ever acknowledged.
 */
interface ScanVisitor {
  onRecord(record: StoredRecord, position: number): void;
  /** The record's header is intact, its payload is not. */
  onDamagedRecord(header: RecordHeader, position: number): void;
  /** Nothing is known about what lay between the positions. */
  onLostRange(from: number, to: number): void;
}

export interface ScanResult {
  /** Where the next group belongs. */
  readonly end: number;
  readonly chain: number;
}

interface ScanOptions {
  /** Where the file ends, as the next file knows it; undefined for the last file that was written to. */
  readonly expectedEnd: number | undefined;
}

const windowSize = 1024 * 1024;

export function scanWalFile(
  file: DiskFile,
  header: FileHeader,
  options: ScanOptions,
  visitor: ScanVisitor,
): ScanResult {
  const window = new FileWindow(file);
  let position = fileHeaderSize;
  let chain = header.salt;
  for (;;) {
    const group = groupAt(window, header, position);
    const records = group?.chainBefore === chain ? readGroup(window, position, group) : undefined;
    if (group !== undefined && records?.isIntact) {
      for (const record of records.found) visitor.onRecord(record.record, record.position);
      chain = records.chain;
      position += groupHeaderSize + group.bodySize;
      continue;
    }
    const next = findGroup(window, header, position + 1, file.size());
    if (next === undefined) {
      if (options.expectedEnd === undefined || options.expectedEnd === position) return { end: position, chain };
      reportDamage(visitor, records, position, options.expectedEnd);
      return { end: options.expectedEnd, chain };
    }
    reportDamage(visitor, records, position, next.position);
    position = next.position;
    chain = next.group.chainBefore;
  }
}

/** The first group of a file, which exists once the file has been written to. */
export function readFirstGroup(file: DiskFile, header: FileHeader): GroupHeader | undefined {
  return groupAt(new FileWindow(file), header, fileHeaderSize);
}

export function hasAnyGroup(file: DiskFile, header: FileHeader): boolean {
  return (
    readFirstGroup(file, header) !== undefined ||
    findGroup(new FileWindow(file), header, fileHeaderSize, file.size()) !== undefined
  );
}

interface FoundRecord {
  readonly record: StoredRecord;
  readonly position: number;
}

interface GroupRecords {
  readonly found: readonly FoundRecord[];
  readonly damaged: readonly { readonly header: RecordHeader; readonly position: number }[];
  /** Where the chain broke, if it did. */
  readonly lostFrom: number | undefined;
  readonly isIntact: boolean;
  readonly chain: number;
}

function readGroup(window: FileWindow, position: number, group: GroupHeader): GroupRecords {
  const { bytes, at: start } = window.need(position + groupHeaderSize, group.bodySize);
  const end = Math.min(start + group.bodySize, bytes.length);
  const fileOffset = position + groupHeaderSize - start;
  const found: FoundRecord[] = [];
  const damaged: { header: RecordHeader; position: number }[] = [];
  let chain = group.chainBefore;
  let at = start;
  let lostFrom: number | undefined;
  while (at - start < group.bodySize) {
    const header = readRecordHeader(bytes, at, chain);
    const payloadAt = at + recordHeaderSize;
    if (header === undefined || payloadAt + header.payloadSize > end) {
      lostFrom = at + fileOffset;
      break;
    }
    const payload = bytes.subarray(payloadAt, payloadAt + header.payloadSize);
    if (crc32(payload) === header.payloadCrc) {
      found.push({ record: decodeRecord(header, payload), position: at + fileOffset });
    } else damaged.push({ header, position: at + fileOffset });
    chain = header.chain;
    at = payloadAt + header.payloadSize;
  }
  return { found, damaged, lostFrom, isIntact: damaged.length === 0 && lostFrom === undefined, chain };
}

function reportDamage(visitor: ScanVisitor, records: GroupRecords | undefined, from: number, to: number): void {
  if (records === undefined) {
    visitor.onLostRange(from, to);
    return;
  }
  const inOrder = [...records.found, ...records.damaged].sort((a, b) => a.position - b.position);
  for (const item of inOrder) {
    if ("record" in item) visitor.onRecord(item.record, item.position);
    else visitor.onDamagedRecord(item.header, item.position);
  }
  if (records.lostFrom !== undefined) visitor.onLostRange(records.lostFrom, to);
}

function groupAt(window: FileWindow, header: FileHeader, position: number): GroupHeader | undefined {
  const { bytes, at } = window.need(position, groupHeaderSize);
  return readGroupHeader(bytes, at, header, position);
}

function findGroup(
  window: FileWindow,
  header: FileHeader,
  from: number,
  fileSize: number,
): { readonly group: GroupHeader; readonly position: number } | undefined {
  let position = from;
  while (position + groupHeaderSize <= fileSize) {
    const { bytes, at } = window.need(position, groupHeaderSize);
    const found = indexOfGroupMagic(bytes, at);
    // The window may end inside a header: look again from its last bytes on.
    if (found < 0 || found + groupHeaderSize > bytes.length) {
      const next = position + (found < 0 ? Math.max(1, bytes.length - at - 3) : found - at);
      if (next === position) return undefined;
      position = next;
      continue;
    }
    position += found - at;
    const group = readGroupHeader(bytes, found, header, position);
    if (group !== undefined) return { group, position };
    position += 1;
  }
  return undefined;
}

/** Reads ahead, so that a file of many small groups costs few system calls. Views stay valid: windows are not reused. */
class FileWindow {
  readonly #file: DiskFile;
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;

  constructor(file: DiskFile) {
    this.#file = file;
  }

  /** At least `length` bytes from `position` on, if the file has them. */
  need(position: number, length: number): { readonly bytes: Buffer; readonly at: number } {
    const isInside = position >= this.#start && position + length <= this.#start + this.#bytes.length;
    if (!isInside) {
      const bytes = this.#file.read(position, Math.max(length, windowSize));
      this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      this.#start = position;
    }
    return { bytes: this.#bytes, at: position - this.#start };
  }
}
