import { assert } from "../../../platform/errors/assert.ts";
import { type Disk, isOutOfRoom } from "../../../platform/files/disk.ts";
import type { DelayStore } from "../../service/delay-store.ts";
import type {
  Checkpoint,
  PartitionId,
  PartitionLog,
  PartitionLogStore,
  ShardStorage,
  StorageFactory,
} from "../../service/partition-log.ts";
import { readCheckpoint, syncFile, syncFolder, writeCheckpointFile } from "./checkpoint-file.ts";
import type { PartitionLimits } from "./compaction.ts";
import { FileDelayStore } from "./delay/file-delay-store.ts";
import { makeDurableFolder } from "./durable-folder.ts";
import { FilePartitionLog, type PartitionState } from "./file-partition-log.ts";
import type { Segment } from "./segment.ts";
import { StorageContext } from "./storage-context.ts";

/**
 * The files of one shard. Opening reads one file, the checkpoint, however many partitions and however much data there
 * are; a partition's own files are opened when it is first used. What lies in files beyond the checkpoint is written
 * again from the write-ahead log.
 *
 * A checkpoint has two parts. At once: all tails are written and the state of every partition is taken, so that it
 * belongs to one log index. Later, while entries go on being applied: the files are synced, then the checkpoint file,
 * and only then are the files removed that the checkpoint before needed.
 */
export interface StorageLimits extends PartitionLimits {
  readonly openFiles: number;
  readonly indexCacheBytes: number;
  /** All tails of a shard together; above, they are written. */
  readonly unwrittenBytes: number;
  /** Syncs under way at once. */
  readonly syncConcurrency: number;
}

const defaultStorageLimits: StorageLimits = {
  segmentBytes: 64 * 1024 * 1024,
  compactionKeysMax: 500_000,
  openFiles: 64,
  indexCacheBytes: 4 * 1024 * 1024,
  unwrittenBytes: 8 * 1024 * 1024,
  syncConcurrency: 2,
};

interface StorageOptions {
  readonly disk: Disk;
  /** Holds one folder per shard. */
  readonly folder: string;
  readonly runSoon: (callback: () => void) => void;
  readonly limits?: Partial<StorageLimits>;
}

/** A shard's storage with its delayed messages, which are part of the same checkpoints. */
export interface ShardStorageWithDelays extends ShardStorage {
  readonly delays: DelayStore;
}

interface FileStorageFactory extends StorageFactory {
  openShard(shard: number): ShardStorageWithDelays;
  /** The delayed messages of a shard that is open. */
  openDelayStore(shard: number): DelayStore;
}

export function createStorageFactory(options: StorageOptions): FileStorageFactory {
  const open = new Map<number, FileShardStorage>();
  return {
    openShard(shard) {
      const storage = new FileShardStorage(options, `${options.folder}/${shard}`);
      open.set(shard, storage);
      return storage;
    },
    openDelayStore(shard) {
      const storage = open.get(shard);
      assert(storage !== undefined, `shard ${shard} is open`);
      return storage.delays;
    },
  };
}

/** Written in one go when too much waits in memory: a millisecond or two, however many partitions there are. */
const partitionsPerWrite = 32;

interface Manifest {
  readonly version: 1;
  readonly nextSequence: number;
  readonly partitions: readonly PartitionState[];
}

interface Garbage {
  readonly files: string[];
  readonly folders: string[];
}

