import { systemTimers } from "../../../platform/time/clock.ts";
import { branchingError } from "../../errors.ts";
import { statusOf, toRuntimeError } from "./docker-errors.ts";

/** Calls of the engine's API with a time limit and our errors. */
export interface DockerCalls {
  /** The answers in `accepted` count as done. */
  call<T>(action: string, run: () => Promise<T>, accepted?: readonly number[], timeoutMs?: number): Promise<T>;
  /** Undefined when there is no such object. */
  optional<T>(action: string, run: () => Promise<T>): Promise<T | undefined>;
}

export function createDockerCalls(callTimeoutMs: number): DockerCalls {
  return {
    call: async (action, run, accepted = [], timeoutMs = callTimeoutMs) => {
      try {
        return await withTimeout(run(), action, timeoutMs);
      } catch (error) {
        const status = statusOf(error);
        if (status !== undefined && accepted.includes(status)) return undefined as never;
        throw toRuntimeError(action, error);
      }
    },
    optional: async (action, run) => {
      try {
        return await withTimeout(run(), action, callTimeoutMs);
      } catch (error) {
        if (statusOf(error) === 404) return undefined;
        throw toRuntimeError(action, error);
      }
    },
  };
}

function withTimeout<T>(promise: Promise<T>, action: string, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = systemTimers.after(timeoutMs, () => {
      const text = `Cannot ${action}: the Docker engine did not answer within ${timeoutMs / 1000} s`;
      reject(branchingError("runtime_unreachable", text));
    });
    promise.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}
