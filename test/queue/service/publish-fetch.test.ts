import t from "tap";
import { isDomainError } from "../../../src/platform/errors/domain-error.ts";
import { RecordCursor } from "../../../src/queue/model/record-cursor.ts";
import { murmur2, partitionForKey } from "../../../src/queue/model/topics/partitioner.ts";
import type { FetchResult, FetchStart } from "../../../src/queue/service/queue-service.ts";
import { QueueFixture, startMs } from "../../support/queue/queue-fixture.ts";

export function codeOf(error: unknown): string {
  return isDomainError(error) ? error.code : `not a domain error: ${String(error)}`;
}

async function refused(run: Promise<unknown>): Promise<string> {
  try {
    await run;
    return "no error";
  } catch (error) {
    return codeOf(error);
  }
}

function valuesOf(result: FetchResult): readonly (string | undefined)[] {
  const values: (string | undefined)[] = [];
  for (const batch of result.batches) {
    const cursor = new RecordCursor(batch);
    while (cursor.next()) {
      if (cursor.offset >= result.startOffset && cursor.offset < result.nextOffset) values.push(cursor.valueText);
    }
  }
  return values;
}

function fetchFrom(
  fixture: QueueFixture,
  start: FetchStart,
  options: { partition?: number; maxRecords?: number; waitMs?: number; signal?: AbortSignal } = {},
): Promise<FetchResult> {
  const { partition = 0, maxRecords = 100, waitMs = 0, signal } = options;
  return fixture.service.fetch({ topic: "orders", partition, start, maxRecords, maxBytes: 1_000_000, waitMs, signal });
}

