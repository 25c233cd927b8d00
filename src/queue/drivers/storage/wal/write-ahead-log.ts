import { assert } from "../../../../platform/errors/assert.ts";
import type { Disk } from "../../../../platform/files/disk.ts";
import type { Random } from "../../../../platform/random/random.ts";
import type { TimerHandle, Timers } from "../../../../platform/time/clock.ts";
import type { RecoveredShard, ShardId, WalEntry, WalRecord, WriteAheadLog } from "../../../service/ports.ts";
import { makeDurableFolder } from "../durable-folder.ts";
import { GroupEncoder } from "./group-encoder.ts";
import { EntryReader } from "./read-entry.ts";
import { RecentBytes } from "./recent-bytes.ts";
import { ShardLogIndex } from "./shard-log-index.ts";
import { WalFiles } from "./wal-files.ts";
import {
  entrySize,
  fileHeaderSize,
  groupHeaderSize,
  payloadOf,
  recordHeaderSize,
  type StoredRecord,
  sizeOfParts,
} from "./wal-format.ts";
import { recoverWal } from "./wal-recovery.ts";
import { WrittenState } from "./written-state.ts";

/**
 * The one log of a node. Records wait in a queue; one group at a time is on its way to the device, and when it is
 * durable everything that came meanwhile is the next group: the busier the node, the larger the groups. No timer is
 * needed for that and none is used: waiting for company when the device is idle only costs latency.
 *
 * The first write or sync error is final: the file is in an unknown state and syncing again would report success
 * without having saved anything. Lack of space is no such error, since it shows before anything is written: the queue
 * then waits for another file.
 */
interface WriteAheadLogOptions {
  readonly disk: Disk;
  readonly folder: string;
  readonly timers: Timers;
  readonly random: Random;
  /** Runs a callback after the input that is ready now has been handled, so that its records go into one group. */
  readonly runSoon: (callback: () => void) => void;
  readonly limits?: Partial<WriteAheadLogLimits>;
}

export interface WriteAheadLogLimits {
  readonly fileBytes: number;
  /** A group ends with the record that reaches this. */
  readonly groupBytes: number;
  /** Recent entries kept in memory for followers and for applying. */
  readonly recentBytes: number;
  /**
   * After this long without a write, an empty group confirms the last one: until another group follows, damage to the
   * last one could not be told from a write that never completed.
   */
  readonly confirmAfterMs: number;
  /** How often a full disk is tried again. */
  readonly retryFullMs: number;
}

const defaultWalLimits: WriteAheadLogLimits = {
  fileBytes: 32 * 1024 * 1024,
  groupBytes: 1024 * 1024,
  recentBytes: 32 * 1024 * 1024,
  confirmAfterMs: 50,
  retryFullMs: 1000,
};

interface QueuedAppend {
  readonly records: readonly StoredRecord[];
  readonly size: number;
  readonly onDurable: ((error: Error | undefined) => void) | undefined;
}

export function openWriteAheadLog(options: WriteAheadLogOptions): WriteAheadLog {
  return new FileWriteAheadLog(options);
}

class FileWriteAheadLog implements WriteAheadLog {
  readonly #timers: Timers;
  readonly #runSoon: (callback: () => void) => void;
  readonly #limits: WriteAheadLogLimits;
  readonly #shards: Map<ShardId, ShardLogIndex>;
  readonly #recovered: ReadonlyMap<ShardId, RecoveredShard>;
  readonly #files: WalFiles;
  readonly #encoder: GroupEncoder;
  readonly #reader: EntryReader;
  readonly #recent: RecentBytes;
  readonly #written: WrittenState;
  #queue: QueuedAppend[] = [];
  /** Marks and such, which nobody waits for: they go with the next group. */
  #lazy: StoredRecord[] = [];
  #isWriting = false;
  #isWriteSoon = false;
  #isConfirmed: boolean;
  #confirmTimer: TimerHandle | undefined;
  #failure: Error | undefined;
  #closing: { readonly done: Promise<void>; readonly resolve: () => void } | undefined;
  #isClosed = false;

