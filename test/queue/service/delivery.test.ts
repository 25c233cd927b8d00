import t from "tap";
import { isDomainError } from "../../../src/platform/errors/domain-error.ts";
import type {
  AckResult,
  DeliveredMessage,
  DeliveryRef,
  NackResult,
  Outcome,
} from "../../../src/queue/service/queue-service.ts";
import { QueueFixture, text } from "../../support/queue/queue-fixture.ts";

function receipt(message: DeliveredMessage | undefined): DeliveryRef {
  return { kind: "receipt", receiptHandle: message?.receiptHandle ?? "" };
}
function at(offset: number, more: Partial<Extract<DeliveryRef, { kind: "position" }>> = {}): DeliveryRef {
  return { kind: "position", topic: "orders", partition: 0, offset, ...more };
}
function summary<T>(outcome: Outcome<T> | undefined, pick: (value: T) => unknown): unknown {
  if (outcome === undefined) return "nothing";
  return outcome.kind === "ok" ? pick(outcome.value) : outcome.error.code;
}
function offsetsOf(messages: readonly DeliveredMessage[]): readonly number[] {
  return messages.map((message) => message.offset);
}
async function refused(run: Promise<unknown>): Promise<string> {
  try {
    await run;
    return "no error";
  } catch (error) {
    return isDomainError(error) ? error.code : String(error);
  }
}

async function prepare(
  count: number,
  settings: Parameters<QueueFixture["service"]["createTopic"]>[0]["settings"] = {},
): Promise<QueueFixture> {
  const fixture = await QueueFixture.create();
  await fixture.service.createTopic({ name: "orders", partitions: 1, settings });
  await fixture.service.join({ group: "g", memberId: "a", topics: ["orders"] });
  if (count > 0)
    await fixture.publish(
      "orders",
      Array.from({ length: count }, (_, index) => `m${index}`),
    );
  return fixture;
}

t.test("poll() and ack()", async (t) => {
  await t.test("each message goes out once, the floor follows the acknowledgements", async (t) => {
    const fixture = await prepare(5);
    const { messages } = await fixture.poll("g", "a");
    t.strictSame(
      messages.map((message) => text(message.value)),
      ["m0", "m1", "m2", "m3", "m4"],
    );
    t.strictSame(
      messages.map((message) => message.deliveryCount),
      [1, 1, 1, 1, 1],
    );
    t.strictSame((await fixture.poll("g", "a")).messages, []);
    const show = (result: AckResult) => [result.committedOffset, result.isOffsetAdvanced, result.inFlightCount];
    t.strictSame(summary((await fixture.service.ack([receipt(messages[1])]))[0], show), [0, false, 4]);
    t.strictSame(summary((await fixture.service.ack([receipt(messages[0])]))[0], show), [2, true, 3]);
    const rest = await fixture.service.ack(messages.map(receipt));
    t.strictSame(
      rest.map((outcome) => summary(outcome, (result) => result.isAlreadyAcked)),
      [true, true, false, false, false],
    );
    const [progress] = (await fixture.service.getGroup("g")).progress;
    t.strictSame([progress?.committedOffset, progress?.lag, progress?.inFlightCount], [5, 0, 0]);
  });

  await t.test("the limits of one poll", async (t) => {
    const fixture = await prepare(1_500);
    t.equal((await fixture.poll("g", "a", 3)).messages.length, 3);
    const small = await fixture.service.poll({
      group: "g",
      memberId: "a",
      timeoutMs: 0,
      maxMessages: 100,
      maxBytes: 10,
    });
    t.strictSame(offsetsOf(small.messages), [3, 4, 5, 6, 7]);
    t.equal((await fixture.poll("g", "a", 1_000)).messages.length, 992, "a member holds a thousand");
    t.equal((await fixture.poll("g", "a", 1)).messages.length, 0);
    await fixture.service.ack([at(7)]);
    t.strictSame(offsetsOf((await fixture.poll("g", "a", 10)).messages), [1000]);
  });

  await t.test(
    "a long poll is woken by a message, by a return, and strands nothing when its client goes",
    async (t) => {
      const fixture = await prepare(0);
      const longPoll = (signal?: AbortSignal) =>
        fixture.service.poll({ group: "g", memberId: "a", timeoutMs: 20_000, maxMessages: 10, signal });
      const first = longPoll();
      await fixture.advance(1_000);
      await fixture.publish("orders", ["x"]);
      const got = await first;
      t.strictSame(offsetsOf(got.messages), [0]);
      const second = longPoll();
      await fixture.settle();
      await fixture.service.nack([receipt(got.messages[0])], { delayMs: 500 });
      await fixture.advance(600);
      const again = await second;
      t.strictSame(
        again.messages.map((message) => message.deliveryCount),
        [2],
      );
      await fixture.service.ack([receipt(again.messages[0])]);

      const abort = new AbortController();
      const gone = longPoll(abort.signal);
      await fixture.settle();
      abort.abort();
      await fixture.publish("orders", ["y"]);
      t.strictSame((await gone).messages, []);
      t.strictSame(offsetsOf((await fixture.poll("g", "a")).messages), [1], "it was not held by the poll that ended");
    },
  );
});

