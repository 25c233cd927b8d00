import { request as httpsRequest } from "node:https";
import { networkInterfaces } from "node:os";
import t, { type Test } from "tap";
import { formatListenAddress, parseListenAddress } from "../../../src/platform/config/field.ts";
import { isDomainError } from "../../../src/platform/errors/domain-error.ts";
import { type HttpContext, remoteAddress, requestSignal } from "../../../src/platform/http/http-env.ts";
import { createHttpMetrics } from "../../../src/platform/http/http-metrics.ts";
import { toUrl } from "../../../src/platform/http/listen-url.ts";
import { readBody, readIncomingBody } from "../../../src/platform/http/read-body.ts";
import { createRouter } from "../../../src/platform/http/router.ts";
import {
  defaultHttpLimits,
  type HttpServer,
  type ServeHttpOptions,
  serveHttp,
} from "../../../src/platform/http/serve-http.ts";
import { streamResponse } from "../../../src/platform/http/stream-response.ts";
import { type Logger, silentLogger } from "../../../src/platform/log/logger.ts";
import { createMetrics } from "../../../src/platform/metrics/metrics.ts";
import { systemRandom } from "../../../src/platform/random/random.ts";
import { sleep, systemClock } from "../../../src/platform/time/clock.ts";
import { type ClientAuthMode, TlsCertificates } from "../../../src/platform/tls/tls-certificates.ts";
import { createCertificateFolder } from "../../support/certificates.ts";
import { openRawConnection } from "../../support/raw-http.ts";

const limits = {
  ...defaultHttpLimits,
  headersTimeoutMs: 300,
  bodyTimeoutMs: 200,
  idleTimeoutMs: 400,
  maxHeaderBytes: 2000,
};
const bodyLimitBytes = 1_000_000;

const pulled = { count: 0, isEnded: false };

async function* createChunks(count: number, failsAt: number): AsyncGenerator<string> {
  for (let index = 1; index <= count; index++) {
    if (index === failsAt) throw new Error("secret");
    await sleep(20);
    yield `chunk ${index}\n`;
  }
}

interface Started {
  readonly server: HttpServer;
  readonly port: number;
  readonly messages: string[];
  readonly aborted: unknown[];
  readonly metricsText: () => Promise<string>;
}

async function start(t: Test, options: Partial<ServeHttpOptions> = {}): Promise<Started> {
  const messages: string[] = [];
  const aborted: unknown[] = [];
  const note = (_fields: object, message: string): void => void messages.push(message);
  const logger: Logger = { debug: () => {}, info: () => {}, warn: note, error: note, child: () => logger };
  const metrics = createMetrics();
  const app = createRouter({
    name: "test",
    logger,
    metrics: createHttpMetrics(metrics, "test"),
    clock: systemClock,
    random: systemRandom,
    errorBody: (error) => ({ error: error.code }),
    bodyLimitBytes,
  });
  app.get("/hello", (context) => context.json({ from: remoteAddress(context) }));
  app.post("/size", async (context) => context.json({ size: (await readBody(context)).length }));
  app.get("/echo/:text", (context) => context.text(context.req.param("text")));
  app.post("/ignore", (context) => context.text("not read"));
  app.get("/slow/:ms", async (context: HttpContext) => {
    await sleep(Number(context.req.param("ms")));
    return context.text("slow");
  });
  app.get("/poll", async (context) => {
    const signal = requestSignal(context);
    await sleep(60_000, signal).catch((error: unknown) => aborted.push(error));
    return context.text("polled");
  });
  app.get("/stream", (context) => streamResponse(context, createChunks(10, Number.POSITIVE_INFINITY)));
  app.get("/stream-fails/:at", (context) => {
    return streamResponse(context, createChunks(10, Number(context.req.param("at"))), {
      headers: { "X-Kind": "test" },
    });
  });
  app.get("/stream-large", (context) => {
    const source = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for (; pulled.count < 10_000; pulled.count++) yield Buffer.alloc(100_000);
      } finally {
        pulled.isEnded = true;
      }
    };
    return streamResponse(context, source());
  });
  const listen = { host: "127.0.0.1", port: 0 };
  const server = await serveHttp({ app, listen, logger, shutdownDeadlineMs: 2000, limits, ...options });
  t.teardown(() => server.close());
  return { server, port: server.address.port, messages, aborted, metricsText: () => metrics.render() };
}

