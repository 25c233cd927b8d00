import t from "tap";
import { call } from "../support/e2e/executable.ts";
import { QueueProcess } from "../support/e2e/queue-server.ts";
import { createTestFolder } from "../support/queue/rest-fixture.ts";

const folder = createTestFolder();
t.teardown(() => folder.remove());
const broker = new QueueProcess(folder.path);
await broker.start();
t.teardown(() => broker.stop("SIGKILL"));

interface Fetched {
  readonly messages: readonly { readonly offset: number; readonly value: string }[];
  readonly high_watermark: number;
}

t.test("probes, version, documentation and metrics answer", async (t) => {
  for (const path of ["/livez", "/readyz", "/healthz"]) {
    t.match(await broker.client.get(path), { status: "ok" }, path);
  }
  t.match(await broker.client.get("/version"), { version: /^v\d/ });
  t.match(await (await fetch(`${broker.httpUrl}/docs`)).text(), /<!doctype html>/);
  t.match(await (await fetch(`${broker.httpUrl}/metrics`)).text(), /^process_cpu_seconds_total /m);
});

t.test("a topic, one message and a batch; fetch with a long poll that the append ends", async (t) => {
  await broker.client.post("/topics", { name: "orders", partitions: 1 });
  await broker.client.post("/topics/orders/messages", { payload: "one" });
  await broker.client.publish("orders", [{ value: "two" }, { value: "three" }]);
  const fetched = await broker.client.get<Fetched>("/topics/orders/partitions/0/messages");
  t.strictSame(
    fetched.messages.map((message) => message.value),
    ["one", "two", "three"],
  );
  const waiting = broker.client.get<Fetched>("/topics/orders/partitions/0/messages", { offset: 3, wait_ms: 30_000 });
  await broker.client.publish("orders", [{ value: "four" }]);
  t.equal((await waiting).messages[0]?.value, "four");
});

t.test("the commands talk to it", async (t) => {
  const env = { QUEUE_SERVER: broker.httpUrl };
  const published = await call(["queue", "publish", "orders", "--lines"], { env, input: "a\nb\n" });
  t.equal(published.exitCode, 0, published.errorOutput);
  const consumed = await call(["queue", "consume", "orders", "--group", "g", "--ack", "--value-only"], { env });
  t.equal(consumed.exitCode, 0, consumed.errorOutput);
  t.equal(consumed.output, "one\ntwo\nthree\nfour\na\nb\n");
  const lag = JSON.parse((await call(["queue", "lag", "g", "--json"], { env })).output);
  t.match(lag, [{ group: "g", topic: "orders", committed: 6, lag: 0 }]);
});

t.test("a second broker on the same data refuses to start and names the first", async (t) => {
  const second = await call(["queue", "serve"], {
    env: {
      QUEUE_BROKER_DATADIR: folder.path,
      QUEUE_LISTENERS_HTTP: "127.0.0.1:0",
      QUEUE_LISTENERS_GRPC: "127.0.0.1:0",
    },
  });
  t.equal(second.exitCode, 1);
  t.match(second.errorOutput, new RegExp(`Cannot lock .*process ${broker.pid}`));
});

t.test("a port that is taken is named", async (t) => {
  const own = createTestFolder();
  t.teardown(() => own.remove());
  const env = {
    QUEUE_BROKER_DATADIR: own.path,
    QUEUE_LISTENERS_HTTP: new URL(broker.httpUrl).host,
    QUEUE_LISTENERS_GRPC: "127.0.0.1:0",
  };
  const result = await call(["queue", "serve"], { env });
  t.equal(result.exitCode, 1);
  t.match(result.errorOutput, /Cannot listen on .*another process uses that port/);
});

t.test("SIGTERM: exit 0 with an open long poll; everything is there after the next start", async (t) => {
  const waiting = broker.client.get<Fetched>("/topics/orders/partitions/0/messages", { offset: 6, wait_ms: 30_000 });
  await new Promise((resolve) => setTimeout(resolve, 200));
  const startMs = performance.now();
  t.equal(await broker.stop(), 0);
  t.ok(performance.now() - startMs < 9000, "well within the deadline");
  t.strictSame((await waiting).messages, [], "the poll was answered");
  await broker.start();
  const fetched = await broker.client.get<Fetched>("/topics/orders/partitions/0/messages");
  t.equal(fetched.messages.length, 6);
  t.match(await broker.client.get("/groups/g/offsets"), { offsets: { orders: { "0": 6 } } });
});

t.test("a stop of the whole process (SIGSTOP) loses nothing", async (t) => {
  await broker.client.post("/topics", { name: "paused", partitions: 1 });
  await broker.client.publish("paused", [{ value: "before" }]);
  broker.signal("SIGSTOP");
  const during = broker.client.publish("paused", [{ value: "during" }]);
  await new Promise((resolve) => setTimeout(resolve, 3000));
  broker.signal("SIGCONT");
  const [result] = await during;
  t.equal(result?.offset, 1);
  const fetched = await broker.client.get<Fetched>("/topics/paused/partitions/0/messages");
  t.strictSame(
    fetched.messages.map((message) => message.value),
    ["before", "during"],
  );
});
