import type { AcquireRun, OffsetRun } from "../../model/commands/shard-command.ts";
import { type DeliveryState, type OpenMessage, openMessageCountMax } from "../../model/delivery/delivery-state.ts";
import { MinHeap } from "../../model/delivery/min-heap.ts";
import { WeightedTurns } from "../../model/priority/weighted-turns.ts";
import { type Priority, priorityCount } from "../../model/record-batch.ts";
import { RecordCursor } from "../../model/record-cursor.ts";
import type { PartitionState } from "../state-machines/partition-state.ts";

/**
 * The leader's half of delivery: what one group may be given next from one partition. All of it can be rebuilt from
 * the replicated state and the log, so it lives in memory and ends with the leadership.
 *
 * Fresh messages come from five cursors, one per priority, that walk the log by its priority indexes; messages that go
 * out again come from a heap per priority. A message handed to a member is *reserved* until the entry that records the
 * acquisition is applied; what is reserved counts as in flight everywhere. The entry is written a little later,
 * together with others, but always before an entry that settles the message.
 */
export interface Reservation {
  readonly offset: number;
  readonly priority: Priority;
  readonly memberId: string;
  readonly attempt: number;
  readonly term: number;
  readonly atMs: number;
  readonly visibilityMs: number;
  readonly untilMs: number;
}

/** A delivery as it stands, recorded or not yet. */
export interface HeldMessage {
  readonly memberId: string;
  readonly attempt: number;
  readonly term: number;
  readonly untilMs: number;
  readonly failures: number;
  readonly open: Readonly<OpenMessage> | undefined;
}

export interface AcquireGroup {
  readonly memberId: string;
  readonly atMs: number;
  readonly visibilityMs: number;
  readonly runs: readonly AcquireRun[];
  readonly missing: readonly OffsetRun[];
  readonly reservations: readonly Reservation[];
}

interface FreshQueue {
  /** Where the search goes on. */
  at: number;
  /** Offsets known to have this priority, as runs; the first may be partly taken. */
  runs: { from: number; to: number }[];
}

interface Waiting {
  readonly offset: number;
  readonly priority: Priority;
  readonly untilMs: number;
}

export const inFlightPerMemberMax = 1_000;
const runsPerRefillMax = 4_096;

export class Dispatcher {
  readonly group: string;
  readonly partition: PartitionState;
  readonly delivery: DeliveryState;
  readonly #turns: WeightedTurns;
  readonly #fresh: FreshQueue[] = [];
  readonly #retries: MinHeap<Waiting>[] = [];
  readonly #waiting = new MinHeap<Waiting>((a, b) => a.untilMs < b.untilMs);
  readonly #reserved = new Map<number, Reservation>();
  readonly #reservedByMember = new Map<string, number>();
  /** Chosen and neither reserved nor put back yet: a dead letter on its way, a damaged record that is set aside. */
  readonly #chosen = new Set<number>();
  /** Offset → acknowledgements on their way. */
  readonly #settling = new Map<number, number>();
  #unrecorded: Reservation[] = [];
  #missing: OffsetRun[] = [];
  #seenResets: number;
  readonly #term: number;
  readonly #startedAtMs: number;
  /** Nothing in flight ends before this time; a lower bound. */
  #earliestDeadlineMs = Number.POSITIVE_INFINITY;
  readonly #outcomes: boolean[] = [];
  pausedUntilMs = 0;

  constructor(
    group: string,
    partition: PartitionState,
    delivery: DeliveryState,
    options: { readonly weights: readonly number[]; readonly nowMs: number; readonly term: number },
  ) {
    this.group = group;
    this.partition = partition;
    this.delivery = delivery;
    this.#turns = new WeightedTurns(options.weights);
    this.#seenResets = delivery.resetCount;
    this.#term = options.term;
    this.#startedAtMs = options.nowMs;
    for (let priority = 0; priority < priorityCount; priority += 1) {
      this.#fresh.push({ at: 0, runs: [] });
      this.#retries.push(new MinHeap<Waiting>((a, b) => a.offset < b.offset));
    }
    this.#rebuild();
  }

  setWeights(weights: readonly number[]): void {
    this.#turns.setWeights(weights);
  }

