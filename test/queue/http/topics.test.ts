import t from "tap";
import { openRestFixture } from "../../support/queue/rest-fixture.ts";

const rest = await openRestFixture();
t.teardown(() => rest[Symbol.asyncDispose]());

t.test("POST /topics creates with defaults and answers all that GET answers", async (t) => {
  const created = await rest.request("POST", "/topics", { name: "orders" });
  t.equal(created.status, 201);
  t.equal(created.body.created, true);
  t.equal(created.body.partitions, 3);
  t.equal(created.body.retention_hours, 168);
  t.equal(created.body.dlq_topic, "orders-dlq");
  t.strictSame(created.body.priority_weights, [50, 25, 15, 7, 3]);
  t.strictSame(created.body.partition_offsets["2"], { earliest: 0, latest: 0 });
  const { created: _created, ...rest1 } = created.body;
  const got = await rest.request("GET", "/v1/topics/orders");
  t.strictSame(got.body, rest1);
});

t.test("POST /topics takes both names of the partition count, properties flat and under config", async (t) => {
  const { body } = await rest.request("POST", "/topics", {
    name: "both",
    num_partitions: 5,
    visibility_timeout: "1m30s",
    config: { max_deliveries: 7, visibility_timeout: "1s", retry_max_delay: 60 },
    an_unknown_field: true,
  });
  t.equal(body.partitions, 5);
  t.equal(body.visibility_timeout, "1m30s", "the flat one wins");
  t.equal(body.max_deliveries, 7);
  t.equal(body.retry_max_delay, "1m");
});

const refusals: readonly { name: string; body: unknown; status: number; code: string }[] = [
  { name: "a name with a blank", body: { name: "a b" }, status: 400, code: "INVALID_TOPIC_NAME" },
  { name: "no name", body: {}, status: 400, code: "INVALID_ARGUMENT" },
  { name: "an empty name", body: { name: "" }, status: 400, code: "INVALID_TOPIC_NAME" },
  { name: "a dot", body: { name: "." }, status: 400, code: "INVALID_TOPIC_NAME" },
  { name: "a reserved name", body: { name: "__events" }, status: 400, code: "INVALID_TOPIC_NAME" },
  { name: "250 characters", body: { name: "x".repeat(250) }, status: 400, code: "INVALID_TOPIC_NAME" },
  { name: "no partitions", body: { name: "p0", partitions: 0 }, status: 400, code: "INVALID_PARTITION" },
  { name: "1025 partitions", body: { name: "p1025", partitions: 1025 }, status: 400, code: "INVALID_PARTITION" },
  { name: "half a partition", body: { name: "p", partitions: 1.5 }, status: 400, code: "INVALID_ARGUMENT" },
  { name: "a negative retention", body: { name: "p", retention_hours: -1 }, status: 400, code: "INVALID_ARGUMENT" },
  { name: "an unknown policy", body: { name: "p", cleanup_policy: "keep" }, status: 400, code: "INVALID_ARGUMENT" },
  { name: "four weights", body: { name: "p", priority_weights: [1, 1, 1, 1] }, status: 400, code: "INVALID_ARGUMENT" },
  { name: "a bad duration", body: { name: "p", message_ttl: "soon" }, status: 400, code: "INVALID_ARGUMENT" },
  {
    name: "a schema without a registry",
    body: { name: "p", schema_subject: "s" },
    status: 400,
    code: "INVALID_ARGUMENT",
  },
  { name: "the same name again", body: { name: "orders" }, status: 409, code: "TOPIC_ALREADY_EXISTS" },
  { name: "an array", body: [], status: 400, code: "INVALID_ARGUMENT" },
  { name: "no JSON", body: '{"name":', status: 400, code: "INVALID_JSON" },
];
for (const { name, body, status, code } of refusals) {
  t.test(`POST /topics refuses ${name}`, async (t) => {
    const answer = await rest.request("POST", "/topics", body);
    t.equal(answer.status, status);
    t.equal(answer.body.error.code, code);
    t.type(answer.body.error.message, "string");
    t.notMatch(answer.body.error.message, /\.$/, "no stop at the end");
  });
}

