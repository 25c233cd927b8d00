// What a stored backlog costs: memory while it grows and is read slowly, the time of a start on top of it, and a million
// delayed messages. QUEUE_BENCH_BACKLOG (10000000) and QUEUE_BENCH_DELAYED (1000000) are how many messages; rounds
// count for nothing here, each figure is one long measurement.
import * as fs from "node:fs";
import { join } from "node:path";
import type { Client } from "@grpc/grpc-js";
import { sleep } from "../../src/platform/time/clock.ts";
import { queue as wire } from "../../src/queue/gen/queue.js";
import { type PublishRequestInit, queueDefinition } from "../../src/queue/grpc/definition.ts";
import { type BenchRow, type BenchTable, createTable, spreadOf } from "../support/bench.ts";
import { QueueProcess } from "../support/e2e/queue-server.ts";
import { connectGrpc, openPublishStream, percentile } from "../support/queue/bench-clients.ts";

const backlogCount = Number(process.env["QUEUE_BENCH_BACKLOG"] ?? 10_000_000);
const delayedCount = Number(process.env["QUEUE_BENCH_DELAYED"] ?? 1_000_000);
const batchSize = 1000;
const window = 8;
const sampleMs = 500;
/** Of the delayed messages one in ten becomes due while it is measured, evenly over this time; the others next day. */
const dueSpanMs = 20_000;
const dueShare = 10;
const dayMs = 86_400_000;

