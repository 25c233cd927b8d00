import { ChannelCredentials, type ServiceError, status } from "@grpc/grpc-js";
import { type CallContext, createChannel, createClient, Metadata } from "nice-grpc";
import protobuf from "protobufjs/light.js";
import t from "tap";
import { formatListenAddress } from "../../../src/platform/config/field.ts";
import { createErrorFactory, isDomainError } from "../../../src/platform/errors/domain-error.ts";
import { createGrpcMetrics, findCallSpan } from "../../../src/platform/grpc/grpc-middleware.ts";
import { type GrpcHealth, healthDefinition } from "../../../src/platform/grpc/health-service.ts";
import { type GrpcServer, type ServeGrpcOptions, serveGrpc } from "../../../src/platform/grpc/serve-grpc.ts";
import { decodeErrorInfo, statusDetailsTrailer } from "../../../src/platform/grpc/status-details.ts";
import type { Logger } from "../../../src/platform/log/logger.ts";
import { silentLogger } from "../../../src/platform/log/logger.ts";
import { createMetrics } from "../../../src/platform/metrics/metrics.ts";
import { sleep, systemClock } from "../../../src/platform/time/clock.ts";
import { type ClientAuthMode, TlsCertificates } from "../../../src/platform/tls/tls-certificates.ts";
import type { Tracer } from "../../../src/platform/tracing/tracer.ts";
import { createCertificateFolder } from "../../support/certificates.ts";

interface Text {
  text: string;
}

const textType = protobuf.Root.fromJSON({
  nested: { Text: { fields: { text: { type: "string", id: 1 } } } },
}).lookupType("Text");
const encode = (value: Text): Buffer => Buffer.from(textType.encode(value).finish());
const decode = (bytes: Buffer): Text => textType.toObject(textType.decode(bytes), { defaults: true }) as Text;
const codec = {
  requestSerialize: encode,
  requestDeserialize: decode,
  responseSerialize: encode,
  responseDeserialize: decode,
  requestStream: false,
} as const;
const echoDefinition = {
  echo: { path: "/test.Echo/Echo", responseStream: false, ...codec },
  count: { path: "/test.Echo/Count", responseStream: true, ...codec },
} as const;

const createTestError = createErrorFactory({
  THING_NOT_FOUND: { kind: "not_found" },
  THING_BUSY: { kind: "unavailable" },
  THING_BROKEN: { kind: "internal" },
});

interface TestServer {
  readonly server: GrpcServer;
  readonly address: string;
  readonly logged: string[];
}

async function echo(request: Text, context: CallContext, findName: (context: CallContext) => string): Promise<Text> {
  switch (request.text) {
    case "absent":
      throw createTestError("THING_NOT_FOUND", "Cannot get thing: absent", { details: { name: "x", count: 3 } });
    case "busy":
      throw createTestError("THING_BUSY", "Cannot get thing: busy", { retryAfterSeconds: 1.5 });
    case "broken":
      throw createTestError("THING_BROKEN", "secret of the broken thing");
    case "bug":
      throw new TypeError("secret of the bug");
    case "who":
      return { text: findName(context) };
    case "span":
      return { text: findCallSpan(context)?.headers().traceparent ?? "none" };
    case "slow":
      await sleep(200);
      return request;
    case "stuck":
      await sleep(60_000, context.signal);
      return request;
    default:
      return request;
  }
}

async function start(t: Tap, options: Partial<ServeGrpcOptions> = {}): Promise<TestServer> {
  const logged: string[] = [];
  const logger: Logger = { ...silentLogger, error: (_fields, message) => void logged.push(message) };
  const server = await serveGrpc({
    listen: { host: "127.0.0.1", port: 0 },
    logger,
    clock: systemClock,
    errorDomain: "test",
    shutdownDeadlineMs: 1000,
    serviceNames: ["test.Echo"],
    register: (grpc, peers) =>
      grpc.add(echoDefinition, {
        echo: (request, context) => echo(request, context, (call) => peers.find(call)?.subject ?? "nobody"),
        async *count(request, context) {
          for (let count = 0; count < Number(request.text); count++) {
            if (context.signal.aborted) return;
            yield { text: String(count) };
          }
        },
      }),
    ...options,
  });
  t.teardown(() => server.close());
  return { server, address: formatListenAddress({ ...server.address, host: "127.0.0.1" }), logged };
}

type Tap = Pick<typeof t, "teardown">;

function connect(t: Tap, address: string, credentials?: ChannelCredentials) {
  const channel = createChannel(address, credentials, { "grpc.ssl_target_name_override": "localhost" });
  t.teardown(() => channel.close());
  return createClient(echoDefinition, channel);
}