t.test("murmur2() agrees with the values that other producers compute", async (t) => {
  const known: readonly (readonly [string, number])[] = [
    ["21", -973932308],
    ["foobar", -790332482],
    ["a-little-bit-long-string", -985981536],
    ["a-little-bit-longer-string", -1486304829],
    ["lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971],
    ["abc", 479470107],
  ];
  for (const [key, hash] of known) t.equal(murmur2(Buffer.from(key)), hash, key);
  t.equal(partitionForKey("abc", 10), (479470107 & 0x7fffffff) % 10);
});

t.test("topics", async (t) => {
  await t.test("createTopic() applies defaults and lists", async (t) => {
    const fixture = await QueueFixture.create();
    const topic = await fixture.service.createTopic({ name: "orders" });
    t.equal(topic.partitions, 3);
    t.equal(topic.settings.maxDeliveries, 3);
    t.equal(topic.settings.dlqTopic, "orders-dlq");
    t.equal(topic.createdAtMs, startMs);
    await fixture.service.createTopic({ name: "audit", partitions: 1 });
    const page = await fixture.service.listTopics({ page: 1, perPage: 1 });
    t.strictSame([page.total, page.data.map((entry) => entry.name)], [2, ["audit"]]);
    const beyond = await fixture.service.listTopics({ page: 9, perPage: 50 });
    t.strictSame(beyond.data, []);
  });

  await t.test("refusals", async (t) => {
    const fixture = await QueueFixture.create({ limits: { partitionCountMax: 20 } });
    const { service } = fixture;
    await service.createTopic({ name: "orders", partitions: 3 });
    const cases: readonly { name: string; run: () => Promise<unknown>; code: string }[] = [
      { name: "exists", run: () => service.createTopic({ name: "orders" }), code: "TOPIC_ALREADY_EXISTS" },
      { name: "empty name", run: () => service.createTopic({ name: "" }), code: "INVALID_TOPIC_NAME" },
      {
        name: "249 characters",
        run: () => service.createTopic({ name: "a".repeat(249), partitions: 1 }),
        code: "no error",
      },
      { name: "250 characters", run: () => service.createTopic({ name: "a".repeat(250) }), code: "INVALID_TOPIC_NAME" },
      { name: "dots", run: () => service.createTopic({ name: ".." }), code: "INVALID_TOPIC_NAME" },
      { name: "slash", run: () => service.createTopic({ name: "a/b" }), code: "INVALID_TOPIC_NAME" },
      { name: "reserved", run: () => service.createTopic({ name: "__x" }), code: "INVALID_TOPIC_NAME" },
      { name: "0 partitions", run: () => service.createTopic({ name: "x", partitions: 0 }), code: "INVALID_PARTITION" },
      {
        name: "1025 partitions",
        run: () => service.createTopic({ name: "x", partitions: 1025 }),
        code: "INVALID_PARTITION",
      },
      {
        name: "over the node's limit",
        run: () => service.createTopic({ name: "x", partitions: 17 }),
        code: "RATE_LIMITED",
      },
      {
        name: "bad setting",
        run: () => service.createTopic({ name: "x", settings: { maxDeliveries: -1 } }),
        code: "INVALID_ARGUMENT",
      },
      {
        name: "fewer partitions",
        run: () => service.patchTopic({ name: "orders", partitions: 2 }),
        code: "PARTITION_DECREASE_NOT_ALLOWED",
      },
      { name: "same partitions", run: () => service.patchTopic({ name: "orders", partitions: 3 }), code: "no error" },
      {
        name: "no topic to change",
        run: () => service.patchTopic({ name: "none", partitions: 3 }),
        code: "TOPIC_NOT_FOUND",
      },
      { name: "no topic to delete", run: () => service.deleteTopic("none"), code: "TOPIC_NOT_FOUND" },
    ];
    for (const { name, run, code } of cases) t.equal(await refused(run()), code, name);
  });

  await t.test("a topic made again sees nothing of the old one", async (t) => {
    const fixture = await QueueFixture.create();
    await fixture.service.createTopic({ name: "orders", partitions: 1 });
    await fixture.publish("orders", ["old", { value: "later", delayMs: 60_000 }]);
    await fixture.service.join({ group: "g", memberId: "m", topics: ["orders"] });
    const { messages } = await fixture.poll("g", "m");
    await fixture.service.deleteTopic("orders");
    await fixture.service.createTopic({ name: "orders", partitions: 1 });
    await fixture.settle();
    t.strictSame(await fixture.publish("orders", ["new"]), [0]);
    t.equal((await fixture.service.listDelayed({ topic: "orders", skip: 0, limit: 10 })).total, 0);
    const [outcome] = await fixture.service.ack([{ kind: "receipt", receiptHandle: messages[0]?.receiptHandle ?? "" }]);
    t.equal(outcome?.kind === "error" ? outcome.error.code : "ok", "RECEIPT_HANDLE_EXPIRED");
    await fixture.restart({ withCheckpoint: true });
    t.strictSame(valuesOf(await fetchFrom(fixture, { kind: "earliest" })), ["new"]);
  });

  await t.test("a dead-letter topic lies beside its source, whichever came first", async (t) => {
    const fixture = await QueueFixture.create({ shardCount: 8 });
    const { service } = fixture;
    await service.createTopic({ name: "other", partitions: 3 });
    const dlq = await service.createTopic({ name: "orders-dlq", partitions: 2 });
    const source = await service.createTopic({ name: "orders", partitions: 5 });
    const grown = await service.getTopic("orders-dlq");
    t.equal(grown.partitions, 5);
    t.strictSame(
      grown.partitionDetails.map((detail) => detail.shard),
      source.partitionDetails.map((detail) => detail.shard),
    );
    t.equal(dlq.partitionDetails[0]?.shard, source.partitionDetails[0]?.shard);
    t.equal(
      await refused(service.patchTopic({ name: "other", settings: { dlqTopic: "orders" } })),
      "INVALID_ARGUMENT",
      "two families that lie differently cannot be joined",
    );
  });
});

t.test("publish()", async (t) => {
  await t.test("gives contiguous offsets per partition and keeps keys together", async (t) => {
    const fixture = await QueueFixture.create();
    await fixture.service.createTopic({ name: "orders", partitions: 3 });
    const messages = Array.from({ length: 30 }, (_, index) => ({ key: `k${index % 7}`, value: String(index) }));
    const results = await fixture.service.publish({ topic: "orders", messages });
    const byPartition = new Map<number, number[]>();
    for (const [index, result] of results.entries()) {
      t.equal(result.partition, fixture.service.partitionForKey("orders", `k${index % 7}`));
      byPartition.set(result.partition, [...(byPartition.get(result.partition) ?? []), result.offset]);
    }
    for (const offsets of byPartition.values())
      t.strictSame(
        offsets,
        offsets.map((_, index) => index),
      );
  });

  await t.test("spreads requests without keys and keeps each together", async (t) => {
    const fixture = await QueueFixture.create();
    await fixture.service.createTopic({ name: "orders", partitions: 3 });
    const partitions: number[] = [];
    for (let request = 0; request < 6; request += 1) {
      const results = await fixture.service.publish({ topic: "orders", messages: [{ value: "a" }, { value: "b" }] });
      t.equal(new Set(results.map((result) => result.partition)).size, 1);
      partitions.push(results[0]?.partition ?? -1);
    }
    t.strictSame(partitions, [0, 1, 2, 0, 1, 2]);
  });

  await t.test("writes nothing when one message is bad", async (t) => {
    const fixture = await QueueFixture.create();
    await fixture.service.createTopic({ name: "orders", partitions: 1, settings: { maxMessageBytes: 10 } });
    const bad: readonly { name: string; message: Record<string, unknown>; code: string }[] = [
      { name: "too large", message: { value: "x".repeat(11) }, code: "MESSAGE_TOO_LARGE" },
      { name: "no such partition", message: { value: "x", partition: 1 }, code: "INVALID_PARTITION" },
      { name: "priority 5", message: { value: "x", priority: 5 }, code: "INVALID_PRIORITY" },
      { name: "negative delay", message: { value: "x", delayMs: -1 }, code: "INVALID_DELAY" },
      { name: "31 days", message: { value: "x", delayMs: 31 * 86_400_000 }, code: "INVALID_DELAY" },
      {
        name: "due in 31 days",
        message: { value: "x", deliverAtMs: startMs + 31 * 86_400_000 },
        code: "INVALID_DELAY",
      },
      { name: "sequence without producer", message: { value: "x", sequence: 1 }, code: "INVALID_MESSAGE" },
      { name: "ttl 0", message: { value: "x", ttlMs: 0 }, code: "INVALID_MESSAGE" },
      { name: "empty idempotency key", message: { value: "x", idempotencyKey: "" }, code: "INVALID_MESSAGE" },
      { name: "long key", message: { value: "x", key: "k".repeat(65_536) }, code: "INVALID_MESSAGE" },
    ];
    for (const { name, message, code } of bad) {
      const request = { topic: "orders", messages: [{ value: "good" }, message as { value: string }] };
      try {
        await fixture.service.publish(request);
        t.fail(name);
      } catch (error) {
        t.equal(codeOf(error), code, name);
        t.equal(isDomainError(error) ? error.details["index"] : undefined, 1, `${name}: index`);
      }
    }
    t.equal(await refused(fixture.service.publish({ topic: "orders", messages: [] })), "INVALID_ARGUMENT");
    t.equal(await refused(fixture.service.publish({ topic: "none", messages: [{ value: "x" }] })), "TOPIC_NOT_FOUND");
    const many = Array.from({ length: 10_001 }, () => ({ value: "x" }));
    t.equal(await refused(fixture.service.publish({ topic: "orders", messages: many })), "BATCH_TOO_LARGE");
    t.strictSame(
      await fixture.publish("orders", [{ value: "x".repeat(10) }]),
      [0],
      "the limit itself is fine, and the first",
    );
  });

  await t.test("an idempotent producer's batches are stored once", async (t) => {
    const fixture = await QueueFixture.create();
    const { service } = fixture;
    await service.createTopic({ name: "orders", partitions: 1 });
    const { producerId, producerEpoch } = await service.initProducer({ transactionalId: "app" });
    const send = async (sequence: number, count = 1, epoch = producerEpoch): Promise<string> => {
      const messages = Array.from({ length: count }, (_, index) => ({
        value: `v${sequence + index}`,
        producerId,
        producerEpoch: epoch,
        sequence: sequence + index,
      }));
      const [first] = await fixture.service.publish({ topic: "orders", messages });
      if (first === undefined) return "nothing";
      return first.error?.code ?? `${first.offset}${first.isDuplicate ? " duplicate" : ""}`;
    };
    t.equal(await send(0, 3), "0");
    t.equal(await send(0, 3), "0 duplicate");
    t.equal(await send(3), "3");
    t.equal(await send(1), "1 duplicate", "one of a batch");
    t.equal(await send(6), "OUT_OF_ORDER_SEQUENCE");
    await fixture.restart();
    t.equal(await send(3), "3 duplicate", "after a restart that replays");
    await fixture.restart({ withCheckpoint: true });
    t.equal(await send(3), "3 duplicate", "after a restart from a checkpoint");
    t.equal(await send(4), "4");
    const next = await fixture.service.initProducer({ transactionalId: "app" });
    t.strictSame(next, { producerId, producerEpoch: producerEpoch + 1 });
    t.equal(await send(0, 1, next.producerEpoch), "5");
    t.equal(await send(5), "PRODUCER_FENCED");
  });

  await t.test("idempotency keys hold for two minutes, also inside one batch", async (t) => {
    const fixture = await QueueFixture.create();
    const { service } = fixture;
    await service.createTopic({ name: "orders", partitions: 5 });
    const send = (...keys: string[]) =>
      fixture.service.publish({
        topic: "orders",
        messages: keys.map((key) => ({ value: key, partition: 0, idempotencyKey: key })),
      });
    const summary = async (...keys: string[]) =>
      (await send(...keys)).map((result) => `${result.offset}${result.isDuplicate ? "d" : ""}`).join(" ");
    t.equal(await summary("a", "b"), "0 1");
    t.equal(await summary("b", "c", "a"), "1d 2 0d");
    t.equal(await summary("d", "d", "e"), "3 3d 4");
    await fixture.restart({ withCheckpoint: true });
    fixture.jumpMs = 3_600_000;
    t.equal(await summary("a"), "0d", "a jump of the wall clock forgets nothing");
    fixture.jumpMs = 0;
    await fixture.advance(119_000);
    t.equal(await summary("a"), "0d");
    await fixture.advance(2_000);
    t.equal(await summary("a"), "5");
    const free = await fixture.service.publish({ topic: "orders", messages: [{ value: "x", idempotencyKey: "free" }] });
    const again = await fixture.service.publish({
      topic: "orders",
      messages: [{ value: "x", idempotencyKey: "free" }],
    });
    t.equal(again[0]?.partition, free[0]?.partition, "without a key the idempotency key chooses the partition");
    t.equal(again[0]?.isDuplicate, true);
  });

  await t.test("times of a partition never go back", async (t) => {
    const fixture = await QueueFixture.create();
    await fixture.service.createTopic({ name: "orders", partitions: 1 });
    fixture.jumpMs = 5_000;
    await fixture.publish("orders", ["a"]);
    fixture.jumpMs = -5_000;
    const [result] = await fixture.service.publish({ topic: "orders", messages: [{ value: "b" }] });
    t.equal(result?.timestampMs, startMs + 5_000);
  });

  await t.test("a failing shard fails its messages only", async (t) => {
    const fixture = await QueueFixture.create();
    await fixture.service.createTopic({ name: "orders", partitions: 1 });
    const shard = (await fixture.service.getTopic("orders")).partitionDetails[0]?.shard ?? 0;
    const storage = fixture.machines.shards.get(shard)?.storage;
    Object.assign(storage ?? {}, { isDiskFull: true });
    const [result] = await fixture.service.publish({ topic: "orders", messages: [{ value: "x" }] });
    t.equal(result?.error?.code, "DISK_FULL");
    t.strictSame(valuesOf(await fetchFrom(fixture, { kind: "earliest" })), [], "reading goes on");
  });
});

t.test("fetch()", async (t) => {
  const fixture = await QueueFixture.create();
  await fixture.service.createTopic({ name: "orders", partitions: 2 });
  await fixture.publish(
    "orders",
    ["a", "b", "c"].map((value) => ({ value, partition: 0 })),
  );
  await fixture.advance(1_000);
  await fixture.publish("orders", [{ value: "d", partition: 0 }]);

  await t.test("starts where it is told to", async (t) => {
    t.strictSame(valuesOf(await fetchFrom(fixture, { kind: "earliest" })), ["a", "b", "c", "d"]);
    t.strictSame(valuesOf(await fetchFrom(fixture, { kind: "offset", offset: 2 })), ["c", "d"]);
    t.strictSame(valuesOf(await fetchFrom(fixture, { kind: "latest" })), []);
    t.strictSame(valuesOf(await fetchFrom(fixture, { kind: "timestamp", timestampMs: startMs + 500 })), ["d"]);
    const limited = await fetchFrom(fixture, { kind: "offset", offset: 1 }, { maxRecords: 1 });
    t.strictSame([valuesOf(limited), limited.nextOffset, limited.highWatermark], [["b"], 2, 4]);
    t.strictSame(valuesOf(await fetchFrom(fixture, { kind: "earliest" }, { partition: 1 })), [], "nothing written yet");
  });

  await t.test("refuses an offset that is not there", async (t) => {
    t.equal(await refused(fetchFrom(fixture, { kind: "offset", offset: 5 })), "OFFSET_OUT_OF_RANGE");
    t.equal(await refused(fetchFrom(fixture, { kind: "earliest" }, { partition: 2 })), "PARTITION_NOT_FOUND");
  });

  await t.test("a long poll is woken by the append, ends with its time or its client", async (t) => {
    let isDone = false;
    const waiting = fetchFrom(fixture, { kind: "latest" }, { waitMs: 30_000 }).then((result) => {
      isDone = true;
      return result;
    });
    await fixture.advance(5_000);
    t.equal(isDone, false);
    await fixture.publish("orders", [{ value: "e", partition: 0 }]);
    t.strictSame(valuesOf(await waiting), ["e"]);
    const timedOut = fetchFrom(fixture, { kind: "latest" }, { waitMs: 1_000 });
    await fixture.advance(1_000);
    t.strictSame(valuesOf(await timedOut), []);
    const abort = new AbortController();
    const aborted = fetchFrom(fixture, { kind: "latest" }, { waitMs: 1_000, signal: abort.signal });
    abort.abort();
    t.strictSame(valuesOf(await aborted), []);
    t.equal(fixture.time.pendingCount, 2, "only the two sweeps are left, no forgotten timer");
  });
});
