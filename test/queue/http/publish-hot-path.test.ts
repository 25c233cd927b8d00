import t from "tap";
import { startServerFixture } from "../../support/queue/server-fixture.ts";

const fixture = await startServerFixture();
t.teardown(() => fixture[Symbol.asyncDispose]());
const { service, httpUrl } = fixture.server;
await service.createTopic({ name: "orders", partitions: 1, settings: { maxMessageBytes: 1000 } });

interface Body {
  readonly error: { readonly code: string };
  readonly partition: number;
  readonly offset: number;
}

async function post(path: string, body: string | Uint8Array, headers: Record<string, string> = {}) {
  const response = await fetch(httpUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
}

/** What changes from one publish to the next. */
function normalise(value: unknown): string {
  return JSON.stringify(value).replaceAll(/"(offset|timestamp|deliver_at|delayed_id)":("[^"]*"|-?\d+)/g, '"$1":0');
}

const bodies: readonly { name: string; body: string | Uint8Array }[] = [
  { name: "one message", body: '{"value":"a","key":"k","priority":"high"}' },
  { name: "several", body: '{"messages":[{"value":"a"},{"value":"b"}],"acks":"leader"}' },
  { name: "an array", body: '[{"payload":"a"}]' },
  { name: "a delayed one", body: '{"value":"a","delay":"1h"}' },
  { name: "acks=none", body: '{"value":"a","acks":"none"}' },
  { name: "no JSON", body: '{"value":' },
  { name: "no UTF-8", body: Uint8Array.from([0x22, 0xff, 0x22]) },
  { name: "nothing", body: "" },
  { name: "no message", body: "[]" },
  { name: "a bad message", body: '[{"value":"a"},{"key":"k"}]' },
  { name: "unknown acks", body: '{"value":"a","acks":"some"}' },
  { name: "a message that is too large", body: JSON.stringify({ value: "x".repeat(2000) }) },
  { name: "a partition that is not there", body: '{"value":"a","partition":7}' },
  { name: "10,001 messages", body: JSON.stringify(Array.from({ length: 10_001 }, () => ({ value: "a" }))) },
];
for (const { name, body } of bodies) {
  t.test(`both ways answer the same to ${name}`, async (t) => {
    const hot = await post("/topics/orders/messages", body);
    const routed = await post("/topics/orders/messages?via=router", body);
    t.equal(hot.status, routed.status);
    t.equal(normalise(hot.body), normalise(routed.body));
    t.equal(hot.headers.get("content-type"), routed.headers.get("content-type"));
    t.match(hot.headers.get("x-request-id"), /^[0-9a-f-]{36}$/);
  });
}

t.test("an unknown topic, a request that is too large, a request id", async (t) => {
  t.equal((await post("/topics/nope/messages", '{"value":"a"}')).body.error.code, "TOPIC_NOT_FOUND");
  t.equal(
    (await post("/v1/topics/orders/messages", '{"value":"a"}', { "x-request-id": "my-id" })).headers.get(
      "x-request-id",
    ),
    "my-id",
  );
  const large = await post("/topics/orders/messages", JSON.stringify({ value: "x".repeat(17 * 1024 * 1024) })).catch(
    () => undefined,
  );
  t.ok(large === undefined || large.body.error.code === "BATCH_TOO_LARGE");
});

t.test("many connections at once: every message once, and the metrics count them", async (t) => {
  await service.createTopic({ name: "many", partitions: 2 });
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, index) => post("/topics/many/messages", JSON.stringify({ value: String(index) }))),
  );
  const places = new Set(answers.map(({ body }) => `${body.partition}@${body.offset}`));
  t.equal(places.size, 300);
  t.equal((await service.getTopic("many")).totalMessages, 300);
  const metrics = await (await fetch(`${httpUrl}/metrics`)).text();
  t.match(metrics, /queue_messages_published_total\{topic="many"\} 300/);
  t.match(
    metrics,
    /queue_http_requests_total\{route="\/topics\/\{topic\}\/messages",method="POST",code="200"\} [3-9]\d\d/,
  );
});