t.test("a long poll that a limit holds back goes on when there is room", async (t) => {
  const fixture = await prepare(1_100);
  const { messages } = await fixture.poll("g", "a", 1_000);
  for (const settle of [
    () => fixture.service.ack([receipt(messages[0])]),
    () => fixture.service.nack([receipt(messages[1])], { delayMs: 60_000 }),
    () => fixture.service.reject([receipt(messages[2])]),
  ]) {
    const waiting = fixture.service.poll({ group: "g", memberId: "a", timeoutMs: 10_000, maxMessages: 10 });
    await fixture.settle();
    const beganMs = fixture.time.nowMs;
    await settle();
    await fixture.advance(50);
    t.equal((await waiting).messages.length, 1);
    t.ok(fixture.time.nowMs - beganMs < 1_000);
  }
});

t.test("naming a delivery", async (t) => {
  await t.test("without a group: the one that holds it", async (t) => {
    const fixture = await prepare(3);
    await fixture.service.join({ group: "h", memberId: "b", topics: ["orders"] });
    t.equal(
      summary((await fixture.service.ack([at(0)]))[0], () => "ok"),
      "MESSAGE_NOT_FOUND",
    );
    await fixture.poll("g", "a");
    t.equal(
      summary((await fixture.service.ack([at(0)]))[0], (result) => result.group),
      "g",
    );
    await fixture.poll("h", "b");
    const ambiguous = (await fixture.service.ack([at(1)]))[0];
    t.equal(
      summary(ambiguous, () => "ok"),
      "AMBIGUOUS_GROUP",
    );
    t.strictSame(ambiguous?.kind === "error" ? ambiguous.error.details["groups"] : undefined, ["g", "h"]);
    t.equal(
      summary((await fixture.service.ack([at(1, { group: "h" })]))[0], (result) => result.group),
      "h",
    );
    t.equal(
      summary((await fixture.service.ack([at(1)]))[0], (result) => result.group),
      "g",
      "now only g holds it",
    );
    t.equal(
      summary((await fixture.service.ack([at(1)]))[0], (result) => result.isAlreadyAcked),
      true,
    );
    t.equal(
      summary((await fixture.service.ack([at(7)]))[0], () => "ok"),
      "MESSAGE_NOT_FOUND",
    );
    t.equal(
      summary((await fixture.service.ack([at(2, { group: "g", memberId: "z" })]))[0], () => "ok"),
      "RECEIPT_HANDLE_EXPIRED",
    );
  });

  await t.test("a receipt of an older attempt, of nothing, of somebody else", async (t) => {
    const fixture = await prepare(1);
    const first = (await fixture.poll("g", "a")).messages[0];
    await fixture.service.nack([receipt(first)], { delayMs: 0 });
    const second = (await fixture.poll("g", "a")).messages[0];
    t.equal(second?.deliveryCount, 2);
    t.equal(
      summary((await fixture.service.ack([receipt(first)]))[0], () => "ok"),
      "RECEIPT_HANDLE_EXPIRED",
    );
    t.equal(
      summary((await fixture.service.nack([receipt(first)]))[0], () => "ok"),
      "RECEIPT_HANDLE_EXPIRED",
    );
    const forged = `${first?.receiptHandle.slice(0, -2)}AA`;
    t.equal(
      summary((await fixture.service.ack([{ kind: "receipt", receiptHandle: forged }]))[0], () => "ok"),
      "INVALID_RECEIPT_HANDLE",
    );
    t.equal(
      summary((await fixture.service.ack([{ kind: "receipt", receiptHandle: "" }]))[0], () => "ok"),
      "INVALID_RECEIPT_HANDLE",
    );
    t.equal(
      summary((await fixture.service.ack([receipt(second)]))[0], () => "ok"),
      "ok",
    );
  });
});

