import fc from "fast-check";
import t from "tap";
import {
  decodeShardCommand,
  encodeShardCommand,
  type ShardOperation,
} from "../../../src/queue/model/commands/shard-command.ts";
import { AckedSet } from "../../../src/queue/model/delivery/acked-set.ts";
import { backOffMs } from "../../../src/queue/model/delivery/back-off.ts";
import { DeliveryState, truncateError } from "../../../src/queue/model/delivery/delivery-state.ts";
import { MinHeap } from "../../../src/queue/model/delivery/min-heap.ts";
import { assignPartitions } from "../../../src/queue/model/groups/assignor.ts";
import { KeyWindow, keyCountMax, keyWindowMs } from "../../../src/queue/model/idempotence/key-window.ts";
import {
  ProducerTable,
  producerCountMax,
  producerIdleMsMax,
} from "../../../src/queue/model/idempotence/producer-table.ts";
import { RecordBatchBuilder } from "../../../src/queue/model/record-batch-builder.ts";

t.test("AckedSet agrees with a plain set, also after a restore", async (t) => {
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant("add" as const), offset: fc.nat(13_000) }) },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant("run" as const), offset: fc.nat(9_000), count: fc.nat(4_200) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("raise" as const), offset: fc.nat(13_000) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("restore" as const) }) },
  );
  fc.assert(
    fc.property(fc.nat(5_000), fc.array(step, { maxLength: 25 }), (floor, steps) => {
      let set = new AckedSet(floor);
      const plain = new Set<number>();
      let plainFloor = floor;
      const add = (offset: number): void => {
        const isNew = offset >= plainFloor && !plain.has(offset);
        if (set.add(offset) !== isNew) throw new Error(`add(${offset}) is not ${isNew}`);
        plain.add(offset);
      };
      for (const current of steps) {
        if (current.kind === "add") add(current.offset);
        if (current.kind === "run") for (let i = 0; i < current.count; i += 1) add(current.offset + i);
        if (current.kind === "raise") {
          set.raiseFloor(current.offset);
          plainFloor = Math.max(plainFloor, current.offset);
        }
        if (current.kind === "restore") set = AckedSet.restore(JSON.parse(JSON.stringify(set.image())));
        while (plain.has(plainFloor)) plainFloor += 1;
        if (set.floor !== plainFloor) throw new Error(`floor ${set.floor}, wanted ${plainFloor}`);
        let above = 0;
        for (const offset of plain) if (offset > plainFloor) above += 1;
        if (set.aboveCount !== above) throw new Error(`aboveCount ${set.aboveCount}, wanted ${above}`);
      }
      for (let offset = 0; offset < 13_500; offset += 7) {
        if (set.has(offset) !== (offset < plainFloor || plain.has(offset))) throw new Error(`has(${offset})`);
      }
    }),
    { numRuns: 150 },
  );
  t.pass("150 runs");
});

