import t from "tap";
import { createSeededRandom } from "../../../src/platform/random/random.ts";
import type { BatchView, Priority } from "../../../src/queue/model/record-batch.ts";
import { RecordBatchBuilder } from "../../../src/queue/model/record-batch-builder.ts";
import { PartitionDamagedError, type PartitionLog } from "../../../src/queue/service/partition-log.ts";
import {
  batchOf,
  offsetsOf,
  one,
  partitionId,
  range,
  readAll,
  recordsOf,
  StorageMachine,
  smallLimits,
  startMs,
} from "../../support/queue/storage-machine.ts";

t.test("append() and read()", async (t) => {
  const machine = new StorageMachine();
  const storage = machine.open();
  const log = storage.partitions.ensure(partitionId);
  t.equal(storage.partitions.ensure(partitionId), log);
  t.equal(storage.partitions.find({ ...partitionId, partition: 1 }), undefined);
  t.strictSame([log.logStartOffset, log.logEndOffset, log.sizeBytes], [0, 0, 0]);
  t.strictSame(log.read({ offset: 0, maxBytes: 100 }), []);
  t.equal(log.append(batchOf([{ value: "a" }, { value: "b" }, { value: "c" }])), 0);
  t.equal(log.append(one("d")), 3);
  t.strictSame([log.logEndOffset, log.recordCount], [4, 4]);
  t.strictSame(
    readAll(log).map((record) => record.value),
    ["a", "b", "c", "d"],
  );
  t.strictSame(
    recordsOf(log.read({ offset: 1, maxBytes: 1 }), 1).map((record) => record.value),
    ["b", "c"],
  );
  t.equal(log.read({ offset: 0, maxBytes: 1e6, maxRecords: 3 }).length, 1);
  t.equal(log.read({ offset: 0, maxBytes: 1e6, maxRecords: 4 }).length, 2);
  t.equal(log.read({ offset: 1, maxBytes: 1e6, maxRecords: 3 }).length, 2, "records before the offset do not count");
  t.strictSame(log.read({ offset: 4, maxBytes: 100 }), [], "nothing at the end");
  t.equal(log.findBatch(3)?.baseOffset, 3);
  t.equal(log.findBatch(1)?.baseOffset, 0);
  t.equal(log.findBatch(4), undefined);
  t.equal(log.findBatch(-1), undefined);
});

t.test("views stay what they were while the log goes on", (t) => {
  const storage = new StorageMachine().open();
  const log = storage.partitions.ensure(partitionId);
  log.append(one("first"));
  const views = log.read({ offset: 0, maxBytes: 1e6 });
  for (let i = 0; i < 500; i += 1) log.append(one(`${"x".repeat(2000)}${i}`));
  t.strictSame(recordsOf(views), [{ offset: 0, value: "first" }]);
  views[0]?.assertBodyIntact();
  t.end();
});

t.test("a batch larger than the read, the tail and the segment", (t) => {
  const storage = new StorageMachine().open();
  const log = storage.partitions.ensure(partitionId);
  log.append(one("small"));
  log.append(one("L".repeat(500_000)));
  log.append(one("after"));
  t.strictSame(
    readAll(log).map((record) => record.value?.length),
    [5, 500_000, 5],
  );
  t.equal(log.read({ offset: 1, maxBytes: 10 })[0]?.baseOffset, 1, "at least one batch");
  t.end();
});