class FileShardStorage implements ShardStorageWithDelays, PartitionLogStore {
  readonly delays: FileDelayStore;
  readonly lastCheckpoint: Checkpoint | undefined;
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #limits: StorageLimits;
  readonly #runSoon: (callback: () => void) => void;
  readonly #context: StorageContext;
  readonly #logs = new Map<string, FilePartitionLog>();
  /** Logs whose state differs from what the last checkpoint said. */
  readonly #changed = new Set<FilePartitionLog>();
  /** Logs that may have batches in memory only, the longest waiting first. */
  readonly #unwritten = new Set<FilePartitionLog>();
  /** States as of the last checkpoint, so that resting partitions cost nothing. */
  readonly #states = new Map<string, PartitionState>();
  #garbage: Garbage = { files: [], folders: [] };
  #checkpointing: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: StorageOptions, folder: string) {
    this.#disk = options.disk;
    this.#folder = folder;
    this.#limits = { ...defaultStorageLimits, ...options.limits };
    this.#runSoon = options.runSoon;
    makeDurableFolder(options.disk, folder);
    this.#context = new StorageContext(options.disk, folder, this.#limits);
    this.delays = new FileDelayStore(this.#context);
    const found = readCheckpoint(options.disk, folder);
    if (found !== undefined) {
      this.#restore(JSON.parse(Buffer.from(found.manifest).toString("utf8")));
      this.lastCheckpoint = { index: found.index, term: found.term, state: found.state };
    }
    this.#removeUnknownTopics();
  }

