import { queueError } from "../../errors.ts";

/** Reads that wait until the leader has named an index, and then until the state here has reached it. */
interface PendingRead {
  readonly settle: (error: Error | undefined) => void;
  readonly deadlineMs: number;
  index: number | undefined;
}

export class PendingReads {
  readonly #pending = new Map<number, PendingRead>();
  #lastId: number;

  /** @param firstId random: an answer that was on its way when the node stopped must not fit a read of its next life */
  constructor(firstId: number) {
    this.#lastId = firstId;
  }

  get count(): number {
    return this.#pending.size;
  }

  add(deadlineMs: number, settle: (error: Error | undefined) => void): number {
    this.#lastId += 1;
    this.#pending.set(this.#lastId, { settle, deadlineMs, index: undefined });
    return this.#lastId;
  }

  noteIndex(readId: number, index: number): void {
    const read = this.#pending.get(readId);
    if (read !== undefined) read.index = index;
  }

  settleApplied(appliedIndex: number): void {
    for (const [id, read] of this.#pending) {
      if (read.index === undefined || read.index > appliedIndex) continue;
      this.#pending.delete(id);
      read.settle(undefined);
    }
  }

  fail(readId: number, error: Error): void {
    const read = this.#pending.get(readId);
    this.#pending.delete(readId);
    read?.settle(error);
  }

  failExpired(nowMs: number): void {
    for (const [id, read] of this.#pending) {
      if (read.deadlineMs > nowMs) continue;
      this.fail(id, queueError("TIMEOUT", "Cannot read in time: no majority of replicas answered"));
    }
  }

  failAll(makeError: () => Error): void {
    for (const id of [...this.#pending.keys()]) this.fail(id, makeError());
  }
}
