// Publishing: durable by default against peers on the same disk in the same run. A peer that is not installed, or too
// old to sync before it answers, is said and left out. QUEUE_BENCH_MS is the length of one measurement (2000).
import * as fs from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { ConfirmChannel } from "amqplib";
import { createNodeDisk } from "../../src/platform/files/node-disk.ts";
import { type BenchRow, type BenchTable, createTable, interleave, type Spread, spreadOf } from "../support/bench.ts";
import { QueueProcess } from "../support/e2e/queue-server.ts";
import { canSyncAlways, createNatsStream, type NatsPeer, natsVersion, startNats } from "../support/peers/nats.ts";
import { declareQuorumQueue, startRabbitMq } from "../support/peers/rabbitmq.ts";
import { startRedisPeer } from "../support/peers/redis.ts";
import {
  connectGrpc,
  percentile,
  postInLoop,
  publishInWindow,
  repeatInParallel,
  timeSinglePublishes,
} from "../support/queue/bench-clients.ts";

const durationMs = Number(process.env["QUEUE_BENCH_MS"] ?? 2000);
const producers = 64;
const sizes = [100, 1024] as const;
const batchCount = 100;
const batchWindow = 32;
const singleCount = 500;
const appendBytes = 4096;

type Sides = Record<string, () => Promise<number>>;

export async function run(rounds: number): Promise<BenchTable> {
  const folder = fs.mkdtempSync(join(process.cwd(), "dist-bench-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => fs.rmSync(folder, { recursive: true, force: true }));
  const broker = new QueueProcess(join(folder, "data"));
  await broker.start();
  stack.defer(async () => void (await broker.stop()));
  await broker.client.post("/topics", { name: "bench", partitions: 8, retention_hours: 0 });
  const rows: BenchRow[] = [];
  for (const sizeBytes of sizes) rows.push(...(await measureSingles(broker, stack, sizeBytes, rounds)));
  rows.push(...(await measureBatches(broker, folder, rounds)));
  rows.push(...(await measureLatency(broker, folder, rounds)));
  rows.push(await measureRest(broker, rounds));
  rows.push(...(await measureReplay(broker, rounds)));
  return createTable("queue-publish", rows);
}

/** Q1: one message in flight for each of 64 producers, each confirmed only when it is synced. */
async function measureSingles(
  broker: QueueProcess,
  stack: AsyncDisposableStack,
  sizeBytes: number,
  rounds: number,
): Promise<readonly BenchRow[]> {
  const payload = Buffer.alloc(sizeBytes, "x");
  const client = connectGrpc(broker.grpcAddress);
  const load = {
    ...{ client, durationMs, messagesPerRequest: 1 },
    makeRequest: (correlationId: number) => ({ topic: "bench", payload, correlationId }),
  };
  const sides: Sides = {
    ours: () => publishInWindow({ ...load, streams: producers, window: 1 }),
    shared: () => publishInWindow({ ...load, streams: 1, window: producers }),
  };
  await using peers = new AsyncDisposableStack();
  await addRedis(sides, peers, payload);
  await addRabbit(sides, peers, payload);
  await addNats(sides, peers, payload);
  const spreads = await interleave(rounds, sides);
  client.close();
  const goals: Record<string, number> = {
    "NATS, sync always": 10,
    "Redis, appendfsync always": 2,
    "RabbitMQ quorum queue": 1,
  };
  void stack;
  const sharing = { ...spreads, ours: spreads["shared"] ?? spreadOf([]) };
  const name = `${producers} producers, ${sizeBytes} B, gRPC`;
  return Object.entries(goals).flatMap(([peerName, factor]) => [
    compare(`${name}, a stream each`, "messages/s", spreads, peerName, factor),
    // As the producers of the first two peers share a connection.
    compare(`${name}, one stream`, "messages/s", sharing, peerName, factor),
  ]);
}

async function addRedis(sides: Sides, peers: AsyncDisposableStack, payload: Buffer): Promise<void> {
  const redis = peers.use(await startRedisPeer("always"));
  sides["Redis, appendfsync always"] = () =>
    repeatInParallel(producers, durationMs, async () => await redis.client.xAdd("bench", "*", { payload }));
}

async function addRabbit(sides: Sides, peers: AsyncDisposableStack, payload: Buffer): Promise<void> {
  const rabbit = peers.use(await startRabbitMq());
  const channels: ConfirmChannel[] = [];
  for (let index = 0; index < producers; index += 1) channels.push(await rabbit.connection.createConfirmChannel());
  const [first] = channels;
  if (first === undefined) return;
  await declareQuorumQueue(first, "bench");
  sides["RabbitMQ quorum queue"] = () =>
    repeatInParallel(producers, durationMs, (worker) => confirmOnce(channels[worker] ?? first, payload));
}

function confirmOnce(channel: ConfirmChannel, payload: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.sendToQueue("bench", payload, { persistent: true }, (error) => (error ? reject(error) : resolve()));
  });
}

