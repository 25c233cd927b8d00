import type { ShardId } from "../../../service/ports.ts";
import type { ShardLogIndex } from "./shard-log-index.ts";
import type { ShardSummary, StoredRecord } from "./wal-format.ts";

/** What the files say about every shard, as opposed to memory, which is ahead by the queue. Opens each new file. */
export class WrittenState {
  readonly #byShard = new Map<ShardId, ShardSummary>();

  constructor(recovered: ReadonlyMap<ShardId, ShardLogIndex>) {
    for (const [shard, log] of recovered) this.#byShard.set(shard, log.summary());
  }

  summaries(): StoredRecord[] {
    return [...this.#byShard].map(([shard, summary]) => ({ kind: "summary", shard, summary }));
  }

  apply(record: StoredRecord): void {
    const shard = record.kind === "entry" ? record.entry.shard : record.shard;
    this.#byShard.set(shard, applyToSummary(this.#byShard.get(shard) ?? emptySummary, record));
  }
}

const emptySummary: ShardSummary = {
  hardState: { term: 0, votedFor: undefined },
  mark: { index: 0, term: 0 },
  lastIndex: 0,
  damage: undefined,
};

function applyToSummary(summary: ShardSummary, record: StoredRecord): ShardSummary {
  switch (record.kind) {
    case "entry":
      return { ...summary, lastIndex: Math.max(summary.lastIndex, record.entry.index) };
    case "hardState":
      return { ...summary, hardState: record.state };
    case "truncate":
      return { ...summary, lastIndex: Math.min(summary.lastIndex, record.index - 1) };
    case "mark": {
      const mark = { index: record.index, term: record.term };
      return { ...summary, mark, lastIndex: Math.max(summary.lastIndex, record.index) };
    }
    case "repaired":
      return { ...summary, damage: undefined };
    case "summary":
      return record.summary;
  }
}
