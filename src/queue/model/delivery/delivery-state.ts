import { AckedSet, type AckedSetImage } from "./acked-set.ts";

/**
 * The replicated half of delivery: what one group has done with one partition. Every message is
 *
 *   available → in flight(member, deadline, attempt) → done
 *                      ↓            ↑
 *                   waiting(until, failures)
 *
 * where *available* is everything that is neither done nor listed here. Only entries of the shard's log change it.
 * Invariants: a message is in flight with at most one member; its attempt rises by one with each acquisition; nothing
 * that is done comes back (short of a reset); the floor only rises (short of a reset).
 *
 * The map holds open messages only, so its size is a count of messages, not a span of offsets.
 */
export interface OpenMessage {
  readonly offset: number;
  readonly priority: number;
  isInFlight: boolean;
  /** Acquisitions so far. */
  attempt: number;
  /** Deliveries that count against the limit. */
  failures: number;
  /** The member that holds it or held it last. */
  memberId: string;
  /** Term of the acquisition: a receipt of an acquisition that a crash took names another one. */
  term: number;
  /** In flight: when it is given back. Waiting: when it may go out again. */
  untilMs: number;
  /** The span that `untilMs` came from. */
  spanMs: number;
  /** Term of the leader whose clock `untilMs` is in. */
  untilTerm: number;
  visibilityMs: number;
  readonly firstDeliveryMs: number;
  firstFailureMs: number;
  lastFailureMs: number;
  /** The last ones, newest last. */
  errors: string[];
}

export const openMessageCountMax = 10_000;
const errorCountMax = 10;
const errorSizeMax = 512;

export interface Acquisition {
  readonly memberId: string;
  readonly atMs: number;
  readonly visibilityMs: number;
  readonly offset: number;
  readonly priority: number;
}

/** Names a delivery; `attempt` 0 stands for the current one, whichever it is. */
export interface DeliveryName {
  readonly offset: number;
  readonly attempt: number;
  readonly term: number;
}

export type SettleProblem = "done" | "expired" | "unknown";

export interface DeliveryImage {
  readonly acked: AckedSetImage;
  readonly open: readonly OpenMessage[];
  readonly metadata: string | undefined;
}

export class DeliveryState {
  #acked: AckedSet;
  readonly #open = new Map<number, OpenMessage>();
  #inFlightCount = 0;
  readonly #inFlightByMember = new Map<string, number>();
  metadata: string | undefined = undefined;
  /** Rises with every reset, so that what was planned before it is recognised. Not part of the image. */
  resetCount = 0;

  constructor(floor: number) {
    this.#acked = new AckedSet(floor);
  }

  static restore(image: DeliveryImage): DeliveryState {
    const state = new DeliveryState(0);
    state.#acked = AckedSet.restore(image.acked);
    state.metadata = image.metadata;
    for (const open of image.open) {
      state.#open.set(open.offset, { ...open, errors: [...open.errors] });
      if (open.isInFlight) state.#countInFlight(open.memberId, 1);
    }
    return state;
  }

  /** The first offset that is not done: the committed offset. */
  get floor(): number {
    return this.#acked.floor;
  }
  get inFlightCount(): number {
    return this.#inFlightCount;
  }
  inFlightCountOf(memberId: string): number {
    return this.#inFlightByMember.get(memberId) ?? 0;
  }
  get waitingCount(): number {
    return this.#open.size - this.#inFlightCount;
  }
  get openCount(): number {
    return this.#open.size;
  }
  /** Done above the floor. */
  get ackedAboveCount(): number {
    return this.#acked.aboveCount;
  }
  get open(): ReadonlyMap<number, Readonly<OpenMessage>> {
    return this.#open;
  }
  isDone(offset: number): boolean {
    return this.#acked.has(offset);
  }

  /** Undefined when the message is done or with a member already: the acquisition was overtaken. */
  acquire(acquisition: Acquisition, term: number): Readonly<OpenMessage> | undefined {
    const { offset, memberId, atMs, visibilityMs, priority } = acquisition;
    if (this.isDone(offset)) return undefined;
    let open = this.#open.get(offset);
    if (open?.isInFlight) return undefined;
    if (open === undefined) {
      open = {
        offset,
        priority,
        isInFlight: true,
        attempt: 0,
        failures: 0,
        memberId,
        term,
        untilMs: 0,
        spanMs: visibilityMs,
        untilTerm: term,
        visibilityMs,
        firstDeliveryMs: atMs,
        firstFailureMs: 0,
        lastFailureMs: 0,
        errors: [],
      };
      this.#open.set(offset, open);
    }
    open.isInFlight = true;
    open.attempt += 1;
    open.memberId = memberId;
    open.term = term;
    open.untilMs = atMs + visibilityMs;
    open.spanMs = visibilityMs;
    open.untilTerm = term;
    open.visibilityMs = visibilityMs;
    this.#countInFlight(memberId, 1);
    return open;
  }

