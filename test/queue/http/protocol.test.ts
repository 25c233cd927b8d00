import t from "tap";
import { openRestFixture } from "../../support/queue/rest-fixture.ts";

const rest = await openRestFixture();
t.teardown(() => rest[Symbol.asyncDispose]());
await rest.request("POST", "/topics", { name: "orders", partitions: 1 });

t.test("a request id is echoed when it is sane and made when not", async (t) => {
  t.equal(
    (await rest.request("GET", "/version", undefined, { "x-request-id": "abc-1" })).headers.get("x-request-id"),
    "abc-1",
  );
  const made = (await rest.request("GET", "/version", undefined, { "x-request-id": "a b" })).headers.get(
    "x-request-id",
  );
  t.match(made, /^[0-9a-f-]{36}$/);
  t.ok((await rest.request("GET", "/nope")).headers.get("x-request-id"));
});

t.test("404, 405 with Allow, 415, INVALID_JSON with a position", async (t) => {
  const missing = await rest.request("GET", "/nope");
  t.equal(missing.status, 404);
  t.equal(missing.body.error.code, "NOT_FOUND");
  t.type(missing.body.error.details, "object");
  const method = await rest.request("PUT", "/topics/orders");
  t.equal(method.status, 405);
  t.equal(method.headers.get("allow"), "GET, HEAD, PATCH, DELETE");
  const media = await rest.request("POST", "/topics/orders/messages", "a=b", {
    "content-type": "application/x-www-form-urlencoded",
  });
  t.equal(media.status, 415);
  t.equal(media.body.error.code, "UNSUPPORTED_MEDIA_TYPE");
  const plus = await rest.request("POST", "/topics/orders/messages", '{"value":"a"}', {
    "content-type": "application/vnd.x+json",
  });
  t.equal(plus.status, 200);
  const json = await rest.request("POST", "/topics/orders/messages", '{"value": }');
  t.equal(json.body.error.code, "INVALID_JSON");
  t.match(json.body.error.details, { line: 1, column: 11 });
  const utf8 = await rest.request("POST", "/topics/orders/messages", Uint8Array.from([0x22, 0xff, 0x22]));
  t.equal(utf8.body.error.code, "INVALID_JSON");
});

t.test("every path answers under /v1 too", async (t) => {
  for (const path of [
    "/topics",
    "/topics/orders",
    "/livez",
    "/readyz",
    "/healthz",
    "/version",
    "/metrics",
    "/docs",
    "/openapi.json",
  ]) {
    t.equal((await rest.request("GET", path)).status, 200, path);
    t.equal((await rest.request("GET", `/v1${path}`)).status, 200, `/v1${path}`);
  }
});

t.test("GET /metrics has the five metrics of the contract by name", async (t) => {
  await rest.request("POST", "/topics/orders/messages", { value: "a" });
  await rest.request("GET", "/topics/orders/partitions/0/messages");
  const { text, headers } = await rest.request("GET", "/metrics");
  t.match(headers.get("content-type"), /^text\/plain/);
  t.match(text, /^# TYPE queue_messages_published_total counter$/m);
  t.match(text, /^queue_messages_published_total\{topic="orders"\} [1-9]/m);
  t.match(text, /^queue_messages_consumed_total\{topic="orders",group=""\} [1-9]/m);
  t.match(text, /^# TYPE queue_consumer_lag gauge$/m);
  t.match(text, /^# TYPE queue_partition_size_bytes gauge$/m);
  t.match(text, /^# TYPE queue_rebalances_total counter$/m);
  t.match(text, /^queue_http_requests_total\{route="\/topics\/\{topic\}\/messages",method="POST",code="200"\} [1-9]/m);
});

t.test("the document is OpenAPI 3.1 and names each route once", async (t) => {
  t.equal(rest.document.openapi, "3.1.0");
  const ids = Object.values(rest.document.paths).flatMap((path) => Object.values(path).map((item) => item.operationId));
  t.equal(new Set(ids).size, ids.length, "operation ids are unique");
  const routed = new Set(
    rest.app.routes
      .filter((route) => route.method !== "ALL" && !route.path.startsWith("/v1"))
      .map((route) => `${route.method} ${route.path.replaceAll(/:(\w+)/g, "{$1}")}`),
  );
  const documented = new Set(
    Object.entries(rest.document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    ),
  );
  const aliases = ["POST /groups/{group}/offsets/commit", "POST /messages/extend-visibility", "GET /health"];
  t.strictSame([...routed].filter((route) => !documented.has(route)).sort(), [...aliases].sort());
  t.strictSame(
    [...documented].filter((route) => !routed.has(route)),
    [],
  );
});
