// Delivery: consume with explicit acknowledgements beside durable consumers of peers, latency from publish to delivery,
// many delayed messages. QUEUE_BENCH_MS is the length of one measurement (2000), QUEUE_BENCH_DELAYED the number of
// delayed messages (1,000,000).
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Channel } from "amqplib";
import { Queue, Worker } from "bullmq";
import { createChannel, createClient } from "nice-grpc";
import { type GroupRequestInit, queueDefinition } from "../../src/queue/grpc/definition.ts";
import { type BenchRow, type BenchTable, createTable, interleave, type Spread, spreadOf } from "../support/bench.ts";
import { QueueProcess } from "../support/e2e/queue-server.ts";
import { createNatsConsumer, createNatsStream, type NatsPeer, startNats } from "../support/peers/nats.ts";
import { declareQuorumQueue, startRabbitMq } from "../support/peers/rabbitmq.ts";
import { startRedisPeer } from "../support/peers/redis.ts";
import { connectGrpc, percentile, publishInWindow } from "../support/queue/bench-clients.ts";
import { RequestFeed } from "../support/queue/server-fixture.ts";

const durationMs = Number(process.env["QUEUE_BENCH_MS"] ?? 2000);
const delayedCount = Number(process.env["QUEUE_BENCH_DELAYED"] ?? 1_000_000);
const consumers = 4;
const messageCount = 20_000;
const prefetch = 500;
const payload = Buffer.alloc(100, "x");
const text = payload.toString();

