import { crc32Of } from "../../../model/checksum.ts";
import { getUint53, setUint53 } from "../../../model/varint.ts";
import type { HardState, ShardId, WalEntry, WalRecord } from "../../../service/ports.ts";

/**
 * The bytes of the write-ahead log. A file is preallocated and written in place:
 *
 *   file    = header page (the header twice, so that one damaged copy is no loss), groups …
 *   group   = group header (40 bytes), records …        one group per device write
 *   record  = record header (32 bytes), payload
 *
 * Every checksum is seeded by a random salt of the file, so neither the remains in a recycled file nor bytes that a
 * client chose can pass for records. The record checksum is chained: it covers the record before it. A group says up to
 * where the file was durable when it was written; so a valid group behind unreadable bytes proves that those bytes had
 * been synced once, and that they are damage and not a torn tail.
 */
export const fileHeaderSize = 4096;
const headerCopyPositions = [0, 2048] as const;
const headerCopySize = 32;
const fileMagic = 0x4c415751;
const fileVersion = 1;

export const groupHeaderSize = 40;
const groupMagic = 0x50524751;
export const recordHeaderSize = 32;

export interface FileHeader {
  readonly fileNumber: number;
  readonly salt: number;
}

export interface GroupHeader {
  /** Everything of the file before this position was durable when the group was written. */
  readonly durablePosition: number;
  readonly bodySize: number;
  readonly chainBefore: number;
}

/** Everything a new file must know about a shard so that older files can go. */
export interface ShardSummary {
  readonly hardState: HardState;
  readonly mark: { readonly index: number; readonly term: number };
  readonly lastIndex: number;
  readonly damage: string | undefined;
}

/** What lies in the log: the records of the port and the log's own. */
export type StoredRecord =
  | WalRecord
  | { readonly kind: "summary"; readonly shard: ShardId; readonly summary: ShardSummary }
  | { readonly kind: "repaired"; readonly shard: ShardId };

export interface RecordHeader {
  readonly payloadSize: number;
  readonly kind: StoredRecord["kind"];
  readonly entryKind: number;
  readonly shard: ShardId;
  readonly index: number;
  readonly term: number;
  readonly payloadCrc: number;
  readonly chain: number;
}

const kinds: readonly StoredRecord["kind"][] = ["entry", "hardState", "truncate", "mark", "summary", "repaired"];

export function encodeFileHeader(header: FileHeader): Uint8Array {
  const page = new Uint8Array(fileHeaderSize);
  for (const position of headerCopyPositions) {
    const view = new DataView(page.buffer, position, headerCopySize);
    view.setUint32(0, fileMagic, true);
    view.setUint32(4, fileVersion, true);
    setUint53(view, 8, header.fileNumber);
    view.setUint32(16, header.salt, true);
    view.setUint32(28, crc32Of(page, position, position + 28), true);
  }
  return page;
}

/** Undefined when neither copy is intact. */
export function decodeFileHeader(page: Uint8Array): FileHeader | undefined {
  for (const position of headerCopyPositions) {
    if (page.length < position + headerCopySize) return undefined;
    const view = new DataView(page.buffer, page.byteOffset + position, headerCopySize);
    if (view.getUint32(0, true) !== fileMagic || view.getUint32(4, true) !== fileVersion) continue;
    if (view.getUint32(28, true) !== crc32Of(page, position, position + 28)) continue;
    return { fileNumber: getUint53(view, 8), salt: view.getUint32(16, true) };
  }
  return undefined;
}

export function writeGroupHeader(
  bytes: Uint8Array,
  at: number,
  file: FileHeader,
  position: number,
  group: GroupHeader,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, groupHeaderSize);
  view.setUint32(0, groupMagic, true);
  view.setUint32(8, file.fileNumber % 4_294_967_296, true);
  setUint53(view, 12, position);
  setUint53(view, 20, group.durablePosition);
  view.setUint32(28, group.bodySize, true);
  view.setUint32(32, group.chainBefore, true);
  view.setUint32(36, 0, true);
  view.setUint32(4, crc32Of(bytes, at + 8, at + groupHeaderSize, file.salt), true);
}

/** The group header at `at`, which is `position` in the file, or undefined when there is none. */
export function readGroupHeader(
  bytes: Uint8Array,
  at: number,
  file: FileHeader,
  position: number,
): GroupHeader | undefined {
  if (bytes.length - at < groupHeaderSize) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, groupHeaderSize);
  if (view.getUint32(0, true) !== groupMagic) return undefined;
  if (view.getUint32(8, true) !== file.fileNumber % 4_294_967_296 || getUint53(view, 12) !== position) return undefined;
  if (view.getUint32(4, true) !== crc32Of(bytes, at + 8, at + groupHeaderSize, file.salt)) return undefined;
  return {
    durablePosition: getUint53(view, 20),
    bodySize: view.getUint32(28, true),
    chainBefore: view.getUint32(32, true),
  };
}

