import t from "tap";
import { createStorageFactory, type ShardStorageWithDelays } from "../../../src/queue/drivers/storage/shard-storage.ts";
import type { DelayedEntry, DelayStore } from "../../../src/queue/service/delay-store.ts";
import { MemoryDelayStore } from "../../support/queue/memory-delay-store.ts";
import { StorageMachine } from "../../support/queue/storage-machine.ts";

const ref = { topicNumber: 7, partition: 2 };
const startMs = 1_700_000_000_000;

function open(machine: StorageMachine): ShardStorageWithDelays {
  const { disk, time } = machine;
  const factory = createStorageFactory({ disk: disk.mount(), folder: "shards", runSoon: time.runSoon });
  const storage = factory.openShard(1);
  t.equal(factory.openDelayStore(1), storage.delays);
  const state = storage.lastCheckpoint?.state.map((part) => Buffer.from(part).toString()).join("");
  storage.delays.restore(state);
  return storage;
}

async function checkpoint(machine: StorageMachine, storage: ShardStorageWithDelays): Promise<void> {
  const manifest = storage.delays.prepareCheckpoint();
  await machine.finish(storage.writeCheckpoint({ index: 1, term: 1, state: [Buffer.from(manifest)] }));
  storage.delays.commitCheckpoint(manifest);
}

function entry(sequence: number, delayMs: number, text = `m${sequence}`): DelayedEntry {
  return { sequence, dueMs: startMs + delayMs, batch: Buffer.from(text) };
}

function shown(entries: readonly (DelayedEntry | undefined)[]): unknown[] {
  return entries.map((one) => one && [one.sequence, one.dueMs - startMs, Buffer.from(one.batch).toString()]);
}

const files = (machine: StorageMachine): number =>
  machine.disk.files().filter((file) => file.path.startsWith("shards/1/delays/")).length;

t.test("add, scan, find, remove, count", (t) => {
  const { delays } = open(new StorageMachine());
  t.strictSame([delays.count(ref), delays.nextDueMs(ref), delays.partitions()], [0, undefined, []]);
  t.equal(delays.find(ref, 1), undefined);
  t.equal(delays.remove(ref, { sequence: 1, dueMs: 1 }), false);
  for (const [sequence, delay] of [
    [1, 500],
    [2, 100],
    [3, 500],
    [4, 100],
    [5, 9000],
  ] as const)
    delays.add(ref, entry(sequence, delay));
  t.strictSame(shown(delays.scan(ref, { limit: 10 })), [
    [2, 100, "m2"],
    [4, 100, "m4"],
    [1, 500, "m1"],
    [3, 500, "m3"],
    [5, 9000, "m5"],
  ]);
  t.strictSame(shown(delays.scan(ref, { limit: 2, skip: 1 })), [
    [4, 100, "m4"],
    [1, 500, "m1"],
  ]);
  t.equal(delays.scan(ref, { limit: 10, untilMs: startMs + 499 }).length, 2);
  t.equal(delays.scan(ref, { limit: 10, untilMs: startMs + 500 }).length, 4);
  t.equal(delays.scan(ref, { limit: 10, untilMs: startMs + 99 }).length, 0);
  t.equal(delays.nextDueMs(ref), startMs + 100);
  t.strictSame(shown([delays.find(ref, 5), delays.find(ref, 6)]), [[5, 9000, "m5"], undefined]);
  t.equal(delays.remove(ref, entry(2, 100)), true);
  t.equal(delays.remove(ref, entry(2, 100)), false);
  t.equal(delays.nextDueMs(ref), startMs + 100);
  t.equal(delays.remove(ref, entry(4, 100)), true);
  t.equal(delays.nextDueMs(ref), startMs + 500);
  t.strictSame([delays.count(ref), delays.partitions()], [3, [ref]]);
  delays.dropTopic(7);
  t.strictSame([delays.count(ref), delays.find(ref, 5), delays.partitions()], [0, undefined, []]);
  t.end();
});

