import t from "tap";
import { openRestFixture } from "../../support/queue/rest-fixture.ts";

const rest = await openRestFixture();
t.teardown(() => rest[Symbol.asyncDispose]());
await rest.request("POST", "/topics", { name: "orders", partitions: 3 });
await rest.request("POST", "/topics", { name: "one", partitions: 1 });

const read = async (topic: string, query = "") =>
  await rest.request("GET", `/topics/${topic}/partitions/0/messages${query}`);

t.test("a single message: result at the top and in results; both names of the value", async (t) => {
  const { status, body } = await rest.request("POST", "/topics/one/messages", { key: "k", payload: "hello" });
  t.equal(status, 200);
  t.equal(body.partition, 0);
  t.equal(body.offset, 0);
  t.strictSame(body.results[0].offset, 0);
  t.equal(body.priority, "normal");
  await rest.request("POST", "/v1/topics/one/messages", { value: "v", priority: "HIGH", headers: { a: "1" } });
  const { body: fetched } = await read("one");
  const [first, second] = fetched.messages;
  t.equal(first.value, "hello");
  t.equal(first.payload, "hello", "sent as payload, shown as payload too");
  t.equal(first.key, "k");
  t.equal(second.value, "v");
  t.notOk("payload" in second);
  t.equal(second.priority, "high");
  t.strictSame(second.headers, { a: "1" });
  t.equal(second.key, null);
  t.equal(fetched.next_offset, 2);
  t.equal(fetched.high_watermark, 2);
});

t.test("several messages: {messages}, bare array and /batch; one key stays in one partition, in order", async (t) => {
  const messages = [1, 2, 3].map((number) => ({ key: "same", value: String(number) }));
  const results = [];
  for (const [path, body] of [
    ["/topics/orders/messages", { messages }],
    ["/topics/orders/messages", messages],
    ["/topics/orders/messages/batch", { messages }],
  ] as const) {
    const answer = await rest.request("POST", path, body);
    t.equal(answer.status, 200);
    t.notOk("offset" in answer.body);
    results.push(...answer.body.results);
  }
  t.strictSame(
    results.map((result) => result.offset),
    [0, 1, 2, 3, 4, 5, 6, 7, 8],
  );
  t.equal(new Set(results.map((result) => result.partition)).size, 1);
});

t.test("keys choose partitions as Kafka's default partitioner does", async (t) => {
  const expected: Record<string, number> = {};
  for (const key of ["a", "b", "customer-7"]) {
    expected[key] = rest.service.partitionForKey("orders", key);
    const { body } = await rest.request("POST", "/topics/orders/messages", { key, value: "x" });
    t.equal(body.partition, expected[key]);
  }
});

t.test("values of every kind", async (t) => {
  await rest.request("POST", "/topics", { name: "kinds", partitions: 1 });
  const binary = Buffer.from([0xff, 0x00, 0x80]).toString("base64");
  await rest.request("POST", "/topics/kinds/messages", [
    { value: { b: 1, a: [true, null] } },
    { value: 12.5 },
    { value_base64: binary },
    { payload_base64: Buffer.from("text").toString("base64") },
    { key: "k", value: null },
    { value: "" },
    { value: "ü €", key: "ключ" },
    { key_base64: binary, value: "x" },
    { value: "same", payload: "same" },
  ]);
  const { body } = await read("kinds");
  const [json, number, bytes, text, tombstone, empty, unicode, binaryKey, same] = body.messages;
  t.equal(json.value, '{"b":1,"a":[true,null]}');
  t.equal(json.headers["content-type"], "application/json");
  t.equal(number.value, "12.5");
  t.equal(bytes.value_base64, binary);
  t.notOk("value" in bytes);
  t.equal(text.value, "text");
  t.equal(text.payload, "text");
  t.equal(tombstone.value, null);
  t.equal(tombstone.key, "k");
  t.equal(empty.value, "");
  t.equal(unicode.value, "ü €");
  t.equal(unicode.key, "ключ");
  t.equal(binaryKey.key, null);
  t.equal(binaryKey.key_base64, binary);
  t.equal(same.value, "same");
});

