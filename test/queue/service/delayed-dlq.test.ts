import t from "tap";
import { isDomainError } from "../../../src/platform/errors/domain-error.ts";
import type { Priority } from "../../../src/queue/model/record-batch.ts";
import { RecordCursor } from "../../../src/queue/model/record-cursor.ts";
import type { DeliveredMessage, DeliveryRef } from "../../../src/queue/service/queue-service.ts";
import { QueueFixture, startMs, text } from "../../support/queue/queue-fixture.ts";

function receipt(message: DeliveredMessage | undefined): DeliveryRef {
  return { kind: "receipt", receiptHandle: message?.receiptHandle ?? "" };
}
async function refused(run: Promise<unknown>): Promise<string> {
  try {
    await run;
    return "no error";
  } catch (error) {
    return isDomainError(error) ? error.code : String(error);
  }
}
async function logOf(fixture: QueueFixture, topic = "orders", partition = 0): Promise<readonly string[]> {
  const result = await fixture.service.fetch({
    topic,
    partition,
    start: { kind: "earliest" },
    maxRecords: 10_000,
    maxBytes: 10_000_000,
    waitMs: 0,
  });
  const values: string[] = [];
  for (const batch of result.batches) {
    const cursor = new RecordCursor(batch);
    while (cursor.next()) values.push(cursor.valueText ?? "");
  }
  return values;
}
async function prepare(partitions = 1): Promise<QueueFixture> {
  const fixture = await QueueFixture.create();
  await fixture.service.createTopic({ name: "orders", partitions });
  return fixture;
}

t.test("delayed messages", async (t) => {
  await t.test("answer, list, get, cancel, delivery", async (t) => {
    const fixture = await prepare(2);
    const { service } = fixture;
    const [late, soon, past] = await service.publish({
      topic: "orders",
      messages: [
        { value: "late", partition: 1, delayMs: 60_000, priority: 0 },
        { value: "soon", partition: 0, deliverAtMs: startMs + 10_000, key: "k" },
        { value: "past", partition: 0, deliverAtMs: startMs - 1 },
      ],
    });
    t.match(late, { offset: -1, delayedId: "1-1", deliverAtMs: startMs + 60_000 });
    t.match(soon, { offset: -1, delayedId: "0-1" });
    t.match(past, { offset: 0, delayedId: undefined });
    const list = await service.listDelayed({ topic: "orders", skip: 0, limit: 10 });
    t.strictSame([list.total, list.messages.map((message) => message.delayedId)], [2, ["0-1", "1-1"]]);
    t.strictSame(
      (await service.listDelayed({ topic: "orders", skip: 1, limit: 1 })).messages.map((m) => m.delayedId),
      ["1-1"],
    );
    const got = await service.getDelayed("orders", "0-1");
    t.strictSame([text(got.key), got.priority, got.remainingMs], ["k", 2, 10_000]);
    for (const id of ["0-2", "7-1", "x", "", "0-1-1", "-1"]) {
      t.equal(await refused(service.getDelayed("orders", id)), "DELAYED_MESSAGE_NOT_FOUND", id);
    }
    t.equal((await service.cancelDelayed("orders", "1-1")).delayedId, "1-1");
    t.equal(await refused(service.cancelDelayed("orders", "1-1")), "DELAYED_MESSAGE_NOT_FOUND");
    await fixture.advance(9_990);
    t.strictSame(await logOf(fixture), ["past"], "never early");
    await fixture.advance(100);
    t.strictSame(await logOf(fixture), ["past", "soon"]);
    t.equal(await refused(service.cancelDelayed("orders", "0-1")), "DELAYED_MESSAGE_NOT_FOUND", "delivered");
    await fixture.advance(60_000);
    t.strictSame(await logOf(fixture, "orders", 1), [], "canceled");
  });

  await t.test("groups and raw readers see them at their final offset, once, also over restarts", async (t) => {
    for (const withCheckpoint of [false, true]) {
      const fixture = await prepare();
      await fixture.service.join({ group: "g", memberId: "a", topics: ["orders"] });
      await fixture.publish(
        "orders",
        Array.from({ length: 50 }, (_, index) => ({ value: `d${index}`, delayMs: 1_000 + 20 * index })),
      );
      await fixture.publish("orders", ["now"]);
      await fixture.advance(1_500);
      await fixture.restart({ withCheckpoint });
      await fixture.advance(300);
      await fixture.restart({ withCheckpoint });
      await fixture.advance(2_000);
      const values = await logOf(fixture);
      t.strictSame(values, ["now", ...Array.from({ length: 50 }, (_, index) => `d${index}`)], "each once, by due time");
      t.equal((await fixture.service.listDelayed({ topic: "orders", skip: 0, limit: 1 })).total, 0);
    }
  });

  await t.test("what came due while the broker was down goes out at once", async (t) => {
    const fixture = await prepare();
    await fixture.publish("orders", [
      { value: "a", delayMs: 1_000 },
      { value: "b", delayMs: 90_000 },
    ]);
    fixture.time.clear();
    fixture.time.advance(60_000);
    await fixture.restart();
    await fixture.advance(50);
    t.strictSame(await logOf(fixture), ["a"]);
  });

  await t.test("jumps of the wall clock are followed within half a second", async (t) => {
    const fixture = await prepare();
    await fixture.publish("orders", [
      { value: "x", delayMs: 3_600_000 },
      { value: "y", delayMs: 7_200_000 },
    ]);
    fixture.jumpMs = 3_600_000;
    await fixture.advance(600);
    t.strictSame(await logOf(fixture), ["x"]);
    fixture.jumpMs = -3_600_000;
    await fixture.advance(7_200_000 - 1_000, 1_000);
    t.strictSame(await logOf(fixture), ["x"], "y is due by the wall clock only");
    await fixture.advance(3_600_000 + 1_000, 1_000);
    t.strictSame(await logOf(fixture), ["x", "y"]);
  });

  await t.test("an idempotency key covers a delayed message", async (t) => {
    const fixture = await prepare();
    const send = () =>
      fixture.service.publish({ topic: "orders", messages: [{ value: "x", delayMs: 5_000, idempotencyKey: "once" }] });
    const [first] = await send();
    const [second] = await send();
    t.strictSame([second?.isDuplicate, second?.delayedId], [true, first?.delayedId]);
    await fixture.advance(6_000);
    t.strictSame(await logOf(fixture), ["x"]);
  });
});

