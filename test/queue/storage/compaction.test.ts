import t from "tap";
import type { RecordBatch } from "../../../src/queue/model/record-batch.ts";
import type { RecordInput } from "../../../src/queue/model/record-batch-builder.ts";
import type { PartitionLog, ShardStorage } from "../../../src/queue/service/partition-log.ts";
import {
  batchOf,
  partitionId,
  readAll,
  recordsOf,
  StorageMachine,
  smallLimits,
  startMs,
} from "../../support/queue/storage-machine.ts";

const keepLong = { nowMs: startMs + 1000, deleteRetentionMs: 1e9 };
const keepShort = { nowMs: startMs + 1e6, deleteRetentionMs: 1000 };

function keyed(key: string | undefined, value: string | undefined, timestampMs = startMs): RecordBatch {
  return batchOf([{ key, value }], timestampMs);
}

/** Closes the active segment, so that compaction reaches everything. */
function roll(log: PartitionLog): void {
  log.rollIfOlder(startMs + 1e9, 0);
}

function values(log: PartitionLog): (string | undefined)[] {
  return readAll(log).map((record) => record.value);
}

t.test("compact() keeps the newest record of every key, offsets and records without a key", async (t) => {
  const machine = new StorageMachine();
  const storage = machine.open();
  const log = storage.partitions.ensure(partitionId);
  log.append(keyed("a", "a1"));
  log.append(keyed(undefined, "no key"));
  log.append(
    batchOf([
      { key: "b", value: "b1" },
      { key: "a", value: "a2" },
      { key: "c", value: "c1" },
    ]),
  );
  log.append(keyed("b", "b2"));
  t.strictSame(await log.compact(keepLong), { recordsRemoved: 0, bytesFreed: 0 }, "the active segment stays as it is");
  roll(log);
  log.append(keyed("c", "c2 in the active segment"));
  t.equal(log.findBatch(0)?.baseOffset, 0);
  const result = await log.compact(keepLong);
  t.equal(result.recordsRemoved, 2);
  t.ok(result.bytesFreed > 0);
  t.strictSame(readAll(log), [
    { offset: 1, value: "no key" },
    { offset: 3, value: "a2" },
    { offset: 4, value: "c1" },
    { offset: 5, value: "b2" },
    { offset: 6, value: "c2 in the active segment" },
  ]);
  t.equal(log.recordCount, 5);
  t.strictSame(
    [0, 1, 2, 3, 5, 6, 7].map((from) => log.nextOffset(2, from)),
    [1, 1, 3, 3, 5, 6, undefined],
  );
  t.equal(log.findBatch(0), undefined, "gone");
  t.strictSame([log.logStartOffset, log.logEndOffset], [0, 7]);
  t.strictSame(recordsOf(log.read({ offset: 2, maxBytes: 1 }), 2)[0], { offset: 3, value: "a2" });
  t.strictSame(await log.compact(keepLong), { recordsRemoved: 0, bytesFreed: 0 }, "nothing more to do");
});

t.test("a tombstone goes after its time, in a later run than what it deletes", async (t) => {
  const log = new StorageMachine().open().partitions.ensure(partitionId);
  log.append(keyed("a", "a1"));
  log.append(keyed("a", undefined));
  log.append(keyed("b", "b1"));
  roll(log);
  log.append(keyed("z", "active"));
  await log.compact({ nowMs: startMs + 999, deleteRetentionMs: 1000 });
  t.strictSame(values(log), [undefined, "b1", "active"], "first the value");
  await log.compact({ nowMs: startMs + 999, deleteRetentionMs: 1000 });
  t.strictSame(values(log), [undefined, "b1", "active"], "one millisecond early");
  await log.compact({ nowMs: startMs + 1000, deleteRetentionMs: 1000 });
  t.strictSame(values(log), ["b1", "active"]);

  const fast = new StorageMachine().open().partitions.ensure(partitionId);
  fast.append(keyed("a", "a1"));
  roll(fast);
  fast.append(keyed("a", undefined));
  roll(fast);
  fast.append(keyed("z", "active"));
  await fast.compact(keepShort);
  t.strictSame(values(fast), [undefined, "active"], "though its time is over");
  await fast.compact(keepShort);
  t.strictSame(values(fast), ["active"]);
});

t.test("small segments are joined, compressed batches stay compressed", async (t) => {
  const machine = new StorageMachine();
  const storage = machine.open();
  const log = storage.partitions.ensure(partitionId);
  for (let round = 0; round < 8; round += 1) {
    const records: RecordInput[] = Array.from({ length: 20 }, (_, i) => ({
      key: `k${i < 10 ? i : round * 100 + i}`,
      value: `${round}`.repeat(100),
    }));
    log.append(batchOf(records, startMs, "zstd"));
    roll(log);
  }
  log.append(keyed("end", "end"));
  const before = readAll(log);
  await log.compact(keepLong);
  await machine.checkpoint(storage);
  const files = machine.disk.list("data/shards/3/topics/t1/0").filter((name) => name.endsWith(".log"));
  t.equal(files.length, 2, "one compacted, one active");
  t.equal(readAll(log).length, before.length - 7 * 10);
  t.equal(log.read({ offset: 0, maxBytes: 1 })[0]?.compression, "zstd");
});