async function addNats(sides: Sides, peers: AsyncDisposableStack, payload: Buffer): Promise<void> {
  if (!canSyncAlways()) return;
  const nats = peers.use(await startNats("always"));
  await createNatsStream(nats, "bench");
  const jetstream = nats.connection.jetstream();
  sides["NATS, sync always"] = () =>
    repeatInParallel(producers, durationMs, async () => await jetstream.publish("bench.a", payload));
}

/** Q2: batches of 100 × 1 KiB, against a peer that does not sync, and against what the disk can do. */
async function measureBatches(broker: QueueProcess, folder: string, rounds: number): Promise<readonly BenchRow[]> {
  const payload = Buffer.alloc(1024, "x");
  const client = connectGrpc(broker.grpcAddress);
  const batch = Array.from({ length: batchCount }, () => ({ payload }));
  await using nats = await startNats("default");
  await createNatsStream(nats, "bench");
  const spreads = await interleave(rounds, {
    ours: () =>
      publishInWindow({
        ...{ client, streams: 4, window: batchWindow, durationMs, messagesPerRequest: batchCount },
        makeRequest: (correlationId) => ({ topic: "bench", correlationId, batch }),
      }),
    nats: () => publishToNats(nats, payload),
    disk: async () => appendAndSync(folder, batchCount * 1024),
  });
  client.close();
  const name = "batches of 100 × 1 KiB, gRPC";
  const ours = spreads["ours"] ?? spreadOf([]);
  const disk = scale(spreads["disk"] ?? spreadOf([]), batchCount);
  return [
    compare(
      name,
      "messages/s",
      { ...spreads, "NATS, async, unsynced": spreads["nats"] ?? ours },
      "NATS, async, unsynced",
      1.5,
    ),
    {
      name,
      unit: "messages/s",
      ours,
      peerName: "the disk's own synced appends",
      peer: disk,
      goal: "≥ 0.6 ×",
      isReached: ours.median >= 0.6 * disk.median,
    },
  ];
}

async function publishToNats(nats: NatsPeer, payload: Buffer): Promise<number> {
  const jetstream = nats.connection.jetstream();
  return await repeatInParallel(4, durationMs, async () => {
    await Promise.all(Array.from({ length: 1024 }, async () => await jetstream.publish("bench.a", payload)));
  }).then((perSecond) => perSecond * 1024);
}

/** Appends per second of preallocated space, each durable before the next. */
async function appendAndSync(folder: string, sizeBytes: number): Promise<number> {
  const disk = createNodeDisk(folder);
  const file = disk.open("append", "create");
  const bytes = new Uint8Array(sizeBytes);
  const limit = 64 * 1024 * 1024;
  file.preallocate(limit);
  file.sync();
  let position = 0;
  const perSecond = await repeatInParallel(1, durationMs, async () => {
    await new Promise<void>((resolve, reject) => {
      file.writeDurably(position, [bytes], (error) => (error === undefined ? resolve() : reject(error)));
    });
    position = position + 2 * sizeBytes > limit ? 0 : position + sizeBytes;
  });
  file.close();
  disk.remove("append");
  return perSecond;
}

/** Q3: one publish in flight, beside one synced append of 4 KiB. */
async function measureLatency(broker: QueueProcess, folder: string, rounds: number): Promise<readonly BenchRow[]> {
  const payload = Buffer.alloc(100, "x");
  const client = connectGrpc(broker.grpcAddress);
  const url = `${broker.httpUrl}/topics/bench/messages`;
  const body = JSON.stringify({ value: payload.toString() });
  const all: number[] = [];
  const spreads = await interleave(rounds, {
    grpc: async () => {
      const latencies = await timeSinglePublishes(client, "bench", payload, singleCount);
      all.push(...latencies);
      return percentile(latencies, 0.5);
    },
    rest: async () => percentile((await postInLoop({ url, connections: 1, durationMs, body })).latenciesMs, 0.5),
    disk: async () => 1000 / (await appendAndSync(folder, appendBytes)),
  });
  client.close();
  const disk = spreads["disk"] ?? spreadOf([]);
  const row = (name: string, key: string, extraMs: number): BenchRow => {
    const ours = spreads[key] ?? spreadOf([]);
    const limitMs = 1.3 * disk.median + extraMs;
    return {
      name,
      unit: "ms",
      ours,
      peerName: "one synced 4 KiB append",
      peer: disk,
      goal: `≤ 1.3 × + ${extraMs} ms`,
      isReached: ours.median <= limitMs,
    };
  };
  const tail = `p99 ${percentile(all, 0.99).toFixed(2)}, p99.9 ${percentile(all, 0.999).toFixed(2)} ms`;
  return [
    { ...row("one in flight, gRPC, p50", "grpc", 0.15), note: tail },
    row("one in flight, REST, p50", "rest", 0.25),
  ];
}