t.test("dead letters", async (t) => {
  async function withLetters(count: number): Promise<QueueFixture> {
    const fixture = await prepare(2);
    await fixture.service.join({ group: "g", memberId: "a", topics: ["orders"] });
    const messages = Array.from({ length: count }, (_, index) => ({
      value: `m${index}`,
      partition: index % 2,
      headers: { own: String(index) },
      priority: (index % 5) as Priority,
    }));
    await fixture.publish("orders", messages);
    const polled = (await fixture.poll("g", "a")).messages;
    await fixture.service.reject(polled.map(receipt), "bad");
    return fixture;
  }

  await t.test("peek shows reason and origin, in pages and by reason", async (t) => {
    const fixture = await withLetters(6);
    const all = await fixture.service.peekDlq({ topic: "orders", limit: 100 });
    t.strictSame([all.dlqTopic, all.total, all.messages.length], ["orders-dlq", 6, 6]);
    const first = all.messages.find((letter) => text(letter.value) === "m3");
    t.match(first, {
      reason: "rejected",
      originalTopic: "orders",
      originalPartition: 1,
      originalOffset: 1,
      priority: 3,
    });
    t.equal((await fixture.service.peekDlq({ topic: "orders", limit: 2, skip: 5 })).messages.length, 1);
    t.equal((await fixture.service.peekDlq({ topic: "orders", limit: 9, reason: "expired" })).messages.length, 0);
    t.equal((await fixture.service.peekDlq({ topic: "orders-dlq", limit: 9 })).total, 6, "by its own name too");
    t.equal(await refused(fixture.service.peekDlq({ topic: "none", limit: 9 })), "TOPIC_NOT_FOUND");
    const topic = await fixture.service.getTopic("orders-dlq");
    t.match(topic, {
      partitions: 2,
      isDeadLetterTopic: true,
      settings: { maxDeliveries: 0, retentionMs: 14 * 86_400_000 },
    });
  });

  await t.test("redrive: back to where it came from, once, without the traces", async (t) => {
    const fixture = await withLetters(4);
    const { service } = fixture;
    const one = await service.redriveDlq({ topic: "orders", messages: [{ partition: 0, offset: 0 }] });
    t.match(one.redriven[0], { targetTopic: "orders", partition: 0, offset: 2, isDuplicate: false });
    const again = await service.redriveDlq({ topic: "orders", messages: [{ partition: 0, offset: 0 }] });
    t.equal(again.redriven[0]?.isDuplicate, true);
    await fixture.restart({ withCheckpoint: true });
    const after = await fixture.service.redriveDlq({ topic: "orders", messages: [{ partition: 0, offset: 0 }] });
    t.equal(after.redriven[0]?.isDuplicate, true, "also after a restart");
    const { messages } = await fixture.poll("g", "a");
    t.equal(messages.length, 1);
    t.equal(messages[0]?.deliveryCount, 1);
    t.strictSame(messages[0]?.headers, [
      ["own", "0"],
      ["x-queue-redriven-from", "orders-dlq/0/0"],
    ]);
    t.equal((await fixture.service.peekDlq({ topic: "orders", limit: 9 })).total, 3);
    const rest = await fixture.service.redriveDlq({ topic: "orders", max: 2 });
    t.equal(rest.redriven.length, 2);
    t.equal((await fixture.service.redriveDlq({ topic: "orders" })).redriven.length, 1);
    t.equal((await fixture.service.redriveDlq({ topic: "orders" })).redriven.length, 0);
    t.equal(
      await refused(fixture.service.redriveDlq({ topic: "orders", messages: [{ partition: 0, offset: 99 }] })),
      "MESSAGE_NOT_FOUND",
    );
  });

  await t.test("redrive to another topic, and at a rate", async (t) => {
    const fixture = await withLetters(6);
    await fixture.service.createTopic({ name: "repair", partitions: 3 });
    let isDone = false;
    const redriving = fixture.service
      .redriveDlq({ topic: "orders", targetTopic: "repair", ratePerSecond: 2 })
      .then((result) => {
        isDone = true;
        return result;
      });
    await fixture.advance(2_000);
    t.equal(isDone, false);
    await fixture.advance(1_000);
    t.equal((await redriving).redriven.length, 6);
    t.equal((await fixture.service.getTopic("repair")).totalMessages, 6);
    t.equal((await fixture.service.redriveDlq({ topic: "orders", targetTopic: "repair" })).redriven.length, 0);
  });

  await t.test("purge empties", async (t) => {
    const fixture = await withLetters(5);
    t.strictSame(await fixture.service.purgeDlq("orders"), { dlqTopic: "orders-dlq", purgedCount: 5 });
    t.equal((await fixture.service.peekDlq({ topic: "orders", limit: 9 })).total, 0);
    t.strictSame(await fixture.service.purgeDlq("orders"), { dlqTopic: "orders-dlq", purgedCount: 0 });
    await fixture.service.createTopic({ name: "fresh" });
    t.strictSame(await fixture.service.purgeDlq("fresh"), { dlqTopic: "fresh-dlq", purgedCount: 0 });
  });

  await t.test("a dead letter that is rejected is dropped, never moved on", async (t) => {
    const fixture = await withLetters(1);
    await fixture.service.join({ group: "repair", memberId: "r", topics: ["orders-dlq"] });
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      const { messages } = await fixture.poll("repair", "r");
      t.equal(messages[0]?.deliveryCount, attempt);
      const [outcome] = await fixture.service.nack(messages.map(receipt), { delayMs: 0 });
      t.equal(outcome?.kind === "ok" && outcome.value.action, "requeued");
    }
    const { messages } = await fixture.poll("repair", "r");
    const [outcome] = await fixture.service.reject(messages.map(receipt));
    t.equal(outcome?.kind === "ok" && outcome.value.action, "dropped");
    t.equal(fixture.service.findTopicSettings("orders-dlq-dlq"), undefined);
  });

  await t.test("too many dead letters pause the group", async (t) => {
    const fixture = await QueueFixture.create();
    await fixture.service.createTopic({ name: "orders", partitions: 1, settings: { dlqPauseThreshold: 50 } });
    await fixture.service.join({ group: "g", memberId: "a", topics: ["orders"] });
    await fixture.publish(
      "orders",
      Array.from({ length: 60 }, () => "x"),
    );
    await fixture.service.reject((await fixture.poll("g", "a", 19)).messages.map(receipt));
    t.equal((await fixture.poll("g", "a", 1)).messages.length, 1, "nineteen are too few to judge");
    await fixture.service.reject((await fixture.poll("g", "a", 20)).messages.map(receipt));
    t.equal((await fixture.poll("g", "a", 1)).messages.length, 0);
    t.equal((await fixture.service.getGroup("g")).progress[0]?.isPaused, true);
    for (let waited = 0; waited < 61_000; waited += 10_000) {
      await fixture.advance(10_000);
      await fixture.service.heartbeat({ group: "g", memberId: "a" });
    }
    t.ok((await fixture.poll("g", "a", 1)).messages.length > 0, "after a minute it goes on");
  });
});