t.test("memory for keys is limited: the rest is done by later runs", async (t) => {
  const machine = new StorageMachine();
  const storage = machine.open({ ...smallLimits, segmentBytes: 4096, compactionKeysMax: 50 });
  const log = storage.partitions.ensure(partitionId);
  for (let round = 0; round < 4; round += 1) {
    for (let i = 0; i < 150; i += 1) log.append(keyed(`key ${i}`, `${round}`.padEnd(50)));
  }
  roll(log);
  log.append(keyed("end", "end"));
  let runs = 0;
  for (; runs < 100 && log.recordCount > 151; runs += 1) await machine.finish(log.compact(keepLong));
  t.ok(runs > 3, `took ${runs} runs`);
  t.equal(log.recordCount, 151);
  t.ok(values(log).every((value) => value === "end" || value?.startsWith("3")));
});

t.test("random histories end as a map of the newest values, through crashes at any point", async (t) => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const machine = new StorageMachine(seed);
    const { random } = machine;
    let storage: ShardStorage = machine.open({ ...smallLimits, segmentBytes: 8192 });
    let log = storage.partitions.ensure(partitionId);
    const newest = new Map<string, { offset: number; value: string | undefined }>();
    const history: RecordBatch[] = [];
    let checkpointed = 0;
    for (let step = 0; step < 300; step += 1) {
      const choice = random.fraction();
      if (choice < 0.9) {
        const key = `k${Math.floor(random.fraction() * 20)}`;
        const value =
          random.fraction() < 0.15 ? undefined : `${seed}/${step}`.padEnd(Math.floor(random.fraction() * 400));
        newest.set(key, { offset: log.logEndOffset, value });
        const batch = keyed(key, value, startMs + step);
        history.push(batch);
        log.append(batch);
      } else if (choice < 0.93) await machine.finish(log.compact(keepLong));
      else if (choice < 0.95) log.rollIfOlder(startMs + 1e9, 0);
      else if (choice < 0.97) {
        await machine.checkpoint(storage, step);
        checkpointed = history.length;
      } else {
        // Whatever was under way, the same entries come again from the log.
        void log.compact(keepLong).catch(() => undefined);
        machine.powerFailure();
        storage = machine.open({ ...smallLimits, segmentBytes: 8192 });
        log = storage.partitions.ensure(partitionId);
        t.equal(log.logEndOffset, checkpointed);
        for (const batch of history.slice(checkpointed)) log.append(batch);
      }
    }
    await machine.finish(log.compact(keepLong));
    const found = readAll(log);
    for (const { offset, value } of newest.values()) {
      t.strictSame(
        found.filter((record) => record.offset === offset),
        [{ offset, value }],
        `seed ${seed}`,
      );
    }
    t.strictSame(
      found.map((record) => record.offset),
      [...new Set(found.map((record) => record.offset))].sort((a, b) => a - b),
    );
    t.equal(log.logEndOffset, history.length);
  }
});

t.test("trim, reset and delete in the middle of a run win over it", async (t) => {
  for (const act of ["trim", "reset", "delete"] as const) {
    const machine = new StorageMachine();
    const storage = machine.open({ ...smallLimits, segmentBytes: 200_000 });
    const log = storage.partitions.ensure(partitionId);
    for (let i = 0; i < 2000; i += 1) log.append(keyed(`k${i % 10}`, `${i}`));
    roll(log);
    log.append(keyed("end", "end"));
    const compacting = log.compact(keepLong);
    await Promise.resolve();
    machine.time.advance(1);
    if (act === "trim") log.trimTo(2000);
    else if (act === "reset") log.resetTo(5000);
    else storage.partitions.delete(partitionId);
    await machine.finish(compacting);
    t.equal(readAll(log).length, act === "trim" ? 1 : 0);
    t.equal(storage.unwrittenBytes > 100_000, false, "what was written for nothing is forgotten");
    await machine.checkpoint(storage);
    const files = machine.disk.list("data/shards/3/topics/t1/0").filter((name) => name.endsWith(".log"));
    t.equal(files.length, act === "trim" ? 1 : 0);
  }
});

t.test("a damaged segment is left alone", async (t) => {
  const machine = new StorageMachine();
  const storage = machine.open();
  const log = storage.partitions.ensure(partitionId);
  for (let i = 0; i < 100; i += 1) log.append(keyed("same", `<${i}>`));
  roll(log);
  log.append(keyed("other", "end"));
  await machine.checkpoint(storage);
  const path = `data/shards/3/topics/t1/0/${machine.disk.list("data/shards/3/topics/t1/0")[0]}`;
  const bytes = Buffer.from(machine.disk.open(path, "read").read(0, 1e6));
  machine.disk.flipBit(path, bytes.indexOf("<50>"), 0);
  t.equal((await log.compact(keepLong)).recordsRemoved, 0);
  t.equal(recordsOf(log.read({ offset: 10, maxBytes: 1 }), 10)[0]?.value, "<10>");
});