export function indexOfGroupMagic(bytes: Buffer, from: number): number {
  return bytes.indexOf(groupMagicBytes, from);
}

const groupMagicBytes = new Uint8Array(new Uint32Array([groupMagic]).buffer);

/** Writes the header and returns the new chain value. */
export function writeRecordHeader(
  bytes: Uint8Array,
  at: number,
  record: StoredRecord,
  payload: { readonly size: number; readonly crc: number },
  chainBefore: number,
): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, recordHeaderSize);
  const place = placeOf(record);
  view.setUint32(0, payload.size, true);
  view.setUint8(4, kinds.indexOf(record.kind));
  view.setUint8(5, record.kind === "entry" ? record.entry.kind : 0);
  view.setUint16(6, place.shard, true);
  setUint53(view, 8, place.index);
  setUint53(view, 16, place.term);
  view.setUint32(24, payload.crc, true);
  const chain = crc32Of(bytes, at, at + 28, chainBefore);
  view.setUint32(28, chain, true);
  return chain;
}

/** Undefined when the header does not continue the chain. `view` is over the same bytes. */
export function readRecordHeader(
  bytes: Uint8Array,
  view: DataView,
  at: number,
  chainBefore: number,
): RecordHeader | undefined {
  const header = readKnownRecordHeader(bytes, view, at);
  return header !== undefined && header.chain === crc32Of(bytes, at, at + 28, chainBefore) ? header : undefined;
}

/** Reads a header whose place is known from the index; its payload checksum still guards the payload. */
export function readKnownRecordHeader(bytes: Uint8Array, view: DataView, at: number): RecordHeader | undefined {
  if (bytes.length - at < recordHeaderSize) return undefined;
  const kind = kinds[view.getUint8(at + 4)];
  if (kind === undefined) return undefined;
  return {
    payloadSize: view.getUint32(at, true),
    kind,
    entryKind: view.getUint8(at + 5),
    shard: view.getUint16(at + 6, true),
    index: getUint53(view, at + 8),
    term: getUint53(view, at + 16),
    payloadCrc: view.getUint32(at + 24, true),
    chain: view.getUint32(at + 28, true),
  };
}

function placeOf(record: StoredRecord): { shard: ShardId; index: number; term: number } {
  switch (record.kind) {
    case "entry":
      return record.entry;
    case "truncate":
      return { shard: record.shard, index: record.index, term: 0 };
    case "mark":
      return record;
    default:
      return { shard: record.shard, index: 0, term: 0 };
  }
}

const nothing: readonly Uint8Array[] = [];

export function payloadOf(record: StoredRecord): readonly Uint8Array[] {
  switch (record.kind) {
    case "entry":
      return record.entry.payload;
    case "hardState":
      return [Buffer.from(JSON.stringify(record.state))];
    case "summary":
      return [Buffer.from(JSON.stringify(record.summary))];
    default:
      return nothing;
  }
}

export function decodeRecord(header: RecordHeader, payload: Uint8Array): StoredRecord {
  const { shard, index, term } = header;
  switch (header.kind) {
    case "entry":
      return { kind: "entry", entry: { shard, index, term, kind: header.entryKind, payload: [payload] } };
    case "hardState":
      return { kind: "hardState", shard, state: parseHardState(JSON.parse(textOf(payload))) };
    case "truncate":
      return { kind: "truncate", shard, index };
    case "mark":
      return { kind: "mark", shard, index, term };
    case "summary":
      return { kind: "summary", shard, summary: parseSummary(JSON.parse(textOf(payload))) };
    case "repaired":
      return { kind: "repaired", shard };
  }
}

/** Bytes an entry takes in memory and in a file, near enough for limits. */
export function entrySize(entry: WalEntry): number {
  return recordHeaderSize + sizeOfParts(entry.payload);
}

export function sizeOfParts(parts: readonly Uint8Array[]): number {
  let size = 0;
  for (const part of parts) size += part.length;
  return size;
}

/** JSON leaves out what is undefined. */
type StoredHardState = Omit<HardState, "votedFor"> & { readonly votedFor?: string | undefined };

function parseHardState(stored: StoredHardState): HardState {
  return { votedFor: undefined, ...stored };
}

function parseSummary(stored: ShardSummary): ShardSummary {
  return { ...stored, hardState: parseHardState(stored.hardState), damage: stored.damage };
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
}
