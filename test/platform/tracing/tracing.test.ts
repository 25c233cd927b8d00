import { execFileSync } from "node:child_process";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { createHttpMetrics } from "../../../src/platform/http/http-metrics.ts";
import { createRouter } from "../../../src/platform/http/router.ts";
import { type Logger, silentLogger } from "../../../src/platform/log/logger.ts";
import { createMetrics } from "../../../src/platform/metrics/metrics.ts";
import { createSeededRandom } from "../../../src/platform/random/random.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";
import { createTracing, type Tracing } from "../../../src/platform/tracing/create-tracing.ts";
import type { Tracer } from "../../../src/platform/tracing/tracer.ts";

interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly { key: string; value: Record<string, unknown> }[];
  readonly status: { code?: number; message?: string };
  readonly links?: readonly { traceId: string; spanId: string }[];
}

interface Receiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  readonly paths: string[];
  readonly headers: IncomingHttpHeaders[];
  readonly resources: Record<string, unknown>[];
}

/** What an OpenTelemetry collector does with OTLP over HTTP, in JSON. */
async function startReceiver(t: Test): Promise<Receiver> {
  const received: Omit<Receiver, "url"> = { spans: [], paths: [], headers: [], resources: [] };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      received.paths.push(request.url ?? "");
      received.headers.push(request.headers);
      const body = JSON.parse(Buffer.concat(chunks).toString());
      for (const resource of body.resourceSpans) {
        const attributes = resource.resource.attributes as ReceivedSpan["attributes"];
        received.resources.push(Object.fromEntries(attributes.map(({ key, value }) => [key, value["stringValue"]])));
        for (const scope of resource.scopeSpans) received.spans.push(...scope.spans);
      }
      response.setHeader("Content-Type", "application/json").end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  return { ...received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function start(environment: Record<string, string>, logger: Logger = silentLogger): Promise<Tracing | undefined> {
  return await createTracing({ serviceName: "test", version: "1.2.3", environment, logger });
}

async function startWith(receiver: Receiver, environment: Record<string, string> = {}): Promise<Tracing> {
  const tracing = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...environment });
  if (tracing === undefined) throw new Error("tracing is off");
  return tracing;
}

function createApp(tracer: Tracer | undefined) {
  const app = createRouter({
    name: "test",
    logger: silentLogger,
    metrics: createHttpMetrics(createMetrics(), "test"),
    clock: systemClock,
    random: createSeededRandom(1),
    errorBody: (error) => ({ error: error.message }),
    bodyLimitBytes: 1000,
    tracer,
  });
  app.get("/items/:id", (context) => {
    tracer?.startSpan("inner", { parent: context.get("span"), attributes: { tags: ["a", "b"], count: 2 } }).end();
    return context.text("found");
  });
  app.get("/broken", () => {
    throw new TypeError("secret");
  });
  return app;
}

const traceId = "0af7651916cd43dd8448eb211c80319c";
const callerId = "b7ad6b7169203331";

