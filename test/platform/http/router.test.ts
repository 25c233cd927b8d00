import { HTTPException } from "hono/http-exception";
import t from "tap";
import { z } from "zod";
import { createErrorFactory } from "../../../src/platform/errors/domain-error.ts";
import { createHealthRoutes, createMetricsRoute } from "../../../src/platform/http/health-routes.ts";
import { type HttpContext, requestLogger, requestSignal } from "../../../src/platform/http/http-env.ts";
import { createHttpMetrics } from "../../../src/platform/http/http-metrics.ts";
import { readBody, readJson } from "../../../src/platform/http/read-body.ts";
import { createRouter, type RouterOptions } from "../../../src/platform/http/router.ts";
import { securityHeaders } from "../../../src/platform/http/security-headers.ts";
import type { Logger } from "../../../src/platform/log/logger.ts";
import { createMetrics } from "../../../src/platform/metrics/metrics.ts";
import { createSeededRandom } from "../../../src/platform/random/random.ts";
import { sleep, systemClock } from "../../../src/platform/time/clock.ts";

interface Line {
  readonly level: string;
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

function createRecorder(lines: Line[], bindings: object = {}): Logger {
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: { ...bindings, ...fields }, message });
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (more) => createRecorder(lines, { ...bindings, ...more }),
  };
}

const createTestError = createErrorFactory({
  THING_NOT_FOUND: { kind: "not_found" },
  NOT_ALLOWED_IN: { kind: "unauthenticated" },
  THING_BUSY: { kind: "unavailable" },
  THING_BROKEN: { kind: "internal" },
});

const errors: Record<string, () => Error> = {
  absent: () => createTestError("THING_NOT_FOUND", "Cannot get thing: absent", { details: { name: "x" } }),
  anonymous: () => createTestError("NOT_ALLOWED_IN", "Cannot read: no token"),
  busy: () => createTestError("THING_BUSY", "Cannot get thing: busy", { retryAfterSeconds: 1.2 }),
  broken: () => createTestError("THING_BROKEN", "secret"),
  bug: () => new TypeError("secret"),
  forbidden: () => new HTTPException(403, { message: "not for you" }),
  failed: () => new HTTPException(500, { message: "secret" }),
};

function setUp(options: Partial<RouterOptions> = {}) {
  const lines: Line[] = [];
  const metrics = createMetrics();
  const app = createRouter({
    name: "test",
    logger: createRecorder(lines),
    metrics: createHttpMetrics(metrics, "test"),
    clock: systemClock,
    random: createSeededRandom(1),
    errorBody: (error, request) => ({
      error: { code: error.code, message: error.message, details: error.details },
      request: request.requestId,
    }),
    errorHeaders: (error) => (error.kind === "unauthenticated" ? { "WWW-Authenticate": "Bearer" } : {}),
    bodyLimitBytes: ({ path }) => (path.startsWith("/large") ? 100 : 10),
    ...options,
  });
  app.get("/items/:id", (context) => context.json({ id: context.req.param("id") }));
  app.delete("/items/:id", (context) => context.body(null, 204));
  app.get("/items/:id{[0-9]+}/parts", (context) => context.text("parts"));
  app.get("/fail/:name", (context) => {
    throw errors[context.req.param("name")]?.() ?? new Error("no such error");
  });
  app.get("/log", (context) => {
    requestLogger(context).info({ a: 1 }, "hello");
    return new Response("own", { headers: { "X-Own": "1" } });
  });
  const sizeOf = async (context: HttpContext): Promise<Response> =>
    context.json({ size: (await readBody(context)).length });
  app.post("/size", sizeOf);
  app.post("/large", sizeOf);
  app.post("/small", async (context) => context.json({ size: (await readBody(context, { limitBytes: 3 })).length }));
  app.post("/direct", async (context) => context.text(await context.req.text()));
  app.post("/direct-json", async (context) => context.json(await context.req.json()));
  app.route("/", createMetricsRoute(metrics));
  return { app, lines, metrics };
}

const schema = z.strictObject({ name: z.string().min(1), count: z.number().int().max(3).default(1) });

t.test("request ids are taken over when they are sane, else made", async (t) => {
  const { app } = setUp();
  const idOf = async (given?: string): Promise<string | null> => {
    const headers: Record<string, string> = given === undefined ? {} : { "X-Request-Id": given };
    return (await app.request("/items/1", { headers })).headers.get("x-request-id");
  };
  t.equal(await idOf("abc-DEF_1.2:3/4"), "abc-DEF_1.2:3/4");
  t.equal(await idOf("x".repeat(128)), "x".repeat(128));
  const uuid = /^[0-9a-f-]{36}$/;
  for (const insane of [undefined, "x".repeat(129), "a b", "a\tb", "é", "<script>", ""])
    t.match(await idOf(insane), uuid);
  t.not(await idOf(), await idOf());
  for (const path of ["/log", "/nowhere", "/fail/bug"]) {
    const response = await app.request(path, { headers: { "X-Request-Id": "given" } });
    t.equal(response.headers.get("x-request-id"), "given", path);
  }
});

