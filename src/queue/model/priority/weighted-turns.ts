import { type Priority, priorityCount } from "../record-batch.ts";

/**
 * Whose turn it is among the priorities that have messages: deficit round robin by message count. Each pick gives every
 * waiting priority credit by its weight and charges the picked one with what was given in total, so that shares hold
 * over any window of a hundred messages, not only over long ones. A priority without messages collects no credit. A
 * message whose turn has not come for 30 seconds is next, so that a slow reader starves nobody.
 */
export const promoteAfterMs = 30_000;
const priorities: readonly Priority[] = [0, 1, 2, 3, 4];

export class WeightedTurns {
  #weights: readonly number[];
  readonly #credits: number[] = new Array<number>(priorityCount).fill(0);
  /** Since when the foremost message of each priority waits; undefined when there is none. */
  readonly #waitingSinceMs: (number | undefined)[] = new Array<undefined>(priorityCount).fill(undefined);

  constructor(weights: readonly number[]) {
    this.#weights = weights;
  }

  setWeights(weights: readonly number[]): void {
    this.#weights = weights;
  }

  /** The priority to serve next among those that have messages, or undefined when none has. */
  next(hasMessages: (priority: Priority) => boolean, nowMs: number): Priority | undefined {
    let total = 0;
    let best: Priority | undefined;
    let overdue: Priority | undefined;
    for (const priority of priorities) {
      if (!hasMessages(priority)) {
        this.#credits[priority] = 0;
        this.#waitingSinceMs[priority] = undefined;
        continue;
      }
      const weight = this.#weights[priority] ?? 1;
      total += weight;
      this.#credits[priority] = this.#creditOf(priority) + weight;
      if (best === undefined || this.#creditOf(priority) > this.#creditOf(best)) best = priority;
      const sinceMs = this.#waitingSinceMs[priority] ?? nowMs;
      this.#waitingSinceMs[priority] = sinceMs;
      const isLonger = overdue === undefined || sinceMs < (this.#waitingSinceMs[overdue] ?? nowMs);
      if (nowMs - sinceMs > promoteAfterMs && isLonger) overdue = priority;
    }
    const chosen = overdue ?? best;
    if (chosen === undefined) return undefined;
    this.#credits[chosen] = this.#creditOf(chosen) - total;
    this.#waitingSinceMs[chosen] = undefined;
    return chosen;
  }

  #creditOf(priority: Priority): number {
    return this.#credits[priority] ?? 0;
  }
}