t.test("segments roll by size and everything stays readable, through few open files and after a restart", async (t) => {
  const machine = new StorageMachine();
  let storage = machine.open();
  for (let i = 0; i < 3000; i += 1) {
    for (const partition of [0, 1, 2]) {
      storage.partitions
        .ensure({ ...partitionId, partition })
        .append(one(`${partition}/${i}/${"v".repeat(i % 100)}`, undefined, startMs + i));
    }
  }
  const check = (): void => {
    for (const partition of [0, 1, 2]) {
      const log = storage.partitions.ensure({ ...partitionId, partition });
      t.equal(log.logEndOffset, 3000);
      const records = readAll(log);
      t.strictSame(offsetsOf(records), range(0, 3000));
      t.ok(records.every((record, i) => record.value === `${partition}/${i}/${"v".repeat(i % 100)}`));
      for (const offset of [0, 1, 777, 1500, 2998, 2999]) {
        t.equal(recordsOf([log.findBatch(offset) as BatchView])[0]?.offset, offset);
        t.equal(log.offsetForTimestamp(startMs + offset), offset);
      }
      t.equal(log.offsetForTimestamp(0), 0);
      t.equal(log.offsetForTimestamp(startMs + 3000), 3000, "the end when there is none");
    }
  };
  check();
  await machine.checkpoint(storage, 42, "the state");
  machine.powerFailure();
  storage = machine.open();
  t.equal(storage.lastCheckpoint?.index, 42);
  t.equal(Buffer.concat([...(storage.lastCheckpoint?.state ?? [])]).toString(), "the state");
  check();
  t.ok(machine.disk.list("data/shards/3/topics/t1/0").filter((name) => name.endsWith(".log")).length > 10);
});

t.test("a restart goes back to the checkpoint exactly, and the same appends can come again", async (t) => {
  const machine = new StorageMachine(5);
  let storage = machine.open();
  const fill = (from: number, to: number): void => {
    for (let i = from; i < to; i += 1) storage.partitions.ensure(partitionId).append(one(`${i}`.padEnd(300, ".")));
  };
  fill(0, 150);
  t.equal(storage.lastCheckpoint, undefined);
  await machine.checkpoint(storage, 150);
  const sizeBytes = storage.partitions.ensure(partitionId).sizeBytes;
  fill(150, 700);
  storage.partitions.ensure({ topicId: "later", partition: 0 }).append(one("x"));
  for (let life = 0; life < 3; life += 1) {
    machine.powerFailure();
    storage = machine.open();
    const log = storage.partitions.find(partitionId);
    t.equal(log?.logEndOffset, 150);
    t.equal(log?.sizeBytes, sizeBytes);
    t.equal(log?.recordCount, 150);
    t.equal(storage.partitions.find({ topicId: "later", partition: 0 }), undefined);
    fill(150, 400 + life);
    t.strictSame(offsetsOf(readAll(storage.partitions.ensure(partitionId))), range(0, 400 + life));
  }
  await machine.checkpoint(storage, 402);
  machine.powerFailure();
  t.strictSame(offsetsOf(readAll(machine.open().partitions.ensure(partitionId))), range(0, 402));
});

t.test("nextOffset() finds each priority in order, alone or mixed", async (t) => {
  const machine = new StorageMachine();
  const storage = machine.open();
  const random = createSeededRandom(7);
  const log = storage.partitions.ensure(partitionId);
  const priorities: Priority[] = [];
  for (let i = 0; i < 1500; i += 1) {
    // Long stretches of normal records with rare others: whole segments without a priority.
    const priority = (random.fraction() < 0.97 ? 2 : Math.floor(random.fraction() * 5)) as Priority;
    priorities.push(priority);
    log.append(batchOf([{ value: "v".repeat(100), priority }]));
  }
  const expected = (priority: Priority, from: number): number | undefined => {
    const found = priorities.indexOf(priority, Math.max(0, from));
    return found < 0 ? undefined : found;
  };
  const check = (checked: PartitionLog): void => {
    for (const priority of [0, 1, 2, 3, 4] as const) {
      for (let from = -1; from <= 1501; from += 13) {
        if (checked.nextOffset(priority, from) !== expected(priority, from)) {
          t.equal(checked.nextOffset(priority, from), expected(priority, from), `priority ${priority} from ${from}`);
        }
      }
      const walked: number[] = [];
      for (let at = checked.nextOffset(priority, 0); at !== undefined; at = checked.nextOffset(priority, at + 1))
        walked.push(at);
      t.strictSame(
        walked,
        priorities.flatMap((one, offset) => (one === priority ? [offset] : [])),
      );
    }
  };
  check(log);
  await machine.checkpoint(storage);
  machine.powerFailure();
  check(machine.open().partitions.ensure(partitionId));
});