t.test("errors become the status of their kind in the feature's shape", async (t) => {
  const { app } = setUp();
  const answer = async (name: string) => {
    const response = await app.request(`/fail/${name}`, { headers: { "X-Request-Id": "r1" } });
    return { status: response.status, body: await response.json(), headers: response.headers };
  };
  const absent = await answer("absent");
  t.equal(absent.status, 404);
  t.strictSame(absent.body, {
    error: { code: "THING_NOT_FOUND", message: "Cannot get thing: absent", details: { name: "x" } },
    request: "r1",
  });
  t.equal(absent.headers.get("content-type"), "application/json");
  t.equal(absent.headers.get("retry-after"), null);
  const anonymous = await answer("anonymous");
  t.equal(anonymous.status, 401);
  t.equal(anonymous.headers.get("www-authenticate"), "Bearer");
  const busy = await answer("busy");
  t.equal(busy.status, 503);
  t.equal(busy.headers.get("retry-after"), "2", "whole seconds, never too early");
  t.match(await answer("forbidden"), { status: 403, body: { error: { message: "not for you" } } });
});

t.test("internal errors hide their text and are logged once with their cause", async (t) => {
  const { app, lines } = setUp();
  for (const name of ["broken", "bug", "failed"]) {
    const response = await app.request(`/fail/${name}`, { headers: { "X-Request-Id": "r1" } });
    t.equal(response.status, 500, name);
    t.strictSame(await response.json(), {
      error: { code: "INTERNAL", message: "internal error", details: {} },
      request: "r1",
    });
  }
  const logged = lines.filter((line) => line.level === "error");
  t.strictSame(
    logged.map((line) => [line.message, line.fields["requestId"], (line.fields["err"] as Error).message]),
    Array.from({ length: 3 }, () => ["request failed", "r1", "secret"]),
  );
});

t.test("errorBody() may answer in plain text", async (t) => {
  const { app } = setUp({ errorBody: (error) => error.message });
  const response = await app.request("/fail/absent");
  t.equal(response.headers.get("content-type"), "text/plain; charset=utf-8");
  t.equal(await response.text(), "Cannot get thing: absent");
});

t.test("unknown routes give 404, wrong methods 405 with what is allowed", async (t) => {
  const { app } = setUp();
  const answer = async (method: string, path: string) => {
    const response = await app.request(path, { method });
    return [
      response.status,
      response.headers.get("allow"),
      ((await response.json()) as { error: { code: string } }).error.code,
    ];
  };
  t.strictSame(await answer("GET", "/nowhere"), [404, null, "NOT_FOUND"]);
  t.strictSame(await answer("POST", "/nowhere"), [404, null, "NOT_FOUND"]);
  t.strictSame(await answer("POST", "/items/1"), [405, "GET, HEAD, DELETE", "METHOD_NOT_ALLOWED"]);
  t.strictSame(await answer("OPTIONS", "/items/1"), [405, "GET, HEAD, DELETE", "METHOD_NOT_ALLOWED"]);
  t.strictSame(await answer("GET", "/size"), [405, "POST", "METHOD_NOT_ALLOWED"]);
  t.strictSame(await answer("GET", "/items/x/parts"), [404, null, "NOT_FOUND"]);
});

t.test("HEAD answers as GET does, without a body", async (t) => {
  const { app } = setUp();
  const response = await app.request("/items/1", { method: "HEAD" });
  t.equal(response.status, 200);
  t.equal(response.headers.get("content-type"), "application/json");
  t.equal(await response.text(), "");
  t.equal((await app.request("/nowhere", { method: "HEAD" })).status, 404);
});

function streamOf(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const character of text) controller.enqueue(Buffer.from(character));
      controller.close();
    },
  });
}

