import { queueError } from "../../errors.ts";
import type { Acks } from "../ports.ts";

/**
 * Proposals that wait for their entry, by index. One is settled when its entry is applied here, when another entry
 * takes its place (then it surely did not happen), or when its time is up (then nobody knows). Losing the leadership
 * settles nothing: the next leader may still commit the entry.
 */
export type ProposalCallback = (error: Error | undefined, result: unknown) => void;

interface Pending {
  readonly term: number;
  readonly callback: ProposalCallback;
  readonly deadlineMs: number;
  readonly sizeBytes: number;
}

export class PendingProposals {
  readonly #pending = new Map<number, Pending>();
  readonly #awaitingLeader: { readonly index: number; readonly term: number }[] = [];
  #nextDeadlineMs = Number.POSITIVE_INFINITY;
  #sizeBytes = 0;

  get count(): number {
    return this.#pending.size;
  }
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  add(index: number, pending: Pending, acks: Acks): void {
    this.#pending.set(index, pending);
    this.#sizeBytes += pending.sizeBytes;
    if (pending.deadlineMs < this.#nextDeadlineMs) this.#nextDeadlineMs = pending.deadlineMs;
    if (acks === "leader") this.#awaitingLeader.push({ index, term: pending.term });
  }

  /** The entry at `index` was applied. */
  settleApplied(index: number, term: number, result: unknown): void {
    const pending = this.#take(index);
    if (pending === undefined) return;
    if (pending.term === term) pending.callback(undefined, result);
    else pending.callback(overwritten(), undefined);
  }

  /** Everything up to `index` is durable on this node: enough for `acks: leader`. */
  settleDurable(index: number): void {
    while ((this.#awaitingLeader[0]?.index ?? Number.POSITIVE_INFINITY) <= index) {
      const first = this.#awaitingLeader.shift();
      if (first === undefined || this.#pending.get(first.index)?.term !== first.term) continue;
      this.#take(first.index)?.callback(undefined, undefined);
    }
  }

  /** The entries from `index` on have given way to those of another leader. */
  failOverwritten(index: number): void {
    this.#failWhere((at) => at >= index, overwritten);
  }

  failExpired(nowMs: number): void {
    if (nowMs < this.#nextDeadlineMs) return;
    this.#failWhere((_, pending) => pending.deadlineMs <= nowMs, expired);
    this.#nextDeadlineMs = Number.POSITIVE_INFINITY;
    for (const { deadlineMs } of this.#pending.values()) {
      this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, deadlineMs);
    }
  }

  failAll(makeError: () => Error): void {
    this.#failWhere(() => true, makeError);
  }

  #failWhere(isHit: (index: number, pending: Pending) => boolean, makeError: () => Error): void {
    for (const [index, pending] of this.#pending) {
      if (!isHit(index, pending)) continue;
      this.#take(index);
      pending.callback(makeError(), undefined);
    }
  }

  #take(index: number): Pending | undefined {
    const pending = this.#pending.get(index);
    if (pending === undefined) return undefined;
    this.#pending.delete(index);
    this.#sizeBytes -= pending.sizeBytes;
    return pending;
  }
}

function overwritten(): Error {
  return queueError(
    "NOT_LEADER",
    "Cannot write: another leader took over before the entry was stored, nothing happened",
  );
}

function expired(): Error {
  return queueError("TIMEOUT", "Cannot confirm the write in time: it may or may not happen");
}
