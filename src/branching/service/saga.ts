/**
 * Long work on the world as a list of steps. When a step fails, it and the ones before it are undone in reverse. An undo
 * runs whatever happened to the caller (it takes no signal), may find that there is nothing to undo, and does not stop
 * the other undos when it fails: what it leaves behind is counted, and the reconcile loop finds it.
 */
import type { Logger } from "../../platform/log/logger.ts";

export interface Step {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  undo?(): Promise<void>;
  /** What is done when this step has run is never undone, whatever comes after it. */
  readonly isCommit?: true;
}

export interface SagaHooks {
  /** Called around every step, with `operation.step` and `operation.step.before`; tests end the process here. */
  onStep?(point: string): void;
  onUndoFailed?(step: string): void;
}

export interface SagaOptions {
  readonly operation: string;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly hooks: SagaHooks;
}

export async function runSaga(steps: readonly Step[], options: SagaOptions): Promise<void> {
  const begun: Step[] = [];
  try {
    for (const step of steps) {
      options.signal.throwIfAborted();
      options.hooks.onStep?.(`${options.operation}.${step.name}.before`);
      begun.push(step);
      await step.run(options.signal);
      if (step.isCommit) begun.length = 0;
      options.hooks.onStep?.(`${options.operation}.${step.name}`);
    }
  } catch (error) {
    await undoAll(begun.reverse(), options);
    throw error;
  }
}

async function undoAll(steps: readonly Step[], options: SagaOptions): Promise<void> {
  for (const step of steps) {
    if (step.undo === undefined) continue;
    try {
      options.hooks.onStep?.(`${options.operation}.${step.name}.undo`);
      await step.undo();
    } catch (error) {
      options.hooks.onUndoFailed?.(step.name);
      options.logger.error({ err: error, operation: options.operation, step: step.name }, "a step could not be undone");
    }
  }
}
