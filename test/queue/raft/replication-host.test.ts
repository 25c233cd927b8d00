import t from "tap";
import type { DomainError } from "../../../src/platform/errors/domain-error.ts";
import { SimDisk } from "../../../src/platform/files/sim-disk.ts";
import { silentLogger } from "../../../src/platform/log/logger.ts";
import { openWriteAheadLog } from "../../../src/queue/drivers/storage/wal/write-ahead-log.ts";
import type {
  CommittedEntry,
  ProposeOptions,
  ShardStateMachine,
  WriteAheadLog,
} from "../../../src/queue/service/ports.ts";
import type { ReplicationLimits } from "../../../src/queue/service/replication/limits.ts";
import {
  createReplicationHost,
  type ReplicationHost,
} from "../../../src/queue/service/replication/replication-host.ts";
import type { Transport } from "../../../src/queue/service/replication/transport.ts";
import { Network } from "../../sim/network.ts";
import { NodeTime, World } from "../../sim/world.ts";

/** Keeps what it was given; answers with how many entries it has seen. */
class CountingMachine implements ShardStateMachine {
  readonly texts: string[] = [];
  readonly leaderships: { readonly isLeader: boolean; readonly seenCount: number }[] = [];
  lastIndex = 0;
  checkpointError: Error | undefined;

  apply(entry: CommittedEntry): number {
    const text = Buffer.from(entry.payload).toString("utf8");
    if (text === "broken") throw new Error("the state is broken");
    this.texts.push(text);
    this.lastIndex = entry.index;
    return this.texts.length;
  }
  noteSkipped(index: number): void {
    this.lastIndex = index;
  }
  lastAppliedIndex(): number {
    return this.lastIndex;
  }
  async checkpoint(): Promise<number> {
    if (this.checkpointError !== undefined) throw this.checkpointError;
    return this.lastIndex;
  }
  async *createSnapshot(): AsyncIterable<Uint8Array> {}
  async installSnapshot(): Promise<void> {}
  onLeadership(isLeader: boolean): void {
    this.leaderships.push({ isLeader, seenCount: this.texts.length });
  }
  async close(): Promise<void> {}
}

interface Bench {
  readonly world: World;
  readonly disk: SimDisk;
  readonly wal: WriteAheadLog;
  readonly host: ReplicationHost;
  readonly machines: readonly CountingMachine[];
  readonly appendCounts: number[];
}

interface BenchOptions {
  readonly world?: World;
  readonly disk?: SimDisk;
  readonly nodeId?: string;
  readonly voters?: readonly string[];
  readonly transport?: Transport;
  readonly limits?: Partial<ReplicationLimits>;
}

function createBench(options: BenchOptions = {}): Bench {
  const world = options.world ?? new World(1);
  const time = new NodeTime(world, 0);
  const defer = (run: () => void): void => world.defer(run);
  const disk =
    options.disk ??
    new SimDisk({ random: world.random, schedule: (delayMs, run) => world.after(delayMs, run), latencyMs: () => 5 });
  const wal = openWriteAheadLog({
    disk,
    folder: "wal",
    timers: time,
    random: world.random,
    runSoon: defer,
    limits: { fileBytes: 256 * 1024, groupBytes: 64 * 1024 },
  });
  const appendCounts: number[] = [];
  const append = wal.append.bind(wal);
  wal.append = (records, onDurable) => {
    appendCounts.push(records.length);
    append(records, onDurable);
  };
  const machines: CountingMachine[] = [];
  const host = createReplicationHost({
    nodeId: options.nodeId ?? "n1",
    voters: options.voters ?? ["n1"],
    shardCount: 2,
    isBootstrap: true,
    wal,
    stateMachineFor: () => {
      const machine = new CountingMachine();
      machines.push(machine);
      return machine;
    },
    transport: options.transport ?? { send: () => undefined, onReceive: () => undefined },
    clock: time,
    timers: time,
    random: world.random,
    logger: silentLogger,
    defer,
    limits: { tickMs: 50, ...options.limits },
  });
  return { world, disk, wal, host, machines, appendCounts };
}