  constructor(options: WriteAheadLogOptions) {
    this.#timers = options.timers;
    this.#runSoon = options.runSoon;
    this.#limits = { ...defaultWalLimits, ...options.limits };
    makeDurableFolder(options.disk, options.folder);
    const recovered = recoverWal(options.disk, options.folder);
    this.#shards = recovered.shards;
    this.#recovered = describeShards(recovered.shards);
    this.#files = new WalFiles({
      disk: options.disk,
      folder: options.folder,
      random: options.random,
      timers: options.timers,
      fileBytes: this.#limits.fileBytes,
      retryFullMs: this.#limits.retryFullMs,
      recovered,
      onReady: () => {
        this.#writeNext();
        this.#finishClosing();
      },
      onFailure: (error) => {
        this.#freeze(error);
        this.#finishClosing();
      },
    });
    this.#reader = new EntryReader(this.#files);
    this.#encoder = new GroupEncoder(this.#limits.groupBytes + 256 * 1024);
    this.#recent = new RecentBytes(this.#limits.recentBytes);
    this.#written = new WrittenState(recovered.shards);
    this.#isConfirmed = recovered.files.length === 0;
    this.#files.start();
    this.#confirmLater();
  }

  get sizeBytes(): number {
    return this.#files.sizeBytes;
  }
  get isDiskFull(): boolean {
    return this.#files.isShortOfSpace;
  }
  get failure(): Error | undefined {
    return this.#failure;
  }

  recovered(): ReadonlyMap<ShardId, RecoveredShard> {
    return this.#recovered;
  }

  append(records: readonly WalRecord[], onDurable: (error: Error | undefined) => void): void {
    const refusal = this.#failure ?? (this.#closing === undefined ? undefined : new Error("write-ahead log is closed"));
    if (refusal !== undefined) {
      queueMicrotask(() => onDurable(refusal));
      return;
    }
    const stored: StoredRecord[] = [];
    let size = 0;
    for (const record of records) size += this.#remember(record, stored);
    assert(size <= this.#files.groupBytesMax, `an append of ${size} bytes fits into a log file`);
    this.#queue.push({ records: stored, size, onDurable });
    this.#writeSoon();
  }

  readEntries(shard: ShardId, from: number, to: number, maxBytes: number): readonly WalEntry[] {
    const log = this.#shards.get(shard);
    if (log === undefined || from < log.firstIndex) return [];
    const entries: WalEntry[] = [];
    this.#reader.reset();
    let size = 0;
    for (let index = from; index <= Math.min(to, log.lastIndex); index += 1) {
      const entry = log.recentEntry(index) ?? this.#reader.read(log, index);
      size += entrySize(entry);
      if (size > maxBytes && entries.length > 0) break;
      entries.push(entry);
    }
    return entries;
  }

  termAt(shard: ShardId, index: number): number | undefined {
    return this.#shards.get(shard)?.termAt(index);
  }

  release(shard: ShardId, index: number, term: number): void {
    const log = this.#shard(shard);
    if (index <= log.mark.index || this.#failure !== undefined) return;
    this.#moveMark({ kind: "mark", shard, index, term }, this.#lazy);
    this.#confirmLater();
  }

  markRepaired(shard: ShardId): void {
    this.#shard(shard).damage = undefined;
    this.#lazy.push({ kind: "repaired", shard });
    this.#confirmLater();
  }

  async close(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing.done;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closing = { done: promise, resolve };
    this.#confirmTimer?.cancel();
    this.#finishClosing();
    return promise;
  }

  /** Brings a record into memory: from here on it can be read, though it is not durable. Returns its size in a file. */
  #remember(record: WalRecord, stored: StoredRecord[]): number {
    switch (record.kind) {
      case "entry": {
        const { shard, index } = record.entry;
        const size = entrySize(record.entry);
        this.#shard(shard).append(record.entry);
        this.#recent.add(shard, index, size);
        stored.push(record);
        return size;
      }
      case "hardState":
        this.#shard(record.shard).hardState = record.state;
        stored.push(record);
        return recordHeaderSize + sizeOfParts(payloadOf(record));
      case "truncate":
        this.#shard(record.shard).truncateFrom(record.index);
        stored.push(record);
        return recordHeaderSize;
      case "mark":
        this.#moveMark(record, stored);
        return recordHeaderSize * 2;
    }
  }

  /** Entries of another history behind the mark are dropped by a record of their own, so that files tell it too. */
  #moveMark(mark: Extract<WalRecord, { kind: "mark" }>, stored: StoredRecord[]): void {
    const isSameHistory = this.#shard(mark.shard).moveMark(mark.index, mark.term);
    if (!isSameHistory) stored.push({ kind: "truncate", shard: mark.shard, index: mark.index + 1 });
    stored.push(mark);
  }

  #writeSoon(): void {
    if (this.#isWriting || this.#isWriteSoon) return;
    this.#isWriteSoon = true;
    this.#runSoon(() => {
      this.#isWriteSoon = false;
      this.#writeNext();
    });
  }

  #writeNext(): void {
    if (this.#isWriting || this.#failure !== undefined || this.#isClosed) return;
    if (this.#queue.length === 0 && this.#isConfirmed && this.#lazy.length === 0) return;
    const taken = this.#takeGroup();
    if (taken === undefined) return;
    this.#confirmTimer?.cancel();
    this.#confirmTimer = undefined;
    this.#isWriting = true;
    const { appends, records, lazyCount } = taken;
    const target = this.#files.target();
    const group = this.#encoder.encode(records, target);
    this.#files.write(group, (error) => {
      this.#isWriting = false;
      if (error !== undefined) {
        this.#queue = [...appends, ...this.#queue];
        this.#freeze(error);
        return;
      }
      this.#lazy.splice(0, lazyCount);
      this.#isConfirmed = appends.length === 0;
      this.#settlePlaces(records, group.positions);
      for (const append of appends) append.onDurable?.(undefined);
      this.#afterWrite();
    });
  }

  #afterWrite(): void {
    this.#recent.evict(this.#shards);
    this.#files.dropReleased(this.#shards);
    if (this.#queue.length > 0) this.#writeSoon();
    else if (this.#closing === undefined) this.#confirmLater();
    this.#finishClosing();
  }

  /** As much of the queue as belongs into one group of the current or the next file; undefined when neither has room. */
  #takeGroup(): { appends: QueuedAppend[]; records: StoredRecord[]; lazyCount: number } | undefined {
    const lazyCount = this.#lazy.length;
    const groupBytes = Math.min(this.#limits.groupBytes, this.#files.groupBytesMax);
    let size = groupHeaderSize + lazyCount * recordHeaderSize;
    let count = 0;
    for (const append of this.#queue) {
      if (count > 0 && size + append.size > groupBytes) break;
      size += append.size;
      count += 1;
    }
    if (!this.#files.hasRoom(size) && !this.#files.startNextFile()) return undefined;
    const appends = this.#queue.splice(0, count);
    const records = this.#files.isAtStart ? this.#written.summaries() : [];
    records.push(...this.#lazy);
    for (const append of appends) records.push(...append.records);
    return { appends, records, lazyCount };
  }

  #settlePlaces(records: readonly StoredRecord[], positions: readonly number[]): void {
    for (const [ordinal, record] of records.entries()) {
      this.#written.apply(record);
      if (record.kind === "entry") {
        const { shard, index } = record.entry;
        this.#shard(shard).setPlace(index, this.#files.currentFileNumber, positions[ordinal] ?? fileHeaderSize);
        this.#files.noteEntry(shard, index);
      } else if (record.kind === "mark") {
        const log = this.#shard(record.shard);
        log.durableMarkIndex = Math.max(log.durableMarkIndex, record.index);
      }
    }
  }

  #confirmLater(): void {
    if (this.#confirmTimer !== undefined || this.#isWriting || this.#failure !== undefined || this.#isClosed) return;
    if (this.#isConfirmed && this.#lazy.length === 0) return;
    this.#confirmTimer = this.#timers.after(
      this.#limits.confirmAfterMs,
      () => {
        this.#confirmTimer = undefined;
        this.#writeNext();
      },
      { isBackground: true },
    );
  }

  #freeze(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    const waiting = this.#queue;
    this.#queue = [];
    for (const append of waiting) append.onDurable?.(error);
    this.#finishClosing();
  }

  /** Closing writes what is queued, confirms the last group, and gives up only when the disk is full or broken. */
  #finishClosing(): void {
    if (this.#closing === undefined || this.#isWriting || this.#isClosed) return;
    const hasWork = this.#queue.length > 0 || !this.#isConfirmed || this.#lazy.length > 0;
    if (hasWork && this.#failure === undefined) {
      this.#writeNext();
      if (this.#isWriting || this.#files.isPreparing) return;
      const error = new Error("write-ahead log was closed while the disk was full");
      for (const append of this.#queue.splice(0)) append.onDurable?.(error);
    }
    // The file being made ready is open, too.
    if (this.#files.isPreparing) return;
    this.#isClosed = true;
    this.#files.close();
    this.#closing.resolve();
  }

  #shard(id: ShardId): ShardLogIndex {
    let log = this.#shards.get(id);
    if (log === undefined) {
      log = new ShardLogIndex(id);
      this.#shards.set(id, log);
    }
    return log;
  }
}

function describeShards(shards: ReadonlyMap<ShardId, ShardLogIndex>): ReadonlyMap<ShardId, RecoveredShard> {
  const described = new Map<ShardId, RecoveredShard>();
  for (const [id, log] of shards) {
    const { hardState, mark, lastIndex, lastTerm, damage } = log;
    described.set(id, { hardState, mark, lastIndex, lastTerm, ...(damage === undefined ? {} : { damage }) });
  }
  return described;
}