  get partitions(): PartitionLogStore {
    return this;
  }
  /** Asking tries again: while proposals are refused, nothing else would find out that there is room. */
  get isDiskFull(): boolean {
    if (!this.#context.isDiskFull) return false;
    this.#context.isDiskFull = false;
    this.#writeSome();
    if (!this.#context.isDiskFull) this.delays.writeSome();
    return this.#context.isDiskFull;
  }
  get unwrittenBytes(): number {
    return this.#context.unwrittenBytes;
  }

  find(id: PartitionId): PartitionLog | undefined {
    return this.#logs.get(keyOf(id));
  }

  ensure(id: PartitionId): PartitionLog {
    const present = this.#logs.get(keyOf(id));
    if (present !== undefined) return present;
    const log = this.#createLog({ ...id, logStartOffset: 0, logEndOffset: 0, compactedTo: 0, segments: [] });
    this.#changed.add(log);
    return log;
  }

  delete(id: PartitionId): void {
    const log = this.#logs.get(keyOf(id));
    if (log === undefined) return;
    log.markDeleted();
    this.#logs.delete(keyOf(id));
    this.#states.delete(keyOf(id));
    this.#changed.delete(log);
    this.#unwritten.delete(log);
    this.#garbage.folders.push(log.folder);
  }

  list(): readonly PartitionId[] {
    return [...this.#logs.values()].map((log) => log.id);
  }

  async writeCheckpoint(checkpoint: Checkpoint): Promise<void> {
    if (this.#context.failure !== undefined) throw this.#context.failure;
    if (this.#isClosed) throw new Error("Cannot write a checkpoint: the shard's storage is closed");
    if (this.#checkpointing !== undefined) throw new Error("Cannot write a checkpoint: one is being written");
    this.#checkpointing = this.#checkpoint(checkpoint).finally(() => {
      this.#checkpointing = undefined;
    });
    return this.#checkpointing;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#checkpointing?.catch(() => undefined);
    this.#context.files.closeAll();
  }

  async #checkpoint(checkpoint: Checkpoint): Promise<void> {
    const manifest = this.#takeManifest();
    const files = [...this.#context.dirtyFiles];
    const folders = [...this.#context.dirtyFolders];
    const garbage = this.#garbage;
    this.#context.dirtyFiles.clear();
    this.#context.dirtyFolders.clear();
    this.#garbage = { files: [], folders: [] };
    try {
      await this.#forEach(files, (path) => orFinal(syncFile(this.#context.files.get(path))));
      await this.#forEach(folders, (path) => orFinal(syncFolder(this.#disk, path)));
      await writeCheckpointFile(this.#disk, this.#folder, { ...checkpoint, manifest });
    } catch (error) {
      this.#undoCheckpoint(files, folders, garbage);
      this.#context.tryWrite(() => {
        throw error;
      });
      throw isOutOfRoom(error) ? diskFullError(error) : error;
    }
    this.#removeGarbage(garbage);
  }

  /** All or nothing: lack of space leaves everything for the next time. */
  #takeManifest(): Uint8Array {
    const changed = [...this.#changed];
    const states: PartitionState[] = [];
    this.#context.tryWrite(() => {
      for (const log of changed) states.push(log.checkpoint());
    });
    if (states.length < changed.length) {
      throw diskFullError();
    }
    for (const state of states) this.#states.set(keyOf(state), state);
    this.#changed.clear();
    this.#unwritten.clear();
    const partitions = [...this.#states.values()];
    const manifest: Manifest = { version: 1, nextSequence: this.#context.nextSequence, partitions };
    return Buffer.from(JSON.stringify(manifest));
  }

  #undoCheckpoint(files: readonly string[], folders: readonly string[], garbage: Garbage): void {
    for (const path of files) this.#context.dirtyFiles.add(path);
    for (const path of folders) this.#context.dirtyFolders.add(path);
    this.#garbage = {
      files: [...garbage.files, ...this.#garbage.files],
      folders: [...garbage.folders, ...this.#garbage.folders],
    };
  }

  #removeGarbage(garbage: Garbage): void {
    for (const path of garbage.files) {
      this.#context.forgetFile(path);
      this.#disk.remove(path);
    }
    for (const folder of garbage.folders) {
      this.#context.forgetFolder(folder);
      if (![...this.#logs.values()].some((log) => log.folder === folder)) this.#disk.removeTree(folder);
      const topicFolder = folder.slice(0, folder.lastIndexOf("/"));
      if (this.#disk.list(topicFolder).length === 0) this.#disk.removeTree(topicFolder);
    }
  }

  async #forEach<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
    const queue = items.values();
    const work = async (): Promise<void> => {
      for (const item of queue) await act(item);
    };
    await Promise.all(Array.from({ length: this.#limits.syncConcurrency }, work));
  }

  #restore(manifest: Manifest): void {
    if (manifest.version !== 1) throw new Error(`Cannot open shard storage: manifest version ${manifest.version}`);
    this.#context.restoreSequence(manifest.nextSequence);
    for (const state of manifest.partitions) {
      this.#createLog(state);
      this.#states.set(keyOf(state), state);
    }
    this.#changed.clear();
  }

  #createLog(state: PartitionState): FilePartitionLog {
    const log: FilePartitionLog = new FilePartitionLog(
      {
        context: this.#context,
        limits: this.#limits,
        discard: (segment) => this.#discard(segment),
        noteChange: (changed) => this.#noteChange(changed),
        pause: () => new Promise((resolve) => this.#runSoon(resolve)),
      },
      state,
    );
    this.#logs.set(keyOf(state), log);
    return log;
  }

  #noteChange(log: FilePartitionLog): void {
    if (!log.isDeleted) this.#changed.add(log);
    this.#unwritten.add(log);
    if (this.#context.unwrittenBytes > this.#limits.unwrittenBytes && !this.#context.isDiskFull) this.#writeSome();
  }

  #writeSome(): void {
    let count = 0;
    for (const log of this.#unwritten) {
      if (count === partitionsPerWrite) return;
      log.flush();
      if (this.#context.isDiskFull) return;
      this.#unwritten.delete(log);
      count += 1;
    }
  }

  #discard(segment: Segment): void {
    segment.drop();
    this.#garbage.files.push(segment.path, segment.indexPath);
  }

  /** Folders of topics that were made after the checkpoint, or deleted and not yet removed. */
  #removeUnknownTopics(): void {
    const known = new Set([...this.#logs.values()].map((log) => log.id.topicId));
    for (const name of this.#disk.list(`${this.#folder}/topics`)) {
      if (!known.has(name)) this.#disk.removeTree(`${this.#folder}/topics/${name}`);
    }
  }
}

/**
 * A failed sync is final whatever its code, lack of space included: the system may have dropped what was written, and
 * would report success the next time.
 */
async function orFinal(sync: Promise<void>): Promise<void> {
  try {
    await sync;
  } catch (error) {
    throw new Error(`Cannot sync: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function diskFullError(cause?: unknown): Error {
  return Object.assign(new Error("Cannot write a checkpoint: the disk is full", { cause }), { code: "ENOSPC" });
}

function keyOf(id: PartitionId): string {
  return `${id.topicId}/${id.partition}`;
}
