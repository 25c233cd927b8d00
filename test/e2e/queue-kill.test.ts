import { createChannel, createClient } from "nice-grpc";
import t from "tap";
import { queueDefinition } from "../../src/queue/grpc/definition.ts";
import { QueueProcess } from "../support/e2e/queue-server.ts";
import { createTestFolder } from "../support/queue/rest-fixture.ts";

/**
 * kill -9 at random moments under load, again and again on the same data. Producers repeat what was not confirmed with
 * the same sequence number; members settle what they get. In the end: everything confirmed is where it was confirmed
 * to be, nothing twice, offsets without a gap, and nothing was delivered again after its acknowledgement.
 */
const rounds = Number(process.env["SLIPWAY_KILL_ROUNDS"] ?? 100);
const restProducers = 3;
const partitions = 3;
const topic = "orders";

t.setTimeout(600_000);
const folder = createTestFolder();
t.teardown(() => folder.remove());
const broker = new QueueProcess(folder.path);
await broker.start();
t.teardown(() => broker.stop("SIGKILL"));
await broker.client.post("/topics", { name: topic, partitions, visibility_timeout: "2s", max_deliveries: 0 });
await broker.client.post("/topics", { name: "results", partitions });

const state = { isStopping: false };
const confirmed = new Map<string, { readonly partition: number; readonly offset: number }>();
const pause = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

/** One message after the other; each until it is confirmed, whatever happens in between. */
async function produceOverRest(name: string): Promise<void> {
  for (let sequence = 0; !state.isStopping; sequence += 1) {
    const value = `${name}-${sequence}`;
    const partition = sequence % partitions;
    const message = { value, partition, idempotency_key: value };
    for (;;) {
      try {
        const [result] = await broker.client.publish(topic, [message]);
        if (result === undefined || result.error !== undefined) throw new Error(result?.error?.message ?? "no result");
        confirmed.set(value, { partition: result.partition, offset: result.offset });
        break;
      } catch {
        await pause(20);
      }
    }
  }
}

/** An idempotent producer with many messages on their way; after a break it goes on behind the last confirmation. */
async function produceOverGrpc(name: string, partition: number, producerId: number): Promise<void> {
  let next = 0;
  while (!state.isStopping) {
    const channel = createChannel(broker.grpcAddress);
    const first = next;
    let sent = first;
    const requests = async function* () {
      while (!state.isStopping) {
        while (sent - next > 200 && !state.isStopping) await pause(1);
        const value = `${name}-${sent}`;
        sent += 1;
        yield {
          ...{ topic, payload: Buffer.from(value), partition, correlationId: sent },
          ...{ producerId, producerEpoch: 0, sequence: sent - 1 },
        };
        if (sent % 20 === 0) await pause(1);
      }
    };
    try {
      for await (const response of createClient(queueDefinition, channel).publishStream(requests())) {
        if (response.error) throw new Error(response.error.message ?? "refused");
        for (let index = 0; index < response.count; index += 1) {
          confirmed.set(`${name}-${next}`, { partition: response.partition, offset: response.offset + index });
          next += 1;
        }
      }
    } catch {
      await pause(20);
    } finally {
      channel.close();
    }
  }
}

const acknowledged = new Set<string>();
const deliveredAfterAck: string[] = [];

async function consume(memberId: string): Promise<void> {
  while (!state.isStopping) {
    try {
      await broker.client.post("/groups/g/join", { member_id: memberId, topics: [topic], session_timeout: "6s" });
      while (!state.isStopping) {
        const query = { member_id: memberId, timeout: "500ms", max_messages: 50 };
        const { messages } = await broker.client.get<{
          readonly messages: readonly {
            readonly partition: number;
            readonly offset: number;
            readonly receipt_handle: string;
          }[];
        }>("/groups/g/poll", query);
        for (const { partition, offset } of messages) {
          if (acknowledged.has(`${partition}@${offset}`)) deliveredAfterAck.push(`${partition}@${offset}`);
        }
        if (messages.length === 0) continue;
        const { results } = await broker.client.post<{ readonly results: readonly { readonly success: boolean }[] }>(
          "/messages/ack",
          {
            messages: messages.map(({ receipt_handle }) => ({ receipt_handle })),
          },
        );
        messages.forEach(({ partition, offset }, index) => {
          if (results[index]?.success) acknowledged.add(`${partition}@${offset}`);
        });
      }
    } catch {
      await pause(50);
    }
  }
}

t.test(`${rounds} rounds of kill -9 under load`, async (t) => {
  const producers = await Promise.all(
    [0, 1].map(async () => await broker.client.post<{ producer_id: number }>("/producers/init")),
  );
  const work = [
    ...Array.from({ length: restProducers }, (_, index) => produceOverRest(`rest${index}`)),
    ...producers.map((producer, index) => produceOverGrpc(`grpc${index}`, index, producer.producer_id)),
    consume("member-1"),
    consume("member-2"),
  ];
  for (let round = 0; round < rounds; round += 1) {
    await pause(50 + Math.random() * 400);
    t.equal(await broker.stop("SIGKILL"), "SIGKILL");
    await broker.start();
  }
  await pause(500);
  state.isStopping = true;
  await Promise.all(work);

  const stored = new Map<string, string>();
  let total = 0;
  for (let partition = 0; partition < partitions; partition += 1) {
    let expected = 0;
    for (let isMore = true; isMore; ) {
      const page = await broker.client.get<{
        readonly messages: readonly { readonly offset: number; readonly value: string }[];
        readonly next_offset: number;
        readonly high_watermark: number;
      }>(`/topics/${topic}/partitions/${partition}/messages`, { offset: expected, max: 1000, max_bytes: 1_000_000 });
      for (const { offset, value } of page.messages) {
        if (offset !== expected) t.equal(offset, expected, "offsets have no gap");
        if (stored.has(value)) t.fail(`"${value}" is stored twice: ${stored.get(value)} and ${partition}@${offset}`);
        stored.set(value, `${partition}@${offset}`);
        expected = offset + 1;
        total += 1;
      }
      isMore = page.next_offset < page.high_watermark;
    }
  }
  const lost = [...confirmed].filter(
    ([value, { partition, offset }]) => stored.get(value) !== `${partition}@${offset}`,
  );
  t.strictSame(lost.slice(0, 5), [], "everything confirmed is where it was confirmed to be");
  t.strictSame(deliveredAfterAck.slice(0, 5), [], "nothing is delivered again after its acknowledgement");
  t.ok(confirmed.size > rounds, `${confirmed.size} confirmed`);
  t.ok(acknowledged.size > 0, `${acknowledged.size} acknowledged`);
  t.comment(`${total} stored, ${confirmed.size} confirmed, ${acknowledged.size} acknowledged`);
});
