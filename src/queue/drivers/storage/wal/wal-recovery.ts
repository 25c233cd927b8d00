import type { Disk, DiskFile } from "../../../../platform/files/disk.ts";
import type { ShardId } from "../../../service/ports.ts";
import { ShardLogIndex } from "./shard-log-index.ts";
import {
  decodeFileHeader,
  type FileHeader,
  fileHeaderSize,
  type RecordHeader,
  type ShardSummary,
  type StoredRecord,
} from "./wal-format.ts";
import { hasAnyGroup, readFirstGroup, scanWalFile } from "./wal-scan.ts";

/**
 * Opens the files of a log and rebuilds what it holds per shard. The files are read once, oldest first. A shard whose
 * part of the log is not what was once synced is marked as damaged, with the file and the position; the mark stays in
 * the log until the shard is declared repaired.
 */
export interface WalFile {
  readonly header: FileHeader;
  readonly file: DiskFile;
  /** Highest entry of each shard in this file. */
  readonly lastIndexByShard: Map<ShardId, number>;
}

export interface RecoveredWal {
  readonly shards: Map<ShardId, ShardLogIndex>;
  /** Files written to, oldest first. */
  readonly files: readonly WalFile[];
  /** A file that was made ready and not yet written to. */
  readonly spare: WalFile | undefined;
  /** Where writing goes on in the last file. */
  readonly end: number;
  readonly chain: number;
  /** Where the file before the last one ended. */
  readonly previousEnd: number;
  readonly nextFileNumber: number;
}

export function walFileName(fileNumber: number): string {
  return `${String(fileNumber).padStart(12, "0")}.wal`;
}

export function recoverWal(disk: Disk, folder: string): RecoveredWal {
  const opened = openFiles(disk, folder);
  const { files, unreadable } = opened;
  if (files.length === 0 && unreadable.length > 0) {
    throw new Error(`Cannot open write-ahead log: no header is readable in ${unreadable.join(", ")}`);
  }
  const gap = files.findLastIndex((file, at) => at > 0 && numberOf(file) !== numberOf(files[at - 1]) + 1);
  // Files go oldest first, but a power failure may bring one back that was to go before one that is gone already. If what
  // lies behind the gap is whole without it, nothing is missing.
  if (gap > 0) {
    const rest = scanFiles(files.slice(gap), unreadable);
    if ([...rest.shards.values()].every((shard) => shard.damage === undefined)) {
      for (const { file } of files.slice(0, gap)) {
        file.close();
        disk.remove(file.path);
      }
      return { ...opened, ...rest };
    }
  }
  return { ...opened, ...scanFiles(files, unreadable) };
}

function scanFiles(
  files: readonly WalFile[],
  unreadable: readonly string[],
): Pick<RecoveredWal, "shards" | "files" | "end" | "chain" | "previousEnd"> {
  const recovery = new Recovery();
  if (unreadable.length > 0) recovery.loseAll(`file ${unreadable.join(", ")} has no readable header`);
  let end = fileHeaderSize;
  let chain = 0;
  let previousEnd = 0;
  for (const [position, walFile] of files.entries()) {
    const next = files[position + 1];
    if (next !== undefined && numberOf(next) !== numberOf(walFile) + 1) {
      recovery.loseAll(`file ${walFileName(numberOf(walFile) + 1)} is missing`);
    }
    const expectedEnd = next === undefined ? undefined : readFirstGroup(next.file, next.header)?.durablePosition;
    recovery.enter(walFile);
    const result = scanWalFile(walFile.file, walFile.header, { expectedEnd }, recovery);
    previousEnd = position === 0 ? 0 : end;
    end = result.end;
    chain = result.chain;
  }
  recovery.finish();
  return { shards: recovery.shards, files, end, chain, previousEnd };
}

function numberOf(file: WalFile | undefined): number {
  return file?.header.fileNumber ?? 0;
}

class Recovery {
  readonly shards = new Map<ShardId, ShardLogIndex>();
  readonly #damagedEntries: { shard: ShardId; index: number; file: WalFile; position: number }[] = [];
  /** Damage that concerns shards not met yet, too. */
  #lossOfAll: string | undefined;
  #file: WalFile | undefined;

  enter(file: WalFile): void {
    this.#file = file;
  }

  onEntry({ shard, index, term }: RecordHeader, position: number): void {
    this.#placeEntry(shard, index, term, position);
  }

  onRecord(record: StoredRecord): void {
    if (record.kind === "entry") return;
    const shard = this.#shard(record.shard);
    switch (record.kind) {
      case "hardState":
        shard.hardState = record.state;
        return;
      case "truncate":
        shard.truncateFrom(record.index);
        return;
      case "mark":
        shard.moveMark(record.index, record.term);
        shard.durableMarkIndex = shard.mark.index;
        return;
      case "repaired":
        shard.damage = undefined;
        return;
      case "summary":
        this.#compareSummary(shard, record.summary);
    }
  }

  onDamagedRecord(header: RecordHeader, position: number): void {
    const file = this.#currentFile();
    if (header.kind === "entry") {
      this.#placeEntry(header.shard, header.index, header.term, position);
      this.#damagedEntries.push({ shard: header.shard, index: header.index, file, position });
    } else this.#shard(header.shard).damage ??= `${header.kind} record damaged at ${this.#where(file, position)}`;
  }