async function startBench(options: BenchOptions = {}): Promise<Bench> {
  const bench = createBench(options);
  let isReady = false;
  void bench.host.start().then(() => {
    isReady = true;
  });
  t.ok(await bench.world.runUntil(bench.world.nowMs + 2_000, () => isReady), "the host gets ready");
  return bench;
}

interface Answer {
  readonly code: string | undefined;
  readonly result: unknown;
  readonly atMs: number;
  readonly error: DomainError | undefined;
}

/** Proposes and collects the answer as it comes. */
function submit(bench: Bench, text: string, options: ProposeOptions = {}, shard = 1): Answer[] {
  const answers: Answer[] = [];
  bench.host.submit(shard, [Buffer.from(text)], options, (error, result) => {
    const domainError = error as DomainError | undefined;
    answers.push({ code: domainError?.code, result, atMs: bench.world.nowMs, error: domainError });
  });
  return answers;
}

/** What was asked for outside of an event begins with the next one. */
function runFor(bench: Bench, durationMs: number): Promise<boolean> {
  bench.world.after(0, () => undefined);
  return bench.world.runUntil(bench.world.nowMs + durationMs);
}

t.test("a proposal is answered with what apply returned, when it is durable", async (t) => {
  const bench = await startBench();
  const startMs = bench.world.nowMs;
  const answers = submit(bench, "a");
  t.strictSame(answers, [], "not from inside the call");
  await runFor(bench, 4);
  t.strictSame(answers, [], "not before the sync");
  await runFor(bench, 10);
  t.match(answers, [{ code: undefined, result: 1 }]);
  t.ok((answers[0]?.atMs ?? 0) >= startMs + 5);
});

t.test("all proposals of a turn, of all shards, are one append to the log", async (t) => {
  const bench = await startBench();
  await runFor(bench, 50);
  const before = bench.appendCounts.length;
  const answers = Array.from({ length: 60 }, (_, index) => submit(bench, `m${index}`, {}, index % 3));
  await runFor(bench, 20);
  t.ok(answers.every((answer) => answer[0]?.code === undefined && answer.length === 1));
  t.strictSame(bench.appendCounts.slice(before), [60]);
  t.strictSame(
    bench.machines.map(({ texts }) => texts.length),
    [20, 20, 20],
  );
});

t.test("the parts of a command arrive as one", async (t) => {
  const bench = await startBench();
  await Promise.all([
    bench.host.propose(1, [Buffer.from("ab"), Buffer.from("cd"), Buffer.from("e")]),
    runFor(bench, 50),
  ]);
  t.strictSame(bench.machines[1]?.texts, ["abcde"]);
});

t.test("acks: none answers at once, and the entry is applied all the same", async (t) => {
  const bench = await startBench();
  t.match(submit(bench, "a", { acks: "none" }), [{ code: undefined, result: undefined }]);
  await runFor(bench, 20);
  t.strictSame(bench.machines[1]?.texts, ["a"]);
});

t.test("limits of waiting proposals hold to the last one", async (t) => {
  for (const [count, refusedCount] of [
    [2, 0],
    [3, 0],
    [4, 1],
  ] as const) {
    const bench = await startBench({ limits: { pendingProposalsMax: 3 } });
    const answers = Array.from({ length: count }, () => submit(bench, "a"));
    const refused = answers.filter((answer) => answer[0]?.code === "RATE_LIMITED");
    t.equal(refused.length, refusedCount, `${count} proposals of at most 3`);
    t.equal(submit(bench, "b", {}, 2)[0]?.code, undefined, "another shard is not held up");
    await runFor(bench, 50);
    t.equal(submit(bench, "c")[0]?.code, undefined, "there is room again");
  }
  const bench = await startBench({ limits: { pendingBytesMax: 10 } });
  t.strictSame(submit(bench, "123456789"), []);
  t.strictSame(submit(bench, "0"), []);
  t.match(submit(bench, "1"), [{ code: "RATE_LIMITED" }], "10 of 10 bytes wait");
});

t.test("a proposal that takes too long ends in TIMEOUT, and may still happen", async (t) => {
  const bench = await startBench();
  const answers = submit(bench, "late", { timeoutMs: 1 });
  bench.host.submit(1, [Buffer.from("other")], { timeoutMs: 10_000 }, () => undefined);
  const slow = createBench({ limits: { tickMs: 2 } });
  void slow.host.start();
  await slow.world.runUntil(500);
  const late = submit(slow, "late", { timeoutMs: 1 });
  await runFor(slow, 100);
  t.match(late, [{ code: "TIMEOUT" }]);
  t.strictSame(slow.machines[1]?.texts, ["late"]);
  await runFor(bench, 100);
  t.equal(answers.length, 1);
});

