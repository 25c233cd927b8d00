// The queue's storage alone: synced appends against a bare loop on the same disk, reads against bare reads, opening many
// partitions, memory under a backlog. `node test/bench/queue-storage.ts [rounds]` runs it by itself;
// QUEUE_STORAGE_MESSAGES sets the size of the backlog (1,000,000).
import * as fs from "node:fs";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { createNodeDisk } from "../../src/platform/files/node-disk.ts";
import { systemRandom } from "../../src/platform/random/random.ts";
import { afterPendingEvents, systemTimers } from "../../src/platform/time/clock.ts";
import { createStorageFactory } from "../../src/queue/drivers/storage/shard-storage.ts";
import { openWriteAheadLog } from "../../src/queue/drivers/storage/wal/write-ahead-log.ts";
import type { Priority, RecordBatch } from "../../src/queue/model/record-batch.ts";
import { RecordBatchBuilder } from "../../src/queue/model/record-batch-builder.ts";
import type { PartitionLog } from "../../src/queue/service/partition-log.ts";
import type { WriteAheadLog } from "../../src/queue/service/ports.ts";
import { type BenchRow, type BenchTable, createTable, formatTable, interleave, spreadOf } from "../support/bench.ts";

const roundMs = 1000;
const partitionCount = 10_000;
const shardCount = 8;
const messageCount = Number(process.env["QUEUE_STORAGE_MESSAGES"] ?? 1_000_000);

