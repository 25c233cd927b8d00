import { type Disk, type DiskFile, isOutOfRoom } from "../../../../platform/files/disk.ts";
import type { Random } from "../../../../platform/random/random.ts";
import type { TimerHandle, Timers } from "../../../../platform/time/clock.ts";
import type { ShardId } from "../../../service/ports.ts";
import type { EncodedGroup, GroupTarget } from "./group-encoder.ts";
import type { ShardLogIndex } from "./shard-log-index.ts";
import { encodeFileHeader, type FileHeader, fileHeaderSize } from "./wal-format.ts";
import { type RecoveredWal, type WalFile, walFileName } from "./wal-recovery.ts";

/**
 * The files of the log: the one being written, the older ones still needed, and the next one, which is made ready ahead
 * of time (zeroed, its header and name durable), so that changing files costs nothing. A released file is used again.
 */
interface WalFilesOptions {
  readonly disk: Disk;
  readonly folder: string;
  readonly random: Random;
  readonly timers: Timers;
  readonly fileBytes: number;
  readonly retryFullMs: number;
  readonly recovered: RecoveredWal;
  /** The next file has become ready, or for lack of space it has not. */
  readonly onReady: () => void;
  readonly onFailure: (error: Error) => void;
}

/** Kept free in every file for what the first group says about all shards. */
const summaryBytes = 64 * 1024;
const temporaryName = "next.tmp";
/** Released files kept for use again: releases come in bursts, and zeroing a file costs as much as filling it. */
const stockMax = 8;

export class WalFiles {
  readonly #options: WalFilesOptions;
  readonly #disk: Disk;
  readonly #older: WalFile[];
  #current: WalFile | undefined;
  #spare: WalFile | undefined;
  #position: number;
  #chain: number;
  /** Where the file before the current one ended; written into the first group. */
  #previousEnd: number;
  #nextFileNumber: number;
  /** Paths of released files. */
  readonly #stock: string[] = [];
  #isPreparing = false;
  #isFull = false;
  #retryTimer: TimerHandle | undefined;
  #isClosed = false;

  constructor(options: WalFilesOptions) {
    const { recovered } = options;
    this.#options = options;
    this.#disk = options.disk;
    this.#older = recovered.files.slice(0, -1);
    this.#current = recovered.files.at(-1);
    this.#spare = recovered.spare;
    this.#position = recovered.end;
    this.#chain = recovered.chain;
    this.#previousEnd = recovered.previousEnd;
    this.#nextFileNumber = recovered.nextFileNumber;
  }

