/**
 * Time as a port, so that features can be simulated. This folder is the only one that touches `Date` and the timers
 * of the runtime.
 */
export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch. It may jump. */
  nowMs(): number;
  /** Monotonic milliseconds from an arbitrary start; for measuring spans only. */
  monotonicMs(): number;
}

export interface TimerHandle {
  cancel(): void;
}

export interface Timers {
  /** Calls back once after `delayMs`; does not keep the process alive by itself when `isBackground` is set. */
  after(delayMs: number, callback: () => void, options?: { readonly isBackground?: boolean }): TimerHandle;
  every(intervalMs: number, callback: () => void, options?: { readonly isBackground?: boolean }): TimerHandle;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

export const systemTimers: Timers = {
  after(delayMs, callback, options) {
    const timer = setTimeout(callback, delayMs);
    if (options?.isBackground) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  every(intervalMs, callback, options) {
    const timer = setInterval(callback, intervalMs);
    if (options?.isBackground) timer.unref();
    return { cancel: () => clearInterval(timer) };
  },
};

/** Calls back once the events that are already waiting have been handled: for joining small pieces of work to a large one. */
export function afterPendingEvents(callback: () => void): void {
  setImmediate(callback);
}

/** Resolves after `delayMs`, or rejects with the signal's reason when it is aborted first. */
export function sleep(delayMs: number, signal?: AbortSignal, timers: Timers = systemTimers): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = timers.after(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** RFC 3339 in UTC with milliseconds. */
export function formatInstant(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** RFC 3339 in UTC with whole seconds. */
export function formatInstantSeconds(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

const instantPattern = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:\d{2})$/;

/** Milliseconds since the epoch, or undefined when the text is no RFC 3339 instant. */
export function parseInstant(text: string): number | undefined {
  if (!instantPattern.test(text)) return undefined;
  const epochMs = Date.parse(text);
  return Number.isNaN(epochMs) ? undefined : epochMs;
}
