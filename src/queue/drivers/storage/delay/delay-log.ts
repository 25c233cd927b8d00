import type { PartitionRef } from "../../../model/commands/shard-command.ts";
import type { DelayedEntry } from "../../../service/delay-store.ts";
import type { StorageContext } from "../storage-context.ts";
import { type BucketState, DelayBucket } from "./delay-bucket.ts";
import { DueSlots, type SlotFileState } from "./due-slots.ts";

/**
 * The delayed messages of one partition: buckets in the order of their due times, which together cover all of time. A
 * bucket that has become too large is split in the middle, so that looking at the next few messages costs the same
 * whether a thousand wait or ten million. The first key of a bucket is fixed; keys are (due, sequence).
 */
export interface DelayLogState extends PartitionRef {
  readonly lastSequence: number;
  readonly buckets: readonly BucketState[];
  readonly slots: readonly SlotFileState[];
}

interface DelayLogOwner {
  readonly context: StorageContext;
  /** A file that only the last checkpoint needs. */
  discard(path: string): void;
  /** The bucket's content is in memory now. */
  noteLoaded(bucket: DelayBucket): void;
  /** So many more bytes of the bucket wait for being written. */
  noteUnwritten(bucket: DelayBucket, bytes: number): void;
  /** The bucket is out of use. */
  noteGone(bucket: DelayBucket): void;
}

const bucketEntriesMax = 2048;
const bucketBytesMax = 2 * 1024 * 1024;
const slotBytesMax = 256 * 1024;
/** For more entries than this, the file is read as a whole. */
const readOneByOneMax = 16;

export class DelayLog {
  readonly ref: PartitionRef;
  readonly #owner: DelayLogOwner;
  readonly #folder: string;
  readonly #slots: DueSlots;
  #buckets: DelayBucket[];
  #lastSequence: number;
  #count = 0;