t.test("giving back", async (t) => {
  await t.test("back-off doubles with ten per cent jitter, the limit leads to the dead-letter topic", async (t) => {
    const fixture = await prepare(1);
    const nackOnce = async (): Promise<NackResult | string> => {
      const { messages } = await fixture.poll("g", "a");
      const [outcome] = await fixture.service.nack([receipt(messages[0])], { reason: "boom" });
      return outcome?.kind === "ok" ? outcome.value : (outcome?.error.code ?? "nothing");
    };
    for (const baseMs of [100, 200]) {
      const nowMs = fixture.clock.nowMs();
      const result = await nackOnce();
      if (typeof result === "string") throw new Error(result);
      const waitMs = (result.nextVisibleAtMs ?? 0) - nowMs;
      t.ok(waitMs >= 0.9 * baseMs && waitMs <= 1.1 * baseMs, `waits ${waitMs} of ${baseMs}`);
      t.strictSame((await fixture.poll("g", "a")).messages, [], "not before");
      await fixture.advance(1.2 * baseMs);
    }
    const last = await nackOnce();
    if (typeof last === "string") throw new Error(last);
    t.match(last, { action: "dead_lettered", deliveryCount: 3, dlqTopic: "orders-dlq", dlqPartition: 0, dlqOffset: 0 });
    t.strictSame((await fixture.poll("g", "a")).messages, []);
    t.equal((await fixture.service.getGroup("g")).progress[0]?.committedOffset, 1);
    const [letter] = (await fixture.service.peekDlq({ topic: "orders", limit: 10 })).messages;
    t.match(letter, {
      reason: "max_deliveries_exceeded",
      originalTopic: "orders",
      originalPartition: 0,
      originalOffset: 0,
    });
    const headers = Object.fromEntries(letter?.headers ?? []);
    t.equal(headers["x-queue-group"], "g");
    t.equal(headers["x-queue-delivery-attempts"], "3");
    t.equal(headers["x-queue-failure-errors"], '["boom","boom","boom"]');
    t.equal(headers["x-queue-last-member"], "a");
  });

  await t.test("redeliveries say so in headers", async (t) => {
    const fixture = await prepare(0);
    await fixture.publish("orders", [{ value: "x", headers: { own: "1" } }]);
    const first = (await fixture.poll("g", "a")).messages[0];
    t.strictSame(first?.headers, [["own", "1"]]);
    await fixture.service.nack([receipt(first)], { delayMs: 0, reason: "no" });
    const headers = Object.fromEntries((await fixture.poll("g", "a")).messages[0]?.headers ?? []);
    t.match(headers, { own: "1", "x-queue-delivery-count": "2", "x-queue-last-error": "no" });
    t.ok(headers["x-queue-first-delivery"]);
  });

  await t.test("reject, drop, and not counting", async (t) => {
    const fixture = await prepare(2);
    const [first, second] = (await fixture.poll("g", "a")).messages;
    const [rejected] = await fixture.service.reject([receipt(first)], "bad");
    t.match(
      summary(rejected, (result) => result),
      { action: "dead_lettered", dlqOffset: 0 },
    );
    let message = second;
    for (let round = 0; round < 10; round += 1) {
      await fixture.service.nack([receipt(message)], { isFailed: false });
      message = (await fixture.poll("g", "a")).messages[0];
    }
    t.equal(message?.deliveryCount, 11, "ten returns that do not count");
    await fixture.service.patchTopic({ name: "orders", settings: { isDlqEnabled: false } });
    const [dropped] = await fixture.service.reject([receipt(message)]);
    t.match(
      summary(dropped, (result) => result),
      { action: "dropped" },
    );
    t.equal((await fixture.service.getGroup("g")).progress[0]?.committedOffset, 2);
  });

  await t.test("the visibility timeout: given back once, counted, never early", async (t) => {
    const fixture = await prepare(1, { visibilityTimeoutMs: 5_000, maxDeliveries: 2 });
    const first = (await fixture.poll("g", "a")).messages[0];
    await fixture.advance(4_900);
    t.strictSame((await fixture.poll("g", "a")).messages, []);
    await fixture.advance(200);
    const second = (await fixture.poll("g", "a")).messages[0];
    t.equal(second?.deliveryCount, 2);
    t.equal(
      summary((await fixture.service.ack([receipt(first)]))[0], () => "ok"),
      "RECEIPT_HANDLE_EXPIRED",
    );
    await fixture.advance(5_200);
    t.strictSame((await fixture.poll("g", "a")).messages, []);
    await fixture.settle();
    t.equal(
      (await fixture.service.peekDlq({ topic: "orders", limit: 10 })).messages[0]?.reason,
      "max_deliveries_exceeded",
    );
  });

  await t.test("extending, to nothing at once, and beyond the limit", async (t) => {
    const fixture = await prepare(2, { visibilityTimeoutMs: 5_000 });
    const [first, second] = (await fixture.poll("g", "a")).messages;
    await fixture.advance(4_000);
    await fixture.service.extendVisibility([receipt(first)], 10_000);
    await fixture.advance(2_000);
    t.strictSame(offsetsOf((await fixture.poll("g", "a")).messages), [1], "the second came back, the first did not");
    await fixture.advance(8_200);
    t.ok(offsetsOf((await fixture.poll("g", "a")).messages).includes(0));
    t.equal(
      summary((await fixture.service.extendVisibility([receipt(second)], 1))[0], () => "ok"),
      "RECEIPT_HANDLE_EXPIRED",
    );
    t.equal(await refused(fixture.service.extendVisibility([receipt(first)], 12 * 3_600_000 + 1)), "INVALID_ARGUMENT");
    const held = await fixture.service.ack([at(0)]);
    t.equal(
      summary(held[0], () => "ok"),
      "ok",
    );
    const now = await fixture.service.extendVisibility([at(1)], 0);
    t.equal(
      summary(now[0], () => "ok"),
      "ok",
    );
    const back = (await fixture.poll("g", "a")).messages[0];
    t.equal(back?.offset, 1);
  });

  await t.test("messages that expire go to the dead-letter topic instead of a member", async (t) => {
    const fixture = await prepare(0, { messageTtlMs: 60_000 });
    await fixture.publish("orders", [
      { value: "short", ttlMs: 1_000 },
      { value: "topic" },
      { value: "long", ttlMs: 600_000 },
    ]);
    await fixture.advance(2_000);
    const { messages } = await fixture.poll("g", "a", 1);
    t.strictSame(
      messages.map((message) => text(message.value)),
      ["topic"],
    );
    await fixture.service.nack(messages.map(receipt), { delayMs: 59_000 });
    for (let waited = 0; waited < 60_000; waited += 10_000) {
      await fixture.advance(10_000);
      await fixture.service.heartbeat({ group: "g", memberId: "a" });
    }
    t.strictSame(
      (await fixture.poll("g", "a")).messages.map((message) => text(message.value)),
      ["long"],
    );
    await fixture.settle();
    const letters = await fixture.service.peekDlq({ topic: "orders", limit: 10 });
    t.strictSame(
      letters.messages.map((letter) => [text(letter.value), letter.reason]),
      [
        ["short", "expired"],
        ["topic", "expired"],
      ],
    );
  });
});

