import type { PartitionRef } from "../../../model/commands/shard-command.ts";
import type { DelayedEntry, DelayStore } from "../../../service/delay-store.ts";
import type { StorageContext } from "../storage-context.ts";
import type { DelayBucket } from "./delay-bucket.ts";
import { DelayLog, type DelayLogState } from "./delay-log.ts";

/**
 * The delayed messages of a shard on disk. It shares the shard's list of files to sync: `prepareCheckpoint` writes and
 * says what there is, and the shard's checkpoint that follows at once syncs it. What is in memory is bounded: unwritten
 * records, the look-up tables of a few buckets, and some numbers per bucket of up to 2,048 messages.
 */
const unwrittenBytesMax = 4 * 1024 * 1024;
/** Written in one go when there is too much: a millisecond or two, not all that waits. */
const bucketsPerFlush = 32;
const loadedEntriesMax = 16_384;
/** How often the second limit is looked at. */
const callsPerLimit = 64;

interface DelayManifest {
  readonly version: 1;
  readonly logs: readonly DelayLogState[];
}

export class FileDelayStore implements DelayStore {
  readonly #context: StorageContext;
  readonly #logs = new Map<string, DelayLog>();
  /** The least recently used first. */
  readonly #loaded = new Set<DelayBucket>();
  /** Buckets with something to write, the longest waiting first. */
  readonly #dirty = new Set<DelayBucket>();
  #unwrittenBytes = 0;
  #callsSinceLimit = 0;
  #garbage: string[] = [];
  #garbageOfPrepared: string[] = [];

  constructor(context: StorageContext) {
    this.#context = context;
  }