const bad: readonly { name: string; message: unknown; code: string; status?: number }[] = [
  { name: "text instead of an object", message: "hello", code: "INVALID_MESSAGE" },
  { name: "no value", message: { key: "k" }, code: "INVALID_MESSAGE" },
  { name: "two values", message: { value: "a", payload: "b" }, code: "INVALID_MESSAGE" },
  { name: "value and base64", message: { value: "a", value_base64: "YQ==" }, code: "INVALID_MESSAGE" },
  { name: "broken base64", message: { value_base64: "a?b=" }, code: "INVALID_MESSAGE" },
  { name: "a key that is no text", message: { value: "a", key: 7 }, code: "INVALID_MESSAGE" },
  { name: "a key of 65,536 bytes", message: { value: "a", key: "x".repeat(65_536) }, code: "INVALID_MESSAGE" },
  { name: "headers that are no texts", message: { value: "a", headers: { n: 1 } }, code: "INVALID_MESSAGE" },
  {
    name: "headers of 65,537 bytes",
    message: { value: "a", headers: { n: "x".repeat(65_536) } },
    code: "INVALID_MESSAGE",
  },
  { name: "priority 5", message: { value: "a", priority: 5 }, code: "INVALID_PRIORITY" },
  { name: "an unknown priority", message: { value: "a", priority: "urgent" }, code: "INVALID_PRIORITY" },
  {
    name: "a partition that is not there",
    message: { value: "a", partition: 3 },
    code: "INVALID_PARTITION",
    status: 400,
  },
  { name: "partition -2", message: { value: "a", partition: -2 }, code: "INVALID_PARTITION" },
  { name: "a delay in words", message: { value: "a", delay: "soon" }, code: "INVALID_DELAY" },
  { name: "a negative delay", message: { value: "a", delay: -1 }, code: "INVALID_DELAY" },
  { name: "a delay of 31 days", message: { value: "a", delay: "31d" }, code: "INVALID_DELAY" },
  {
    name: "delay and deliver_at",
    message: { value: "a", delay: "1s", deliver_at: "2030-01-01T00:00:00Z" },
    code: "INVALID_DELAY",
  },
  { name: "deliver_at in words", message: { value: "a", deliver_at: "tomorrow" }, code: "INVALID_DELAY" },
  { name: "half a producer", message: { value: "a", producer_id: 1 }, code: "INVALID_MESSAGE" },
  { name: "a transaction", message: { value: "a", transaction_id: "t" }, code: "TRANSACTION_NOT_FOUND", status: 404 },
  { name: "an empty idempotency key", message: { value: "a", idempotency_key: "" }, code: "INVALID_MESSAGE" },
];
for (const { name, message, code, status = 400 } of bad) {
  t.test(`a batch with ${name} is refused whole`, async (t) => {
    const before = (await rest.request("GET", "/topics/orders")).body.total_messages;
    const { body, status: actual } = await rest.request("POST", "/topics/orders/messages", {
      messages: [{ value: "good", key: "a" }, message],
    });
    t.equal(body.error.code, code);
    t.equal(actual, status);
    t.equal(body.error.details.index, 1);
    t.equal((await rest.request("GET", "/topics/orders")).body.total_messages, before);
  });
}

t.test("limits of a message at the edge", async (t) => {
  const put = async (message: object) => (await rest.request("POST", "/topics/orders/messages", message)).status;
  t.equal(await put({ value: "a", key: "x".repeat(65_535) }), 200);
  t.equal(await put({ value: "a", headers: { n: "x".repeat(65_535) } }), 200);
  await rest.request("POST", "/topics", { name: "small", max_message_bytes: 100, partitions: 1 });
  t.equal((await rest.request("POST", "/topics/small/messages", { value: "x".repeat(100) })).status, 200);
  const over = await rest.request("POST", "/topics/small/messages", { value: "x".repeat(101) });
  t.equal(over.status, 413);
  t.equal(over.body.error.code, "MESSAGE_TOO_LARGE");
});