t.test("control records have no priority", (t) => {
  const log = new StorageMachine().open().partitions.ensure(partitionId);
  const builder = new RecordBatchBuilder({ timestampMs: startMs, isControl: true });
  builder.append({ value: "internal" });
  log.append(builder.finish());
  t.equal(log.nextOffset(2, 0), undefined);
  log.append(one("a"));
  t.equal(log.nextOffset(2, 0), 1);
  t.end();
});

t.test("offsetForTimestamp() is right when the clock goes back", (t) => {
  const log = new StorageMachine().open().partitions.ensure(partitionId);
  const random = createSeededRandom(3);
  const times = Array.from({ length: 600 }, (_, i) => startMs + i * 10 - Math.floor(random.fraction() * 300));
  for (const time of times) log.append(one("v".repeat(200), undefined, time));
  for (let time = startMs - 400; time < startMs + 6100; time += 37) {
    const found = times.findIndex((one) => one >= time);
    t.equal(log.offsetForTimestamp(time), found < 0 ? 600 : found);
  }
  t.end();
});

t.test("append() takes another time for a batch when told", (t) => {
  const log = new StorageMachine().open().partitions.ensure(partitionId);
  log.append(batchOf([{ value: "a" }, { value: "b", timestampMs: startMs + 5 }]), startMs + 1000);
  const [batch] = log.read({ offset: 0, maxBytes: 1 });
  t.strictSame([batch?.firstTimestampMs, batch?.maxTimestampMs], [startMs + 1000, startMs + 1005]);
  t.end();
});

t.test("retention keeps the active segment and everything that has not expired", async (t) => {
  const machine = new StorageMachine();
  const storage = machine.open();
  const log = storage.partitions.ensure(partitionId);
  const policy = (nowMs: number, retentionMs: number, retentionBytes = 0) => ({ nowMs, retentionMs, retentionBytes });
  t.equal(log.retentionOffset(policy(startMs, 1)), 0, "nothing there");
  for (let i = 0; i < 1000; i += 1) log.append(one("v".repeat(200), undefined, startMs + i));
  t.equal(log.retentionOffset(policy(startMs + 1e9, 0)), 0, "0 keeps for ever");
  t.equal(log.retentionOffset(policy(startMs + 500, 500)), 0);
  const half = log.retentionOffset(policy(startMs + 1000, 500));
  t.ok(half > 300 && half <= 501, `may trim to ${half}`);
  const all = log.retentionOffset(policy(startMs + 1e9, 1));
  t.ok(all > 800 && all < 1000, `the active segment stays: ${all}`);
  const bySize = log.retentionOffset(policy(startMs, 0, 100_000));
  t.ok(bySize > 0);
  log.trimTo(bySize);
  t.ok(log.sizeBytes >= 100_000 && log.sizeBytes < 100_000 + 33 * 1024, `${log.sizeBytes} bytes are left`);
  t.equal(log.retentionOffset(policy(startMs, 0, 100_000)), bySize, "nothing more to take");
  log.rollIfOlder(startMs + 2000, 1e6);
  t.ok(log.retentionOffset(policy(startMs + 1e9, 1)) < 1000);
  log.rollIfOlder(startMs + 2e6, 1e6);
  t.equal(log.retentionOffset(policy(startMs + 1e9, 1)), 1000, "rolled by age it can go");
  log.trimTo(1000);
  t.strictSame([log.logStartOffset, log.logEndOffset, log.sizeBytes, log.recordCount], [1000, 1000, 0, 0]);
  t.equal(log.append(one("next")), 1000);
  await machine.checkpoint(storage);
  machine.powerFailure();
  t.strictSame(offsetsOf(readAll(machine.open().partitions.ensure(partitionId))), [1000]);
});