  add(ref: PartitionRef, entry: DelayedEntry): void {
    this.#ensure(ref).add(entry);
    if (this.#unwrittenBytes > unwrittenBytesMax) this.writeSome();
    this.#limitLoaded();
  }

  find(ref: PartitionRef, sequence: number): DelayedEntry | undefined {
    const entry = this.#logs.get(keyOf(ref))?.find(sequence);
    this.#limitLoaded();
    return entry;
  }

  remove(ref: PartitionRef, entry: { readonly sequence: number; readonly dueMs: number }): boolean {
    return this.#logs.get(keyOf(ref))?.remove(entry.sequence, entry.dueMs) ?? false;
  }

  dropTopic(topicNumber: number): void {
    for (const [key, log] of this.#logs) {
      if (log.ref.topicNumber === topicNumber) this.#giveUp(key, log);
    }
  }

  count(ref: PartitionRef): number {
    return this.#logs.get(keyOf(ref))?.count ?? 0;
  }

  partitions(): readonly PartitionRef[] {
    return [...this.#logs.values()].filter((log) => log.count > 0).map((log) => log.ref);
  }

  scan(
    ref: PartitionRef,
    options: { readonly untilMs?: number; readonly skip?: number; readonly limit: number },
  ): readonly DelayedEntry[] {
    const { untilMs = Number.POSITIVE_INFINITY, skip = 0, limit } = options;
    const found = this.#logs.get(keyOf(ref))?.scan(untilMs, skip, limit) ?? [];
    this.#limitLoaded();
    return found;
  }

  nextDueMs(ref: PartitionRef): number | undefined {
    return this.#logs.get(keyOf(ref))?.nextDueMs;
  }

  prepareCheckpoint(): string {
    for (const [key, log] of this.#logs) if (log.count === 0) this.#giveUp(key, log);
    for (const log of this.#logs.values()) log.flush();
    this.#dirty.clear();
    this.#unwrittenBytes = 0;
    this.#garbageOfPrepared.push(...this.#garbage.splice(0));
    const logs = [...this.#logs.values()].map((log) => log.state());
    const manifest: DelayManifest = { version: 1, logs };
    return JSON.stringify(manifest);
  }

  commitCheckpoint(_manifest: string): void {
    for (const path of this.#garbageOfPrepared.splice(0)) this.#removeFile(path);
  }

  restore(manifest: string | undefined): void {
    for (const [key, log] of this.#logs) this.#giveUp(key, log);
    const parsed: DelayManifest =
      manifest === undefined || manifest === "" ? { version: 1, logs: [] } : JSON.parse(manifest);
    if (parsed.version !== 1) throw new Error(`Cannot open delayed messages: manifest version ${parsed.version}`);
    for (const state of parsed.logs) this.#logs.set(keyOf(state), this.#createLog(state));
    this.#removeUnknownFiles();
  }

  close(): void {
    this.#logs.clear();
    this.#loaded.clear();
  }

  /** Writes what has waited longest; stops when the disk is full. */
  writeSome(): void {
    let count = 0;
    for (const bucket of this.#dirty) {
      if (count === bucketsPerFlush) return;
      this.#flushBucket(bucket);
      if (this.#context.isDiskFull) return;
      count += 1;
    }
  }

  #giveUp(key: string, log: DelayLog): void {
    log.discard();
    this.#logs.delete(key);
  }

  #ensure(ref: PartitionRef): DelayLog {
    let log = this.#logs.get(keyOf(ref));
    if (log === undefined) {
      const { topicNumber, partition } = ref;
      log = this.#createLog({ topicNumber, partition, lastSequence: 0, buckets: [], slots: [] });
      this.#logs.set(keyOf(ref), log);
    }
    return log;
  }

  #createLog(state: DelayLogState): DelayLog {
    return new DelayLog(
      {
        context: this.#context,
        discard: (path) => this.#garbage.push(path),
        noteLoaded: (bucket) => {
          this.#loaded.delete(bucket);
          this.#loaded.add(bucket);
        },
        noteUnwritten: (bucket, bytes) => {
          this.#dirty.add(bucket);
          this.#unwrittenBytes += bytes;
        },
        noteGone: (bucket) => {
          this.#loaded.delete(bucket);
          if (this.#dirty.delete(bucket)) this.#unwrittenBytes -= bucket.unwrittenBytes;
        },
      },
      state,
    );
  }

  #flushBucket(bucket: DelayBucket): void {
    const size = bucket.unwrittenBytes;
    this.#context.tryWrite(() => bucket.flush());
    if (bucket.unwrittenBytes > 0) return;
    this.#dirty.delete(bucket);
    this.#unwrittenBytes -= size;
  }

  #limitLoaded(): void {
    this.#callsSinceLimit += 1;
    if (this.#callsSinceLimit < callsPerLimit) return;
    this.#callsSinceLimit = 0;
    let entries = 0;
    for (const bucket of this.#loaded) entries += bucket.liveCount;
    for (const bucket of this.#loaded) {
      if (entries <= loadedEntriesMax || this.#loaded.size === 1) return;
      entries -= bucket.liveCount;
      if (!bucket.hasFile) this.#flushBucket(bucket);
      bucket.unload();
      this.#loaded.delete(bucket);
    }
  }

  /** Files of a life that ended before its checkpoint; those that a checkpoint may still name wait for the next one. */
  #removeUnknownFiles(): void {
    const { disk, folder } = this.#context;
    const known = new Set([...this.#garbage, ...this.#garbageOfPrepared]);
    for (const log of this.#logs.values()) for (const path of log.paths()) known.add(path);
    for (const name of disk.list(`${folder}/delays`)) {
      for (const file of disk.list(`${folder}/delays/${name}`)) {
        const path = `${folder}/delays/${name}/${file}`;
        if (!known.has(path)) this.#removeFile(path);
      }
    }
  }

  #removeFile(path: string): void {
    this.#context.forgetFile(path);
    this.#context.disk.remove(path);
  }
}

function keyOf(ref: PartitionRef): string {
  return `${ref.topicNumber}/${ref.partition}`;
}
