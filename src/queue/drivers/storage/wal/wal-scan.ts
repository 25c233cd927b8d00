import type { DiskFile } from "../../../../platform/files/disk.ts";
import { crc32Of } from "../../../model/checksum.ts";
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
  onEntry(header: RecordHeader, position: number): void;
  onRecord(record: StoredRecord): void;
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
      for (const found of records.found) visit(visitor, found);
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

/** Entries stay where they are: only their place is wanted. */
type FoundRecord =
  | { readonly kind: "entry"; readonly header: RecordHeader; readonly position: number }
  | { readonly kind: "other"; readonly record: StoredRecord }
  | { readonly kind: "damaged"; readonly header: RecordHeader; readonly position: number };

interface GroupRecords {
  readonly found: readonly FoundRecord[];
  /** Where the chain broke, if it did. */
  readonly lostFrom: number | undefined;
  readonly isIntact: boolean;
  readonly chain: number;
}

function readGroup(window: FileWindow, position: number, group: GroupHeader): GroupRecords {
  const { bytes, view, at: start } = window.need(position + groupHeaderSize, group.bodySize);
  const end = Math.min(start + group.bodySize, bytes.length);
  const fileOffset = position + groupHeaderSize - start;
  const found: FoundRecord[] = [];
  let chain = group.chainBefore;
  let isIntact = true;
  for (let at = start; at - start < group.bodySize; ) {
    const header = readRecordHeader(bytes, view, at, chain);
    const payloadAt = at + recordHeaderSize;
    if (header === undefined || payloadAt + header.payloadSize > end) {
      return { found, lostFrom: at + fileOffset, isIntact: false, chain };
    }
    const payloadEnd = payloadAt + header.payloadSize;
    if (crc32Of(bytes, payloadAt, payloadEnd) !== header.payloadCrc) {
      found.push({ kind: "damaged", header, position: at + fileOffset });
      isIntact = false;
    } else if (header.kind === "entry") found.push({ kind: "entry", header, position: at + fileOffset });
    else found.push({ kind: "other", record: decodeRecord(header, bytes.subarray(payloadAt, payloadEnd)) });
    chain = header.chain;
    at = payloadEnd;
  }
  return { found, lostFrom: undefined, isIntact, chain };
}

function visit(visitor: ScanVisitor, found: FoundRecord): void {
  if (found.kind === "entry") visitor.onEntry(found.header, found.position);
  else if (found.kind === "other") visitor.onRecord(found.record);
  else visitor.onDamagedRecord(found.header, found.position);
}

function reportDamage(visitor: ScanVisitor, records: GroupRecords | undefined, from: number, to: number): void {
  for (const found of records?.found ?? []) visit(visitor, found);
  if (records === undefined) visitor.onLostRange(from, to);
  else if (records.lostFrom !== undefined) visitor.onLostRange(records.lostFrom, to);
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

/** Reads ahead, so that a file of many small groups costs few system calls. What it returns holds until the next call. */
class FileWindow {
  readonly #file: DiskFile;
  #buffer: Buffer;
  #bytes: Buffer;
  #view: DataView;
  #start = 0;

  constructor(file: DiskFile) {
    this.#file = file;
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(windowSize, file.size()));
    this.#bytes = this.#buffer.subarray(0, 0);
    this.#view = new DataView(this.#buffer.buffer);
  }

  /** At least `length` bytes from `position` on, if the file has them. `view` begins where `bytes` does. */
  need(position: number, length: number): { readonly bytes: Buffer; readonly view: DataView; readonly at: number } {
    const isInside = position >= this.#start && position + length <= this.#start + this.#bytes.length;
    if (!isInside) {
      if (length > this.#buffer.length) {
        this.#buffer = Buffer.allocUnsafeSlow(length);
        this.#view = new DataView(this.#buffer.buffer);
      }
      this.#bytes = this.#buffer.subarray(0, this.#file.readInto(position, this.#buffer));
      this.#start = position;
    }
    return { bytes: this.#bytes, view: this.#view, at: position - this.#start };
  }
}