t.test("before the start and after the end there is a refusal", async (t) => {
  const bench = createBench();
  t.match(submit(bench, "a"), [{ code: "NOT_READY" }]);
  await t.rejects(bench.host.readBarrier(1), { code: "NOT_READY" });
  void bench.host.start();
  await bench.world.runUntil(500);
  const last = submit(bench, "last");
  const closed = bench.host.close();
  t.match(submit(bench, "late"), [{ code: "SHUTTING_DOWN" }]);
  await runFor(bench, 200);
  await closed;
  t.match(last, [{ code: undefined, result: 1 }], "what was on its way is finished");
  t.match(submit(bench, "later"), [{ code: "SHUTTING_DOWN" }]);
});

t.test("a full disk refuses writes and nothing else", async (t) => {
  const bench = await startBench();
  await runFor(bench, 100);
  bench.disk.setCapacity(0);
  for (let count = 0; count < 60 && !bench.wal.isDiskFull; count += 1) {
    submit(bench, "x".repeat(8_000));
    await runFor(bench, 20);
  }
  t.ok(bench.wal.isDiskFull, "the disk is full");
  t.match(submit(bench, "a"), [{ code: "DISK_FULL" }]);
  await Promise.all([bench.host.readBarrier(2), runFor(bench, 50)]);
  bench.disk.setCapacity(Number.MAX_SAFE_INTEGER);
  await runFor(bench, 5_000);
  const answers = submit(bench, "a");
  await runFor(bench, 100);
  t.match(answers, [{ code: undefined }], "with room again it goes on");
});

t.test("an error of the log ends the node's service, with the outcome of waiting writes unknown", async (t) => {
  const bench = await startBench();
  await runFor(bench, 100);
  bench.disk.failSync();
  const waiting = submit(bench, "a");
  const reads: unknown[] = [];
  await runFor(bench, 100);
  t.match(waiting, [{ code: "TIMEOUT" }]);
  t.match(submit(bench, "b"), [{ code: "NOT_READY" }]);
  bench.host.read(1, (error) => reads.push((error as DomainError | undefined)?.code));
  t.strictSame(reads, ["NOT_READY"]);
  t.equal((bench.host.failure as (Error & { code?: string }) | undefined)?.code, "EIO");
  t.notOk(bench.host.isLeader(1));
  t.strictSame(bench.machines[1]?.texts, [], "nothing unsynced was applied");
  t.match(bench.machines[1]?.leaderships.at(-1), { isLeader: false });
});

t.test("an entry that cannot be applied stops its shard and no other", async (t) => {
  const bench = await startBench();
  const broken = submit(bench, "broken");
  await runFor(bench, 50);
  t.match(broken, [{ code: "TIMEOUT" }]);
  t.match(submit(bench, "a"), [{ code: "NOT_READY" }]);
  t.match(bench.host.status(1), { failure: "the state is broken", isServing: false });
  const other = submit(bench, "a", {}, 2);
  await runFor(bench, 50);
  t.match(other, [{ code: undefined, result: 1 }]);
});

t.test("leadership is announced when the state holds everything from before", async (t) => {
  const first = await startBench();
  for (let count = 0; count < 5; count += 1) submit(first, "a");
  await runFor(first, 100);
  first.host.kill();
  await first.wal.close();
  const second = await startBench({ world: first.world, disk: first.disk });
  t.strictSame(second.machines[1]?.leaderships, [{ isLeader: true, seenCount: 5 }]);
  t.equal(second.host.status(1).term, 2);
});

t.test("a checkpoint lets the log forget, also where a shard is idle", async (t) => {
  const bench = await startBench();
  for (let count = 0; count < 5; count += 1) submit(bench, "a");
  await runFor(bench, 100);
  await bench.host.checkpoint();
  const { appliedIndex } = bench.host.status(1);
  t.equal(bench.wal.termAt(1, appliedIndex - 1), undefined);
  t.equal(bench.wal.termAt(1, appliedIndex), 1);
  t.equal(bench.wal.termAt(2, 1), 1, "the mark of the idle shard is its only entry");
  t.strictSame(bench.wal.readEntries(2, 1, 1, 1_000), []);
});