t.test("restart", async (t) => {
  await t.test(
    "what is recorded stays held; what is not goes out again, and the old receipt still settles",
    async (t) => {
      const fixture = await prepare(2);
      const first = (await fixture.poll("g", "a", 1)).messages[0];
      await fixture.advance(50);
      const second = (await fixture.poll("g", "a", 1)).messages[0];
      await fixture.restart();
      const again = await fixture.poll("g", "a");
      t.strictSame(offsetsOf(again.messages), [1], "only the acquisition of the last moments is lost");
      t.equal(
        summary((await fixture.service.ack([receipt(first)]))[0], () => "ok"),
        "ok",
      );
      t.equal(
        summary((await fixture.service.ack([receipt(second)]))[0], () => "ok"),
        "RECEIPT_HANDLE_EXPIRED",
      );
      t.equal(
        summary((await fixture.service.ack([receipt(again.messages[0])]))[0], () => "ok"),
        "ok",
      );
    },
  );

  await t.test("a lost acquisition that nobody took again may still be acknowledged", async (t) => {
    const fixture = await prepare(1);
    const first = (await fixture.poll("g", "a", 1)).messages[0];
    await fixture.restart();
    t.equal(
      summary((await fixture.service.ack([receipt(first)]))[0], (result) => result.committedOffset),
      1,
    );
    t.strictSame((await fixture.poll("g", "a")).messages, []);
  });

  await t.test("all state comes back, from the log or from a checkpoint", async (t) => {
    for (const withCheckpoint of [false, true]) {
      const fixture = await prepare(6, { visibilityTimeoutMs: 10_000 });
      const { messages } = await fixture.poll("g", "a", 5);
      await fixture.service.ack([receipt(messages[0]), receipt(messages[2])]);
      await fixture.service.nack([receipt(messages[1])], { delayMs: 3_000 });
      await fixture.service.reject([receipt(messages[3])]);
      await fixture.restart({ withCheckpoint });
      t.strictSame(offsetsOf((await fixture.poll("g", "a")).messages), [5]);
      await fixture.advance(3_100);
      const back = (await fixture.poll("g", "a")).messages;
      t.strictSame(
        back.map((message) => [message.offset, message.deliveryCount]),
        [[1, 2]],
      );
      await fixture.advance(7_000);
      t.strictSame(offsetsOf((await fixture.poll("g", "a")).messages), [4, 5]);
      t.equal((await fixture.service.peekDlq({ topic: "orders", limit: 5 })).total, 1);
    }
  });

  await t.test("clock jumps neither free nor strand what is held", async (t) => {
    for (const jumpMs of [3_600_000, -3_600_000]) {
      const fixture = await prepare(2, { visibilityTimeoutMs: 10_000 });
      const first = (await fixture.poll("g", "a", 1)).messages[0];
      await fixture.service.nack([receipt(first)], { delayMs: 2_000 });
      await fixture.poll("g", "a", 1);
      fixture.jumpMs = jumpMs;
      await fixture.advance(1_000);
      t.strictSame((await fixture.poll("g", "a")).messages, [], "nothing early");
      await fixture.advance(1_200);
      t.strictSame(offsetsOf((await fixture.poll("g", "a")).messages), [0]);
      await fixture.advance(8_200);
      t.strictSame(offsetsOf((await fixture.poll("g", "a")).messages), [1]);
      await fixture.restart();
      await fixture.advance(10_500);
      const { messages } = await fixture.poll("g", "a");
      t.equal(messages.length, 2, "nothing stays away for longer than its span after a restart");
    }
  });
});

t.test("one stuck message does not stall a partition", async (t) => {
  const fixture = await prepare(0);
  for (let round = 0; round < 25; round += 1)
    await fixture.publish(
      "orders",
      Array.from({ length: 1_000 }, () => "x"),
    );
  const stuck = (await fixture.poll("g", "a", 1)).messages[0];
  await fixture.service.extendVisibility([receipt(stuck)], 3_600_000);
  let count = 0;
  for (;;) {
    const { messages } = await fixture.poll("g", "a", 1_000);
    if (messages.length === 0) break;
    count += messages.length;
    await fixture.service.ack(messages.map(receipt));
  }
  t.equal(count, 24_999);
  const [progress] = (await fixture.service.getGroup("g")).progress;
  t.strictSame([progress?.committedOffset, progress?.lag], [0, 1]);
  await fixture.service.ack([receipt(stuck)]);
  t.equal((await fixture.service.getGroup("g")).progress[0]?.committedOffset, 25_000);
});
