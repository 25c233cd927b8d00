/**
 * Stop is one AbortSignal passed down. The first SIGINT or SIGTERM aborts it; the second ends the process at once with
 * the exit code a shell expects.
 */
export function createStopSignal(): AbortSignal {
  const controller = new AbortController();
  const numbers = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(128 + numbers[name]);
      controller.abort(new StopRequested(name));
    });
  }
  return controller.signal;
}

/** The reason with which the stop signal is aborted. */
export class StopRequested extends Error {
  readonly signalName: string;

  constructor(signalName: string) {
    super(`stopped by ${signalName}`);
    this.name = "StopRequested";
    this.signalName = signalName;
  }
}

/** Resolves when the signal is aborted; at once when it already is. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