t.test("toUrl() is what a client on this machine can use", async (t) => {
  const urls = [":80", "0.0.0.0:80", "[::]:80", "[::1]:80", "localhost:80"].map((text) =>
    toUrl("http", parseListenAddress(text)),
  );
  const everywhere = "http://127.0.0.1:80";
  t.strictSame(urls, [everywhere, everywhere, everywhere, "http://[::1]:80", "http://localhost:80"]);
  t.equal(toUrl("https", { host: "10.0.0.1", port: 443 }), "https://10.0.0.1:443");
});

t.test("a server without a host listens on every interface", async (t) => {
  const { port, server } = await start(t, { listen: { host: undefined, port: 0 } });
  t.equal(server.url, `http://127.0.0.1:${port}`);
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const other = addresses.find((address) => address.family === "IPv4" && !address.internal)?.address ?? "127.0.0.2";
  for (const host of ["127.0.0.1", other]) {
    t.equal((await fetch(`http://${host}:${port}/hello`)).status, 200, host);
  }
});

t.test("an address that cannot be used is refused with the address and what to do", async (t) => {
  const { server } = await start(t);
  const messageOf = async (text: string): Promise<string> => {
    const error = await start(t, { listen: parseListenAddress(text) }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return isDomainError(error) ? `${error.code}: ${error.message}` : String(error);
  };
  const taken = formatListenAddress(server.address);
  t.equal(
    await messageOf(taken),
    `CANNOT_LISTEN: Cannot listen on "${taken}": another process uses that port; stop it or choose another port`,
  );
  t.match(await messageOf("192.0.2.1:0"), /"192\.0\.2\.1:0": this machine has no such address/);
  t.match(await messageOf("no-such-host.invalid:0"), /the host name is not known here/);
});

t.test("a request that is slow to send its headers is answered 408", async (t) => {
  const { port } = await start(t);
  const connection = await openRawConnection(port);
  connection.write("GET /hello HTTP/1.1\r\nHost: x\r\n");
  t.match(await connection.closed, /^HTTP\/1\.1 408 /);
});

t.test("a connection that says nothing at all is closed", async (t) => {
  const { port } = await start(t);
  const connection = await openRawConnection(port);
  const startedMs = performance.now();
  await connection.closed;
  t.ok(performance.now() - startedMs < 3000);
});

t.test("a request that is slow to send its body is answered 408 in the feature's shape", async (t) => {
  const { port, metricsText } = await start(t);
  const connection = await openRawConnection(port);
  connection.write("POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  const trickle = setInterval(() => connection.write("d"), 150);
  const answer = await connection.closed;
  clearInterval(trickle);
  t.match(answer, /^HTTP\/1\.1 408 [\s\S]*connection: close[\s\S]*\{"error":"REQUEST_TIMEOUT"\}$/i);
  t.match(await metricsText(), 'test_http_requests_total{route="/size",method="POST",code="408"} 1');
});

t.test("a connection without a request is closed when it has been idle", async (t) => {
  const { port } = await start(t);
  const connection = await openRawConnection(port);
  connection.write("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  const startedMs = performance.now();
  t.match(await connection.closed, /^HTTP\/1\.1 200 OK/);
  const waitedMs = performance.now() - startedMs;
  t.ok(waitedMs > 300 && waitedMs < 3000, `closed after ${waitedMs} ms`);
});

t.test("headers up to the limit pass, larger ones are answered 431", async (t) => {
  const { port } = await start(t);
  const statusFor = async (size: number): Promise<string> => {
    const connection = await openRawConnection(port);
    connection.write(`GET /hello HTTP/1.1\r\nHost: x\r\nX-Large: ${"a".repeat(size)}\r\nConnection: close\r\n\r\n`);
    return (await connection.closed).slice(9, 12);
  };
  t.equal(await statusFor(1800), "200");
  t.equal(await statusFor(2100), "431");
});

t.test("more connections than allowed are not served", async (t) => {
  const { port } = await start(t, { limits: { ...limits, maxConnections: 1 } });
  const first = await openRawConnection(port);
  first.write("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  await first.until(/200 OK/);
  const second = await openRawConnection(port);
  t.equal(await second.closed, "");
});

t.test("bodies arrive whole, chunked or not, up to the limit; a larger one is answered while it is sent", async (t) => {
  const { server, port } = await start(t);
  const post = async (size: number, isChunked: boolean): Promise<unknown> => {
    const bytes = Buffer.alloc(size, "x");
    const body = isChunked ? new Blob([bytes]).stream() : bytes;
    const response = await fetch(`${server.url}/size`, { method: "POST", body, duplex: "half" } as RequestInit);
    return await response.json();
  };
  for (const isChunked of [false, true]) {
    t.strictSame(await post(0, isChunked), { size: 0 });
    t.strictSame(await post(bodyLimitBytes, isChunked), { size: bodyLimitBytes });
    t.strictSame(await post(bodyLimitBytes + 1, isChunked), { error: "PAYLOAD_TOO_LARGE" });
    t.strictSame(await post(8 * bodyLimitBytes, isChunked), { error: "PAYLOAD_TOO_LARGE" });
  }
  const rude = await openRawConnection(port);
  rude.write("POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n");
  const startedMs = performance.now();
  t.match(await rude.closed, /^HTTP\/1\.1 413 /);
  t.ok(performance.now() - startedMs < 2000, "a body that never comes is not waited for");
});

t.test("a body that the handler does not read does not hold the connection", async (t) => {
  const { server } = await start(t);
  const response = await fetch(`${server.url}/ignore`, { method: "POST", body: Buffer.alloc(100_000) });
  t.equal(await response.text(), "not read");
  t.equal((await fetch(`${server.url}/hello`)).status, 200);
});

t.test("a client that leaves in the middle of its body is no error", async (t) => {
  const { port, messages, metricsText } = await start(t);
  const connection = await openRawConnection(port);
  connection.write("POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  await sleep(30);
  connection.socket.destroy();
  await sleep(50);
  t.strictSame(messages, []);
  t.match(await metricsText(), 'code="499"} 1');
});

t.test("a handler learns that its client has left", async (t) => {
  const { port, aborted } = await start(t);
  const connection = await openRawConnection(port);
  connection.write("GET /poll HTTP/1.1\r\nHost: x\r\n\r\n");
  await sleep(50);
  t.equal(aborted.length, 0);
  connection.socket.destroy();
  await sleep(50);
  t.equal(aborted.length, 1);
});

t.test("a streamed body that fails at once is an error, one that fails later is cut", async (t) => {
  const { server, port, messages } = await start(t);
  const early = await fetch(`${server.url}/stream-fails/1`);
  t.strictSame([early.status, await early.json()], [500, { error: "INTERNAL" }]);
  const connection = await openRawConnection(port);
  connection.write("GET /stream-fails/3 HTTP/1.1\r\nHost: x\r\n\r\n");
  const answer = await connection.closed;
  t.match(answer, /^HTTP\/1\.1 200 OK[\s\S]*x-kind: test[\s\S]*chunk 1\n\r\n/);
  t.notMatch(answer, /secret|\r\n0\r\n/, "no text of the error, and no end that would make it look whole");
  t.strictSame(messages, ["request failed", "answer cut: its body could not be completed"]);
});

t.test("a streamed body is made as the client reads, and no further when it leaves", async (t) => {
  const { port, messages } = await start(t);
  const connection = await openRawConnection(port);
  connection.socket.pause();
  connection.write("GET /stream-large HTTP/1.1\r\nHost: x\r\n\r\n");
  await sleep(300);
  const inBuffers = pulled.count;
  t.ok(inBuffers > 0 && inBuffers < 500, `${inBuffers} pieces of 100 kB are waiting`);
  await sleep(100);
  t.ok(pulled.count - inBuffers < 20, "nothing more is made");
  t.equal(pulled.isEnded, false);
  connection.socket.destroy();
  await sleep(100);
  t.equal(pulled.isEnded, true);
  t.strictSame(messages, []);
});

t.test("requests that are no HTTP, or not for us, are refused without harm", async (t) => {
  const { port, server, messages } = await start(t);
  const statusOf = async (text: string): Promise<string> => {
    const connection = await openRawConnection(port);
    connection.write(text);
    return (await connection.closed).slice(9, 12);
  };
  const close = "Host: x\r\nConnection: close\r\n\r\n";
  const table: readonly (readonly [string, string])[] = [
    ["GARBAGE\r\n\r\n", "400"],
    ["GET /hello HTTP/1.1\r\n\r\n", "400"],
    ["GET /hello HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n", "400"],
    [`GET http://[::1/hello HTTP/1.1\r\n${close}`, "400"],
    [`OPTIONS * HTTP/1.1\r\n${close}`, "400"],
    [`TRACE /hello HTTP/1.1\r\n${close}`, "405"],
    [`GET /%zz HTTP/1.1\r\n${close}`, "404"],
    [`GET /echo/%E0%A4%A HTTP/1.1\r\n${close}`, "200"],
    ["POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "400"],
    ["POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"],
    ["POST /size HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"],
    ["CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", ""],
  ];
  for (const [text, status] of table) t.equal(await statusOf(text), status, JSON.stringify(text.slice(0, 60)));
  t.equal((await fetch(`${server.url}/hello`)).status, 200);
  t.strictSame(messages, []);
});

t.test("a hot path sees requests first and may take them over", async (t) => {
  const { server } = await start(t, {
    hotPath: (request, response) => {
      if (request.url !== "/hot" || request.method !== "POST") return false;
      readIncomingBody(request, { limitBytes: 10 }).then(
        (body) => response.end(`hot ${body.length}`),
        () => response.writeHead(413).end(),
      );
      return true;
    },
  });
  const post = async (body: string) => (await fetch(`${server.url}/hot`, { method: "POST", body })).text();
  t.equal(await post("12345"), "hot 5");
  t.equal(await post("12345678901"), "");
  t.equal((await fetch(`${server.url}/hello`)).status, 200);
});

t.test("close() finishes what runs with Connection: close, refuses new connections, and ends", async (t) => {
  const { server, port, messages } = await start(t);
  const idle = await openRawConnection(port);
  idle.write("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  await idle.until(/200 OK/);
  const running = await openRawConnection(port);
  running.write("GET /slow/200 HTTP/1.1\r\nHost: x\r\n\r\n");
  const streaming = await openRawConnection(port);
  streaming.write("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  await streaming.until(/chunk 1/);
  const startedMs = performance.now();
  const closing = server.close();
  t.equal(server.close(), closing, "a second call is the same");
  await t.rejects(fetch(`${server.url}/hello`), "the port is closed at once");
  t.match(await running.closed, /^HTTP\/1\.1 200 OK[\s\S]*connection: close[\s\S]*slow$/i);
  t.match(await streaming.closed, /chunk 10\n\r\n0\r\n\r\n$/, "an answer under way is sent to its end");
  await closing;
  await idle.closed;
  t.ok(performance.now() - startedMs < 1500, "before the deadline");
  t.strictSame(messages, []);
});

t.test("close() cuts what is left at the deadline and says so", async (t) => {
  const { server, port, messages } = await start(t, { shutdownDeadlineMs: 100 });
  const connection = await openRawConnection(port);
  connection.write("GET /slow/3000 HTTP/1.1\r\nHost: x\r\n\r\n");
  await sleep(50);
  const startedMs = performance.now();
  await server.close();
  t.ok(performance.now() - startedMs < 1000);
  t.equal(await connection.closed, "");
  t.strictSame(messages, ["shutdown deadline passed: open requests are cut"]);
});

interface Answer {
  readonly status: number | undefined;
  readonly serverName: string;
}

function getOverTls(port: number, options: object): Promise<Answer | string> {
  return new Promise((resolve) => {
    const request = httpsRequest({
      port,
      host: "127.0.0.1",
      servername: "localhost",
      path: "/hello",
      agent: false,
      ...options,
    });
    request.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    request.on("response", (response) => {
      const socket = response.socket as import("node:tls").TLSSocket;
      resolve({ status: response.statusCode, serverName: String(socket.getPeerCertificate().subject["CN"]) });
      response.resume();
    });
    request.end();
  });
}

t.test("TLS: renewed certificates are used for new connections, broken ones are not", async (t) => {
  const folder = createCertificateFolder(t.testdir());
  folder.issue("server", "first");
  const logged: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    info: (_fields, message) => void logged.push(message),
    error: (_fields, message) => void logged.push(message),
  };
  using tls = TlsCertificates.load({
    certFile: folder.path("server.crt"),
    keyFile: folder.path("server.key"),
    minVersion: "1.3",
    logger,
    pollIntervalMs: 20,
  });
  const { server, port } = await start(t, { tls });
  t.equal(server.url, `https://127.0.0.1:${port}`);
  const ca = folder.read("ca.crt");
  const get = (options: object = {}) => getOverTls(port, { ca, ...options });
  t.strictSame(await get(), { status: 200, serverName: "first" });
  t.type(await get({ maxVersion: "TLSv1.2" }), "string", "an older version is refused");
  const silent = await openRawConnection(port);
  t.equal(await silent.closed, "", "a client that never shakes hands is not kept");
  const { writeFileSync } = await import("node:fs");
  writeFileSync(folder.path("server.crt"), "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n");
  while (logged.length < 1) await sleep(10);
  await sleep(60);
  t.strictSame(logged, ["new TLS certificate is unusable: the one in use is kept"], "said once");
  t.strictSame(await get(), { status: 200, serverName: "first" });
  folder.issue("server", "second");
  while (!logged.includes("TLS certificate reloaded")) await sleep(10);
  t.strictSame(await get(), { status: 200, serverName: "second" });
});

t.test("TLS: client certificates are judged as the mode says", async (t) => {
  const folder = createCertificateFolder(t.testdir());
  folder.issue("server", "localhost");
  folder.issue("client", "alice");
  folder.issueSelfSigned("stranger", "mallory");
  const table: Record<ClientAuthMode, readonly [none: boolean, signed: boolean, stranger: boolean]> = {
    none: [true, true, true],
    request: [true, true, true],
    require: [false, true, true],
    verify: [true, true, false],
    "require-verify": [false, true, false],
  };
  for (const [mode, expected] of Object.entries(table) as [ClientAuthMode, readonly boolean[]][]) {
    using tls = TlsCertificates.load({
      certFile: folder.path("server.crt"),
      keyFile: folder.path("server.key"),
      caFile: folder.path("ca.crt"),
      clientAuth: mode,
      logger: silentLogger,
    });
    const { server, port } = await start(t, { tls });
    const isServed = async (name?: string): Promise<boolean> => {
      const own = name === undefined ? {} : { cert: folder.read(`${name}.crt`), key: folder.read(`${name}.key`) };
      return typeof (await getOverTls(port, { ca: folder.read("ca.crt"), ...own })) === "object";
    };
    t.strictSame([await isServed(), await isServed("client"), await isServed("stranger")], expected, mode);
    await server.close();
  }
});