export async function run(rounds: number): Promise<BenchTable> {
  const dist = resolve(import.meta.dirname, "../../dist");
  mkdirSync(dist, { recursive: true });
  const folder = mkdtempSync(join(dist, "bench-"));
  try {
    return createTable("queue-storage", [
      ...(await measureAppends(folder, rounds)),
      ...(await measureReads(folder, rounds)),
      ...(await measureOpening(folder, rounds)),
      ...(await measureBacklog(folder)),
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// --- the write-ahead log

interface AppendCase {
  readonly name: string;
  readonly bytes: number;
  readonly inFlight: number;
  readonly goal: string;
  readonly ratioMin: number;
}

/** A single append in flight costs one sync; many share one. Batches are limited by the disk's own bandwidth. */
const appendCases: readonly AppendCase[] = [
  { name: "1 × 200 B in flight, appends/s", bytes: 200, inFlight: 1, goal: "≥ 0.77 × bare", ratioMin: 1 / 1.3 },
  { name: "64 × 200 B in flight, appends/s", bytes: 200, inFlight: 64, goal: "≥ 10 × bare", ratioMin: 10 },
  { name: "64 × 1 KiB in flight, appends/s", bytes: 1024, inFlight: 64, goal: "≥ 10 × bare", ratioMin: 10 },
  { name: "8 × 100 KiB in flight, appends/s", bytes: 102_400, inFlight: 8, goal: "≥ 0.6 × bare", ratioMin: 0.6 },
];

async function measureAppends(folder: string, rounds: number): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  const raw = openRawFile(join(folder, "raw"));
  const wal = openWriteAheadLog({
    disk: createNodeDisk(folder),
    folder: "wal",
    timers: systemTimers,
    random: systemRandom,
    runSoon: afterPendingEvents,
  });
  let index = 0;
  for (const { name, bytes, inFlight, goal, ratioMin } of appendCases) {
    const payload = Buffer.alloc(bytes, 7);
    const result = await interleave(rounds, {
      ours: async () => {
        const measured = await measureWal(wal, payload, inFlight, index);
        index = measured.index;
        return measured.perSecond;
      },
      bare: async () => measureRaw(raw, payload),
    });
    const { ours, bare } = result;
    if (ours === undefined || bare === undefined) continue;
    const isReached = ours.median / bare.median >= ratioMin;
    rows.push({ name, unit: "1/s", ours, peerName: "bare loop", peer: bare, goal, isReached });
  }
  fs.closeSync(raw);
  await wal.close();
  return rows;
}

/** As far as the log may grow before a checkpoint releases it. */
const releaseBytes = 128 * 1024 * 1024;

function measureWal(
  wal: WriteAheadLog,
  payload: Buffer,
  inFlight: number,
  fromIndex: number,
): Promise<{ perSecond: number; index: number }> {
  return new Promise((done, fail) => {
    const startedAt = performance.now();
    const entriesPerRelease = Math.ceil(releaseBytes / (payload.length + 32));
    let index = fromIndex;
    let durable = 0;
    let pending = 0;
    const next = (): void => {
      pending += 1;
      index += 1;
      const entry = { shard: 1, term: 1, index, kind: 0, payload: [payload] };
      wal.append([{ kind: "entry", entry }], (error) => {
        if (error !== undefined) return fail(error);
        pending -= 1;
        durable += 1;
        if (durable % entriesPerRelease === 0) wal.release(1, index - inFlight * 2, 1);
        if (performance.now() - startedAt < roundMs) return next();
        if (pending === 0) done({ perSecond: (durable / (performance.now() - startedAt)) * 1000, index });
      });
    };
    for (let count = 0; count < inFlight; count += 1) next();
  });
}

const rawFileBytes = 64 * 1024 * 1024;

function openRawFile(path: string): number {
  const fd = fs.openSync(path, "w+");
  const zeros = Buffer.alloc(1024 * 1024);
  for (let at = 0; at < rawFileBytes; at += zeros.length) fs.writeSync(fd, zeros, 0, zeros.length, at);
  fs.fsyncSync(fd);
  return fd;
}

/** The same bytes, rounded up to a page, written and synced one by one in a preallocated file. */
function measureRaw(fd: number, payload: Buffer): number {
  const buffer = Buffer.alloc(Math.ceil(payload.length / 4096) * 4096, 7);
  const startedAt = performance.now();
  let count = 0;
  for (let at = 0; performance.now() - startedAt < roundMs; count += 1) {
    fs.writeSync(fd, buffer, 0, buffer.length, at);
    fs.fdatasyncSync(fd);
    at = at + buffer.length * 2 > rawFileBytes ? 0 : at + buffer.length;
  }
  return (count / (performance.now() - startedAt)) * 1000;
}

// --- segments

function buildBatch(count: number, bytes: number, priority: Priority = 2): RecordBatch {
  const builder = new RecordBatchBuilder({ timestampMs: Date.now() });
  const value = Buffer.alloc(bytes, 97);
  for (let i = 0; i < count; i += 1) builder.append({ value, priority });
  return builder.finish();
}

function openStorage(folder: string, shard = 1): ReturnType<ReturnType<typeof createStorageFactory>["openShard"]> {
  return createStorageFactory({
    disk: createNodeDisk(folder),
    folder: "shards",
    runSoon: afterPendingEvents,
  }).openShard(shard);
}

async function measureReads(folder: string, rounds: number): Promise<BenchRow[]> {
  const storage = openStorage(join(folder, "read"));
  const log = storage.partitions.ensure({ topicId: "t", partition: 0 });
  const batch = buildBatch(100, 1024);
  const batchBytes = batch.header.length + batch.body.length;
  const totalBytes = 256 * 1024 * 1024;
  const appends = await interleave(rounds, {
    ours: async () => {
      log.resetTo(0);
      const startedAt = performance.now();
      for (let size = 0; size < totalBytes; size += batchBytes) log.append(batch);
      return totalBytes / 1e6 / ((performance.now() - startedAt) / 1000);
    },
  });
  await storage.writeCheckpoint({ index: 1, term: 1, state: [] });
  const segments = fs.globSync(join(folder, "read/shards/1/topics/t/0/*.log"));
  const reads = await interleave(rounds, {
    ours: async () => readThrough(log),
    bare: async () => readFiles(segments),
  });
  await storage.close();
  const rows: BenchRow[] = [];
  if (appends["ours"]) {
    rows.push({
      name: "append to a partition, 100 × 1 KiB",
      unit: "MB/s",
      ours: appends["ours"],
      goal: "no limit set",
    });
  }
  const { ours, bare } = reads;
  if (ours !== undefined && bare !== undefined) {
    const isReached = ours.median >= 0.25 * bare.median;
    rows.push({
      name: "read a partition, 1 MiB at a time, verified",
      unit: "MB/s",
      ours,
      peerName: "bare read",
      peer: bare,
      goal: "≥ 0.25 ×",
      isReached,
    });
  }
  return rows;
}

function readThrough(log: PartitionLog): number {
  const startedAt = performance.now();
  let size = 0;
  for (let offset = 0; offset < log.logEndOffset; ) {
    const batches = log.read({ offset, maxBytes: 1024 * 1024 });
    for (const batch of batches) size += batch.sizeBytes;
    offset = batches.at(-1)?.nextOffset ?? log.logEndOffset;
  }
  return size / 1e6 / ((performance.now() - startedAt) / 1000);
}

function readFiles(paths: readonly string[]): number {
  const startedAt = performance.now();
  let size = 0;
  for (const path of paths) {
    const fd = fs.openSync(path, "r");
    for (;;) {
      const count = fs.readSync(fd, Buffer.allocUnsafeSlow(1024 * 1024));
      if (count === 0) break;
      size += count;
    }
    fs.closeSync(fd);
  }
  return size / 1e6 / ((performance.now() - startedAt) / 1000);
}

async function measureOpening(folder: string, rounds: number): Promise<BenchRow[]> {
  const root = join(folder, "open");
  const batch = buildBatch(10, 100);
  const checkpointTimes: number[] = [];
  for (let shard = 1; shard <= shardCount; shard += 1) {
    const storage = openStorage(root, shard);
    for (let partition = shard; partition <= partitionCount; partition += shardCount) {
      storage.partitions.ensure({ topicId: `topic-${partition % 50}`, partition }).append(batch);
    }
    const startedAt = performance.now();
    await storage.writeCheckpoint({ index: 1, term: 1, state: [] });
    checkpointTimes.push(performance.now() - startedAt);
    await storage.close();
  }
  const openTimes: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startedAt = performance.now();
    const shards = Array.from({ length: shardCount }, (_, i) => openStorage(root, i + 1));
    openTimes.push(performance.now() - startedAt);
    for (const storage of shards) await storage.close();
  }
  const open = spreadOf(openTimes);
  return [
    {
      name: "first checkpoint of 1,250 new partitions",
      unit: "ms",
      ours: spreadOf(checkpointTimes),
      goal: "no limit set",
    },
    { name: "open 10,000 partitions", unit: "ms", ours: open, goal: "≤ 2,000", isReached: open.median <= 2000 },
  ];
}

// --- memory

async function measureBacklog(folder: string): Promise<BenchRow[]> {
  const storage = openStorage(join(folder, "backlog"));
  const log = storage.partitions.ensure({ topicId: "t", partition: 0 });
  const batch = buildBatch(10, 100);
  const rssMb = (): number => process.memoryUsage.rss() / 1e6;
  const settle = async (): Promise<void> => {
    globalThis.gc?.();
    await new Promise((done) => setTimeout(done, 200));
  };
  for (let count = 0; count < 20_000; count += 10) log.append(batch);
  await settle();
  const before = rssMb();
  let highest = before;
  let slowReader = 0;
  for (let count = 0; count < messageCount; count += 10) {
    log.append(batch);
    if (count % 10_000 !== 0) continue;
    slowReader = log.read({ offset: slowReader, maxBytes: 64 * 1024 }).at(-1)?.nextOffset ?? slowReader;
    highest = Math.max(highest, rssMb());
  }
  await storage.writeCheckpoint({ index: 1, term: 1, state: [] });
  await settle();
  const growth = spreadOf([highest - before]);
  const walked = walkRate(log);
  await storage.close();
  return [
    {
      name: `highest RSS over ${messageCount.toLocaleString("en-US")} × 100 B and a slow reader`,
      unit: "MB more",
      ours: growth,
      goal: "≤ 32",
      isReached: growth.median <= 32,
    },
    { name: "nextOffset() over one priority", unit: "1/s", ours: spreadOf([walked]), goal: "no limit set" },
  ];
}

function walkRate(log: PartitionLog): number {
  const startedAt = performance.now();
  let count = 0;
  for (let at = log.nextOffset(2, 0); at !== undefined && count < 200_000; at = log.nextOffset(2, at + 1)) count += 1;
  return (count / (performance.now() - startedAt)) * 1000;
}

if (import.meta.main) process.stdout.write(formatTable(await run(Number(process.argv[2] ?? 5))));
