import t from "tap";
import { createStorageFactory } from "../../../src/queue/drivers/storage/shard-storage.ts";
import { encodeShardCommand, type ShardOperation } from "../../../src/queue/model/commands/shard-command.ts";
import type { Priority } from "../../../src/queue/model/record-batch.ts";
import { RecordBatchBuilder } from "../../../src/queue/model/record-batch-builder.ts";
import { ShardMachine } from "../../../src/queue/service/state-machines/shard-machine.ts";
import type { ShardResult } from "../../../src/queue/service/state-machines/shard-result.ts";
import { readAll, StorageMachine } from "../../support/queue/storage-machine.ts";

const nowMs = 1_700_000_000_000;
const orders = { topicNumber: 1, partition: 0 };

/** A shard's state machine on the real storage over a simulated disk. */
class Shard {
  readonly node = new StorageMachine();
  machine = this.#open();
  #index = 0;

  #open(): ShardMachine {
    const { disk, time } = this.node;
    const factory = createStorageFactory({
      disk: disk.mount(),
      folder: "shards",
      runSoon: time.runSoon,
      limits: { segmentBytes: 64 * 1024, unwrittenBytes: 1024 * 1024 },
    });
    const storage = factory.openShard(1);
    return new ShardMachine({ shard: 1, storage, delays: factory.openDelayStore(1) });
  }

  apply(...operations: readonly ShardOperation[]): readonly ShardResult[] {
    this.#index = Math.max(this.#index, this.machine.lastAppliedIndex()) + 1;
    const payload = Buffer.concat(encodeShardCommand({ nowMs, steadyMs: nowMs }, operations));
    return this.machine.apply({ shard: 1, index: this.#index, term: 1, payload });
  }

  async reopen(): Promise<void> {
    await this.node.finish(this.machine.checkpoint());
    this.node.powerFailure();
    this.machine = this.#open();
  }
}

function batch(values: readonly string[], priority: Priority = 2) {
  const builder = new RecordBatchBuilder({ timestampMs: nowMs });
  for (const value of values) builder.append({ value, priority, key: value.slice(0, 3) });
  return builder.finish();
}

/** All that can be seen from outside, without fields that are undefined. */
function stateOf(machine: ShardMachine): unknown {
  return JSON.parse(JSON.stringify(everythingOf(machine)));
}
function everythingOf(machine: ShardMachine): unknown {
  const partitions = [...machine.partitions.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  return {
    groups: [...machine.groups].sort(),
    partitions: partitions.map((partition) => ({
      ...partition.image(),
      start: partition.log.logStartOffset,
      end: partition.log.logEndOffset,
      records: readAll(partition.log),
      delayed: machine.delays
        .scan(partition, { limit: 10_000 })
        .map(({ sequence, dueMs, batch: bytes }) => [sequence, dueMs, Buffer.from(bytes).toString("hex")]),
    })),
  };
}

function fill(shard: Shard): void {
  const group = { group: "g", ...orders };
  shard.apply(
    { kind: "openGroup", ...group, floor: 0 },
    { kind: "putGroup", group: "g", expectedVersion: 0, record: '{"name":"g"}' },
  );
  for (let round = 0; round < 40; round += 1) {
    const values = Array.from({ length: 20 }, (_, index) => `${round}-${index}-${"x".repeat(200)}`);
    shard.apply({
      kind: "append",
      ...orders,
      batch: batch(values, (round % 5) as Priority),
      keys: [{ index: 0, key: `key ${round}` }],
    });
    shard.apply({ kind: "append", topicNumber: 2, partition: 1, batch: batch(values.slice(0, 3)), keys: [] });
  }
  for (let index = 0; index < 50; index += 1) {
    shard.apply({
      kind: "delayAdd",
      ...orders,
      dueMs: nowMs + 1_000 * (index % 7),
      batch: batch([`later ${index}`]),
      key: "",
    });
  }
  shard.apply({
    kind: "acquire",
    ...group,
    memberId: "m",
    atMs: nowMs,
    visibilityMs: 1_000,
    runs: [{ offset: 0, count: 10, priority: 0 }],
    missing: [],
  });
  shard.apply({ kind: "ack", ...group, runs: [{ offset: 3, count: 4, attempt: 1, term: 1 }] });
  const target = { ...group, offset: 0, attempt: 1, term: 1 };
  shard.apply({
    kind: "retry",
    ...target,
    visibleAtMs: nowMs + 5,
    delayMs: 5,
    isFailed: true,
    onlyIfUntilMs: 0,
    error: "no",
  });
  shard.apply({ kind: "deadLetter", ...target, offset: 1, dlqTopicNumber: 9, batch: batch(["dead"]) });
  shard.apply(
    { kind: "delayFire", ...orders, sequences: [1, 2, 3, 999] },
    { kind: "delayCancel", ...orders, sequence: 4 },
  );
}

t.test("a checkpoint opens to the same state", async (t) => {
  const shard = new Shard();
  fill(shard);
  const before = stateOf(shard.machine);
  const index = shard.machine.lastAppliedIndex();
  await shard.reopen();
  t.equal(shard.machine.lastAppliedIndex(), index);
  t.strictSame(stateOf(shard.machine), before);
});

t.test("a snapshot replaces whatever was there, and stays after a checkpoint", async (t) => {
  const source = new Shard();
  fill(source);
  const snapshot = source.machine.createSnapshot();
  const before = stateOf(source.machine);
  const index = source.machine.lastAppliedIndex();
  const chunks: Uint8Array[] = [];
  for await (const chunk of snapshot) {
    t.ok(chunk.length <= 1024 * 1024, "chunks are small");
    chunks.push(Uint8Array.from(chunk));
  }
  const target = new Shard();
  target.apply({ kind: "append", ...orders, batch: batch(Array.from({ length: 900 }, () => "old")), keys: [] });
  target.apply({ kind: "append", topicNumber: 5, partition: 0, batch: batch(["gone"]), keys: [] });
  target.apply({ kind: "delayAdd", ...orders, dueMs: nowMs, batch: batch(["gone"]), key: "" });
  await target.node.finish(target.machine.checkpoint());
  async function* given(): AsyncIterable<Uint8Array> {
    yield* chunks;
  }
  await target.machine.installSnapshot(index, 1, given());
  t.strictSame(stateOf(target.machine), before);
  t.equal(target.machine.lastAppliedIndex(), index);
  const partition = target.machine.findPartition(orders);
  t.equal(partition?.isSurelyWithout(4, 0), false, "nothing is claimed of records that came with the snapshot");
  await target.reopen();
  t.strictSame(stateOf(target.machine), before);
});

t.test("two replicas that apply the same entries are the same", async (t) => {
  const one = new Shard();
  const other = new Shard();
  fill(one);
  fill(other);
  t.strictSame(stateOf(one.machine), stateOf(other.machine));
});

t.test("operations on what is not there answer, and change nothing", async (t) => {
  const shard = new Shard();
  const target = { group: "g", ...orders, offset: 0, attempt: 1, term: 1 };
  const results = shard.apply(
    { kind: "ack", group: "g", ...orders, runs: [{ offset: 0, count: 1, attempt: 1, term: 1 }] },
    { kind: "retry", ...target, visibleAtMs: 0, delayMs: 0, isFailed: true, onlyIfUntilMs: 0, error: "" },
    { kind: "drop", ...target },
    { kind: "extend", ...target, untilMs: 1, visibilityMs: 1 },
    { kind: "delayCancel", ...orders, sequence: 1 },
    { kind: "trim", ...orders, offset: 5 },
    { kind: "dropTopic", topicNumber: 77 },
    { kind: "putGroup", group: "g", expectedVersion: 3, record: "{}" },
  );
  t.strictSame(
    results.map((result) => result.kind),
    ["missing", "missing", "missing", "missing", "missing", "missing", "done", "conflict"],
  );
  t.equal(shard.machine.partitions.size, 0);
});

t.test("an expiry that an extension overtook changes nothing", async (t) => {
  const shard = new Shard();
  const group = { group: "g", ...orders };
  shard.apply({ kind: "openGroup", ...group, floor: 0 }, { kind: "append", ...orders, batch: batch(["a"]), keys: [] });
  shard.apply({
    kind: "acquire",
    ...group,
    memberId: "m",
    atMs: 0,
    visibilityMs: 100,
    runs: [{ offset: 0, count: 1, priority: 2 }],
    missing: [],
  });
  const target = { ...group, offset: 0, attempt: 1, term: 1 };
  const [extended, expired] = shard.apply(
    { kind: "extend", ...target, untilMs: 500, visibilityMs: 400 },
    { kind: "retry", ...target, visibleAtMs: 100, delayMs: 0, isFailed: true, onlyIfUntilMs: 100, error: "late" },
  );
  t.strictSame([extended?.kind, expired], ["extended", { kind: "refusedSettle", problem: "expired" }]);
  t.equal(shard.machine.findDelivery(group)?.inFlightCount, 1);
});

t.test("a trim moves groups that stood before it", async (t) => {
  const shard = new Shard();
  const group = { group: "g", ...orders };
  for (let round = 0; round < 3; round += 1)
    shard.apply({ kind: "append", ...orders, batch: batch(["a", "b"]), keys: [] });
  shard.apply({ kind: "openGroup", ...group, floor: 0 });
  shard.apply({
    kind: "acquire",
    ...group,
    memberId: "m",
    atMs: 0,
    visibilityMs: 100,
    runs: [{ offset: 0, count: 6, priority: 2 }],
    missing: [],
  });
  shard.apply({ kind: "trim", ...orders, offset: 4 });
  const delivery = shard.machine.findDelivery(group);
  t.strictSame([delivery?.floor, delivery?.inFlightCount], [4, 2]);
});
