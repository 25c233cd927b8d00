import fc from "fast-check";
import t from "tap";
import { openWriteAheadLog } from "../../../src/queue/drivers/storage/wal/write-ahead-log.ts";
import { BatchView } from "../../../src/queue/model/record-batch.ts";
import type { ShardStorage } from "../../../src/queue/service/partition-log.ts";
import type { WriteAheadLog } from "../../../src/queue/service/ports.ts";
import { one, readAll, recordsOf, StorageMachine, smallLimits } from "../../support/queue/storage-machine.ts";

/**
 * Log and segments together, as a node of one replica uses them: entries are applied when they are durable, checkpoints
 * release the log, and now and then the machine fails. After every restart each acknowledged record is at the offset it
 * was acknowledged with.
 */
const shard = 3;
const partitionCount = 3;

class Node {
  readonly machine: StorageMachine;
  wal: WriteAheadLog;
  storage: ShardStorage;
  applied = 0;
  nextIndex = 1;
  acked = new Map<string, string>();
  /** Restarts that found a checkpoint, so that a test can tell whether it tried what it says. */
  checkpointsFound = 0;
  #checkpointing = false;

  constructor(seed: number) {
    this.machine = new StorageMachine(seed);
    [this.wal, this.storage] = this.open();
  }

  open(): [WriteAheadLog, ShardStorage] {
    const { disk, time, random } = this.machine;
    const limits = { fileBytes: 64 * 1024, groupBytes: 8192, recentBytes: 8192 };
    const wal = openWriteAheadLog({
      disk: disk.mount(),
      folder: "wal",
      timers: time,
      random,
      runSoon: time.runSoon,
      limits,
    });
    return [wal, this.machine.open({ ...smallLimits, segmentBytes: 16_384 })];
  }

  publish(value: string): void {
    const partition =
      this.machine.random.fraction() < 0.5 ? 0 : Math.floor(this.machine.random.fraction() * partitionCount);
    const { header, body } = one(value);
    const index = this.nextIndex;
    this.nextIndex += 1;
    const entry = { shard, term: 1, index, kind: 0, payload: [Uint8Array.of(partition), header, body] };
    this.wal.append([{ kind: "entry", entry }], () => {
      const offset = this.apply(index, Buffer.concat(entry.payload));
      this.acked.set(`${partition}/${offset}`, value);
    });
  }

  apply(index: number, payload: Uint8Array): number {
    this.applied = index;
    const batch = BatchView.at(payload, 1);
    return this.storage.partitions.ensure({ topicId: "t", partition: payload[0] ?? 0 }).append(batch);
  }