t.test("every shard operation survives its encoding", async (t) => {
  const builder = new RecordBatchBuilder({ timestampMs: 5 });
  builder.append({ key: "k", value: "v" });
  const batch = builder.finish();
  const place = { topicNumber: 7, partition: 3 };
  const target = { group: "grüße", ...place, offset: 2 ** 52, attempt: 3, term: 4 };
  const operations: readonly ShardOperation[] = [
    { kind: "append", ...place, batch, keys: [{ index: 0, key: "once" }] },
    {
      kind: "acquire",
      group: "g",
      ...place,
      memberId: "m",
      atMs: 1,
      visibilityMs: 2,
      runs: [{ offset: 5, count: 3, priority: 4 }],
      missing: [{ offset: 9, count: 1 }],
    },
    { kind: "ack", group: "g", ...place, runs: [{ offset: 1, count: 2, attempt: 3, term: 4 }] },
    { kind: "retry", ...target, visibleAtMs: 9, delayMs: 8, isFailed: true, onlyIfUntilMs: 7, error: "x" },
    { kind: "deadLetter", ...target, dlqTopicNumber: 8, batch },
    { kind: "drop", ...target },
    { kind: "extend", ...target, untilMs: 5, visibilityMs: 6 },
    { kind: "extendMember", group: "g", ...place, memberId: "m", atMs: 4 },
    { kind: "openGroup", group: "g", ...place, floor: 3 },
    { kind: "commit", group: "g", ...place, offset: 3, metadata: "" },
    { kind: "reset", group: "g", ...place, offset: 3 },
    { kind: "releaseMember", group: "g", memberId: "m", isFailed: false },
    { kind: "dropGroup", group: "g" },
    { kind: "dropTopic", topicNumber: 4 },
    { kind: "trim", ...place, offset: 44 },
    { kind: "putGroup", group: "g", expectedVersion: 1, record: "{}" },
    { kind: "delayAdd", ...place, dueMs: 99, batch, key: "" },
    { kind: "delayFire", ...place, sequences: [1, 2, 300] },
    { kind: "delayCancel", ...place, sequence: 4 },
    { kind: "redrive", ...place, dlqTopicNumber: 2, dlqPartition: 1, dlqOffset: 6, batch },
    { kind: "redrive", ...place, dlqTopicNumber: 2, dlqPartition: 1, dlqOffset: 6, batch: undefined },
  ];
  const plain = (value: unknown): unknown => {
    if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).filter(([, part]) => part !== undefined);
    return Object.fromEntries(entries.map(([name, part]) => [name, plain(part)]).sort());
  };
  const time = { nowMs: 1_700_000_000_000, steadyMs: 12 };
  const decoded = decodeShardCommand(Buffer.concat(encodeShardCommand(time, operations)));
  t.strictSame(plain(decoded), plain({ ...time, operations }));
  for (const [index, operation] of operations.entries()) {
    const bytes = Buffer.concat(encodeShardCommand(time, [operation]));
    t.throws(() => decodeShardCommand(bytes.subarray(0, -1)), `operation ${index} cut off`);
  }
  t.throws(() => decodeShardCommand(Uint8Array.of(9, 0, 0)), /version 9/);
  t.throws(() => decodeShardCommand(Uint8Array.of(1, 0, 0, 250)), /operation 250/);
});

t.test("assignPartitions() balances, keeps, repeats", async (t) => {
  const names = ["a", "b", "c", "d", "e", "f"];
  const member = fc.record({
    memberId: fc.constantFrom(...names),
    topics: fc.subarray(["x", "y", "z"], { minLength: 1 }),
  });
  const group = fc.uniqueArray(member, { selector: ({ memberId }) => memberId, maxLength: 6 });
  fc.assert(
    fc.property(group, group, fc.nat(9), fc.nat(9), fc.nat(9), (before, after, x, y, z) => {
      const counts = new Map([
        ["x", x],
        ["y", y],
        ["z", z],
      ]);
      const first = assignPartitions(before, counts, new Map());
      const second = assignPartitions(after, counts, first);
      const again = assignPartitions([...after].reverse(), counts, first);
      if (JSON.stringify([...second]) !== JSON.stringify([...again]))
        throw new Error("depends on the order of members");
      if (JSON.stringify([...assignPartitions(after, counts, second)]) !== JSON.stringify([...second]))
        throw new Error("does not settle");
      for (const [topic, count] of counts) {
        const isWanted = after.some((candidate) => candidate.topics.includes(topic));
        for (let partition = 0; partition < count; partition += 1) {
          const owner = second.get(`${topic}/${partition}`);
          if ((owner !== undefined) !== isWanted) throw new Error(`${topic}/${partition} is owned by ${owner}`);
          if (owner !== undefined && !after.find(({ memberId }) => memberId === owner)?.topics.includes(topic))
            throw new Error("owner did not subscribe");
        }
      }
      const isUniform = after.every((candidate) => candidate.topics.length === 3);
      const loads = after.map(({ memberId }) => [...second.values()].filter((owner) => owner === memberId).length);
      if (isUniform && loads.length > 0 && Math.max(...loads) - Math.min(...loads) > 1)
        throw new Error(`loads ${loads}`);
    }),
    { numRuns: 400 },
  );
  const sixty = new Map([["x", 60]]);
  const nine = names.slice(0, 5).map((memberId) => ({ memberId, topics: ["x"] }));
  const before = assignPartitions(nine, sixty, new Map());
  const after = assignPartitions([...nine, { memberId: "f", topics: ["x"] }], sixty, before);
  const moved = [...after].filter(([key, owner]) => before.get(key) !== owner).length;
  t.equal(moved, 10, "only what the new member needs moves");
});