t.test("trimTo() inside a segment, and files that go with the next checkpoint but one", async (t) => {
  const machine = new StorageMachine();
  const storage = machine.open();
  const log = storage.partitions.ensure(partitionId);
  for (let i = 0; i < 600; i += 1) log.append(one("v".repeat(200)));
  await machine.checkpoint(storage, 1);
  const files = (): number => machine.disk.list("data/shards/3/topics/t1/0").length;
  const before = files();
  log.trimTo(333);
  log.trimTo(100);
  t.equal(log.logStartOffset, 333);
  t.equal(readAll(log)[0]?.offset, 333);
  t.equal(log.findBatch(332), undefined);
  t.equal(log.nextOffset(2, 0), 333);
  t.equal(log.offsetForTimestamp(0), 333);
  t.equal(files(), before, "still there: the last checkpoint names them");
  machine.powerFailure();
  const reopened = machine.open();
  t.equal(reopened.partitions.ensure(partitionId).logStartOffset, 0);
  t.equal(readAll(reopened.partitions.ensure(partitionId)).length, 600);
  reopened.partitions.ensure(partitionId).trimTo(333);
  await machine.checkpoint(reopened, 2);
  t.ok(files() < before);
  machine.powerFailure();
  t.strictSame(offsetsOf(readAll(machine.open().partitions.ensure(partitionId))), range(333, 600));
});

t.test("deleting a partition, and one with the same id again", async (t) => {
  const machine = new StorageMachine();
  const storage = machine.open();
  for (let i = 0; i < 300; i += 1) storage.partitions.ensure(partitionId).append(one("v".repeat(200)));
  storage.partitions.ensure({ topicId: "other", partition: 5 }).append(one("stays"));
  await machine.checkpoint(storage, 1);
  storage.partitions.delete(partitionId);
  storage.partitions.delete(partitionId);
  t.equal(storage.partitions.find(partitionId), undefined);
  t.strictSame(storage.partitions.list(), [{ topicId: "other", partition: 5 }]);
  machine.powerFailure();
  const again = machine.open();
  t.equal(again.partitions.find(partitionId)?.logEndOffset, 300, "not without a checkpoint");
  again.partitions.delete(partitionId);
  again.partitions.ensure(partitionId).append(one("anew"));
  await machine.checkpoint(again, 2);
  t.strictSame(readAll(again.partitions.ensure(partitionId)), [{ offset: 0, value: "anew" }]);
  again.partitions.delete(partitionId);
  await machine.checkpoint(again, 3);
  t.strictSame(machine.disk.list("data/shards/3/topics"), ["other"]);
});

t.test("resetTo() and appendPlaced() rebuild a log elsewhere, gaps and all", async (t) => {
  const storage = new StorageMachine().open();
  const source = storage.partitions.ensure(partitionId);
  for (let i = 0; i < 50; i += 1) source.append(one(`${i}`));
  const copy = storage.partitions.ensure({ ...partitionId, partition: 1 });
  copy.append(one("old"));
  t.equal(copy.findBatch(0)?.baseOffset, 0);
  copy.resetTo(0);
  t.equal(copy.findBatch(0), undefined);
  copy.append(one("other"));
  t.strictSame(
    recordsOf([copy.findBatch(0) as BatchView]),
    [{ offset: 0, value: "other" }],
    "not what was there before",
  );
  copy.resetTo(10);
  for (const offset of [10, 11, 20, 49]) {
    const batch = source.findBatch(offset);
    if (batch !== undefined) copy.appendPlaced(batch);
  }
  t.strictSame(
    readAll(copy).map((record) => [record.offset, record.value]),
    [
      [10, "10"],
      [11, "11"],
      [20, "20"],
      [49, "49"],
    ],
  );
  t.strictSame([copy.logStartOffset, copy.logEndOffset], [10, 50]);
  t.strictSame(
    [12, 20, 21].map((from) => copy.nextOffset(2, from)),
    [20, 20, 49],
  );
  t.equal(copy.findBatch(15), undefined);
  t.throws(() => copy.appendPlaced(source.findBatch(3) as BatchView), /behind the end/);
});