async function failureOf(work: Promise<unknown>): Promise<ServiceError> {
  const error = await work.then(
    () => new Error("no error"),
    (reason: unknown) => reason,
  );
  return error as ServiceError;
}

t.test("calls and streams are answered", async (t) => {
  const { address } = await start(t);
  const client = connect(t, address);
  t.strictSame(await client.echo({ text: "hello é" }), { text: "hello é" });
  const seen: string[] = [];
  for await (const item of client.count({ text: "3" })) seen.push(item.text);
  t.strictSame(seen, ["0", "1", "2"]);
});

t.test("domain errors carry status, code and details; internal ones are hidden and logged", async (t) => {
  const { address, logged } = await start(t);
  const client = connect(t, address);
  const trailers: Metadata[] = [];
  const call = (text: string) =>
    failureOf(client.echo({ text }, { onTrailer: (trailer) => trailers.push(Metadata(trailer)) }));
  const absent = await call("absent");
  t.equal(absent.code, status.NOT_FOUND);
  t.equal(absent.details, "Cannot get thing: absent");
  t.strictSame(decodeErrorInfo(trailers[0]?.get(statusDetailsTrailer) as Uint8Array), {
    reason: "THING_NOT_FOUND",
    domain: "test",
    metadata: { name: "x", count: "3" },
  });
  t.equal((await call("busy")).code, status.UNAVAILABLE);
  const details = trailers[1]?.get(statusDetailsTrailer) ?? Buffer.alloc(0);
  t.match(Buffer.from(details as Uint8Array).toString("latin1"), "google.rpc.RetryInfo");
  for (const text of ["broken", "bug"]) {
    const hidden = await call(text);
    t.equal(hidden.code, status.INTERNAL);
    t.equal(hidden.details, "internal error");
    t.notMatch(JSON.stringify(hidden), /secret/);
  }
  t.strictSame(logged, ["call failed", "call failed"]);
});

t.test("messages up to the limit pass, one byte more does not", async (t) => {
  const limits = {
    maxReceiveBytes: 1000,
    maxSendBytes: 4000,
    maxStreamsPerConnection: 10,
    windowBytes: 64 * 1024,
    keepaliveIntervalMs: 30_000,
    keepaliveTimeoutMs: 20_000,
  };
  const { address } = await start(t, { limits });
  const client = connect(t, address);
  const overhead = 3;
  const fitting = "x".repeat(1000 - overhead);
  t.equal((await client.echo({ text: fitting })).text.length, fitting.length);
  t.equal((await failureOf(client.echo({ text: `${fitting}x` }))).code, status.RESOURCE_EXHAUSTED);
});

t.test("the health service follows the server and its services", async (t) => {
  const { server, address } = await start(t);
  const channel = createChannel(address);
  t.teardown(() => channel.close());
  const client = createClient(healthDefinition, channel);
  t.strictSame(await client.check({ service: "" }), { status: 1 });
  t.strictSame(await client.check({ service: "test.Echo" }), { status: 1 });
  t.equal((await failureOf(client.check({ service: "other" }))).code, status.NOT_FOUND);
  const seen: number[] = [];
  let next = Promise.withResolvers<void>();
  const controller = new AbortController();
  const watching = (async () => {
    for await (const { status } of client.watch({ service: "late" }, { signal: controller.signal })) {
      seen.push(status);
      next.resolve();
    }
  })();
  await next.promise;
  const change = async (value: Parameters<GrpcHealth["set"]>[1]): Promise<void> => {
    next = Promise.withResolvers<void>();
    server.health.set("late", value);
    await next.promise;
  };
  await change("SERVING");
  server.health.set("late", "SERVING");
  await change("NOT_SERVING");
  t.strictSame(seen, [3, 1, 2], "unknown first, then each change once");
  controller.abort();
  await t.rejects(watching);
});

t.test("calls are counted by method and code", async (t) => {
  const metrics = createMetrics();
  const { address } = await start(t, { metrics: createGrpcMetrics(metrics, "test") });
  const client = connect(t, address);
  await client.echo({ text: "x" });
  await failureOf(client.echo({ text: "absent" }));
  const text = await metrics.render();
  t.match(text, 'test_grpc_requests_total{method="/test.Echo/Echo",code="0"} 1');
  t.match(text, 'test_grpc_requests_total{method="/test.Echo/Echo",code="5"} 1');
  t.match(text, 'test_grpc_request_duration_seconds_count{method="/test.Echo/Echo"} 2');
});