t.test("without an endpoint there is no tracer and its library is not even loaded", async (t) => {
  t.equal(await start({}), undefined);
  t.equal(await start({ OTEL_EXPORTER_OTLP_ENDPOINT: "" }), undefined);
  t.equal(await start({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://x", OTEL_SDK_DISABLED: "true" }), undefined);
  t.equal(await start({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://x", OTEL_TRACES_EXPORTER: "none" }), undefined);
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_fields, message) => void warnings.push(message) };
  t.equal(await start({ OTEL_EXPORTER_OTLP_ENDPOINT: "not a url" }, logger), undefined);
  t.strictSame(warnings, ["tracing is off: the OTLP endpoint is not a URL"]);
  const source = new URL("../../../src/platform/tracing/create-tracing.ts", import.meta.url).href;
  const script = `const { registerHooks } = await import("node:module");
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    const { createTracing } = await import(${JSON.stringify(source)});
    await createTracing({ serviceName: "x", version: "1", environment: {}, logger: {} });
    console.log(loaded.some((url) => url.includes("tracing")), loaded.some((url) => url.includes("opentelemetry")));`;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", script]).toString();
  t.equal(output, "true false\n");
  const response = await createApp(undefined).request("/items/7");
  t.equal(response.status, 200);
});

t.test("a request gives one server span under the caller's, with its own spans below", async (t) => {
  const receiver = await startReceiver(t);
  const tracing = await startWith(receiver);
  const app = createApp(tracing.tracer);
  await app.request("/items/7?token=hidden", { headers: { traceparent: `00-${traceId}-${callerId}-01` } });
  await app.request("/broken");
  await app.request("/nowhere", { headers: { traceparent: "rubbish" } });
  await tracing.close();
  await tracing.close();
  t.strictSame(receiver.paths, ["/v1/traces"]);
  const [inner, found, broken, nowhere] = receiver.spans;
  t.match(found, { name: "GET /items/{id}", traceId, parentSpanId: callerId, kind: 2 });
  t.match(inner, { name: "inner", traceId, parentSpanId: found?.spanId });
  const attributes = Object.fromEntries((found?.attributes ?? []).map(({ key, value }) => [key, value]));
  t.strictSame(attributes, {
    "http.request.method": { stringValue: "GET" },
    "url.path": { stringValue: "/items/7" },
    "http.route": { stringValue: "/items/{id}" },
    "http.response.status_code": { intValue: 200 },
  });
  t.match(broken, { name: "GET /broken", status: { code: 2, message: "TypeError" } });
  t.notOk(broken?.parentSpanId);
  t.match(nowhere, { name: "GET unmatched" });
  t.not(nowhere?.traceId, traceId);
  t.notMatch(JSON.stringify(receiver.spans), /hidden|secret/);
});

t.test("headers() carries the trace to the next process, links to those a span is about", async (t) => {
  const receiver = await startReceiver(t);
  await using tracing = await startWith(receiver);
  const state = "vendor=1";
  const parent = { traceparent: `00-${traceId}-${callerId}-01`, tracestate: state };
  const span = tracing.tracer.startSpan("publish", { kind: "producer", parent });
  t.equal(span.traceId, traceId);
  const headers = span.headers();
  t.match(headers.traceparent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
  t.equal(headers.tracestate, state);
  span.end();
  tracing.tracer.startSpan("deliver", { kind: "consumer", links: [headers, { traceparent: "rubbish" }] }).end();
  await tracing.close();
  const [published, delivered] = receiver.spans;
  t.match(published, { kind: 4, parentSpanId: callerId });
  t.equal(delivered?.kind, 5);
  t.not(delivered?.traceId, traceId);
  t.strictSame(
    delivered?.links?.map((link) => [link.traceId, link.spanId]),
    [[traceId, published?.spanId]],
  );
});

t.test("the standard variables choose endpoint, name, resource and sampling", async (t) => {
  const receiver = await startReceiver(t);
  const first = await startWith(receiver, {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/custom`,
    OTEL_SERVICE_NAME: "named",
    OTEL_RESOURCE_ATTRIBUTES: "team=a%20b,service.name=not-this,broken",
  });
  first.tracer.startSpan("x").end();
  await first.close();
  t.strictSame(receiver.paths, ["/custom"]);
  t.strictSame(receiver.resources, [{ "service.version": "1.2.3", team: "a b", "service.name": "named" }]);
  const sampled = async (sampler: string, argument: string, parent?: string): Promise<number> => {
    const before = receiver.spans.length;
    const tracing = await startWith(receiver, { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument });
    tracing.tracer.startSpan("x", { parent: { traceparent: parent } }).end();
    await tracing.close();
    return receiver.spans.length - before;
  };
  t.equal(await sampled("always_off", ""), 0);
  t.equal(await sampled("traceidratio", "0"), 0);
  t.equal(await sampled("traceidratio", "1"), 1);
  t.equal(await sampled("parentbased_always_on", "", `00-${traceId}-${callerId}-00`), 0, "the caller said no");
  t.equal(await sampled("parentbased_always_off", "", `00-${traceId}-${callerId}-01`), 1, "the caller said yes");
  t.equal(await sampled("nonsense", ""), 1);
});

t.test("a receiver that is away costs neither an error nor much time", async (t) => {
  const tracing = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" });
  for (let count = 0; count < 100; count++) tracing?.tracer.startSpan("lost").end();
  const startedMs = performance.now();
  await tracing?.close();
  t.ok(performance.now() - startedMs < 10_000);
});