  start(): void {
    if (this.#spare === undefined) this.#prepareNext();
  }

  get fileBytes(): number {
    return this.#options.fileBytes;
  }
  get groupBytesMax(): number {
    const reserved = fileHeaderSize + Math.min(summaryBytes, this.fileBytes / 4);
    return this.fileBytes - reserved;
  }
  get sizeBytes(): number {
    return this.#older.length * this.fileBytes + (this.#current === undefined ? 0 : this.#position);
  }
  get currentFileNumber(): number {
    return this.#current?.header.fileNumber ?? 0;
  }
  get isPreparing(): boolean {
    return this.#isPreparing;
  }
  get isAtStart(): boolean {
    return this.#position === fileHeaderSize;
  }
  /** No next file, and little left in this one: what remains is for what must not be refused. */
  get isShortOfSpace(): boolean {
    if (!this.#isFull) return false;
    return this.#current === undefined || this.fileBytes - this.#position < this.fileBytes / 4;
  }

  hasRoom(size: number): boolean {
    return this.#current !== undefined && this.#position + size <= this.fileBytes;
  }

  /** False when the next file is not ready yet; `onReady` is called when it is. */
  startNextFile(): boolean {
    if (this.#spare === undefined) return false;
    if (this.#current !== undefined) this.#older.push(this.#current);
    this.#previousEnd = this.#position;
    this.#current = this.#spare;
    this.#spare = undefined;
    this.#position = fileHeaderSize;
    this.#chain = this.#current.header.salt;
    this.#prepareNext();
    return true;
  }

  target(): GroupTarget {
    return {
      header: this.#mustCurrent().header,
      position: this.#position,
      durablePosition: this.isAtStart ? this.#previousEnd : this.#position,
      chain: this.#chain,
    };
  }

  /** Writes a group that was encoded for `target()`. A full disk is tried again until there is room. */
  write(group: EncodedGroup, onDone: (error: Error | undefined) => void): void {
    this.#mustCurrent().file.writeDurably(this.#position, group.buffers, (error) => {
      if (isOutOfRoom(error) && !this.#isClosed) {
        this.#isFull = true;
        this.#options.timers.after(this.#options.retryFullMs, () => this.write(group, onDone));
        return;
      }
      if (error === undefined) {
        this.#position += group.size;
        this.#chain = group.chain;
      }
      onDone(error);
    });
  }

  noteEntry(shard: ShardId, index: number): void {
    this.#current?.lastIndexByShard.set(shard, index);
  }

  /** Frees the oldest files whose entries all shards have in their own files. */
  dropReleased(shards: ReadonlyMap<ShardId, ShardLogIndex>): void {
    let oldest = this.#older[0];
    while (oldest !== undefined && isReleased(oldest, shards)) {
      this.#older.shift();
      oldest.file.close();
      this.#keepForUse(oldest.header);
      oldest = this.#older[0];
    }
    if (this.#spare === undefined && !this.#isPreparing && this.#stock.length > 0) this.#prepareNext();
  }

  /** @throws Error when the file is gone */
  read(fileNumber: number, position: number, target: Uint8Array): number {
    const found =
      this.#current?.header.fileNumber === fileNumber
        ? this.#current
        : this.#older.find((file) => file.header.fileNumber === fileNumber);
    if (found === undefined) throw new Error(`Cannot read ${walFileName(fileNumber)}: the file was released`);
    return found.file.readInto(position, target);
  }

  close(): void {
    this.#isClosed = true;
    this.#retryTimer?.cancel();
    for (const { file } of [...this.#older, this.#current, this.#spare].filter((entry) => entry !== undefined)) {
      file.close();
    }
  }

  #keepForUse(header: FileHeader): void {
    const path = this.#path(walFileName(header.fileNumber));
    if (this.#stock.length === stockMax) {
      this.#disk.remove(path);
      return;
    }
    const stocked = this.#path(`released-${header.fileNumber}.tmp`);
    this.#disk.rename(path, stocked);
    this.#stock.push(stocked);
  }

  #prepareNext(): void {
    this.#prepare(() => {
      const temporary = this.#path(temporaryName);
      const released = this.#stock.shift();
      this.#disk.remove(temporary);
      if (released === undefined) return this.#disk.open(temporary, "create");
      this.#disk.rename(released, temporary);
      return this.#disk.open(temporary, "read-write");
    });
  }

  /** The file gets its name last, so that a named file always has its header. */
  #prepare(open: () => DiskFile): void {
    this.#isPreparing = true;
    this.#retryTimer?.cancel();
    this.#retryTimer = undefined;
    const salt = Buffer.from(this.#options.random.bytes(4)).readUInt32LE();
    const header: FileHeader = { fileNumber: this.#nextFileNumber, salt };
    this.#nextFileNumber += 1;
    let file: DiskFile | undefined;
    const finish = (error: Error | undefined): void => {
      this.#isPreparing = false;
      if (error === undefined && file !== undefined && !this.#isClosed) this.#adopt(file, header);
      else this.#giveUp(file, header, error);
    };
    try {
      const opened = open();
      file = opened;
      opened.preallocateLater(this.fileBytes, (error) => {
        if (error !== undefined || this.#isClosed) finish(error);
        else opened.writeDurably(0, [encodeFileHeader(header)], finish);
      });
    } catch (error) {
      finish(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #adopt(file: DiskFile, header: FileHeader): void {
    try {
      this.#disk.rename(this.#path(temporaryName), this.#path(walFileName(header.fileNumber)));
      this.#disk.syncFolder(this.#options.folder);
    } catch (error) {
      file.close();
      this.#options.onFailure(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.#isFull = false;
    this.#spare = { header, file, lastIndexByShard: new Map() };
    this.#options.onReady();
  }

  #giveUp(file: DiskFile | undefined, header: FileHeader, error: Error | undefined): void {
    file?.close();
    if (this.#isClosed || error === undefined) return;
    if (!isOutOfRoom(error)) {
      this.#options.onFailure(error);
      return;
    }
    this.#nextFileNumber = header.fileNumber;
    this.#isFull = true;
    this.#disk.remove(this.#path(temporaryName));
    this.#retryTimer = this.#options.timers.after(this.#options.retryFullMs, () => this.#prepareNext(), {
      isBackground: true,
    });
    this.#options.onReady();
  }

  #mustCurrent(): WalFile {
    if (this.#current === undefined) throw new Error("the log has no file to write to");
    return this.#current;
  }

  #path(name: string): string {
    return `${this.#options.folder}/${name}`;
  }
}

function isReleased(file: WalFile, shards: ReadonlyMap<ShardId, ShardLogIndex>): boolean {
  for (const [shard, index] of file.lastIndexByShard) {
    if (index > (shards.get(shard)?.durableMarkIndex ?? 0)) return false;
  }
  return true;
}