t.test("faults that another broker recorded of itself", async (t) => {
  await t.test("priorities written by eight producers at once are all reachable", async (t) => {
    const fixture = await prepare();
    await fixture.service.join({ group: "g", memberId: "a", topics: ["orders"] });
    await Promise.all(
      Array.from({ length: 8 }, async (_, producer) => {
        for (let index = 0; index < 63; index += 1) {
          await fixture.publish("orders", [
            { value: `${producer}-${index}`, priority: ((producer + index) % 5) as Priority },
          ]);
        }
      }),
    );
    const seen = new Set<string>();
    for (;;) {
      const { messages } = await fixture.poll("g", "a", 50);
      if (messages.length === 0) break;
      for (const message of messages) seen.add(text(message.value) ?? "");
      await fixture.service.ack(messages.map(receipt));
    }
    t.equal(seen.size, 504);
  });

  await t.test("canceling while neighbours of the same moment fire loses none of them", async (t) => {
    const fixture = await prepare();
    await fixture.publish(
      "orders",
      Array.from({ length: 1_200 }, (_, index) => ({ value: `${index}`, delayMs: 1_000 })),
    );
    await fixture.advance(995);
    const cancels = Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => fixture.service.cancelDelayed("orders", `0-${(index + 1) * 50}`)),
    );
    await fixture.advance(100);
    const canceled = (await cancels).filter((outcome) => outcome.status === "fulfilled").length;
    const values = await logOf(fixture);
    t.equal(new Set(values).size, values.length, "none twice");
    t.equal(values.length, 1_200 - canceled, "exactly the canceled ones are missing");
  });

  await t.test("short delays and those that are over at a restart fire in time", async (t) => {
    const fixture = await prepare();
    for (const delayMs of [1, 5, 9, 10, 15]) await fixture.publish("orders", [{ value: `${delayMs}`, delayMs }]);
    await fixture.advance(40);
    t.strictSame(await logOf(fixture), ["1", "5", "9", "10", "15"]);
    await fixture.publish("orders", [{ value: "over", delayMs: 30 }]);
    fixture.time.clear();
    fixture.time.advance(100);
    await fixture.restart();
    await fixture.advance(20);
    t.equal((await logOf(fixture)).at(-1), "over");
  });

  await t.test("stopping with polls, waits and publishes on their way ends them all", async (t) => {
    const fixture = await prepare();
    await fixture.service.join({ group: "g", memberId: "a", topics: ["orders"] });
    const polls = Array.from({ length: 10 }, () =>
      fixture.service.poll({ group: "g", memberId: "a", timeoutMs: 60_000, maxMessages: 1 }),
    );
    const fetches = Array.from({ length: 10 }, () =>
      fixture.service.fetch({
        topic: "orders",
        partition: 0,
        start: { kind: "latest" },
        maxRecords: 1,
        maxBytes: 1,
        waitMs: 60_000,
      }),
    );
    await fixture.settle();
    await fixture.close();
    const ended = await Promise.all([...polls, ...fetches]);
    t.equal(ended.length, 20);
    await fixture.publish("orders", ["x"]);
    await fixture.settle();
    t.equal(fixture.time.pendingCount, 0, "no timer is left");
  });
});