t.test("compressed batches", (t) => {
  const log = new StorageMachine().open().partitions.ensure(partitionId);
  for (const compression of ["zstd", "gzip", "none"] as const) {
    log.append(
      batchOf(
        range(0, 50).map((i) => ({ value: `${compression} ${i}`, priority: (i % 5) as Priority })),
        startMs,
        compression,
      ),
    );
  }
  t.strictSame(
    log.read({ offset: 0, maxBytes: 1e6 }).map((batch) => batch.compression),
    ["zstd", "gzip", "none"],
  );
  t.strictSame(
    readAll(log).map((record) => record.value),
    ["zstd", "gzip", "none"].flatMap((name) => range(0, 50).map((i) => `${name} ${i}`)),
  );
  t.strictSame(
    [0, 51, 120].map((from) => log.nextOffset(3, from)),
    [3, 53, 123],
  );
  t.end();
});

t.test("a full disk loses nothing that was appended", async (t) => {
  const machine = new StorageMachine();
  const storage = machine.open();
  const log = storage.partitions.ensure(partitionId);
  log.append(one("x".repeat(140_000)));
  await machine.checkpoint(storage, 1);
  machine.disk.setCapacity(0);
  for (let i = 0; i < 2000; i += 1) log.append(one("v".repeat(200)));
  t.equal(storage.isDiskFull, true);
  t.equal(readAll(log).length, 2001);
  await t.rejects(machine.checkpoint(storage, 2), /disk is full/);
  machine.disk.setCapacity(Number.MAX_SAFE_INTEGER);
  t.equal(storage.isDiskFull, false, "it finds out when it is asked");
  await machine.checkpoint(storage, 3);
  t.equal(storage.isDiskFull, false);
  t.equal(storage.unwrittenBytes, 0);
  machine.powerFailure();
  t.equal(readAll(machine.open().partitions.ensure(partitionId)).length, 2001);
});

t.test("no room for the checkpoint file itself is no failure", async (t) => {
  for (const code of ["EDQUOT", "EMFILE", "ENOSPC"]) {
    const machine = new StorageMachine();
    const storage = machine.open();
    storage.partitions.ensure(partitionId).append(one("a"));
    await machine.checkpoint(storage, 1);
    storage.partitions.ensure({ topicId: "t2", partition: 0 });
    machine.disk.failSync(0, code);
    await t.rejects(machine.checkpoint(storage, 2), { message: /disk is full/, code: "ENOSPC" });
    storage.partitions.ensure(partitionId).append(one("b"));
    await machine.checkpoint(storage, 3);
    t.equal(storage.isDiskFull, false);
    machine.powerFailure();
    t.equal(readAll(machine.open().partitions.ensure(partitionId)).length, 2);
  }
});

t.test("a sync error ends checkpoints for good; the last good one is what a restart finds", async (t) => {
  // Lack of space at a sync is no better: what was written may be gone.
  for (const code of ["EIO", "ENOSPC"]) {
    const machine = new StorageMachine();
    const storage = machine.open();
    const log = storage.partitions.ensure(partitionId);
    log.append(one("a"));
    await machine.checkpoint(storage, 1);
    log.append(one("b"));
    machine.disk.failSync(0, code);
    await t.rejects(machine.checkpoint(storage, 2), { message: new RegExp(`Cannot sync: ${code}`) });
    await t.rejects(machine.checkpoint(storage, 3), { message: new RegExp(`Cannot sync: ${code}`) });
    machine.powerFailure();
    const again = machine.open();
    t.equal(again.lastCheckpoint?.index, 1);
    t.equal(again.partitions.ensure(partitionId).logEndOffset, 1);
  }
});