t.test("limits of a request", async (t) => {
  const many = (count: number) => Array.from({ length: count }, () => ({ value: "a" }));
  t.equal((await rest.request("POST", "/topics/orders/messages", many(10_000))).body.results.length, 10_000);
  const over = await rest.request("POST", "/topics/orders/messages", many(10_001));
  t.equal(over.status, 413);
  t.equal(over.body.error.code, "BATCH_TOO_LARGE");
  const none = await rest.request("POST", "/topics/orders/messages", { messages: [] });
  t.equal(none.body.error.code, "INVALID_ARGUMENT");
  const large = await rest.request("POST", "/topics/orders/messages", { value: "x".repeat(16 * 1024 * 1024) });
  t.equal(large.status, 413);
  t.equal(large.body.error.code, "BATCH_TOO_LARGE");
});

t.test("acks in the query or the body", async (t) => {
  for (const acks of ["all", "leader", "none"]) {
    t.equal((await rest.request("POST", `/topics/orders/messages?acks=${acks}`, { value: "a" })).status, 200, acks);
    t.equal((await rest.request("POST", "/topics/orders/messages", { value: "a", acks })).status, 200, acks);
  }
  const unknown = await rest.request("POST", "/topics/orders/messages?acks=some", { value: "a" });
  t.equal(unknown.body.error.code, "INVALID_ARGUMENT");
});

t.test("Idempotency-Key stores a message once", async (t) => {
  await rest.request("POST", "/topics", { name: "once", partitions: 2 });
  const put = async (body: unknown) =>
    (await rest.request("POST", "/topics/once/messages", body, { "idempotency-key": "abc" })).body;
  const first = await put({ value: "a" });
  const again = await put({ value: "a" });
  t.notOk(first.duplicate);
  t.equal(again.duplicate, true);
  t.equal(again.offset, first.offset);
  t.equal(again.partition, first.partition);
  const batch = await put([{ value: "b" }, { value: "c" }]);
  t.notOk(batch.results[0].duplicate, "batches have a key per position");
  t.equal((await put([{ value: "b" }, { value: "c" }])).results[1].duplicate, true);
  t.equal((await rest.request("GET", "/topics/once")).body.total_messages, 3);
});

t.test("an idempotent producer: a repetition is stored once, a gap and an old epoch are refused", async (t) => {
  await rest.request("POST", "/topics", { name: "sequences", partitions: 1 });
  const { body: producer } = await rest.request("POST", "/producers/init", { transactional_id: "shop" });
  const put = async (sequence: number, epoch = producer.epoch) =>
    await rest.request("POST", "/topics/sequences/messages", {
      ...{ value: String(sequence), producer_id: producer.producer_id, epoch, sequence },
    });
  t.equal((await put(0)).body.offset, 0);
  t.equal((await put(1)).body.offset, 1);
  const again = await put(1);
  t.match(again.body, { offset: 1, duplicate: true });
  const gap = await put(5);
  t.equal(gap.status, 409);
  t.equal(gap.body.error.code, "OUT_OF_ORDER_SEQUENCE");
  const { body: next } = await rest.request("POST", "/producers/init", { transactional_id: "shop" });
  t.equal(next.producer_id, producer.producer_id);
  t.equal(next.epoch, producer.epoch + 1);
  t.equal((await put(0, next.epoch)).status, 200);
  t.equal((await put(2)).body.error.code, "PRODUCER_FENCED");
  const other = await rest.request("POST", "/producers/init");
  t.not(other.body.producer_id, producer.producer_id);
});