export async function run(rounds: number): Promise<BenchTable> {
  const folder = mkdtempSync(join(process.cwd(), "dist-bench-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const broker = new QueueProcess(join(folder, "data"));
  await broker.start();
  stack.defer(async () => void (await broker.stop()));
  const rows: BenchRow[] = [...(await measureAcks(broker, rounds)), ...(await measureEndToEnd(broker, rounds))];
  rows.push(...(await measureDelayed(broker)));
  return createTable("queue-delivery", rows);
}

/** Q5: four consumers take a backlog of 20,000 and acknowledge each message. */
async function measureAcks(broker: QueueProcess, rounds: number): Promise<readonly BenchRow[]> {
  await using peers = new AsyncDisposableStack();
  const nats = peers.use(await startNats("default"));
  const rabbit = peers.use(await startRabbitMq());
  const redis = peers.use(await startRedisPeer("everysec"));
  let round = 0;
  const nextName = (): string => {
    round += 1;
    return `acks${round}`;
  };
  const spreads = await interleave(rounds, {
    ours: () => drainOurs(broker, nextName()),
    nats: async () => {
      const name = nextName();
      await createNatsStream(nats, name);
      const jetstream = nats.connection.jetstream();
      await inPieces(async (size) => {
        await Promise.all(Array.from({ length: size }, async () => await jetstream.publish(`${name}.a`, payload)));
      });
      await createNatsConsumer(nats, name, "worker");
      return await timeRate(() => drainNats(nats, name));
    },
    rabbit: async () =>
      await drainRabbit(await rabbit.connection.createConfirmChannel(), nextName(), rabbit.connection),
    bullmq: async () => await drainBull(redis.port, nextName()),
  });
  const name = `consume and acknowledge, ${consumers} consumers`;
  const row = (peerName: string, key: string, factor: number): BenchRow => {
    const ours = spreads["ours"] ?? spreadOf([]);
    const peer = spreads[key] ?? spreadOf([]);
    const isReached = ours.median >= factor * peer.median;
    return { name, unit: "messages/s", ours, peerName, peer, goal: `≥ ${factor} ×`, isReached };
  };
  return [
    row("NATS durable pull consumer", "nats", 1),
    row("RabbitMQ quorum queue", "rabbit", 1),
    row("BullMQ", "bullmq", 5),
  ];
}

async function drainOurs(broker: QueueProcess, name: string): Promise<number> {
  await broker.client.post("/topics", { name, partitions: consumers });
  const value = text;
  await inPieces(async (size) => {
    await broker.client.publish(
      name,
      Array.from({ length: size }, (_, index) => ({ value, partition: index % consumers })),
    );
  });
  return await timeRate(async () => {
    const progress = { seen: 0 };
    const feeds: RequestFeed<GroupRequestInit>[] = [];
    await Promise.all(
      Array.from({ length: consumers }, () => consumeAsMember(broker.grpcAddress, name, progress, feeds)),
    );
  });
}

/** One member on a stream: credit in flight, each batch acknowledged in one request. */
async function consumeAsMember(
  address: string,
  topic: string,
  progress: { seen: number },
  feeds: RequestFeed<GroupRequestInit>[],
): Promise<void> {
  const channel = createChannel(address);
  const feed = new RequestFeed<GroupRequestInit>();
  feeds.push(feed);
  feed.send({ join: { group: topic, clientId: "bench", topics: [topic] } }, { credit: { messages: prefetch } });
  let correlationId = 0;
  for await (const response of createClient(queueDefinition, channel).groupStream(feed)) {
    const messages = response.messages?.messages ?? [];
    if (response.ping) feed.send({ pong: { nonce: response.ping.nonce ?? 0 } });
    if (messages.length === 0) continue;
    correlationId += 1;
    const receipts = messages.map((message) => message.receipt ?? new Uint8Array(0));
    feed.send({ ack: { receipts }, correlationId }, { credit: { messages: messages.length } });
    progress.seen += messages.length;
    if (progress.seen >= messageCount) for (const open of feeds) open.end();
  }
  channel.close();
}

async function drainNats(nats: NatsPeer, name: string): Promise<void> {
  const jetstream = nats.connection.jetstream();
  const open = await Promise.all(
    Array.from({ length: consumers }, async () => {
      const consumer = await jetstream.consumers.get(name, "worker");
      return await consumer.consume({ max_messages: prefetch });
    }),
  );
  let seen = 0;
  await Promise.all(
    open.map(async (messages) => {
      for await (const message of messages) {
        message.ack();
        seen += 1;
        if (seen === messageCount) for (const other of open) other.stop();
      }
    }),
  );
}

type RabbitConnection = Awaited<ReturnType<typeof startRabbitMq>>["connection"];

async function drainRabbit(channel: Channel, name: string, connection: RabbitConnection): Promise<number> {
  await declareQuorumQueue(channel, name);
  await inPieces(async (size) => {
    for (let index = 0; index < size; index += 1) channel.sendToQueue(name, payload, { persistent: true });
    await (channel as unknown as { waitForConfirms(): Promise<void> }).waitForConfirms();
  });
  const channels = await Promise.all(Array.from({ length: consumers }, async () => await connection.createChannel()));
  const rate = await timeRate(
    () =>
      new Promise<void>((resolve, reject) => {
        let seen = 0;
        for (const own of channels) {
          own.prefetch(prefetch).catch(reject);
          own
            .consume(name, (message) => {
              if (message === null) return;
              own.ack(message);
              seen += 1;
              if (seen === messageCount) resolve();
            })
            .catch(reject);
        }
      }),
  );
  for (const own of [...channels, channel]) await own.close();
  return rate;
}

async function drainBull(port: number, name: string): Promise<number> {
  const connection = { host: "127.0.0.1", port };
  const queue = new Queue(name, { connection });
  await inPieces(async (size) => {
    await queue.addBulk(Array.from({ length: size }, () => ({ name: "m", data: text })));
  });
  const workers: Worker[] = [];
  const rate = await timeRate(
    () =>
      new Promise<void>((resolve) => {
        let seen = 0;
        for (let index = 0; index < consumers; index += 1) {
          const worker = new Worker(name, async () => undefined, { connection, concurrency: prefetch });
          worker.on("completed", () => {
            seen += 1;
            if (seen === messageCount) resolve();
          });
          workers.push(worker);
        }
      }),
  );
  await Promise.all(workers.map(async (worker) => await worker.close(true)));
  await queue.close();
  return rate;
}

/** Q7: from the publish to its arrival at a reader, at half of what one stream of ours can do. */
async function measureEndToEnd(broker: QueueProcess, rounds: number): Promise<readonly BenchRow[]> {
  await broker.client.post("/topics", { name: "latency", partitions: 1 });
  const client = connectGrpc(broker.grpcAddress);
  const most = await publishInWindow({
    ...{ client, streams: 1, window: 256, durationMs, messagesPerRequest: 1 },
    makeRequest: (correlationId) => ({ topic: "latency", payload, correlationId }),
  });
  client.close();
  const all: number[] = [];
  const spreads = await interleave(rounds, {
    ours: async () => {
      const latencies = await pace(broker.grpcAddress, most / 2);
      all.push(...latencies);
      return percentile(latencies, 0.99);
    },
  });
  const ours = spreads["ours"] ?? spreadOf([]);
  const note = `p50 ${percentile(all, 0.5).toFixed(2)}, p99.9 ${percentile(all, 0.999).toFixed(2)} ms at ${Math.round(most / 2)}/s`;
  return [
    {
      name: "publish to delivery, p99",
      unit: "ms",
      ours,
      goal: "≤ 10 ms and one sync",
      isReached: ours.median <= 11,
      note,
    },
  ];
}

/** Publishes at a steady rate with the time in each message; latencies in milliseconds. */
async function pace(address: string, perSecond: number): Promise<readonly number[]> {
  const channel = createChannel(address);
  const client = createClient(queueDefinition, channel);
  const abort = new AbortController();
  const latencies: number[] = [];
  const reading = (async () => {
    const request = { topic: "latency", start: 2 };
    for await (const message of client.consumeStream(request, { signal: abort.signal })) {
      if (!message.heartbeat) latencies.push(performance.now() - Buffer.from(message.payload).readDoubleLE(0));
    }
  })().catch(() => undefined);
  const feed = new RequestFeed<{ topic: string; payload: Buffer; correlationId: number }>();
  const confirming = (async () => {
    for await (const _response of client.publishStream(feed));
  })();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const startMs = performance.now();
  for (let sent = 0; performance.now() - startMs < durationMs; ) {
    const due = ((performance.now() - startMs) / 1000) * perSecond;
    for (; sent < due; sent += 1) {
      const stamped = Buffer.alloc(100);
      stamped.writeDoubleLE(performance.now(), 0);
      feed.send({ topic: "latency", payload: stamped, correlationId: sent + 1 });
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  feed.end();
  await confirming;
  await new Promise((resolve) => setTimeout(resolve, 200));
  abort.abort();
  await reading;
  channel.close();
  return latencies;
}

/** Q8: memory that many delayed messages take, and how late a burst of them comes. */
async function measureDelayed(broker: QueueProcess): Promise<readonly BenchRow[]> {
  await broker.client.post("/topics", { name: "delayed", partitions: 4 });
  const before = residentMegabytes(broker.pid);
  const value = text;
  for (let sent = 0; sent < delayedCount; sent += 5000) {
    const size = Math.min(5000, delayedCount - sent);
    await broker.client.publish(
      "delayed",
      Array.from({ length: size }, (_, index) => ({ value, delay: 3600 + (index % 3600) })),
    );
  }
  const grown = residentMegabytes(broker.pid) - before;
  await broker.client.post("/topics", { name: "due", partitions: 4 });
  const burst = 10_000;
  await inPieces(async (size) => {
    await broker.client.publish(
      "due",
      Array.from({ length: size }, () => ({ value, delay: 3 })),
    );
  }, burst);
  const lateness = await readLateness(broker, burst);
  return [
    {
      ...{ name: `memory of ${delayedCount.toLocaleString("en-US")} delayed messages`, unit: "MB" },
      ...{ ours: spreadOf([grown]), goal: "≤ 100", isReached: grown <= 100 },
    },
    {
      ...{ name: `lateness of ${burst.toLocaleString("en-US")} due at once, worst`, unit: "s" },
      ...{ ours: lateness, goal: "≤ 1, never early", isReached: lateness.max <= 1 && lateness.min >= 0 },
    },
  ];
}

/** From the broker's own histogram: the upper bound of the bucket that holds the last message. */
async function readLateness(broker: QueueProcess, count: number): Promise<Spread> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const metrics = await (await fetch(`${broker.httpUrl}/metrics`)).text();
    const buckets = [...metrics.matchAll(/lateness_seconds_bucket\{le="([^"]+)"\} (\d+)/g)];
    const total = Number(/lateness_seconds_count (\d+)/.exec(metrics)?.[1] ?? 0);
    const sum = Number(/lateness_seconds_sum ([\d.e+-]+)/.exec(metrics)?.[1] ?? 0);
    const fired = Number(/delayed_messages_fired_total\{topic="due"\} (\d+)/.exec(metrics)?.[1] ?? 0);
    if (fired < count) continue;
    const worst = buckets.find(([, , seen]) => Number(seen) === total)?.[1] ?? "+Inf";
    return { min: 0, median: sum / Math.max(1, total), max: Number(worst.replace("+Inf", "Infinity")), rounds: 1 };
  }
}

function residentMegabytes(pid: number): number {
  const [, kilobytes = "0"] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1000;
}

async function inPieces(put: (size: number) => Promise<void>, total = messageCount): Promise<void> {
  for (let done = 0; done < total; done += 1000) await put(Math.min(1000, total - done));
}

async function timeRate(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return messageCount / ((performance.now() - startMs) / 1000);
}