/** Q4: against a server that reads the same body and stores nothing. */
async function measureRest(broker: QueueProcess, rounds: number): Promise<BenchRow> {
  const body = JSON.stringify({ value: "x".repeat(100) });
  const bare = await startBareServer();
  const { port } = bare.address() as AddressInfo;
  const load = { connections: producers, durationMs, body };
  const spreads = await interleave(rounds, {
    ours: async () => (await postInLoop({ ...load, url: `${broker.httpUrl}/topics/bench/messages` })).perSecond,
    bare: async () => (await postInLoop({ ...load, url: `http://127.0.0.1:${port}/` })).perSecond,
  });
  bare.close();
  const peerName = "node:http, nothing stored";
  return compare(
    "64 connections, 100 B, REST",
    "messages/s",
    { ...spreads, [peerName]: spreads["bare"] ?? spreadOf([]) },
    peerName,
    0.7,
  );
}

function startBareServer(): Promise<Server> {
  const server = createServer((request, response) => {
    request.on("data", () => {});
    request.on("end", () => {
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": 2 });
      response.end("{}");
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

/** Q6: everything from the beginning, 1 KiB each. */
async function measureReplay(broker: QueueProcess, rounds: number): Promise<readonly BenchRow[]> {
  const count = 100_000;
  const value = "x".repeat(1024);
  await broker.client.post("/topics", { name: "replay", partitions: 1, retention_hours: 0 });
  for (let sent = 0; sent < count; sent += 1000) {
    await broker.client.publish(
      "replay",
      Array.from({ length: 1000 }, () => ({ value })),
    );
  }
  await using nats = await startNats("default");
  await createNatsStream(nats, "replay");
  const jetstream = nats.connection.jetstream();
  const payload = Buffer.from(value);
  for (let sent = 0; sent < count; sent += 1000) {
    await Promise.all(Array.from({ length: 1000 }, async () => await jetstream.publish("replay.a", payload)));
  }
  const megabytes = (count * 1024) / 1e6;
  const spreads = await interleave(rounds, {
    ours: async () => megabytes / (await timeSeconds(() => consumeAll(broker.grpcAddress, count))),
    rest: async () => megabytes / (await timeSeconds(() => fetchAll(broker))),
    nats: async () => megabytes / (await timeSeconds(() => readNats(nats, count))),
  });
  const rest = spreads["rest"] ?? spreadOf([]);
  const peerName = "NATS ordered consumer";
  return [
    compare("replay, 1 KiB, gRPC", "MB/s", { ...spreads, [peerName]: spreads["nats"] ?? rest }, peerName, 1),
    {
      name: "replay, 1 KiB, REST",
      unit: "MB/s",
      ours: rest,
      goal: "≥ 150, or the JSON wall",
      isReached: rest.median >= 150,
    },
  ];
}

async function consumeAll(address: string, count: number): Promise<void> {
  const { queueDefinition } = await import("../../src/queue/grpc/definition.ts");
  const client = connectGrpc(address);
  const { path, requestSerialize } = queueDefinition.consumeStream;
  // Bytes stay bytes: what a reader does with a message is not measured.
  const call = client.makeServerStreamRequest(path, requestSerialize, (bytes) => bytes, {
    topic: "replay",
    stopAtEnd: true,
  });
  let seen = 0;
  await new Promise<void>((resolve, reject) => {
    call.on("data", () => {
      seen += 1;
    });
    call.on("end", resolve);
    call.on("error", reject);
  });
  client.close();
  if (seen !== count) throw new Error(`${seen} of ${count} messages came`);
}

async function fetchAll(broker: QueueProcess): Promise<void> {
  for (let offset = 0; ; ) {
    const query = `offset=${offset}&max=1000&max_bytes=1048576`;
    const response = await fetch(`${broker.httpUrl}/topics/replay/partitions/0/messages?${query}`);
    const text = await response.text();
    const next = Number(/"next_offset":(\d+)/.exec(text.slice(-200))?.[1]);
    const end = Number(/"high_watermark":(\d+)/.exec(text.slice(-200))?.[1]);
    if (!(next > offset)) throw new Error(`no progress at ${offset}`);
    offset = next;
    if (next >= end) return;
  }
}

async function readNats(nats: NatsPeer, count: number): Promise<void> {
  const consumer = await nats.connection.jetstream().consumers.get("replay");
  const messages = await consumer.consume({ max_messages: 5000 });
  let seen = 0;
  for await (const _message of messages) {
    seen += 1;
    if (seen === count) return;
  }
}

async function timeSeconds(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return (performance.now() - startMs) / 1000;
}

function compare(
  name: string,
  unit: string,
  spreads: Readonly<Record<string, Spread>>,
  peerName: string,
  factor: number,
): BenchRow {
  const ours = spreads["ours"] ?? spreadOf([]);
  const peer = spreads[peerName];
  const goal = `≥ ${factor} ×`;
  if (peer === undefined)
    return { name, unit, ours, goal: `${goal} ${peerName}`, note: `${peerName}: not with ${natsVersion()}` };
  return { name, unit, ours, peerName, peer, goal, isReached: ours.median >= factor * peer.median };
}

function scale(spread: Spread, factor: number): Spread {
  return { ...spread, min: spread.min * factor, median: spread.median * factor, max: spread.max * factor };
}