  constructor(owner: DelayLogOwner, state: DelayLogState) {
    const { topicNumber, partition } = state;
    this.ref = { topicNumber, partition };
    this.#owner = owner;
    this.#folder = `${owner.context.folder}/delays/${topicNumber}-${partition}`;
    this.#slots = new DueSlots(owner.context, this.#folder, state.slots);
    this.#buckets = state.buckets.map((bucket) => new DelayBucket(owner.context, this.#folder, bucket));
    this.#lastSequence = state.lastSequence;
    for (const bucket of this.#buckets) this.#count += bucket.liveCount;
  }

  get folder(): string {
    return this.#folder;
  }
  get count(): number {
    return this.#count;
  }
  get nextDueMs(): number | undefined {
    return this.#buckets.find((bucket) => bucket.liveCount > 0)?.minDueMs;
  }

  add(entry: DelayedEntry): void {
    if (this.#buckets.length === 0) this.#buckets.push(this.#createBucket(0, 0));
    let at = this.#bucketIndexOf(entry.dueMs, entry.sequence);
    if (this.#isFull(this.#bucket(at))) at = this.#makeRoom(at, entry);
    const bucket = this.#bucket(at);
    const before = bucket.unwrittenBytes;
    bucket.add(entry);
    this.#owner.noteUnwritten(bucket, bucket.unwrittenBytes - before);
    if (bucket.isLoaded) this.#owner.noteLoaded(bucket);
    this.#slots.set(entry.sequence, entry.dueMs);
    this.#lastSequence = Math.max(this.#lastSequence, entry.sequence);
    this.#count += 1;
    if (this.#slots.unwrittenBytes > slotBytesMax) this.#owner.context.tryWrite(() => this.#slots.flush());
  }

  find(sequence: number): DelayedEntry | undefined {
    const dueMs = this.#slots.get(sequence);
    if (dueMs === undefined) return undefined;
    const buckets = dueMs === "damaged" ? this.#buckets : [this.#bucket(this.#bucketIndexOf(dueMs, sequence))];
    for (const bucket of buckets) {
      if (bucket.liveCount === 0) continue;
      const entry = bucket.find(sequence);
      this.#owner.noteLoaded(bucket);
      if (entry !== undefined) return bucket.read(entry);
    }
    return undefined;
  }

  remove(sequence: number, dueMs: number): boolean {
    if (this.#buckets.length === 0) return false;
    const at = this.#bucketIndexOf(dueMs, sequence);
    const bucket = this.#bucket(at);
    const before = bucket.unwrittenBytes;
    if (bucket.liveCount === 0 || !bucket.remove(sequence)) return false;
    this.#owner.noteUnwritten(bucket, bucket.unwrittenBytes - before);
    this.#owner.noteLoaded(bucket);
    this.#count -= 1;
    const current = this.#slots.chunkOf(this.#lastSequence);
    const unused = this.#slots.release(sequence, (chunk) => chunk === current);
    if (unused !== undefined) this.#owner.discard(unused);
    if (bucket.liveCount === 0) this.#replace(at, 1, at === 0 ? [this.#createBucket(0, 0)] : []);
    return true;
  }

  scan(untilMs: number, skip: number, limit: number): readonly DelayedEntry[] {
    const found: DelayedEntry[] = [];
    let toSkip = skip;
    for (const bucket of this.#buckets) {
      if (found.length >= limit || bucket.minDueMs > untilMs) {
        if (bucket.liveCount > 0) break;
        continue;
      }
      // Only buckets that are due as a whole can be stepped over without looking inside.
      if (toSkip >= bucket.liveCount && untilMs === Number.POSITIVE_INFINITY) {
        toSkip -= bucket.liveCount;
        continue;
      }
      const contents = limit - found.length > readOneByOneMax ? bucket.contents() : undefined;
      for (const entry of bucket.inOrder()) {
        if (entry.dueMs > untilMs || found.length >= limit) break;
        if (toSkip > 0) toSkip -= 1;
        else found.push(bucket.read(entry, contents));
      }
      this.#owner.noteLoaded(bucket);
    }
    return found;
  }

  flush(): void {
    for (const bucket of this.#buckets) bucket.flush();
    this.#slots.flush();
  }

  /** Gives the whole log up; its files wait for the next checkpoint. */
  discard(): void {
    for (const bucket of this.#buckets) this.#owner.noteGone(bucket);
    for (const path of this.paths()) this.#owner.discard(path);
  }

  paths(): readonly string[] {
    return [...this.#buckets.filter((bucket) => bucket.hasFile).map((bucket) => bucket.path), ...this.#slots.paths()];
  }

  state(): DelayLogState {
    const buckets = this.#buckets.filter((bucket) => bucket.liveCount > 0).map((bucket) => bucket.state());
    return { ...this.ref, lastSequence: this.#lastSequence, buckets, slots: this.#slots.states() };
  }

  #isFull(bucket: DelayBucket): boolean {
    return bucket.liveCount >= bucketEntriesMax || (bucket.sizeBytes >= bucketBytesMax && bucket.liveCount > 1);
  }

  /** Splits a full bucket; one that only grows at its end is left whole and another begins behind it. */
  #makeRoom(at: number, entry: DelayedEntry): number {
    const bucket = this.#bucket(at);
    const entries = [...bucket.inOrder()];
    const last = entries.at(-1);
    const isBehind = last !== undefined && isBefore(last, entry);
    if (isBehind && at === this.#buckets.length - 1) {
      this.#buckets.push(this.#createBucket(entry.dueMs, entry.sequence));
      return at + 1;
    }
    const half = entries.length >>> 1;
    const contents = bucket.contents();
    const middle = entries[half] ?? entry;
    const first = this.#createBucket(bucket.startMs, bucket.startSequence);
    const second = this.#createBucket(middle.dueMs, middle.sequence);
    for (const [ordinal, placed] of entries.entries())
      (ordinal < half ? first : second).add(bucket.read(placed, contents));
    this.#replace(at, 1, [first, second]);
    for (const fresh of [first, second]) {
      this.#owner.context.tryWrite(() => fresh.flush());
      if (fresh.unwrittenBytes > 0) this.#owner.noteUnwritten(fresh, fresh.unwrittenBytes);
      this.#owner.noteLoaded(fresh);
    }
    return isBefore(entry, middle) ? at : at + 1;
  }

  #replace(at: number, count: number, next: readonly DelayBucket[]): void {
    for (const old of this.#buckets.splice(at, count, ...next)) {
      this.#owner.noteGone(old);
      if (old.hasFile) this.#owner.discard(old.path);
    }
  }

  #createBucket(startMs: number, startSequence: number): DelayBucket {
    const { context } = this.#owner;
    return new DelayBucket(context, this.#folder, {
      fileSequence: context.takeSequence(),
      startMs,
      startSequence,
      bytes: 0,
      liveCount: 0,
      minDueMs: Number.POSITIVE_INFINITY,
    });
  }

  #bucketIndexOf(dueMs: number, sequence: number): number {
    let low = 0;
    let high = this.#buckets.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      const { startMs, startSequence } = this.#bucket(middle);
      if (startMs < dueMs || (startMs === dueMs && startSequence <= sequence)) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #bucket(at: number): DelayBucket {
    const bucket = this.#buckets[at];
    if (bucket === undefined) throw new Error("a delay log that is not empty has buckets");
    return bucket;
  }
}

function isBefore(
  a: { readonly dueMs: number; readonly sequence: number },
  b: { readonly dueMs: number; readonly sequence: number },
): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence);
}