t.test("does as the memory store does, over splits, checkpoints and power failures", async (t) => {
  for (let seed = 1; seed <= 12; seed += 1) {
    const machine = new StorageMachine(seed);
    const { random } = machine;
    const pick = (count: number): number => Math.floor(random.fraction() * count);
    let storage = open(machine);
    let model: DelayStore = new MemoryDelayStore();
    let saved = model.prepareCheckpoint();
    let sequence = 0;
    let savedSequence = 0;
    const refs = [ref, { topicNumber: 7, partition: 3 }, { topicNumber: 8, partition: 2 }];
    const spread = [10, 100_000, 30 * 86_400_000][seed % 3] ?? 10;
    for (let step = 0; step < 400; step += 1) {
      const target = refs[pick(refs.length)] ?? ref;
      const choice = random.fraction();
      const both = (act: (store: DelayStore) => unknown): void => {
        const [ours, wanted] = [act(storage.delays), act(model)];
        t.strictSame(JSON.stringify(ours), JSON.stringify(wanted), `seed ${seed} step ${step}`);
      };
      if (choice < 0.35) {
        const count = pick(seed % 4 === 0 ? 400 : 30);
        for (let i = 0; i < count; i += 1) {
          sequence += 1;
          const one = entry(sequence, pick(spread), "x".repeat(pick(300)));
          storage.delays.add(target, one);
          model.add(target, one);
        }
      } else if (choice < 0.6) {
        const due = model.scan(target, { limit: pick(60) });
        both((store) => store.scan(target, { limit: due.length }).map((one) => one.sequence));
        for (const one of due) both((store) => store.remove(target, one));
      } else if (choice < 0.75) {
        const one = sequence === 0 ? 0 : 1 + pick(sequence);
        both((store) => store.find(target, one)?.dueMs);
        const found = model.find(target, one);
        if (found !== undefined && random.fraction() < 0.5) both((store) => store.remove(target, found));
      } else if (choice < 0.85) {
        const options = { skip: pick(100), limit: pick(50), untilMs: startMs + pick(spread * 2) };
        both((store) => shown(store.scan(target, options)));
        both((store) => shown(store.scan(target, { skip: options.skip, limit: options.limit })));
        both((store) => [store.count(target), store.nextDueMs(target)]);
      } else if (choice < 0.86) both((store) => store.dropTopic(target.topicNumber));
      else if (choice < 0.94) {
        await checkpoint(machine, storage);
        saved = model.prepareCheckpoint();
        savedSequence = sequence;
      } else if (choice < 0.97) {
        machine.powerFailure();
        storage = open(machine);
        model = new MemoryDelayStore();
        model.restore(saved);
        sequence = savedSequence;
      }
      both((store) => [...store.partitions()].map((one) => `${one.topicNumber}/${one.partition}`).sort());
    }
  }
});

t.test("splits keep many messages apart, and files go when their messages have gone", async (t) => {
  const machine = new StorageMachine();
  const storage = open(machine);
  const { delays } = storage;
  const count = 30_000;
  for (let sequence = 1; sequence <= count; sequence += 1)
    delays.add(ref, entry(sequence, (sequence * 7919) % 100_000));
  await checkpoint(machine, storage);
  t.ok(files(machine) > 8, `${files(machine)} files`);
  let last = 0;
  let taken = 0;
  for (let due = delays.scan(ref, { limit: 500 }); due.length > 0; due = delays.scan(ref, { limit: 500 })) {
    for (const one of due) {
      if (one.dueMs < last) t.fail("out of order");
      last = one.dueMs;
      taken += 1;
      delays.remove(ref, one);
    }
  }
  t.equal(taken, count);
  await checkpoint(machine, storage);
  t.strictSame(
    machine.disk.files().filter((f) => f.path.includes("delays/")),
    [],
  );
  delays.add(ref, entry(count + 1, 5));
  t.strictSame(shown([delays.find(ref, count + 1)]), [[count + 1, 5, `m${count + 1}`]]);
});

t.test("all due at the same moment, and always later ones", (t) => {
  for (const delayOf of [() => 5, (sequence: number) => sequence]) {
    const { delays } = open(new StorageMachine());
    for (let sequence = 1; sequence <= 10_000; sequence += 1) delays.add(ref, entry(sequence, delayOf(sequence)));
    const found = delays.scan(ref, { limit: 10_000 }).map((one) => one.sequence);
    t.ok(found.length === 10_000 && found.every((sequence, i) => sequence === i + 1));
    t.equal(delays.find(ref, 5000)?.sequence, 5000);
  }
  t.end();
});

t.test("damage is an error that names the file, a damaged slot costs only time", async (t) => {
  const machine = new StorageMachine();
  const storage = open(machine);
  for (let sequence = 1; sequence <= 10; sequence += 1) storage.delays.add(ref, entry(sequence, sequence));
  await checkpoint(machine, storage);
  const path = (suffix: string): string => machine.disk.files().find((file) => file.path.endsWith(suffix))?.path ?? "";
  machine.powerFailure();
  machine.disk.flipBit(path(".slots"), 5 * 8 + 1, 3);
  t.strictSame(shown([open(machine).delays.find(ref, 5)]), [[5, 5, "m5"]]);
  machine.powerFailure();
  machine.disk.flipBit(path(".delayed"), 30, 3);
  t.throws(
    () => open(machine).delays.scan(ref, { limit: 1 }),
    /Cannot read delayed messages: .*\.delayed is damaged at position/,
  );
});

t.test("a full disk keeps what was added", async (t) => {
  const machine = new StorageMachine();
  const storage = open(machine);
  await checkpoint(machine, storage);
  machine.disk.setCapacity(0);
  for (let sequence = 1; sequence <= 5000; sequence += 1)
    storage.delays.add(ref, entry(sequence, sequence, "x".repeat(1000)));
  t.equal(storage.isDiskFull, true);
  t.equal(storage.delays.scan(ref, { limit: 5001 }).length, 5000);
  machine.disk.setCapacity(Number.MAX_SAFE_INTEGER);
  await checkpoint(machine, storage);
  machine.powerFailure();
  t.equal(open(machine).delays.count(ref), 5000);
});