t.test("damage", async (t) => {
  const prepare = async (): Promise<{ machine: StorageMachine; path: string; position: (text: string) => number }> => {
    const machine = new StorageMachine();
    const storage = machine.open({ ...smallLimits, segmentBytes: 1e6 });
    const log = storage.partitions.ensure(partitionId);
    for (let i = 0; i < 400; i += 1) log.append(one(`<${i}>${"v".repeat(100)}`, i % 2 === 0 ? 2 : 1));
    await machine.checkpoint(storage, 1);
    machine.powerFailure();
    const name = machine.disk.list("data/shards/3/topics/t1/0").find((file) => file.endsWith(".log"));
    const path = `data/shards/3/topics/t1/0/${name}`;
    const bytes = Buffer.from(machine.disk.open(path, "read").read(0, 1e6));
    return { machine, path, position: (text) => bytes.indexOf(text) };
  };

  await t.test("in a body is named, not served, and the rest can be read", async (t) => {
    const { machine, path, position } = await prepare();
    machine.disk.flipBit(path, position("<200>"), 0);
    const log = machine.open().partitions.ensure(partitionId);
    const before = log.read({ offset: 150, maxBytes: 1e6 });
    t.equal(before.at(-1)?.lastOffset, 199);
    let damage: unknown;
    try {
      log.read({ offset: 200, maxBytes: 1e6 });
    } catch (error) {
      damage = error;
    }
    t.type(damage, PartitionDamagedError);
    t.match(damage, { partition: partitionId, damage: { fromOffset: 200 } });
    t.match(
      (damage as Error).message,
      /Cannot read partition 0 of topic id "t1" from offset 200: .* damaged at position \d+/,
    );
    const toOffset = (damage as PartitionDamagedError).damage.toOffset;
    t.ok(toOffset > 200 && toOffset < 225, `readable again from ${toOffset}`);
    t.equal(log.read({ offset: toOffset, maxBytes: 1e6 }).at(-1)?.lastOffset, 399);
    t.equal(log.damage.length, 1);
    t.equal(log.nextOffset(2, 199), toOffset % 2 === 0 ? toOffset : toOffset + 1, "delivery steps over it");
  });

  await t.test("in a header, and in a cut file", async (t) => {
    const { machine, path, position } = await prepare();
    machine.disk.flipBit(path, position("<100>") - 40, 3);
    const file = machine.disk.open(path, "read-write");
    file.truncate(position("<300>"));
    const log = machine.open().partitions.ensure(partitionId);
    t.throws(() => log.read({ offset: 100, maxBytes: 1 }), PartitionDamagedError);
    t.equal(log.read({ offset: 150, maxBytes: 1 })[0]?.baseOffset, 150);
    t.throws(() => log.read({ offset: 350, maxBytes: 1 }), PartitionDamagedError);
    t.equal(log.append(one("goes on")), 400);
    t.strictSame(recordsOf(log.read({ offset: 400, maxBytes: 1 })), [{ offset: 400, value: "goes on" }]);
  });

  await t.test("of an index costs nothing but time", async (t) => {
    const machine = new StorageMachine();
    const storage = machine.open({ segmentBytes: 1e7 });
    for (let i = 0; i < 4000; i += 1)
      storage.partitions.ensure(partitionId).append(one(`${i}`.padEnd(200), (i % 5) as Priority));
    await machine.checkpoint(storage, 1);
    const name = machine.disk.list("data/shards/3/topics/t1/0").find((file) => file.endsWith(".index"));
    for (const harm of ["flip", "cut", "gone"] as const) {
      const path = `data/shards/3/topics/t1/0/${name}`;
      if (harm === "flip") machine.disk.flipBit(path, 100, 1);
      else if (harm === "cut") machine.disk.open(path, "read-write").truncate(64);
      else machine.disk.remove(path);
      machine.disk.killProcess();
      const log = machine.open().partitions.ensure(partitionId);
      t.equal(readAll(log).length, 4000);
      t.equal(log.nextOffset(3, 2000), 2003);
      t.equal(log.findBatch(3210)?.baseOffset, 3210);
    }
  });

  await t.test("of a checkpoint is an error that names it", async (t) => {
    const { machine } = await prepare();
    machine.disk.flipBit("data/shards/3/checkpoint", 100, 0);
    t.throws(() => machine.open(), /Cannot read checkpoint "data\/shards\/3\/checkpoint": its content is damaged/);
    machine.disk.flipBit("data/shards/3/checkpoint", 10, 0);
    t.throws(() => machine.open(), /its header is damaged/);
  });
});