t.test("bodies are limited with a declared length and without one", async (t) => {
  const { app } = setUp();
  const post = async (path: string, body: string, isStreamed: boolean): Promise<unknown> => {
    const headers: Record<string, string> = isStreamed ? {} : { "Content-Length": String(body.length) };
    const init = { method: "POST", headers, body: isStreamed ? streamOf(body) : body, duplex: "half" } as RequestInit;
    const response = await app.request(path, init);
    return response.status === 200 ? await response.json() : response.status;
  };
  for (const isStreamed of [false, true]) {
    for (const size of [0, 9, 10]) t.strictSame(await post("/size", "x".repeat(size), isStreamed), { size });
    t.equal(await post("/size", "x".repeat(11), isStreamed), 413);
    t.strictSame(await post("/large", "x".repeat(100), isStreamed), { size: 100 });
    t.equal(await post("/large", "x".repeat(101), isStreamed), 413);
    t.strictSame(await post("/small", "xxx", isStreamed), { size: 3 });
    t.equal(await post("/small", "xxxx", isStreamed), 413);
    t.equal(await post("/direct", "x".repeat(11), isStreamed), 413, "hono's own readers are bounded too");
    t.equal(await post("/direct-json", "[1,2,3,4,5,6]", isStreamed), 413);
  }
  t.strictSame(await post("/direct-json", "[1,2]", true), [1, 2]);
  const refused = await app.request("/size", { method: "POST", body: "x".repeat(11) });
  t.match(await refused.json(), { error: { code: "PAYLOAD_TOO_LARGE", details: { limit_bytes: 10 } } });
  t.equal(refused.headers.get("connection"), "close");
});

t.test("readJson() takes what the schema allows and says what else is wrong", async (t) => {
  const { app } = setUp({ bodyLimitBytes: 1000 });
  app.post("/json", async (context) => context.json(await readJson(context, { schema })));
  app.post("/optional", async (context) =>
    context.json(await readJson(context, { schema, emptyBody: { name: "none" } })),
  );
  app.post("/vendor", async (context) => context.json(await readJson(context, { schema, mediaTypes: ["text/plain"] })));
  const send = async (path: string, body: string | Uint8Array, type?: string) => {
    const headers: Record<string, string> = type === undefined ? {} : { "Content-Type": type };
    const response = await app.request(path, { method: "POST", body: Buffer.from(body), headers });
    return {
      status: response.status,
      body: (await response.json()) as { error?: { code: string; message: string; details: unknown } },
    };
  };
  t.strictSame((await send("/json", '{"name":"é"}', "application/json")).body, { name: "é", count: 1 });
  t.strictSame((await send("/json", '\ufeff{"name":"bom"}', "application/json; charset=utf-8")).body, {
    name: "bom",
    count: 1,
  });
  t.equal((await send("/json", '{"name":"a"}', "application/vnd.x.v1+json")).status, 200);
  t.equal((await send("/json", '{"name":"a"}')).status, 200, "no type is taken as JSON");
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"]) {
    t.match(
      await send("/json", "{}", type),
      { status: 415, body: { error: { code: "UNSUPPORTED_MEDIA_TYPE" } } },
      type,
    );
  }
  t.equal((await send("/vendor", '{"name":"a"}', "text/plain; charset=utf-8")).status, 200);
  t.strictSame((await send("/optional", "")).body, { name: "none", count: 1 });
  t.match(await send("/json", ""), { status: 400, body: { error: { code: "INVALID_JSON", message: /it is empty$/ } } });
  t.match(await send("/json", Uint8Array.of(0x22, 0xff, 0x22)), {
    status: 400,
    body: { error: { code: "INVALID_JSON", message: /not valid UTF-8$/ } },
  });
  t.match(await send("/json", '{\n  "name": tru\n}'), {
    status: 400,
    body: {
      error: { code: "INVALID_JSON", message: /line 2, column 11: unexpected "t"$/, details: { line: 2, column: 11 } },
    },
  });
  const refused = await send("/json", '{"name":"","count":4,"more":1}');
  t.equal(refused.status, 400);
  t.strictSame(refused.body.error, {
    code: "INVALID_ARGUMENT",
    message:
      'Cannot accept the request: "name": Too small: expected string to have >=1 characters; "count": Too big: expected number to be <=3; Unrecognized key: "more"',
    details: {
      issues: [
        { path: "name", message: "Too small: expected string to have >=1 characters" },
        { path: "count", message: "Too big: expected number to be <=3" },
        { path: "", message: 'Unrecognized key: "more"' },
      ],
    },
  });
});

t.test("a handler that takes too long is answered for, and told", async (t) => {
  const { app } = setUp({ requestTimeoutMs: ({ path }) => (path === "/slow" ? 30 : undefined) });
  let reason: unknown;
  app.get("/slow", async (context) => {
    const signal = requestSignal(context);
    await sleep(5000, signal).catch((error: unknown) => {
      reason = error;
    });
    return context.text("late");
  });
  app.get("/patient", async (context) => {
    await sleep(60);
    return context.text("done");
  });
  const slow = await app.request("/slow");
  t.equal(slow.status, 504);
  t.match(await slow.json(), {
    error: { code: "TIMEOUT", message: "Cannot answer the request: it took longer than 0.03 s" },
  });
  await sleep(5);
  t.match(String(reason), /TIMEOUT|longer than/);
  t.equal((await app.request("/patient")).status, 200);
});

