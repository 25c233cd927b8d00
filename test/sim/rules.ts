import { Raft, type RaftOptions } from "../../src/queue/model/raft/raft.ts";
import type { WalRecord, WriteAheadLog } from "../../src/queue/service/ports.ts";

/**
 * Rules that the broker keeps, and that a simulation can break on purpose to show that the checker notices. Each is
 * broken from outside the code under test, at a seam.
 */
export const brokenRules = [
  "ackBeforeSync",
  "voteBeforeSync",
  "forgetVote",
  "commitOldTerm",
  "applyUncommitted",
  "readWithoutMajority",
  "repeatOnRetry",
  "wipedNodeVotes",
] as const;
export type BrokenRule = (typeof brokenRules)[number];

class OldTermRaft extends Raft {
  protected override mayCommitByCounting(): boolean {
    return true;
  }
}

export function createRaft(rule: BrokenRule | undefined, options: RaftOptions): Raft {
  switch (rule) {
    case "commitOldTerm":
      return new OldTermRaft(options);
    case "applyUncommitted":
      return new EagerRaft(options);
    case "wipedNodeVotes":
      return new Raft({ ...options, hardState: { ...options.hardState, isRecovering: false } });
    default:
      return new Raft(options);
  }
}

/** Takes for committed whatever is durable here. */
class EagerRaft extends Raft {
  override get commitIndex(): number {
    return this.role === "leader" ? Math.max(super.commitIndex, this.durableIndex) : super.commitIndex;
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
