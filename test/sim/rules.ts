import { Raft, type RaftOptions } from "../../src/queue/model/raft/raft.ts";
import type { RaftEvent } from "../../src/queue/model/raft/raft-types.ts";
import type { WalRecord, WriteAheadLog } from "../../src/queue/service/ports.ts";

/**
 * Rules that the broker keeps, and that a simulation can break on purpose to show that the checker notices. Each is
 * broken from outside the code under test, at a seam.
 */
export const brokenRules = [
  "ackBeforeSync",
  "voteBeforeSync",
  "forgetVote",
  "applyUncommitted",
  "readWithoutMajority",
  "repeatOnRetry",
  "wipedNodeVotes",
] as const;
export type BrokenRule = (typeof brokenRules)[number];

export type OnElected = (shard: number, term: number) => void;

/** Tells of elections won, which the host hears of only when the leader's first entry is applied. */
class WatchedRaft extends Raft {
  readonly #onElected: OnElected;
  #electedTerm = 0;

  constructor(options: RaftOptions, onElected: OnElected) {
    super(options);
    this.#onElected = onElected;
  }

  override step(event: RaftEvent): void {
    super.step(event);
    if (this.role !== "leader" || this.term === this.#electedTerm) return;
    this.#electedTerm = this.term;
    this.#onElected(this.shard, this.term);
  }
}

/** Takes for committed whatever is durable here. */
class EagerRaft extends WatchedRaft {
  override get commitIndex(): number {
    return this.role === "leader" ? Math.max(super.commitIndex, this.durableIndex) : super.commitIndex;
  }
}

export function createRaft(rule: BrokenRule | undefined, options: RaftOptions, onElected: OnElected): Raft {
  switch (rule) {
    case "applyUncommitted":
      return new EagerRaft(options, onElected);
    case "wipedNodeVotes":
      return new WatchedRaft({ ...options, hardState: { ...options.hardState, isRecovering: false } }, onElected);
    default:
      return new WatchedRaft(options, onElected);
  }
}

/** The log as a node with the rule broken sees it. */
export function breakLog(
  rule: BrokenRule | undefined,
  wal: WriteAheadLog,
  defer: (run: () => void) => void,
): WriteAheadLog {
  const isVoteOnly = (records: readonly WalRecord[]): boolean => records.every((record) => record.kind === "hardState");
  switch (rule) {
    case "ackBeforeSync":
      return withAppend(wal, (records, onDurable) => {
        wal.append(records, () => undefined);
        defer(() => onDurable(undefined));
      });
    case "voteBeforeSync":
      return withAppend(wal, (records, onDurable) => {
        if (!isVoteOnly(records)) return wal.append(records, onDurable);
        wal.append(records, () => undefined);
        defer(() => onDurable(undefined));
      });
    case "forgetVote":
      return withAppend(wal, (records, onDurable) => {
        wal.append(records.map(withoutVote), onDurable);
      });
    default:
      return wal;
  }
}

function withoutVote(record: WalRecord): WalRecord {
  return record.kind === "hardState" ? { ...record, state: { ...record.state, votedFor: undefined } } : record;
}

function withAppend(wal: WriteAheadLog, append: WriteAheadLog["append"]): WriteAheadLog {
  return {
    append,
    recovered: () => wal.recovered(),
    readEntries: (shard, from, to, maxBytes) => wal.readEntries(shard, from, to, maxBytes),
    termAt: (shard, index) => wal.termAt(shard, index),
    release: (shard, index, term) => wal.release(shard, index, term),
    markRepaired: (shard) => wal.markRepaired(shard),
    get sizeBytes() {
      return wal.sizeBytes;
    },
    get isDiskFull() {
      return wal.isDiskFull;
    },
    get failure() {
      return wal.failure;
    },
    close: () => wal.close(),
  };
}