export async function run(_rounds: number): Promise<BenchTable> {
  const folder = fs.mkdtempSync(join(process.cwd(), "dist-bench-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => fs.rmSync(folder, { recursive: true, force: true }));
  const backlog = await measureBacklog(join(folder, "backlog"));
  return createTable("queue-backlog", [...backlog, ...(await measureDelayed(join(folder, "delayed")))]);
}

/** Q8: stored messages and a slow reader leave memory flat; a start on top of them is quick. */
async function measureBacklog(dataDir: string): Promise<readonly BenchRow[]> {
  const broker = new QueueProcess(dataDir);
  await broker.start();
  await sleep(1000);
  const idle = readRssMb(broker.pid);
  await broker.client.post("/topics", { name: "backlog", partitions: 8, retention_hours: 0 });
  const client = connectGrpc(broker.grpcAddress);
  const stop = new AbortController();
  const reading = readSlowly(broker, stop.signal);
  const samples: number[] = [];
  const sampler = setInterval(() => samples.push(readRssMb(broker.pid)), sampleMs);
  const batch = Array.from({ length: batchSize }, () => ({ payload: Buffer.alloc(100, "x") }));
  const startMs = performance.now();
  await publishBatches(client, backlogCount / batchSize, () => ({ topic: "backlog", batch }));
  const perSecond = backlogCount / ((performance.now() - startMs) / 1000);
  clearInterval(sampler);
  stop.abort();
  const pages = await reading;
  client.close();
  await broker.stop();
  const restartMs = await timeStart(broker);
  const after = await broker.client.get<{ readonly total_messages: number }>("/topics/backlog");
  await broker.stop();
  fs.rmSync(dataDir, { recursive: true, force: true });
  // The first quarter fills caches and pools of the runtime; growth is what comes on top of it.
  const quarter = samples.length >> 2;
  const early = spreadOf(samples.slice(quarter, 2 * quarter));
  const late = spreadOf(samples.slice(-quarter));
  const growth = late.median - early.median;
  const name = `${backlogCount.toLocaleString("en-US")} × 100 B stored, a slow reader`;
  if (after.total_messages !== backlogCount) throw new Error(`the broker holds ${after.total_messages} messages`);
  return [
    { name: "idle, RSS", unit: "MB", ours: spreadOf([idle]), goal: "≤ 120", isReached: idle <= 120 },
    {
      ...{ name: `${name}, RSS last quarter`, unit: "MB", ours: late, peerName: "RSS second quarter", peer: early },
      ...{ goal: "± 32 MB", isReached: growth <= 32 },
      note: `loaded at ${Math.round(perSecond)} messages/s, ${pages} pages read`,
    },
    {
      ...{ name: `${name}, start until ready`, unit: "ms", ours: spreadOf([restartMs]) },
      ...{ goal: "≤ 2000", isReached: restartMs <= 2000 },
    },
  ];
}

async function measureDelayed(dataDir: string): Promise<readonly BenchRow[]> {
  const broker = new QueueProcess(dataDir);
  await broker.start();
  await broker.client.post("/topics", { name: "delayed", partitions: 8, retention_hours: 0 });
  const client = connectGrpc(broker.grpcAddress);
  await sleep(1000);
  const before = readRssMb(broker.pid);
  const requests = delayedCount / batchSize;
  const startMs = performance.now();
  await publishBatches(client, requests, () => delayedRequest(() => Date.now() + dayMs));
  const perSecond = delayedCount / ((performance.now() - startMs) / 1000);
  await sleep(2000);
  const held = readRssMb(broker.pid) - before;
  const dueStartMs = Date.now() + 5000;
  const due = delayedCount / dueShare;
  const reading = readDue(client, due);
  await publishBatches(client, due / batchSize, () =>
    delayedRequest((index) => dueStartMs + (index / batchSize) * dueSpanMs),
  );
  const lateness = await reading;
  client.close();
  await broker.stop();
  const name = `${delayedCount.toLocaleString("en-US")} delayed`;
  const early = lateness.filter((value) => value < 0).length;
  const p99 = percentile(lateness, 0.99);
  return [
    {
      ...{ name: `${name}, added RSS`, unit: "MB", ours: spreadOf([held]), goal: "≤ 100", isReached: held <= 100 },
      note: `taken at ${Math.round(perSecond)} messages/s`,
    },
    {
      ...{ name: `${due.toLocaleString("en-US")} of them due over ${dueSpanMs / 1000} s, late by, p99`, unit: "ms" },
      ...{ ours: spreadOf([p99]), goal: "≤ 1000, none early", isReached: p99 <= 1000 && early === 0 },
      note: `p50 ${percentile(lateness, 0.5).toFixed(0)} ms, ${early} early`,
    },
  ];
}

/** Messages that carry their due time, in whole seconds as the broker keeps them. */
function delayedRequest(dueMs: (index: number) => number): PublishRequestInit {
  const batch = Array.from({ length: batchSize }, (_, index) => {
    const seconds = Math.ceil(dueMs(index) / 1000);
    const payload = Buffer.alloc(100, " ");
    payload.write(String(seconds * 1000));
    return { payload, deliverAt: { seconds } };
  });
  return { topic: "delayed", batch };
}

function readDue(client: Client, count: number): Promise<number[]> {
  const { path, requestSerialize, responseDeserialize } = queueDefinition.consumeStream;
  const request = wire.v1.ConsumeRequest.create({ topic: "delayed" });
  const call = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
  const lateness: number[] = [];
  return new Promise((resolve, reject) => {
    call.on("error", reject);
    call.on("data", (message: wire.v1.Message.$Properties) => {
      if (message.heartbeat || !message.payload) return;
      lateness.push(Date.now() - Number(Buffer.from(message.payload).toString()));
      if (lateness.length < count) return;
      call.removeAllListeners("error");
      call.on("error", () => {});
      call.cancel();
      resolve(lateness);
    });
  });
}

function publishBatches(client: Client, requests: number, makeRequest: () => PublishRequestInit): Promise<void> {
  return new Promise((resolve, reject) => {
    const call = openPublishStream(client);
    let sent = 0;
    let confirmed = 0;
    const fill = (): void => {
      while (sent < requests && sent - confirmed < window) {
        sent += 1;
        call.write({ ...makeRequest(), correlationId: sent });
      }
      if (confirmed >= requests) call.end();
    };
    call.on("data", (response: wire.v1.PublishResponse) => {
      if (response.error) reject(new Error(response.error.message ?? "refused"));
      confirmed += Math.max(1, response.count);
      fill();
    });
    call.on("error", reject);
    call.on("end", resolve);
    fill();
  });
}

/** A reader from the beginning that takes ten pages a second. */
async function readSlowly(broker: QueueProcess, signal: AbortSignal): Promise<number> {
  let offset = 0;
  let pages = 0;
  while (!signal.aborted) {
    const response = await fetch(
      `${broker.httpUrl}/topics/backlog/partitions/0/messages?offset=${offset}&max=500&wait_ms=500`,
    );
    const page = (await response.json()) as { readonly next_offset: number };
    offset = page.next_offset;
    pages += 1;
    await sleep(100);
  }
  return pages;
}

async function timeStart(broker: QueueProcess): Promise<number> {
  const startMs = performance.now();
  await broker.start();
  while (!(await fetch(`${broker.httpUrl}/readyz`)).ok) await sleep(10);
  return performance.now() - startMs;
}

function readRssMb(pid: number): number {
  const [, kilobytes = "0"] = /VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return (Number(kilobytes) * 1024) / 1e6;
}
