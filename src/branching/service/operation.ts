/**
 * Around every operation on a branch: a heartbeat, so that the reconcile loop can tell slow from dead; a time limit;
 * and one word on how it went.
 */
import { isDomainError } from "../../platform/errors/domain-error.ts";
import { branchingError } from "../errors.ts";
import type { Caller, EngineContext } from "./engine-context.ts";

export interface OperationSpec {
  readonly name: string;
  /** What it is about, for texts: `branch "x"`. */
  readonly subject: string;
  /** Undefined for seeds: they take as long as the data is large. */
  readonly limitMs: number | undefined;
  heartbeat(atMs: number): Promise<void>;
}

const heartbeatMsMax = 30_000;

export async function runOperation<T>(
  context: EngineContext,
  spec: OperationSpec,
  caller: Caller,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const startedMs = context.clock.monotonicMs();
  const limit = new AbortController();
  const limitMs = spec.limitMs;
  const limitTimer =
    limitMs === undefined ? undefined : context.timers.after(limitMs, () => limit.abort(), { isBackground: true });
  const beat = startHeartbeat(context, spec);
  let isSuccess = false;
  try {
    const result = await work(AbortSignal.any([caller.signal, limit.signal]));
    isSuccess = true;
    return result;
  } catch (error) {
    const elapsedMs = context.clock.monotonicMs() - startedMs;
    throw explainStop(spec, error, { caller, limit: limit.signal, elapsedMs });
  } finally {
    limitTimer?.cancel();
    beat.cancel();
    context.observer.onOperation?.(spec.name, context.clock.monotonicMs() - startedMs, isSuccess);
  }
}

function startHeartbeat(context: EngineContext, spec: OperationSpec): { cancel(): void } {
  const intervalMs = Math.min(context.settings.stuckTimeoutMs / 4, heartbeatMsMax);
  return context.timers.every(
    intervalMs,
    () => {
      spec.heartbeat(context.clock.nowMs()).catch((error: unknown) => {
        context.logger.warn({ err: error, operation: spec.name }, "the heartbeat of an operation could not be written");
      });
    },
    { isBackground: true },
  );
}

interface StopFacts {
  readonly caller: Caller;
  readonly limit: AbortSignal;
  readonly elapsedMs: number;
}

function explainStop(spec: OperationSpec, error: unknown, facts: StopFacts): unknown {
  if (facts.limit.aborted && error === facts.limit.reason) {
    const seconds = (value: number): string => `${Math.round(value / 1000)} s`;
    return branchingError(
      "operation_timed_out",
      `Cannot ${spec.name} ${spec.subject}: it ran ${seconds(facts.elapsedMs)}, the limit is ${seconds(spec.limitMs ?? 0)}; it was rolled back`,
    );
  }
  if (facts.caller.signal.aborted && error === facts.caller.signal.reason && !isDomainError(error)) {
    return branchingError("operation_stopped", `Cannot ${spec.name} ${spec.subject}: it was stopped and rolled back`, {
      cause: error,
    });
  }
  return error;
}