  onLostRange(from: number, to: number): void {
    this.loseAll(`unreadable bytes at ${this.#where(this.#currentFile(), from)} to ${to}`);
  }

  loseAll(reason: string): void {
    this.#lossOfAll ??= reason;
    for (const shard of this.shards.values()) shard.damage ??= reason;
  }

  finish(): void {
    for (const { shard: id, index, file, position } of this.#damagedEntries) {
      const shard = this.#shard(id);
      const place = shard.placeOf(index);
      const isHeld = place?.fileNumber === file.header.fileNumber && place.position === position;
      if (!isHeld || index <= shard.mark.index) continue;
      shard.truncateFrom(index);
      shard.damage ??= `entry ${index} damaged at ${this.#where(file, position)}`;
    }
    for (const shard of this.shards.values()) {
      if (shard.mark.index < shard.firstIndex - 1) {
        shard.damage ??= `entries ${shard.mark.index + 1} to ${shard.firstIndex - 1} are missing`;
      }
    }
  }

  #placeEntry(id: ShardId, index: number, term: number, position: number): void {
    const shard = this.#shard(id);
    const { fileNumber } = this.#currentFile().header;
    this.#currentFile().lastIndexByShard.set(id, index);
    if (index > shard.lastIndex + 1) {
      shard.damage ??= `entries ${shard.lastIndex + 1} to ${index - 1} are missing`;
      return;
    }
    if (index < shard.firstIndex) return;
    shard.truncateFrom(index);
    shard.appendPlaced(index, term, { fileNumber, position });
  }

  /** The first summary of a shard says where its log begins; a later one must agree with what was read. */
  #compareSummary(shard: ShardLogIndex, summary: ShardSummary): void {
    if (shard.lastIndex === 0 && shard.mark.index === 0 && shard.hardState.term === 0) {
      const lossSoFar = shard.damage;
      shard.restore(summary);
      shard.damage ??= lossSoFar;
      return;
    }
    shard.hardState = summary.hardState;
    shard.damage ??= summary.damage;
    if (shard.lastIndex < summary.lastIndex) {
      shard.damage ??= `entries ${shard.lastIndex + 1} to ${summary.lastIndex} are missing`;
    }
  }

  #shard(id: ShardId): ShardLogIndex {
    let shard = this.shards.get(id);
    if (shard === undefined) {
      shard = new ShardLogIndex(id);
      shard.damage = this.#lossOfAll;
      this.shards.set(id, shard);
    }
    return shard;
  }

  #currentFile(): WalFile {
    if (this.#file === undefined) throw new Error("no file is being read");
    return this.#file;
  }

  #where(file: WalFile, position: number): string {
    return `${walFileName(file.header.fileNumber)} position ${position}`;
  }
}

interface OpenedFiles {
  readonly files: readonly WalFile[];
  readonly spare: WalFile | undefined;
  readonly unreadable: readonly string[];
  readonly nextFileNumber: number;
}

/**
 * A file gets its name only when its header is durable: one without a header is damaged. One whose header has another
 * number is a released file that was on its way to be used again.
 */
function openFiles(disk: Disk, folder: string): OpenedFiles {
  const opened: { readonly walFile: WalFile; readonly isWritten: boolean }[] = [];
  const unreadable: string[] = [];
  for (const name of disk.list(folder)) {
    const path = `${folder}/${name}`;
    if (!walFileNamePattern.test(name)) {
      disk.remove(path);
      continue;
    }
    const file = disk.open(path, "read-write");
    // What a killed process had written and not synced is about to be believed: make it durable first.
    file.sync();
    const header = decodeFileHeader(file.read(0, fileHeaderSize));
    if (header !== undefined && walFileName(header.fileNumber) === name) {
      const walFile = { header, file, lastIndexByShard: new Map<ShardId, number>() };
      opened.push({ walFile, isWritten: hasAnyGroup(file, header) });
      continue;
    }
    file.close();
    if (header === undefined) unreadable.push(name);
    else disk.remove(path);
  }
  // What an earlier life renamed and removed must not come back after files have been used again.
  disk.syncFolder(folder);
  const lastWritten = opened.findLastIndex((entry) => entry.isWritten);
  const files = opened.slice(0, lastWritten + 1).map((entry) => entry.walFile);
  const [spare, ...surplus] = opened.slice(lastWritten + 1).map((entry) => entry.walFile);
  for (const { file } of surplus) {
    file.close();
    disk.remove(file.path);
  }
  const isNext = spare !== undefined && spare.header.fileNumber === (files.at(-1)?.header.fileNumber ?? 0) + 1;
  if (spare !== undefined && !isNext) {
    spare.file.close();
    disk.remove(spare.file.path);
  }
  const ready = isNext ? [...files, spare] : files;
  const taken = [
    ...unreadable.map((name) => Number.parseInt(name, 10)),
    ...ready.map((file) => file.header.fileNumber),
  ];
  return { files, spare: isNext ? spare : undefined, unreadable, nextFileNumber: Math.max(0, ...taken) + 1 };
}

const walFileNamePattern = /^\d{12}\.wal$/;
