import type { RunningService, UpOptions, UpService } from "../platform/lifecycle/up-service.ts";
import { QueueClient, type ReceivedMessage } from "./client/queue-client.ts";
import { loadQueueConfig } from "./config.ts";

/** The broker as a part of `slipway up`: its own variables hold, the data folder is the one of `up`. */
export const queueUpService: UpService = { name: "queue", start: startForUp };

async function startForUp({ context, dataDir, logger, addressFor }: UpOptions): Promise<RunningService> {
  const environment = {
    QUEUE_BROKER_DATADIR: dataDir,
    QUEUE_LISTENERS_HTTP: addressFor(8080),
    QUEUE_LISTENERS_GRPC: addressFor(9000),
    ...context.env,
  };
  const config = loadQueueConfig({ environment, readFile: () => "" });
  const { startQueueServer } = await import("./start-queue-server.ts");
  const server = await startQueueServer(config, { logger, version: context.version });
  return {
    kind: "running",
    endpoints: [
      { label: "REST, /docs, /metrics", address: server.httpUrl },
      { label: "gRPC queue.v1.Queue", address: server.grpcAddress },
    ],
    firstCommands: [
      "slipway queue topics create orders",
      "echo hello | slipway queue publish orders",
      "slipway queue consume orders --group billing --ack",
    ],
    demo: (say) => runDemo(new QueueClient({ baseUrl: server.httpUrl, signal: context.signal }), say),
    close: () => server.close(),
  };
}

const demoTopic = "demo-orders";
const demoGroup = "demo-billing";
const demoMember = "worker-1";
const demoMessages = [
  { key: "order-1", value: { total: 12.5 }, priority: "normal" },
  { key: "order-2", value: { total: 990 }, priority: "critical" },
  { key: "order-3", value: "not an order", priority: "low" },
];

/** One topic, three messages of different priority and a delayed one; two are acknowledged, one is rejected. */
async function runDemo(client: QueueClient, say: (line: string) => void): Promise<void> {
  for (const topic of [demoTopic, `${demoTopic}-dlq`]) await client.delete(`/topics/${topic}`).catch(() => {});
  await client.delete(`/groups/${demoGroup}`, { force: true }).catch(() => {});
  await client.post("/topics", { name: demoTopic, partitions: 1 });
  say(`created topic ${demoTopic}`);
  const published = await client.publish(demoTopic, demoMessages);
  say(
    `published ${published.length} messages, synced to disk, offsets ${published.map((item) => item.offset).join(", ")}`,
  );
  const [delayed] = await client.publish(demoTopic, [{ value: "a second later", delay: "1s" }]);
  say(`scheduled one more in 1 s as ${delayed?.delayed_id ?? "?"}`);
  await client.post(`/groups/${demoGroup}/join`, { member_id: demoMember, topics: [demoTopic] });
  const seen: ReceivedMessage[] = [];
  while (seen.length < demoMessages.length + 1) {
    const messages = await poll(client);
    if (messages.length === 0) break;
    for (const message of messages) await settle(client, message, say);
    seen.push(...messages);
  }
  const { messages: dead } = await client.get<{ messages?: readonly ReceivedMessage[] }>(`/topics/${demoTopic}/dlq`);
  say(`${dead?.length ?? 0} message in ${demoTopic}-dlq, with the reason in its headers`);
  await client.post(`/groups/${demoGroup}/leave`, { member_id: demoMember });
}

async function poll(client: QueueClient): Promise<readonly ReceivedMessage[]> {
  const path = `/groups/${demoGroup}/poll`;
  const query = { member_id: demoMember, timeout: "5s", max_messages: 10 };
  return (await client.get<{ messages: readonly ReceivedMessage[] }>(path, query)).messages;
}

async function settle(client: QueueClient, message: ReceivedMessage, say: (line: string) => void): Promise<void> {
  const { priority, key, value, receipt_handle } = message;
  const isBad = value === "not an order";
  if (isBad) await client.post("/messages/reject", { receipt_handle, reason: "not an order" });
  else await client.post("/messages/ack", { receipt_handle });
  say(`received ${priority} ${key ?? "(no key)"} ${value ?? ""}: ${isBad ? "rejected" : "acknowledged"}`);
}
