import t from "tap";
import { type AnomalyKind, checkHistory } from "./checker.ts";
import type { AppendOperation, Operation, ReadOperation } from "./history.ts";

/** One small history per anomaly, and the one next to it that is as it should be. */
function append(value: string, offset: number | undefined, options: Partial<AppendOperation> = {}): AppendOperation {
  const [producer = "", sequence = ""] = value.split(":");
  return {
    kind: "append",
    producer,
    sequence: Number(sequence),
    partition: "0-0",
    value,
    startMs: 0,
    endMs: 1,
    outcome: offset === undefined ? "unknown" : "acknowledged",
    offset,
    ...options,
  };
}

function read(values: readonly string[], options: Partial<ReadOperation> = {}): ReadOperation {
  const base = { kind: "read", reader: "r1", partition: "0-0", startMs: 2, endMs: 3, fromOffset: 0 } as const;
  return { ...base, values, isFresh: true, ...options };
}

interface Case {
  readonly name: string;
  readonly operations: readonly Operation[];
  /** Of each node. */
  readonly finalLogs: readonly (readonly string[])[];
  readonly expected: readonly AnomalyKind[];
}

const a = append("p:1", 0);
const b = append("p:2", 1, { startMs: 1, endMs: 2 });

const cases: readonly Case[] = [
  { name: "all is well", operations: [a, b, read(["p:1", "p:2"])], finalLogs: [["p:1", "p:2"]], expected: [] },
  {
    name: "an append with an unknown outcome may be there or not",
    operations: [a, append("q:1", undefined), append("q:2", undefined)],
    finalLogs: [["p:1", "q:2"]],
    expected: [],
  },
  { name: "an acknowledged append is gone", operations: [a, b], finalLogs: [["p:1"]], expected: ["lost-write"] },
  {
    name: "an acknowledged append is gone on one node",
    operations: [a, b],
    finalLogs: [["p:1", "p:2"], ["p:1"]],
    expected: ["lost-write"],
  },
  { name: "a value is there twice", operations: [a], finalLogs: [["p:1", "p:1"]], expected: ["duplicate"] },
  {
    name: "an append was acknowledged at another offset",
    operations: [a, append("p:2", 0)],
    finalLogs: [["p:1", "p:2"]],
    expected: ["inconsistent-offsets", "nonmonotonic-send"],
  },
  {
    name: "two readers saw different values at one offset",
    operations: [append("p:1", undefined), append("q:1", undefined), read(["p:1"]), read(["q:1"], { reader: "r2" })],
    finalLogs: [["p:1"]],
    expected: ["inconsistent-offsets"],
  },
  {
    name: "a value whose append failed was read",
    operations: [append("p:1", undefined, { outcome: "failed" }), read(["p:1"])],
    finalLogs: [[]],
    expected: ["aborted-read"],
  },
  { name: "a value that nobody sent is there", operations: [a], finalLogs: [["p:1", "x:9"]], expected: ["phantom"] },
  {
    name: "a read began after an acknowledgement and did not see it",
    operations: [a, b, read(["p:1"], { startMs: 3, endMs: 4 })],
    finalLogs: [["p:1", "p:2"]],
    expected: ["stale-read"],
  },
  {
    name: "a read that began before the acknowledgement need not see it",
    operations: [a, b, read(["p:1"], { startMs: 1.5, endMs: 4 })],
    finalLogs: [["p:1", "p:2"]],
    expected: [],
  },
  {
    name: "a reader went back",
    operations: [
      append("p:1", undefined),
      append("p:2", undefined),
      read(["p:1", "p:2"], { startMs: 2, endMs: 5 }),
      read(["p:1"], { startMs: 4, endMs: 6 }),
    ],
    finalLogs: [["p:1", "p:2"]],
    expected: ["nonmonotonic-poll"],
  },
  {
    name: "what a producer sent later lies earlier",
    operations: [append("p:1", 1), append("p:2", 0)],
    finalLogs: [["p:2", "p:1"]],
    expected: ["nonmonotonic-send"],
  },
];

for (const { name, operations, finalLogs, expected } of cases) {
  t.test(name, async (t) => {
    const logs = finalLogs.map((values, index) => ({ node: `n${index + 1}`, partition: "0-0", values }));
    const kinds = new Set(checkHistory({ operations, finalLogs: logs }).map(({ kind }) => kind));
    t.strictSame([...kinds].sort(), [...expected].sort());
  });
}