t.test("each call is a span under the caller's", async (t) => {
  const seen: unknown[] = [];
  const tracer: Tracer = {
    startSpan(name, options) {
      const noted: Record<string, unknown> = { name, kind: options?.kind, parent: options?.parent };
      seen.push(noted);
      return {
        traceId: "t",
        headers: () => ({ traceparent: "mine" }),
        rename: () => {},
        setAttributes: (attributes) => Object.assign(noted, attributes),
        fail: () => Object.assign(noted, { isFailed: true }),
        end: () => Object.assign(noted, { isEnded: true }),
      };
    },
  };
  const { address } = await start(t, { tracer });
  const client = connect(t, address);
  const metadata = Metadata({ traceparent: "theirs" });
  t.strictSame(await client.echo({ text: "span" }, { metadata }), { text: "mine" });
  await failureOf(client.echo({ text: "absent" }));
  const parent = { traceparent: undefined, tracestate: undefined };
  const common = { name: "test.Echo/Echo", kind: "server", isEnded: true };
  t.strictSame(seen, [
    { ...common, parent: { ...parent, traceparent: "theirs" }, "rpc.grpc.status_code": 0 },
    { ...common, parent, isFailed: true, "rpc.grpc.status_code": 5 },
  ]);
});

t.test("close() lets calls finish, refuses new ones, and cuts what is left at the deadline", async (t) => {
  const first = await start(t);
  const client = connect(t, first.address);
  const slow = client.echo({ text: "slow" });
  await sleep(50);
  await first.server.close();
  t.strictSame(await slow, { text: "slow" });
  t.equal((await failureOf(client.echo({ text: "x" }))).code, status.UNAVAILABLE);
  const second = await start(t, { shutdownDeadlineMs: 100 });
  const stuck = failureOf(connect(t, second.address).echo({ text: "stuck" }));
  await sleep(50);
  const startedMs = performance.now();
  await second.server.close();
  t.ok(performance.now() - startedMs < 1000);
  t.ok([status.CANCELLED, status.UNAVAILABLE].includes((await stuck).code));
  t.ok(performance.now() - startedMs < 1000, "the client learns of it at once");
});

t.test("a taken port is refused with its address", async (t) => {
  const { server } = await start(t);
  const error = await failureOf(start(t, { listen: server.address }));
  t.ok(isDomainError(error));
  t.match(error.message, /^Cannot listen on "127\.0\.0\.1:\d+": another process uses that port/);
  const everywhere = await start(t, { listen: { host: undefined, port: 0 } });
  t.strictSame(await connect(t, everywhere.address).echo({ text: "x" }), { text: "x" });
});

t.test("TLS: certificates are reloaded and client certificates are judged as the mode says", async (t) => {
  const folder = createCertificateFolder(t.testdir());
  folder.issue("server", "localhost");
  folder.issue("client", "alice");
  folder.issueSelfSigned("stranger", "mallory");
  const asClient = (name?: string): ChannelCredentials =>
    ChannelCredentials.createSsl(
      folder.read("ca.crt"),
      name === undefined ? null : folder.read(`${name}.key`),
      name === undefined ? null : folder.read(`${name}.crt`),
    );
  const outcome = async (mode: ClientAuthMode, name?: string): Promise<string> => {
    using tls = TlsCertificates.load({
      certFile: folder.path("server.crt"),
      keyFile: folder.path("server.key"),
      caFile: folder.path("ca.crt"),
      clientAuth: mode,
      logger: silentLogger,
    });
    const { server, address } = await start(t, { tls });
    try {
      return (await connect(t, address, asClient(name)).echo({ text: "who" })).text;
    } catch {
      return "refused";
    } finally {
      await server.close();
    }
  };
  const table: Record<ClientAuthMode, readonly [none: string, signed: string, stranger: string]> = {
    none: ["nobody", "nobody", "nobody"],
    request: ["nobody", "CN=alice", "nobody"],
    require: ["refused", "CN=alice", "nobody"],
    verify: ["nobody", "CN=alice", "refused"],
    "require-verify": ["refused", "CN=alice", "refused"],
  };
  for (const [mode, expected] of Object.entries(table) as [ClientAuthMode, readonly string[]][]) {
    const seen = [await outcome(mode), await outcome(mode, "client"), await outcome(mode, "stranger")];
    t.strictSame(seen, expected, mode);
  }
  using tls = TlsCertificates.load({
    certFile: folder.path("server.crt"),
    keyFile: folder.path("server.key"),
    logger: silentLogger,
  });
  const { address } = await start(t, { tls });
  t.strictSame(await connect(t, address, asClient()).echo({ text: "x" }), { text: "x" });
  folder.issueSelfSigned("server", "localhost");
  t.equal(tls.reload(), true);
  t.equal((await failureOf(connect(t, address, asClient()).echo({ text: "x" }))).code, status.UNAVAILABLE);
  const trusting = ChannelCredentials.createSsl(folder.read("server.crt"));
  t.strictSame(await connect(t, address, trusting).echo({ text: "x" }), { text: "x" });
});
