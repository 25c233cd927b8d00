import type { TimerHandle, Timers } from "../../../src/platform/time/clock.ts";

/** Time that passes only when a test says so: callbacks run in the order of their due time, then of their making. */
export class VirtualTime implements Timers {
  #nowMs = 0;
  #sequence = 0;
  #events: { dueMs: number; sequence: number; run: () => void }[] = [];

  get nowMs(): number {
    return this.#nowMs;
  }
  get pendingCount(): number {
    return this.#events.length;
  }

  after(delayMs: number, callback: () => void): TimerHandle {
    const event = { dueMs: this.#nowMs + delayMs, sequence: this.#sequence, run: callback };
    this.#sequence += 1;
    this.#events.push(event);
    return {
      cancel: () => {
        this.#events = this.#events.filter((other) => other !== event);
      },
    };
  }

  every(intervalMs: number, callback: () => void): TimerHandle {
    let handle: TimerHandle;
    const again = (): void => {
      handle = this.after(intervalMs, again);
      callback();
    };
    handle = this.after(intervalMs, again);
    return { cancel: () => handle.cancel() };
  }

  /** As `after`, in the argument order of a scheduler. */
  readonly schedule = (delayMs: number, run: () => void): void => {
    this.after(delayMs, run);
  };
  readonly runSoon = (run: () => void): void => {
    this.after(0, run);
  };

  /** Runs what is due within the span. */
  advance(spanMs: number): void {
    const untilMs = this.#nowMs + spanMs;
    while (this.#runNext(untilMs));
    this.#nowMs = untilMs;
  }

  /** Runs events one by one until the condition holds or `limit` of them ran. */
  runUntil(isDone: () => boolean, limit = 100_000): boolean {
    for (let count = 0; count < limit && !isDone(); count += 1) {
      if (!this.#runNext(Number.POSITIVE_INFINITY)) break;
    }
    return isDone();
  }

  /** The machine stops: nothing that was due happens. */
  clear(): void {
    this.#events = [];
  }

  #runNext(untilMs: number): boolean {
    let next = this.#events[0];
    for (const event of this.#events) {
      if (next === undefined) break;
      if (event.dueMs < next.dueMs || (event.dueMs === next.dueMs && event.sequence < next.sequence)) next = event;
    }
    if (next === undefined || next.dueMs > untilMs) return false;
    const chosen = next;
    this.#events = this.#events.filter((event) => event !== chosen);
    this.#nowMs = Math.max(this.#nowMs, chosen.dueMs);
    chosen.run();
    return true;
  }
}