  // ── What is held ──────────────────────────────────────────────────────────────────────────────────────────────────

  get inFlightCount(): number {
    return this.delivery.inFlightCount + this.#reserved.size;
  }
  /** So many messages are open that only returns go out. */
  get isFull(): boolean {
    return this.delivery.openCount + this.#reserved.size >= openMessageCountMax;
  }
  inFlightCountOf(memberId: string): number {
    return this.delivery.inFlightCountOf(memberId) + (this.#reservedByMember.get(memberId) ?? 0);
  }

  /** The message if a member holds it now. */
  findHeld(offset: number): HeldMessage | undefined {
    const reserved = this.#findReserved(offset);
    const open = this.delivery.open.get(offset);
    if (reserved !== undefined) return { ...pick(reserved), failures: open?.failures ?? 0, open };
    if (open === undefined || !open.isInFlight) return undefined;
    return { ...pick(open), failures: open.failures, open };
  }

  oldestInFlightMs(): number | undefined {
    let oldest: number | undefined;
    for (const open of this.delivery.open.values()) {
      if (!open.isInFlight) continue;
      const startMs = open.untilMs - open.spanMs;
      if (oldest === undefined || startMs < oldest) oldest = startMs;
    }
    for (const { atMs } of this.#reserved.values()) if (oldest === undefined || atMs < oldest) oldest = atMs;
    return oldest;
  }

  // ── Choosing ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Up to `count` messages in the order they should go out. They must be reserved or settled at once by the caller. */
  choose(count: number, nowMs: number): readonly { readonly offset: number; readonly priority: Priority }[] {
    this.#noticeReset();
    this.promote(nowMs);
    this.#skipGap();
    const chosen: { offset: number; priority: Priority }[] = [];
    let freshLeft = openMessageCountMax - this.delivery.openCount - this.#reserved.size;
    while (chosen.length < count) {
      const mayTakeFresh = freshLeft > 0;
      const priority = this.#turns.next((candidate) => this.#head(candidate, mayTakeFresh) !== undefined, nowMs);
      if (priority === undefined) break;
      const offset = this.#pop(priority, mayTakeFresh);
      if (offset === undefined) break;
      if (!this.delivery.open.has(offset)) freshLeft -= 1;
      this.#chosen.add(offset);
      chosen.push({ offset, priority });
    }
    return chosen;
  }

  /** Puts a chosen message back to the front. */
  putBack(message: { readonly offset: number; readonly priority: Priority }): void {
    this.#chosen.delete(message.offset);
    this.#retriesOf(message.priority).push({ ...message, untilMs: 0 });
  }

  reserve(
    message: { readonly offset: number; readonly priority: Priority },
    hold: {
      readonly memberId: string;
      readonly term: number;
      readonly atMs: number;
      readonly visibilityMs: number;
    },
  ): Reservation {
    const attempt = (this.delivery.open.get(message.offset)?.attempt ?? 0) + 1;
    const reservation = { ...message, ...hold, attempt, untilMs: hold.atMs + hold.visibilityMs };
    this.#chosen.delete(message.offset);
    this.#reserved.set(message.offset, reservation);
    this.#reservedByMember.set(hold.memberId, (this.#reservedByMember.get(hold.memberId) ?? 0) + 1);
    this.#unrecorded.push(reservation);
    if (reservation.untilMs < this.#earliestDeadlineMs) this.#earliestDeadlineMs = reservation.untilMs;
    return reservation;
  }

  /**
   * Acknowledgements of deliveries that are over are on their way. Until they are answered these messages stay here:
   * handed out now, they would be acknowledged under the hands of their new holder. Returns what to give to `endSettle`.
   */
  beginSettle(offsets: readonly number[]): readonly number[] {
    const loose = offsets.filter((offset) => !this.delivery.isDone(offset) && this.findHeld(offset) === undefined);
    for (const offset of loose) this.#settling.set(offset, (this.#settling.get(offset) ?? 0) + 1);
    return loose;
  }
  endSettle(loose: readonly number[]): void {
    for (const offset of loose) {
      const count = (this.#settling.get(offset) ?? 1) - 1;
      if (count > 0) this.#settling.set(offset, count);
      else {
        this.#settling.delete(offset);
        this.#putBackLoose(offset);
      }
    }
  }

  noteMissing(offset: number): void {
    this.#chosen.delete(offset);
    this.#missing.push({ offset, count: 1 });
  }

  /** A chosen message was settled without being held. */
  noteBuried(offset: number): void {
    this.#chosen.delete(offset);
  }

  // ── Recording ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Since when an acquisition waits for being applied; undefined when none does. */
  unconfirmedSinceMs(): number | undefined {
    const oldest = this.#reserved.values().next();
    return oldest.done ? undefined : oldest.value.atMs;
  }

  get hasUnrecorded(): boolean {
    return this.#unrecorded.length > 0 || this.#missing.length > 0;
  }

  /** What has to be written; the caller writes it, in order, before any settlement. */
  takeUnrecorded(): readonly AcquireGroup[] {
    const reservations = this.#unrecorded;
    const missing = this.#missing;
    this.#unrecorded = [];
    this.#missing = [];
    const groups: (Omit<AcquireGroup, "missing"> & { runs: AcquireRun[]; reservations: Reservation[] })[] = [];
    for (const reservation of reservations) {
      const last = groups.at(-1);
      const { memberId, atMs, visibilityMs } = reservation;
      const isSame = last?.memberId === memberId && last.atMs === atMs && last.visibilityMs === visibilityMs;
      const group = last !== undefined && isSame ? last : { memberId, atMs, visibilityMs, runs: [], reservations: [] };
      if (group !== last) groups.push(group);
      group.reservations.push(reservation);
      addToRuns(group.runs, reservation);
    }
    if (groups.length === 0 && missing.length > 0) {
      groups.push({ memberId: "", atMs: 0, visibilityMs: 0, runs: [], reservations: [] });
    }
    return groups.map((group, index) => ({ ...group, missing: index === 0 ? missing : [] }));
  }

  /** The acquisitions are applied (or can no longer be): the replicated state speaks for them. */
  forgetReservations(reservations: readonly Reservation[]): void {
    for (const reservation of reservations) {
      if (this.#reserved.get(reservation.offset) !== reservation) continue;
      this.#reserved.delete(reservation.offset);
      const count = (this.#reservedByMember.get(reservation.memberId) ?? 1) - 1;
      if (count === 0) this.#reservedByMember.delete(reservation.memberId);
      else this.#reservedByMember.set(reservation.memberId, count);
    }
  }

  // ── Time ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A message waits for its next delivery: called after each entry that makes one wait. */
  noteWaiting(open: Readonly<OpenMessage>): void {
    this.#waiting.push({ offset: open.offset, priority: open.priority as Priority, untilMs: this.#untilMs(open) });
  }

  /** Makes available what has waited long enough. */
  promote(nowMs: number): void {
    for (
      let first = this.#waiting.peek();
      first !== undefined && first.untilMs <= nowMs;
      first = this.#waiting.peek()
    ) {
      this.#waiting.pop();
      const open = this.delivery.open.get(first.offset);
      if (open !== undefined && !open.isInFlight && this.#untilMs(open) <= nowMs)
        this.#retriesOf(first.priority).push(first);
    }
  }

  /** Held messages whose time is up. */
  expired(nowMs: number): readonly Readonly<OpenMessage>[] {
    if (nowMs < this.#earliestDeadlineMs) return [];
    const expired: Readonly<OpenMessage>[] = [];
    let earliest = Number.POSITIVE_INFINITY;
    for (const open of this.delivery.open.values()) {
      if (!open.isInFlight) continue;
      const untilMs = this.#untilMs(open);
      if (untilMs <= nowMs) expired.push(open);
      else if (untilMs < earliest) earliest = untilMs;
    }
    for (const { untilMs } of this.#reserved.values()) if (untilMs < earliest) earliest = untilMs;
    // The expired ones stay listed until their entry is applied; look again soon in case it never is.
    this.#earliestDeadlineMs = expired.length > 0 ? Math.min(earliest, nowMs + 1_000) : earliest;
    return expired;
  }

  noteDeadline(untilMs: number): void {
    if (untilMs < this.#earliestDeadlineMs) this.#earliestDeadlineMs = untilMs;
  }

  /** When something changes by the passing of time alone. */
  nextTimeMs(): number {
    return Math.min(this.#earliestDeadlineMs, this.#waiting.peek()?.untilMs ?? Number.POSITIVE_INFINITY);
  }

  // ── Circuit breaker ───────────────────────────────────────────────────────────────────────────────────────────────

  /** Notes how a delivery ended; true when the share of dead letters among the last ones is above the threshold. */
  noteOutcome(isDeadLetter: boolean, thresholdPercent: number): boolean {
    if (thresholdPercent <= 0) return false;
    this.#outcomes.push(isDeadLetter);
    if (this.#outcomes.length > outcomeWindow) this.#outcomes.shift();
    if (this.#outcomes.length < outcomeCountMin) return false;
    const dead = this.#outcomes.filter((outcome) => outcome).length;
    return (100 * dead) / this.#outcomes.length > thresholdPercent;
  }
  clearOutcomes(): void {
    this.#outcomes.length = 0;
    this.pausedUntilMs = 0;
  }

  // ── Inside ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #rebuild(): void {
    const start = Math.max(this.delivery.floor, this.partition.log.logStartOffset);
    for (const queue of this.#fresh) {
      queue.at = start;
      queue.runs = [];
    }
    for (const heap of this.#retries) heap.clear();
    this.#waiting.clear();
    this.#earliestDeadlineMs = Number.POSITIVE_INFINITY;
    for (const open of this.delivery.open.values()) {
      if (open.isInFlight) this.noteDeadline(this.#untilMs(open));
      else this.noteWaiting(open);
    }
  }

  #noticeReset(): void {
    if (this.#seenResets === this.delivery.resetCount) return;
    this.#seenResets = this.delivery.resetCount;
    this.#reserved.clear();
    this.#chosen.clear();
    this.#reservedByMember.clear();
    this.#unrecorded = [];
    this.#missing = [];
    this.clearOutcomes();
    this.#rebuild();
  }

  /** Times of an earlier leader are in its clock: by ours, nothing lasts longer from our start than it was meant to. */
  #untilMs(open: Readonly<OpenMessage>): number {
    if (open.untilTerm === this.#term) return open.untilMs;
    return Math.min(open.untilMs, this.#startedAtMs + open.spanMs);
  }

  /** A reservation whose acquisition is not applied yet; afterwards the replicated state speaks. */
  #findReserved(offset: number): Reservation | undefined {
    const reserved = this.#reserved.get(offset);
    if (reserved === undefined || this.delivery.isDone(offset)) return undefined;
    const open = this.delivery.open.get(offset);
    return open !== undefined && open.attempt >= reserved.attempt ? undefined : reserved;
  }

  #head(priority: Priority, mayTakeFresh: boolean): number | undefined {
    const retry = this.#retryHead(priority);
    const fresh = mayTakeFresh ? this.#freshHead(priority) : undefined;
    if (retry === undefined || fresh === undefined) return retry ?? fresh;
    return Math.min(retry, fresh);
  }

  #pop(priority: Priority, mayTakeFresh: boolean): number | undefined {
    const offset = this.#head(priority, mayTakeFresh);
    if (offset === undefined) return undefined;
    if (this.#retryHead(priority) === offset) this.#retriesOf(priority).pop();
    else this.#dropFreshHead(priority);
    return offset;
  }

  #retryHead(priority: Priority): number | undefined {
    const heap = this.#retriesOf(priority);
    for (let head = heap.peek(); head !== undefined; head = heap.peek()) {
      const { offset } = head;
      const open = this.delivery.open.get(offset);
      const isBusy = this.#settling.has(offset) || this.#chosen.has(offset) || open?.isInFlight;
      if (!isBusy && !this.delivery.isDone(offset) && this.#findReserved(offset) === undefined) return offset;
      heap.pop();
    }
    return undefined;
  }

  #freshHead(priority: Priority): number | undefined {
    const queue = this.#freshOf(priority);
    for (;;) {
      const run = queue.runs[0];
      if (run === undefined) {
        if (!this.#refill(priority, queue)) return undefined;
        continue;
      }
      while (run.from < run.to && this.#isTaken(run.from)) run.from += 1;
      if (run.from < run.to) return run.from;
      queue.runs.shift();
    }
  }

  #dropFreshHead(priority: Priority): void {
    const run = this.#freshOf(priority).runs[0];
    if (run !== undefined) run.from += 1;
  }

  #putBackLoose(offset: number): void {
    const open = this.delivery.open.get(offset);
    if (this.delivery.isDone(offset) || open?.isInFlight) return;
    if (open !== undefined) {
      this.noteWaiting(open);
      return;
    }
    const { log } = this.partition;
    for (let priority = 0; priority < priorityCount; priority += 1) {
      const candidate = { offset, priority: priority as Priority };
      if (log.nextOffset(candidate.priority, offset) === offset) this.putBack(candidate);
    }
  }

  #isTaken(offset: number): boolean {
    if (this.#settling.has(offset) || this.#chosen.has(offset)) return true;
    return this.delivery.isDone(offset) || this.delivery.open.has(offset) || this.#reserved.has(offset);
  }

  /** Finds the next batch with records of this priority; false when there is none yet. */
  #refill(priority: Priority, queue: FreshQueue): boolean {
    const { log } = this.partition;
    const from = Math.max(queue.at, this.delivery.floor, log.logStartOffset);
    if (from >= log.logEndOffset) return false;
    if (this.partition.isSurelyWithout(priority, from)) {
      queue.at = log.logEndOffset;
      return false;
    }
    const offset = log.nextOffset(priority, from);
    const batch = offset === undefined ? undefined : log.findBatch(offset);
    if (offset === undefined || batch === undefined) {
      queue.at = log.logEndOffset;
      return false;
    }
    queue.at = batch.nextOffset;
    if (batch.priorities === 1 << priority && !batch.isSparse) {
      queue.runs.push({ from: offset, to: batch.nextOffset });
      return true;
    }
    const cursor = new RecordCursor(batch);
    while (cursor.next()) {
      if (cursor.offset < offset || cursor.priority !== priority) continue;
      const last = queue.runs.at(-1);
      if (last !== undefined && last.to === cursor.offset) last.to += 1;
      else if (queue.runs.length < runsPerRefillMax) queue.runs.push({ from: cursor.offset, to: cursor.offset + 1 });
      else {
        queue.at = cursor.offset;
        break;
      }
    }
    return queue.runs.length > 0;
  }

  /** When the floor stands at an offset that does not exist (compacted away), everything up to the next record is done. */
  #skipGap(): void {
    const { floor } = this.delivery;
    const { log } = this.partition;
    if (floor >= log.logEndOffset || this.delivery.open.has(floor) || this.#reserved.has(floor)) return;
    if (this.#missing.length > 0) return;
    if (this.#fresh.some((queue) => queue.at <= floor || (queue.runs[0]?.from ?? floor + 1) <= floor)) return;
    const batch = log.read({ offset: floor, maxBytes: 1, maxRecords: 1 })[0];
    let next = log.logEndOffset;
    if (batch !== undefined) {
      const cursor = new RecordCursor(batch);
      next = cursor.seek(floor) ? cursor.offset : batch.nextOffset;
    }
    if (next > floor) this.#missing.push({ offset: floor, count: next - floor });
  }

  #freshOf(priority: Priority): FreshQueue {
    return this.#fresh[priority] ?? { at: 0, runs: [] };
  }
  #retriesOf(priority: Priority): MinHeap<Waiting> {
    return this.#retries[priority] ?? new MinHeap<Waiting>(() => false);
  }
}

const outcomeWindow = 100;
const outcomeCountMin = 20;

function pick(
  held: Pick<HeldMessage, "memberId" | "attempt" | "term" | "untilMs">,
): Pick<HeldMessage, "memberId" | "attempt" | "term" | "untilMs"> {
  return { memberId: held.memberId, attempt: held.attempt, term: held.term, untilMs: held.untilMs };
}

function addToRuns(runs: AcquireRun[], { offset, priority }: Reservation): void {
  const last = runs.at(-1);
  if (last !== undefined && last.priority === priority && last.offset + last.count === offset) {
    runs[runs.length - 1] = { ...last, count: last.count + 1 };
  } else {
    runs.push({ offset, count: 1, priority });
  }
}
