import t from "tap";
import type { DeliveredMessage, DeliveryRef } from "../../../src/queue/service/queue-service.ts";
import { QueueFixture, text } from "../../support/queue/queue-fixture.ts";

function receipt(message: DeliveredMessage | undefined): DeliveryRef {
  return { kind: "receipt", receiptHandle: message?.receiptHandle ?? "" };
}

t.test("retention by time moves the start of the log, and groups with it", async (t) => {
  const fixture = await QueueFixture.create({ isOnDisk: true });
  const { service } = fixture;
  await service.createTopic({ name: "orders", partitions: 1, settings: { retentionMs: 3_600_000 } });
  await service.commitOffsets({ group: "g", offsets: [{ topic: "orders", partition: 0, offset: 0 }] });
  for (let round = 0; round < 20; round += 1) await fixture.publish("orders", [`old ${"x".repeat(2_000)}`]);
  await fixture.advance(3_600_000 + 120_000, 10_000);
  await fixture.publish("orders", ["new"]);
  await fixture.advance(70_000, 1_000);
  const topic = await service.getTopic("orders");
  const earliest = topic.partitionDetails[0]?.earliestOffset ?? 0;
  t.ok(earliest > 0, `starts at ${earliest}`);
  t.equal((await service.getGroup("g")).progress[0]?.committedOffset, earliest);
  await service.join({ group: "h", memberId: "a", topics: ["orders"] });
  t.equal((await fixture.poll("h", "a")).messages.at(-1)?.offset, 20, "what is young enough is there");
});

t.test("a group gets over what compaction took", async (t) => {
  const fixture = await QueueFixture.create({ isOnDisk: true, shardCount: 1 });
  const { service } = fixture;
  await service.createTopic({ name: "orders", partitions: 1, settings: { cleanupPolicy: "compact" } });
  await service.join({ group: "slow", memberId: "a", topics: ["orders"] });
  for (let round = 0; round < 60; round += 1) {
    await fixture.publish(
      "orders",
      Array.from({ length: 10 }, (_, index) => ({ key: `k${index}`, value: `${round} ${"x".repeat(200)}` })),
    );
  }
  const held = (await fixture.poll("slow", "a", 15)).messages;
  t.equal(held.length, 15);
  const log = fixture.machines.shards.get(1)?.findPartition({ topicNumber: 1, partition: 0 })?.log;
  log?.rollIfOlder(fixture.clock.nowMs() + 10, 1);
  const compacted = await fixture.finish(
    log?.compact({ nowMs: fixture.clock.nowMs(), deleteRetentionMs: 0 }) ?? Promise.resolve(undefined),
  );
  t.ok((compacted?.recordsRemoved ?? 0) > 400, `${compacted?.recordsRemoved} removed`);
  await service.nack(held.map(receipt), { delayMs: 0 });
  const seen = new Map<string, string>();
  for (let round = 0; round < 30; round += 1) {
    const { messages } = await fixture.poll("slow", "a", 50);
    for (const message of messages) seen.set(text(message.key) ?? "", (text(message.value) ?? "").split(" ")[0] ?? "");
    await service.ack(messages.map(receipt));
    await fixture.advance(50);
  }
  t.equal(seen.size, 10);
  t.ok(
    [...seen.values()].every((round) => round === "59"),
    "the newest of each key",
  );
  const [progress] = (await service.getGroup("slow")).progress;
  t.strictSame([progress?.committedOffset, progress?.lag], [600, 0], "gaps do not hold the floor");
});

t.test("ten thousand open messages are the limit of a partition and group; returns still go out", async (t) => {
  const fixture = await QueueFixture.create();
  const { service } = fixture;
  await service.createTopic({ name: "orders", partitions: 1 });
  await service.join({ group: "g", memberId: "a", topics: ["orders"] });
  for (let round = 0; round < 11; round += 1)
    await fixture.publish(
      "orders",
      Array.from({ length: 1_000 }, () => "x"),
    );
  let open = 0;
  for (;;) {
    const { messages } = await fixture.poll("g", "a", 1_000);
    if (messages.length === 0) break;
    open += messages.length;
    const delayMs = open <= 1_000 ? 5_000 : 3_600_000;
    await service.nack(messages.map(receipt), { delayMs, isFailed: false });
    await fixture.settle();
  }
  t.equal(open, 10_000);
  await fixture.advance(5_100);
  const back = (await fixture.poll("g", "a", 1_000)).messages;
  t.strictSame([back.length, back[0]?.offset, back[0]?.deliveryCount], [1_000, 0, 2]);
  await service.ack([receipt(back[0])]);
  t.strictSame(
    (await fixture.poll("g", "a", 1_000)).messages.map((message) => message.offset),
    [10_000],
    "one settled, one more",
  );
});