  /** The open message that a settlement names, or why it may not be settled. */
  find(name: DeliveryName): { readonly open: Readonly<OpenMessage> } | { readonly problem: SettleProblem } {
    if (this.isDone(name.offset)) return { problem: "done" };
    const open = this.#open.get(name.offset);
    if (open === undefined) return { problem: "unknown" };
    if (name.attempt !== 0 && (name.attempt !== open.attempt || name.term !== open.term)) return { problem: "expired" };
    return { open };
  }

  /**
   * Marks a message as done. A receipt whose acquisition a crash took (nobody knows the message as open) still counts:
   * its holder did the work, and nobody else has it.
   */
  ack(name: DeliveryName): "acked" | SettleProblem {
    const found = this.find(name);
    if ("problem" in found && !(found.problem === "unknown" && name.attempt !== 0)) return found.problem;
    this.finish(name.offset);
    return "acked";
  }

  /** Done, whatever it was before: dead-lettered, dropped, or never delivered because it does not exist. */
  finish(offset: number): void {
    this.#forget(offset);
    this.#acked.add(offset);
  }

  /** Gives a message in flight back; it goes out again at `visibleAtMs`. */
  retry(
    name: DeliveryName,
    options: {
      readonly visibleAtMs: number;
      readonly delayMs: number;
      readonly leaderTerm: number;
      readonly isFailed: boolean;
      readonly error?: string;
      readonly nowMs: number;
    },
  ): Readonly<OpenMessage> | SettleProblem {
    const found = this.find(name);
    if ("problem" in found) return found.problem;
    const open = this.#open.get(name.offset);
    if (open === undefined || !open.isInFlight) return "expired";
    open.isInFlight = false;
    open.untilMs = options.visibleAtMs;
    open.spanMs = options.delayMs;
    open.untilTerm = options.leaderTerm;
    this.#countInFlight(open.memberId, -1);
    if (options.isFailed) noteFailure(open, options.nowMs, options.error);
    return open;
  }

  extend(
    name: DeliveryName,
    options: { readonly untilMs: number; readonly visibilityMs: number; readonly leaderTerm: number },
  ): Readonly<OpenMessage> | SettleProblem {
    const found = this.find(name);
    if ("problem" in found) return found.problem;
    const open = this.#open.get(name.offset);
    if (open === undefined || !open.isInFlight) return "expired";
    open.untilMs = options.untilMs;
    open.spanMs = options.visibilityMs;
    open.untilTerm = options.leaderTerm;
    open.visibilityMs = options.visibilityMs;
    return open;
  }

  /** Gives back all that a member holds. */
  releaseMember(
    memberId: string,
    options: { readonly isFailed: boolean; readonly nowMs: number },
  ): readonly Readonly<OpenMessage>[] {
    const released: OpenMessage[] = [];
    for (const open of this.#open.values()) {
      if (!open.isInFlight || open.memberId !== memberId) continue;
      open.isInFlight = false;
      open.untilMs = 0;
      open.spanMs = 0;
      this.#countInFlight(memberId, -1);
      if (options.isFailed) noteFailure(open, options.nowMs, "the session of the member ended");
      released.push(open);
    }
    return released;
  }

  /** Extends all that a member holds; returns how many. */
  extendMember(memberId: string, atMs: number, leaderTerm: number): number {
    let count = 0;
    for (const open of this.#open.values()) {
      if (!open.isInFlight || open.memberId !== memberId) continue;
      open.untilMs = atMs + open.visibilityMs;
      open.spanMs = open.visibilityMs;
      open.untilTerm = leaderTerm;
      count += 1;
    }
    return count;
  }

  /** Everything below `offset` is done. Never moves backwards. */
  commit(offset: number): void {
    for (const known of this.#open.keys()) if (known < offset) this.#forget(known);
    this.#acked.raiseFloor(offset);
  }

  /** Starts over at `offset`; nothing from before counts. */
  reset(offset: number): void {
    this.#open.clear();
    this.#inFlightCount = 0;
    this.#inFlightByMember.clear();
    this.#acked = new AckedSet(offset);
    this.resetCount += 1;
  }

  image(): DeliveryImage {
    return { acked: this.#acked.image(), open: [...this.#open.values()], metadata: this.metadata };
  }

  #forget(offset: number): void {
    const open = this.#open.get(offset);
    if (open === undefined) return;
    if (open.isInFlight) this.#countInFlight(open.memberId, -1);
    this.#open.delete(offset);
  }

  #countInFlight(memberId: string, change: 1 | -1): void {
    this.#inFlightCount += change;
    const count = this.inFlightCountOf(memberId) + change;
    if (count === 0) this.#inFlightByMember.delete(memberId);
    else this.#inFlightByMember.set(memberId, count);
  }
}

function noteFailure(open: OpenMessage, nowMs: number, error: string | undefined): void {
  open.failures += 1;
  if (open.firstFailureMs === 0) open.firstFailureMs = nowMs;
  open.lastFailureMs = nowMs;
  if (error === undefined) return;
  open.errors.push(truncateError(error));
  if (open.errors.length > errorCountMax) open.errors.shift();
}

/** At most 512 bytes of UTF-8, cut between characters. */
export function truncateError(error: string): string {
  const bytes = Buffer.from(error);
  if (bytes.length <= errorSizeMax) return error;
  let end = errorSizeMax;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}