t.test("CloudEvents: structured, batched, binary", async (t) => {
  await rest.request("POST", "/topics", { name: "events", partitions: 1 });
  const event = { specversion: "1.0", id: "1", source: "/shop", type: "order.placed", partitionkey: "k" };
  const put = async (body: unknown, headers: Record<string, string>) =>
    await rest.request("POST", "/topics/events/messages", body, headers);
  const structured = { "content-type": "application/cloudevents+json; charset=utf-8" };
  t.equal((await put({ ...event, data: { total: 5 } }, structured)).status, 200);
  const batched = { "content-type": "application/cloudevents-batch+json" };
  t.equal((await put([{ ...event, data_base64: "AAH/" }, event], batched)).body.results.length, 2);
  const binary = {
    "content-type": "text/plain",
    "ce-specversion": "1.0",
    "ce-id": "4",
    "ce-source": "/s",
    "ce-type": "a%20b",
  };
  t.equal((await put("plain text", binary)).status, 200);
  const { body } = await read("events");
  const [first, second, third, fourth] = body.messages;
  t.equal(first.value, '{"total":5}');
  t.match(first.headers, { "ce-id": "1", "ce-type": "order.placed", "content-type": "application/json" });
  t.equal(first.key, "k");
  t.equal(second.value_base64, "AAH/");
  t.equal(third.value, null, "an event without data has no value");
  t.equal(fourth.value, "plain text");
  t.match(fourth.headers, { "ce-type": "a b", "content-type": "text/plain" });
  for (const broken of [{ ...event, specversion: "0.3" }, { ...event, id: "" }, { ...event, time: "now" }, [event]]) {
    t.equal((await put(broken, structured)).body.error.code, "INVALID_MESSAGE");
  }
});

t.test("fetch: where it starts", async (t) => {
  await rest.request("POST", "/topics", { name: "log", partitions: 1 });
  const sent: { timestamp: string }[] = [];
  for (let number = 0; number < 5; number += 1) {
    sent.push((await rest.request("POST", "/topics/log/messages", { value: String(number) })).body);
  }
  const values = async (query: string) =>
    (await read("log", query)).body.messages.map((message: { value: string }) => message.value).join("");
  t.equal(await values(""), "01234");
  t.equal(await values("?offset=earliest"), "01234");
  t.equal(await values("?offset=latest"), "");
  t.equal(await values("?offset=3"), "34");
  t.equal(await values("?offset=1&max=2"), "12");
  t.equal(await values("?offset=1&limit=1"), "1");
  t.equal(await values("?offset=5"), "", "the end");
  t.equal(await values("?max_bytes=1"), "0", "at least one");
  // Neighbours may have been stored within the same millisecond.
  const first = sent.findIndex(({ timestamp }) => timestamp === String(sent[2]?.timestamp));
  t.equal(await values(`?timestamp=${encodeURIComponent(String(sent[2]?.timestamp))}&max=1`), String(first));
  t.equal(await values(`?timestamp=${Date.parse(String(sent[4]?.timestamp)) + 60_000}`), "");
  const refused: readonly (readonly [string, string])[] = [
    ["?offset=6", "OFFSET_OUT_OF_RANGE"],
    ["?offset=-1", "INVALID_OFFSET"],
    ["?offset=x", "INVALID_OFFSET"],
    ["?max=0", "INVALID_ARGUMENT"],
    ["?wait_ms=-1", "INVALID_ARGUMENT"],
    ["?timestamp=x", "INVALID_ARGUMENT"],
    ["?offset=1&timestamp=5", "INVALID_ARGUMENT"],
    ["?isolation=dirty", "INVALID_ARGUMENT"],
  ];
  for (const [query, code] of refused) {
    const answer = await read("log", query);
    t.equal(answer.status, 400, query);
    t.equal(answer.body.error.code, code, query);
  }
  t.equal((await read("log", "?max=100000")).status, 200, "more than there can be is no mistake");
  const missing = await rest.request("GET", "/topics/log/partitions/1/messages");
  t.equal(missing.body.error.code, "PARTITION_NOT_FOUND");
  const noNumber = await rest.request("GET", "/topics/log/partitions/x/messages");
  t.equal(noNumber.body.error.code, "INVALID_PARTITION");
});

t.test("a long poll is woken by the append, and ends empty after its time", async (t) => {
  await rest.request("POST", "/topics", { name: "poll", partitions: 1 });
  const startMs = performance.now();
  const waiting = read("poll", "?wait_ms=20000");
  await rest.request("POST", "/topics/poll/messages", { value: "now" });
  t.equal((await waiting).body.messages[0].value, "now");
  t.ok(performance.now() - startMs < 5000, "long before its time is up");
  const empty = await read("poll", "?offset=1&wait_ms=50");
  t.strictSame(empty.body.messages, []);
  t.equal(empty.body.next_offset, 1);
});
