import type { Timers } from "../../../platform/time/clock.ts";

/**
 * Who waits for what: a key names an event ("records in this partition"), a call of `wake` calls back all that wait for
 * it, once. Nothing is asked of a disk or a clock while waiting.
 */
export class WakeUps {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Calls back at the next `wake` of any of the keys, until the returned function is called. */
  subscribe(keys: readonly string[], onWake: () => void): () => void {
    for (const key of keys) {
      const callbacks = this.#waiting.get(key);
      if (callbacks === undefined) this.#waiting.set(key, new Set([onWake]));
      else callbacks.add(onWake);
    }
    return () => {
      for (const key of keys) {
        const callbacks = this.#waiting.get(key);
        callbacks?.delete(onWake);
        if (callbacks?.size === 0) this.#waiting.delete(key);
      }
    };
  }

  wake(key: string): void {
    const callbacks = this.#waiting.get(key);
    if (callbacks === undefined) return;
    for (const callback of [...callbacks]) callback();
  }

  wakeAll(): void {
    for (const key of [...this.#waiting.keys()]) this.wake(key);
  }

  get size(): number {
    return this.#waiting.size;
  }
}

export interface WaitOptions {
  readonly timers: Timers;
  readonly timeoutMs: number;
  /** Any of them ends the wait. */
  readonly signals: readonly (AbortSignal | undefined)[];
}

export type WaitEnd = "woken" | "timeout" | "aborted";

/** Waits for a wake-up, the time limit or a signal, whichever is first, and leaves nothing behind. */
export function waitForWake(wakeUps: WakeUps, keys: readonly string[], options: WaitOptions): Promise<WaitEnd> {
  const signals = options.signals.filter((signal) => signal !== undefined);
  if (signals.some((signal) => signal.aborted)) return Promise.resolve("aborted");
  return new Promise((resolve) => {
    const end = (outcome: WaitEnd): void => {
      unsubscribe();
      timer.cancel();
      for (const signal of signals) signal.removeEventListener("abort", onAbort);
      resolve(outcome);
    };
    const onAbort = (): void => end("aborted");
    const unsubscribe = wakeUps.subscribe(keys, () => end("woken"));
    const timer = options.timers.after(options.timeoutMs, () => end("timeout"));
    for (const signal of signals) signal.addEventListener("abort", onAbort, { once: true });
  });
}