t.test("a checkpoint without room is tried again, one that fails otherwise stops the shard", async (t) => {
  const bench = await startBench();
  const [, machine] = bench.machines;
  if (machine === undefined) return;
  submit(bench, "a");
  await runFor(bench, 100);
  machine.checkpointError = Object.assign(new Error("no space"), { code: "ENOSPC" });
  await bench.host.checkpoint();
  t.equal(bench.host.status(1).failure, undefined);
  machine.checkpointError = Object.assign(new Error("sync failed"), { code: "EIO" });
  await bench.host.checkpoint();
  t.equal(bench.host.status(1).failure, "sync failed");
});

t.test("a damaged log on a single node is not served, and says why", async (t) => {
  const first = await startBench();
  for (let count = 0; count < 5; count += 1) {
    submit(first, "a".repeat(500));
    await runFor(first, 100);
  }
  first.host.kill();
  await first.wal.close();
  const [file] = first.disk.files().filter(({ path }) => path.startsWith("wal/"));
  if (file === undefined) throw new Error("there is a log file");
  first.disk.flipBit(file.path, 4096 + 2_000, 3);
  const second = await startBench({ world: first.world, disk: first.disk });
  const damaged = second.host.statuses.filter(({ damage }) => damage !== undefined);
  t.ok(damaged.length > 0, "the damage is noticed");
  for (const { shard } of damaged) {
    const [answer] = submit(second, "b", {}, shard);
    t.equal(answer?.code, "LEADER_NOT_AVAILABLE");
    t.match(answer?.error?.message, /damaged/);
    t.equal(second.host.status(shard).isServing, false);
  }
});

t.test("a follower names the leader and reads through it", async (t) => {
  const world = new World(7);
  const network = new Network(world);
  const voters = ["n1", "n2", "n3"];
  const benches = voters.map((nodeId) => createBench({ world, nodeId, voters, transport: network.attach(nodeId) }));
  for (const bench of benches) void bench.host.start();
  const isReady = (): boolean => benches.some(({ host }) => host.isLeader(1));
  t.ok(await world.runUntil(10_000, isReady), "a leader is found");
  const leader = benches.find(({ host }) => host.isLeader(1));
  const follower = benches.find(({ host }) => !host.isLeader(1));
  if (leader === undefined || follower === undefined) return;
  await world.runUntil(world.nowMs + 500);
  const leaderId = leader.host.leaderOf(1);
  const [refused] = submit(follower, "a");
  t.equal(refused?.code, "NOT_LEADER");
  t.strictSame(refused?.error?.details, { leader: leaderId });

  const written = submit(leader, "a");
  await world.runUntil(world.nowMs + 100);
  t.match(written, [{ code: undefined, result: 1 }]);
  let seen: readonly string[] | undefined;
  void follower.host.readBarrier(1).then(() => {
    seen = [...(follower.machines[1]?.texts ?? [])];
  });
  await world.runUntil(world.nowMs + 500);
  t.strictSame(seen, ["a"], "the read sees what was acknowledged before it");

  for (const other of voters) if (other !== leaderId) network.cut(leaderId ?? "", other);
  const alone = submit(leader, "alone", { acks: "leader" });
  const unconfirmed = submit(leader, "never");
  await world.runUntil(world.nowMs + 100);
  t.match(alone, [{ code: undefined, result: undefined }], "acks: leader needs the leader's disk only");
  t.strictSame(unconfirmed, [], "acks: all waits for a majority");
  const stale: unknown[] = [];
  leader.host.read(1, (error) => stale.push((error as DomainError | undefined)?.code));
  await world.runUntil(world.nowMs + 15_000);
  t.notOk(leader.host.isLeader(1), "a leader without followers steps down");
  t.not(stale[0], undefined, "and serves no reads");
  network.heal();
  await world.runUntil(world.nowMs + 10_000);
  t.match(unconfirmed, [{ code: /^(NOT_LEADER|TIMEOUT)$/ }]);
});