t.test("ProducerTable is bounded in sequences, producers and time", async (t) => {
  const table = new ProducerTable();
  const at = (producerId: number, baseSequence: number, producerEpoch = 0) => ({
    producerId,
    producerEpoch,
    baseSequence,
  });
  t.strictSame(table.check(at(1, 5), 1), { kind: "outOfOrder", expectedSequence: 0 });
  t.strictSame(table.check(at(1, 1), 1), { kind: "new" }, "counting from 1 is fine");
  for (let sequence = 0; sequence < 300; sequence += 3) table.add(at(1, sequence), 3, 1_000 + sequence, 0);
  t.match(table.check(at(1, 299), 1), { kind: "duplicate", baseOffset: 1_299 });
  t.match(table.check(at(1, 200), 1), { kind: "duplicate", baseOffset: 1_200 });
  t.match(table.check(at(1, 198), 1), { kind: "duplicate" }, "its batch reaches into the last hundred");
  t.strictSame(table.check(at(1, 197), 1), { kind: "outOfOrder", expectedSequence: 300 });
  t.strictSame(table.check(at(1, 299), 2), { kind: "outOfOrder", expectedSequence: 300 }, "half new, half known");
  t.strictSame(table.check(at(1, 0, 1), 1), { kind: "new" });
  table.add(at(1, 0, 1), 1, 5_000, 0);
  t.strictSame(table.check(at(1, 300), 1), { kind: "fenced", currentEpoch: 1 });
  for (let id = 2; id <= producerCountMax + 1; id += 1) table.add(at(id, 0), 1, 0, 1);
  t.equal(table.size, producerCountMax);
  t.match(table.check(at(1, 1, 1), 1), { kind: "new" }, "the longest idle was forgotten");
  table.add(at(999_999, 0), 1, 0, producerIdleMsMax + 2);
  t.equal(table.size, 1);
});

t.test("KeyWindow is bounded in time and count", async (t) => {
  const window = new KeyWindow();
  window.add("a", { offset: 1, delayedSequence: undefined, atMs: 0 });
  t.equal(window.find("a", keyWindowMs - 1)?.offset, 1);
  t.equal(window.find("a", keyWindowMs), undefined);
  for (let index = 0; index < keyCountMax + 10; index += 1)
    window.add(`k${index}`, { offset: index, delayedSequence: undefined, atMs: 1 });
  t.equal(window.size, keyCountMax);
});

t.test("backOffMs() doubles to its cap and spreads by ten per cent", async (t) => {
  const settings = { retryInitialDelayMs: 100, retryMultiplier: 2, retryMaxDelayMs: 30_000 };
  const cases: readonly (readonly [failures: number, fraction: number, expected: number])[] = [
    [1, 0.5, 100],
    [1, 0, 90],
    [1, 1, 110],
    [2, 0.5, 200],
    [9, 0.5, 25_600],
    [10, 0.5, 30_000],
    [1_000, 0.5, 30_000],
    [0, 0.5, 100],
  ];
  for (const [failures, fraction, expected] of cases)
    t.equal(backOffMs(settings, failures, fraction), expected, `${failures}`);
});