t.test("limits of the name and of the partition count hold at the edge", async (t) => {
  const longest = "x".repeat(249);
  t.equal((await rest.request("POST", "/topics", { name: longest, partitions: 1 })).status, 201);
  t.equal((await rest.request("POST", "/topics", { name: "p1024", partitions: 1024 })).status, 201);
  t.equal((await rest.request("DELETE", "/topics/p1024")).status, 200);
  t.equal((await rest.request("DELETE", `/topics/${longest}`)).status, 200);
});

t.test("GET /topics pages, and has names for the other dialect", async (t) => {
  for (let number = 0; number < 5; number += 1) {
    await rest.request("POST", "/topics", { name: `page-${number}`, partitions: 1 });
  }
  const first = await rest.request("GET", "/topics?per_page=3");
  t.equal(first.body.data.length, 3);
  t.strictSame(
    first.body.topics,
    first.body.data.map((topic: { name: string }) => topic.name),
  );
  t.strictSame(first.body.pagination, { page: 1, per_page: 3, total: 7, total_pages: 3 });
  const last = await rest.request("GET", "/topics?per_page=3&page=3");
  t.strictSame(last.body.topics, ["page-4"]);
  const beyond = await rest.request("GET", "/topics?per_page=3&page=4");
  t.equal(beyond.status, 200);
  t.strictSame(beyond.body.data, []);
  for (const query of ["page=0", "page=x", "per_page=0", "per_page=1001", "page=1.5"]) {
    const answer = await rest.request("GET", `/topics?${query}`);
    t.equal(answer.status, 400, query);
    t.equal(answer.body.error.code, "INVALID_ARGUMENT");
  }
  t.equal((await rest.request("GET", "/topics?per_page=1000")).status, 200);
});

t.test("PATCH only adds partitions", async (t) => {
  const grown = await rest.request("PATCH", "/topics/orders", { partitions: 4 });
  t.equal(grown.body.partitions, 4);
  t.equal((await rest.request("PATCH", "/topics/orders", { partitions: 4 })).status, 200, "equal is no change");
  const lower = await rest.request("PATCH", "/topics/orders", { partitions: 3 });
  t.equal(lower.status, 400);
  t.equal(lower.body.error.code, "PARTITION_DECREASE_NOT_ALLOWED");
  const changed = await rest.request("PATCH", "/topics/orders", { retention_hours: 1, compression: "zstd" });
  t.equal(changed.body.retention_hours, 1);
  t.equal(changed.body.compression, "zstd");
  t.equal(changed.body.partitions, 4);
  t.equal((await rest.request("PATCH", "/topics/orders", {})).body.error.code, "INVALID_ARGUMENT");
  t.equal((await rest.request("PATCH", "/topics/nope", { partitions: 9 })).body.error.code, "TOPIC_NOT_FOUND");
});

t.test("GET and DELETE of what is not there", async (t) => {
  for (const [method, path] of [
    ["GET", "/topics/nope"],
    ["DELETE", "/topics/nope"],
    ["GET", "/topics/nope/partitions"],
  ] as const) {
    const answer = await rest.request(method, path);
    t.equal(answer.status, 404);
    t.equal(answer.body.error.code, "TOPIC_NOT_FOUND");
    t.equal(answer.body.error.details.topic, "nope");
  }
});

t.test("a topic that is created again has nothing of the old one", async (t) => {
  await rest.request("POST", "/topics", { name: "again", partitions: 1 });
  await rest.request("POST", "/topics/again/messages", { value: "old" });
  t.strictSame((await rest.request("DELETE", "/topics/again")).body, { deleted: true, name: "again" });
  t.equal((await rest.request("POST", "/topics/again/messages", { value: "x" })).status, 404);
  await rest.request("POST", "/topics", { name: "again", partitions: 1 });
  const { body } = await rest.request("GET", "/topics/again/partitions/0/messages");
  t.strictSame(body.messages, []);
  t.equal(body.high_watermark, 0);
});

t.test("GET /topics/{t}/partitions", async (t) => {
  const { body } = await rest.request("GET", "/topics/orders/partitions");
  t.equal(body.topic, "orders");
  t.equal(body.partitions.length, 4);
  t.equal(body.partitions[0].leader, "node-1");
});
