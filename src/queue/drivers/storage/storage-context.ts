import { type Disk, type DiskFile, isOutOfRoom } from "../../../platform/files/disk.ts";
import type { BatchView } from "../../model/record-batch.ts";
import { FileCache } from "./file-cache.ts";
import type { GranuleIndex } from "./granule-index.ts";

/** What all partitions of a shard share: open files, cached indexes, what waits for being written and synced. */
export class StorageContext {
  readonly disk: Disk;
  /** Everything of the shard lies below. */
  readonly folder: string;
  readonly files: FileCache;
  readonly indexes: IndexCache;
  readonly recentReads = new RecentReads();
  /** Files written to since the last checkpoint. */
  readonly dirtyFiles = new Set<string>();
  /** Folders that got files since the last checkpoint. */
  readonly dirtyFolders = new Set<string>();
  unwrittenBytes = 0;
  isDiskFull = false;
  /** The write or sync error after which nothing more is believed. */
  failure: Error | undefined;
  #nextSequence = 1;
  readonly #knownFolders = new Set<string>();

  constructor(disk: Disk, folder: string, limits: { readonly openFiles: number; readonly indexCacheBytes: number }) {
    this.disk = disk;
    this.folder = folder;
    this.files = new FileCache(disk, limits.openFiles);
    this.indexes = new IndexCache(limits.indexCacheBytes);
  }

  get nextSequence(): number {
    return this.#nextSequence;
  }

  restoreSequence(next: number): void {
    this.#nextSequence = next;
  }

  takeSequence(): number {
    const sequence = this.#nextSequence;
    this.#nextSequence += 1;
    return sequence;
  }

  /** Runs a write. Lack of space is noted, to be tried again; any other error is final. */
  tryWrite(write: () => void): void {
    try {
      write();
      this.isDiskFull = false;
    } catch (error) {
      if (isOutOfRoom(error)) {
        this.isDiskFull = true;
        return;
      }
      this.failure ??= error instanceof Error ? error : new Error(String(error));
      throw error;
    }
  }

  createFile(path: string): DiskFile {
    const folder = path.slice(0, path.lastIndexOf("/"));
    if (!this.#knownFolders.has(folder)) this.#makeFolder(folder);
    this.dirtyFolders.add(folder);
    return this.files.create(path);
  }

  #makeFolder(folder: string): void {
    this.disk.makeFolder(folder);
    this.#knownFolders.add(folder);
    for (let at = folder.lastIndexOf("/"); at >= this.folder.length; at = folder.lastIndexOf("/", at - 1)) {
      this.dirtyFolders.add(folder.slice(0, at));
    }
  }

  forgetFolder(folder: string): void {
    this.#knownFolders.delete(folder);
    this.dirtyFolders.delete(folder);
  }

  forgetFile(path: string): void {
    this.files.forget(path);
    this.dirtyFiles.delete(path);
    this.indexes.delete(path);
  }
}

/** Indexes of closed segments, the least recently used dropped first; they can be read again. */
class IndexCache {
  readonly #limitBytes: number;
  readonly #indexes = new Map<string, GranuleIndex>();
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get(path: string): GranuleIndex | undefined {
    const index = this.#indexes.get(path);
    if (index !== undefined) {
      this.#indexes.delete(path);
      this.#indexes.set(path, index);
    }
    return index;
  }

  put(path: string, index: GranuleIndex): void {
    this.delete(path);
    this.#indexes.set(path, index);
    this.#bytes += index.sizeBytes;
    for (const [oldest] of this.#indexes) {
      if (this.#bytes <= this.#limitBytes || this.#indexes.size === 1) break;
      this.delete(oldest);
    }
  }

  delete(path: string): void {
    const index = this.#indexes.get(path);
    if (index === undefined) return;
    this.#bytes -= index.sizeBytes;
    this.#indexes.delete(path);
  }
}

/**
 * What the last point reads of a few partitions brought in besides what was asked for: delivery asks for one batch after
 * the other. The least recently used is dropped first.
 */
class RecentReads {
  readonly #batches = new Map<object, readonly BatchView[]>();

  get(log: object): readonly BatchView[] {
    return this.#batches.get(log) ?? [];
  }

  put(log: object, batches: readonly BatchView[]): void {
    this.#batches.delete(log);
    let size = 0;
    for (const batch of batches) size += batch.sizeBytes;
    if (size > recentReadBytesMax) return;
    this.#batches.set(log, batches);
    const [oldest] = this.#batches.keys();
    if (this.#batches.size > recentReadsMax && oldest !== undefined) this.#batches.delete(oldest);
  }

  delete(log: object): void {
    this.#batches.delete(log);
  }
}

const recentReadsMax = 64;
const recentReadBytesMax = 64 * 1024;