t.test("DeliveryState", async (t) => {
  const acquire = (state: DeliveryState, offset: number, term = 1, memberId = "m") =>
    state.acquire({ memberId, atMs: 10, visibilityMs: 100, offset, priority: 2 }, term);
  const giveBack = { visibleAtMs: 20, delayMs: 10, leaderTerm: 1, isFailed: true, nowMs: 15, error: "no" };

  await t.test("acquire, once at a time", async (t) => {
    const state = new DeliveryState(5);
    t.equal(acquire(state, 4), undefined, "below the floor");
    t.match(acquire(state, 6), { attempt: 1, isInFlight: true, untilMs: 110 });
    t.equal(acquire(state, 6), undefined, "held");
    t.equal(state.inFlightCountOf("m"), 1);
    state.retry({ offset: 6, attempt: 1, term: 1 }, giveBack);
    t.match(acquire(state, 6, 2, "n"), { attempt: 2, memberId: "n", failures: 1, errors: ["no"] });
    t.strictSame([state.inFlightCountOf("m"), state.inFlightCountOf("n"), state.waitingCount], [0, 1, 0]);
  });

  await t.test("settling by name", async (t) => {
    const cases: readonly { name: string; attempt: number; term: number; expected: string }[] = [
      { name: "current", attempt: 1, term: 1, expected: "acked" },
      { name: "whatever is current", attempt: 0, term: 0, expected: "acked" },
      { name: "older attempt", attempt: 2, term: 1, expected: "expired" },
      { name: "an acquisition of another term", attempt: 1, term: 2, expected: "expired" },
    ];
    for (const { name, attempt, term, expected } of cases) {
      const state = new DeliveryState(0);
      acquire(state, 0);
      t.equal(state.ack({ offset: 0, attempt, term }), expected, name);
      t.equal(state.floor, expected === "acked" ? 1 : 0);
    }
    const state = new DeliveryState(0);
    t.equal(state.ack({ offset: 3, attempt: 0, term: 0 }), "unknown", "never delivered");
    t.equal(state.ack({ offset: 3, attempt: 1, term: 1 }), "acked", "a receipt whose acquisition was lost");
    t.equal(state.ack({ offset: 3, attempt: 1, term: 1 }), "done");
    t.equal(state.retry({ offset: 3, attempt: 1, term: 1 }, giveBack), "done");
    t.equal(
      state.extend({ offset: 4, attempt: 1, term: 1 }, { untilMs: 1, visibilityMs: 1, leaderTerm: 1 }),
      "unknown",
    );
  });

  await t.test("commit, reset, restore", async (t) => {
    const state = new DeliveryState(0);
    for (const offset of [0, 1, 2, 3]) acquire(state, offset);
    state.retry({ offset: 3, attempt: 1, term: 1 }, giveBack);
    state.metadata = "note";
    state.commit(2);
    state.commit(1);
    t.strictSame([state.floor, state.inFlightCount, state.waitingCount], [2, 1, 1]);
    const copy = DeliveryState.restore(JSON.parse(JSON.stringify(state.image())));
    t.strictSame(copy.image(), state.image());
    t.strictSame([copy.floor, copy.inFlightCount, copy.inFlightCountOf("m"), copy.metadata], [2, 1, 1, "note"]);
    copy.reset(0);
    t.strictSame([copy.floor, copy.openCount, copy.inFlightCountOf("m"), copy.resetCount], [0, 0, 0, 1]);
  });

  await t.test("errors keep the last ten, each short", async (t) => {
    const state = new DeliveryState(0);
    for (let attempt = 1; attempt <= 12; attempt += 1) {
      acquire(state, 0);
      state.retry({ offset: 0, attempt, term: 1 }, { ...giveBack, error: `e${attempt}` });
    }
    t.strictSame(state.open.get(0)?.errors, ["e3", "e4", "e5", "e6", "e7", "e8", "e9", "e10", "e11", "e12"]);
    t.equal(Buffer.byteLength(truncateError("ü".repeat(300))), 512);
    t.equal(truncateError(`x${"ü".repeat(300)}`).length, 256, "never half a character");
    t.equal(truncateError("y".repeat(512)).length, 512);
  });
});

t.test("MinHeap sorts", async (t) => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (numbers) => {
      const heap = new MinHeap<number>((a, b) => a < b);
      for (const number of numbers) heap.push(number);
      const sorted: number[] = [];
      for (let next = heap.pop(); next !== undefined; next = heap.pop()) sorted.push(next);
      return JSON.stringify(sorted) === JSON.stringify([...numbers].sort((a, b) => a - b));
    }),
  );
  t.pass();
});