  checkpoint(): void {
    if (this.#checkpointing) return;
    this.#checkpointing = true;
    const { storage, wal, applied } = this;
    storage
      .writeCheckpoint({ index: applied, term: 1, state: [Buffer.from(`${applied}`)] })
      .then(() => {
        if (storage === this.storage) wal.release(shard, applied, 1);
      })
      .catch((error: unknown) => {
        // What is left of a process that died fails, and nobody hears it.
        if (storage === this.storage) throw error;
      })
      .finally(() => {
        if (storage === this.storage) this.#checkpointing = false;
      });
  }

  restart(): void {
    this.#checkpointing = false;
    if (this.machine.random.fraction() < 0.7) this.machine.powerFailure();
    else {
      this.machine.disk.killProcess();
      this.machine.time.clear();
    }
    [this.wal, this.storage] = this.open();
    const recovered = this.wal.recovered().get(shard);
    if (recovered?.damage !== undefined) throw new Error(recovered.damage);
    this.applied = this.storage.lastCheckpoint?.index ?? 0;
    if (this.applied > 0) this.checkpointsFound += 1;
    const lastIndex = recovered?.lastIndex ?? 0;
    if ((recovered?.mark.index ?? 0) > this.applied) throw new Error("the log was released beyond the checkpoint");
    for (const entry of this.wal.readEntries(shard, this.applied + 1, lastIndex, Number.MAX_SAFE_INTEGER)) {
      this.apply(entry.index, Buffer.concat(entry.payload));
    }
    this.nextIndex = Math.max(lastIndex, this.applied) + 1;
  }

  verify(): string | undefined {
    for (const [place, value] of this.acked) {
      const [partition, offset] = place.split("/").map(Number);
      const log = this.storage.partitions.find({ topicId: "t", partition: partition ?? 0 });
      const batch = log?.findBatch(offset ?? 0);
      if (batch === undefined || recordsOf([batch])[0]?.value !== value) return `lost ${place} "${value.slice(0, 20)}"`;
    }
    for (const id of this.storage.partitions.list()) {
      const log = this.storage.partitions.ensure(id);
      const offsets = readAll(log).map((record) => record.offset);
      if (offsets.some((offset, i) => offset !== i) || offsets.length !== log.logEndOffset)
        return "offsets are not dense";
    }
    return undefined;
  }
}

async function runScenario(node: Node, seed: number): Promise<string | undefined> {
  const { random, time } = node.machine;
  for (let life = 0; life < 5; life += 1) {
    const steps = Math.floor(random.fraction() * 120);
    for (let step = 0; step < steps; step += 1) {
      if (random.fraction() < 0.05) node.checkpoint();
      else node.publish(`${seed}.${life}.${step} `.padEnd(Math.floor(random.fraction() * 900)));
      if (random.fraction() < 0.5) time.advance(random.fraction() * 2);
      // Lets promises of a checkpoint go on between events.
      if (random.fraction() < 0.3) await Promise.resolve();
    }
    node.restart();
    const problem = node.verify();
    if (problem !== undefined) return `seed ${seed}, life ${life}: ${problem}`;
  }
  return undefined;
}

t.test("acknowledged records survive crashes of log, segments and checkpoints together", async (t) => {
  const seedCount = Number(process.env["RECOVERY_SEEDS"] ?? 120);
  let checkpointsFound = 0;
  for (let seed = 1; seed <= seedCount; seed += 1) {
    const node = new Node(seed);
    const problem = await runScenario(node, seed);
    checkpointsFound += node.checkpointsFound;
    if (problem !== undefined) {
      t.fail(problem);
      break;
    }
  }
  t.ok(checkpointsFound > seedCount, `${seedCount} seeds, 5 crashes each, ${checkpointsFound} onto a checkpoint`);
});

t.test("any prefix of the log with any tail opens to a state that holds what the prefix held", (t) => {
  const writeLog = (): { machine: StorageMachine; ends: number[]; path: string } => {
    const machine = new StorageMachine(1);
    const { disk, time, random } = machine;
    const limits = { fileBytes: 64 * 1024 };
    const wal = openWriteAheadLog({
      disk: disk.mount(),
      folder: "wal",
      timers: time,
      random,
      runSoon: time.runSoon,
      limits,
    });
    const ends: number[] = [];
    for (let index = 1; index <= 40; index += 1) {
      let isDurable = false;
      const payload = [Buffer.alloc(index * 7, index)];
      wal.append([{ kind: "entry", entry: { shard, term: 1, index, kind: 0, payload } }], () => {
        isDurable = true;
      });
      time.runUntil(() => isDurable);
      ends.push(wal.sizeBytes);
    }
    time.clear();
    machine.disk.killProcess();
    return { machine, ends, path: `wal/${disk.list("wal")[0]}` };
  };
  fc.assert(
    fc.property(fc.nat({ max: 40 * 300 }), fc.uint8Array({ maxLength: 600 }), (cut, tail) => {
      const { machine, ends, path } = writeLog();
      const size = Math.min(4096 + cut, ends.at(-1) ?? 0);
      const file = machine.disk.open(path, "read-write");
      file.truncate(size);
      file.write(size, [tail]);
      file.sync();
      machine.disk.killProcess();
      const { disk, time, random } = machine;
      const wal = openWriteAheadLog({ disk: disk.mount(), folder: "wal", timers: time, random, runSoon: time.runSoon });
      const wanted = ends.filter((end) => end <= size).length;
      const found = wal.recovered().get(shard)?.lastIndex ?? 0;
      t.equal(wal.recovered().get(shard)?.damage, undefined);
      t.ok(found === wanted || (found === wanted + 1 && tail.length > 0), `${found} of ${wanted} at ${size}`);
      for (const entry of wal.readEntries(shard, 1, found, 1e9)) {
        t.ok(Buffer.concat(entry.payload).equals(Buffer.alloc(entry.index * 7, entry.index)));
      }
    }),
    { numRuns: 80 },
  );
  t.end();
});
