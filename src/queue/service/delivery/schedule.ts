import type { TimerHandle, Timers } from "../../../platform/time/clock.ts";
import { MinHeap } from "../../model/delivery/min-heap.ts";

/**
 * Calls back for each of many things at its own time, with one timer. A thing has at most one time: an earlier one
 * replaces a later one.
 */
const timerDelayMsMax = 3_600_000;

export class Schedule<T> {
  readonly #timers: Timers;
  readonly #nowMs: () => number;
  readonly #onDue: (thing: T) => void;
  readonly #dueByThing = new Map<T, number>();
  readonly #heap = new MinHeap<{ readonly atMs: number; readonly thing: T }>((a, b) => a.atMs < b.atMs);
  #timer: TimerHandle | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(timers: Timers, nowMs: () => number, onDue: (thing: T) => void) {
    this.#timers = timers;
    this.#nowMs = nowMs;
    this.#onDue = onDue;
  }

  set(thing: T, atMs: number): void {
    if (atMs === Number.POSITIVE_INFINITY) return;
    const known = this.#dueByThing.get(thing);
    if (known !== undefined && known <= atMs) return;
    this.#dueByThing.set(thing, atMs);
    this.#heap.push({ atMs, thing });
    this.#arm();
  }

  delete(thing: T): void {
    this.#dueByThing.delete(thing);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#dueByThing.clear();
    this.#heap.clear();
    this.#timerAtMs = Number.POSITIVE_INFINITY;
  }

  #arm(): void {
    const first = this.#heap.peek();
    if (first === undefined || first.atMs >= this.#timerAtMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = first.atMs;
    const delayMs = Math.min(Math.max(0, first.atMs - this.#nowMs()), timerDelayMsMax);
    this.#timer = this.#timers.after(delayMs, () => this.#fire(), { isBackground: true });
  }

  #fire(): void {
    this.#timer = undefined;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#nowMs();
    for (let first = this.#heap.peek(); first !== undefined && first.atMs <= nowMs; first = this.#heap.peek()) {
      this.#heap.pop();
      // A thing that got another time since, or none.
      if (this.#dueByThing.get(first.thing) !== first.atMs) continue;
      this.#dueByThing.delete(first.thing);
      this.#onDue(first.thing);
    }
    this.#arm();
  }
}