t.test("each request gives one log line without its query, probes at debug", async (t) => {
  const { app, lines } = setUp();
  await app.request("/items/7?api_key=secret", { headers: { "X-Request-Id": "r1" } });
  await app.request("/metrics");
  await app.request("/log", { headers: { "X-Request-Id": "r2" } });
  t.match(lines, [
    {
      level: "info",
      message: "request",
      fields: { server: "test", requestId: "r1", method: "GET", path: "/items/7", route: "/items/{id}", status: 200 },
    },
    { level: "debug", message: "request", fields: { path: "/metrics" } },
    { level: "info", message: "hello", fields: { server: "test", requestId: "r2", a: 1 } },
    { level: "info", message: "request", fields: { requestId: "r2" } },
  ]);
  t.equal(lines.length, 4);
  t.notMatch(JSON.stringify(lines), /secret/);
  t.type(lines[0]?.fields["durationMs"], "number");
  const quiet = setUp({ accessLogLevel: "debug" });
  await quiet.app.request("/items/7");
  t.equal(quiet.lines[0]?.level, "debug");
});

t.test("requests are counted by pattern, never by path", async (t) => {
  const { app, metrics } = setUp();
  await app.request("/items/1");
  await app.request("/items/2");
  await app.request("/items/2/parts");
  await app.request("/items/2", { method: "PUT" });
  await app.request("/fail/absent");
  for (const path of ["/a", "/b", "/c"]) await app.request(path, { method: "FROB" });
  const text = await metrics.render();
  for (const line of [
    'test_http_requests_total{route="/items/{id}",method="GET",code="200"} 2',
    'test_http_requests_total{route="/items/{id}/parts",method="GET",code="200"} 1',
    'test_http_requests_total{route="unmatched",method="PUT",code="405"} 1',
    'test_http_requests_total{route="/fail/{name}",method="GET",code="404"} 1',
    'test_http_requests_total{route="unmatched",method="other",code="404"} 3',
    'test_http_request_duration_seconds_count{route="/items/{id}"} 2',
  ]) {
    t.ok(text.includes(`${line}\n`), line);
  }
  t.notMatch(text, /items\/1/);
});

t.test("health routes run their checks with a limit of time", async (t) => {
  const { app } = setUp();
  let fault: Error | undefined;
  const checks = [
    { name: "disk", check: () => {} },
    {
      name: "database",
      check: () => {
        if (fault) throw fault;
      },
    },
  ];
  const stuck = { name: "stuck", check: (signal: AbortSignal) => sleep(60_000, signal) };
  const body = (isOk: boolean, results: readonly object[]) => ({ status: isOk ? "ok" : "fail", results });
  app.route(
    "/",
    createHealthRoutes(
      [
        { path: "/readyz", checks, body },
        { path: "/healthz", checks: [stuck], body },
        { path: "/livez", checks: [], body },
      ],
      20,
    ),
  );
  const answer = async (path: string) => {
    const response = await app.request(path);
    return [response.status, await response.json()];
  };
  t.strictSame(await answer("/readyz"), [
    200,
    {
      status: "ok",
      results: [
        { name: "disk", isOk: true },
        { name: "database", isOk: true },
      ],
    },
  ]);
  fault = new Error("gone");
  t.strictSame(await answer("/readyz"), [
    503,
    {
      status: "fail",
      results: [
        { name: "disk", isOk: true },
        { name: "database", isOk: false, reason: "gone" },
      ],
    },
  ]);
  t.strictSame(await answer("/healthz"), [
    503,
    { status: "fail", results: [{ name: "stuck", isOk: false, reason: "no answer within 20 ms" }] },
  ]);
  t.strictSame(await answer("/livez"), [200, { status: "ok", results: [] }]);
});

t.test("security headers are on every answer, errors included, and leave a route's own policy", async (t) => {
  const { app: parent } = setUp();
  const { app } = setUp();
  app.use(securityHeaders());
  app.get("/page", (context) => {
    context.header("Content-Security-Policy", "default-src 'none'");
    return context.text("x");
  });
  app.route("/sub", parent);
  const headersOf = async (path: string): Promise<Headers> => (await app.request(path)).headers;
  for (const path of ["/nowhere", "/page"]) {
    const headers = await headersOf(path);
    t.equal(headers.get("x-content-type-options"), "nosniff", path);
    t.equal(headers.get("referrer-policy"), "no-referrer");
    t.equal(headers.get("x-frame-options"), "DENY");
  }
  t.match((await headersOf("/nowhere")).get("content-security-policy"), /^default-src 'self';/);
  t.equal((await headersOf("/page")).get("content-security-policy"), "default-src 'none'");
});
