import { assert } from "../../../../platform/errors/assert.ts";
import type { HardState, ShardId, WalEntry } from "../../../service/ports.ts";
import type { ShardSummary } from "./wal-format.ts";

/**
 * Where the entries of one shard are: in memory (queued or recent) or at a place in a file. One number per entry, and
 * one pair per change of term, however many entries there are.
 *
 * Invariant: entries `firstIndex` … `lastIndex` are held without a gap, and `firstIndex` ≤ `mark.index` + 1.
 */
const fileFactor = 2 ** 32;
const noPlace = -1;

interface EntryPlace {
  readonly fileNumber: number;
  readonly position: number;
}

export class ShardLogIndex {
  readonly shard: ShardId;
  hardState: HardState = { term: 0, votedFor: undefined };
  damage: string | undefined = undefined;
  #mark = { index: 0, term: 0 };
  /** Highest mark that is itself durable: files are freed by it. */
  durableMarkIndex = 0;
  #first = 1;
  #count = 0;
  #places = new Float64Array(64);
  /** Position in `#places` of the first entry. */
  #head = 0;
  /** Terms by first index, rising in both. */
  #terms: { fromIndex: number; term: number }[] = [];
  /** The newest entries, ending at `lastIndex`, but for those evicted in front. */
  #recent: WalEntry[] = [];
  #recentHead = 0;

  constructor(shard: ShardId) {
    this.shard = shard;
  }

  get mark(): { readonly index: number; readonly term: number } {
    return this.#mark;
  }
  get firstIndex(): number {
    return this.#first;
  }
  get lastIndex(): number {
    return this.#first + this.#count - 1;
  }
  get lastTerm(): number {
    return this.#terms.at(-1)?.term ?? (this.#mark.index === this.lastIndex ? this.#mark.term : 0);
  }

  summary(): ShardSummary {
    const { hardState, mark, lastIndex, damage } = this;
    return { hardState, mark, lastIndex, damage };
  }

  /** A new entry in memory; its place follows when it is written. */
  append(entry: WalEntry): void {
    this.#push(entry.index, entry.term, noPlace);
    this.#recent.push(entry);
  }

  /** An entry found in a file at start. */
  appendPlaced(index: number, term: number, place: EntryPlace): void {
    this.#push(index, term, place.fileNumber * fileFactor + place.position);
  }

  setPlace(index: number, fileNumber: number, position: number): void {
    if (index < this.#first || index > this.lastIndex) return;
    this.#places[this.#head + index - this.#first] = fileNumber * fileFactor + position;
  }

  placeOf(index: number): EntryPlace | undefined {
    const place = this.#places[this.#head + index - this.#first] ?? noPlace;
    if (place === noPlace || index < this.#first || index > this.lastIndex) return undefined;
    return { fileNumber: Math.floor(place / fileFactor), position: place % fileFactor };
  }

  recentEntry(index: number): WalEntry | undefined {
    const firstRecent = this.lastIndex - (this.#recent.length - this.#recentHead) + 1;
    return index < firstRecent ? undefined : this.#recent[this.#recentHead + index - firstRecent];
  }

  /** Forgets the memory copies of entries up to `index`; those without a place stay. */
  evictRecent(index: number): void {
    for (let at = this.#recentHead; at < this.#recent.length; at += 1) {
      const entry = this.#recent[at];
      if (entry === undefined || entry.index > index || this.placeOf(entry.index) === undefined) break;
      this.#recentHead = at + 1;
    }
    if (this.#recentHead > 64 && this.#recentHead * 2 > this.#recent.length) {
      this.#recent = this.#recent.slice(this.#recentHead);
      this.#recentHead = 0;
    }
  }

  termAt(index: number): number | undefined {
    if (index === this.#mark.index) return this.#mark.term;
    if (index < this.#first || index > this.lastIndex) return undefined;
    let low = 0;
    let high = this.#terms.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#terms[middle]?.fromIndex ?? 0) <= index) low = middle;
      else high = middle - 1;
    }
    return this.#terms[low]?.term;
  }

  /** Drops `index` and everything behind it. */
  truncateFrom(index: number): void {
    if (index > this.lastIndex) return;
    const kept = Math.max(0, index - this.#first);
    const recentKept = Math.max(0, this.#recent.length - this.#recentHead - (this.#count - kept));
    this.#recent.length = this.#recentHead + recentKept;
    this.#count = kept;
    while ((this.#terms.at(-1)?.fromIndex ?? -1) >= index) this.#terms.pop();
    if (kept === 0) this.#becomeEmpty();
  }

  /**
   * The log starts behind `index`: entries up to it are forgotten, and all of them when theirs is another history.
   * Returns false in that case.
   */
  moveMark(index: number, term: number): boolean {
    if (index < this.#mark.index) return true;
    // NOTE: below the first entry only at start, when the files of those entries are gone already.
    const isSameHistory = index < this.#first || this.termAt(index) === term;
    this.#mark = { index, term };
    if (!isSameHistory) this.resetBehind(index);
    else if (index >= this.#first) this.#dropFirst(index - this.#first + 1);
    return isSameHistory;
  }

  /** At start: what the oldest file says about the time before it. */
  restore(summary: ShardSummary): void {
    this.hardState = summary.hardState;
    this.damage = summary.damage;
    this.#mark = summary.mark;
    this.durableMarkIndex = summary.mark.index;
    this.resetBehind(summary.lastIndex);
  }

  /** Empties the log; the next entry has index `index` + 1. */
  resetBehind(index: number): void {
    this.#first = index + 1;
    this.#count = 0;
    this.#recent = [];
    this.#recentHead = 0;
    this.#becomeEmpty();
  }

  #push(index: number, term: number, place: number): void {
    assert(index === this.lastIndex + 1, `entry ${index} of shard ${this.shard} follows ${this.lastIndex}`);
    if (this.#head + this.#count === this.#places.length) this.#growPlaces();
    this.#places[this.#head + this.#count] = place;
    this.#count += 1;
    if (this.#terms.at(-1)?.term !== term) this.#terms.push({ fromIndex: index, term });
  }

  #growPlaces(): void {
    const isHalfUnused = this.#head * 2 >= this.#places.length;
    const places = isHalfUnused ? this.#places : new Float64Array(this.#places.length * 2);
    places.set(this.#places.subarray(this.#head, this.#head + this.#count));
    this.#places = places;
    this.#head = 0;
  }

  #dropFirst(count: number): void {
    const recentCount = this.#recent.length - this.#recentHead;
    const recentDropped = Math.max(0, recentCount - (this.#count - count));
    this.#recentHead += recentDropped;
    if (this.#recentHead === this.#recent.length || this.#recentHead > 1024) {
      this.#recent = this.#recent.slice(this.#recentHead);
      this.#recentHead = 0;
    }
    this.#head += count;
    this.#first += count;
    this.#count -= count;
    while (this.#terms.length > 1 && (this.#terms[1]?.fromIndex ?? 0) <= this.#first) this.#terms.shift();
    if (this.#count === 0) this.#becomeEmpty();
  }

  #becomeEmpty(): void {
    this.#terms = [];
    this.#head = 0;
    if (this.#places.length > 4096) this.#places = new Float64Array(64);
  }
}
