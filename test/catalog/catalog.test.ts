import { createServer as createHttpServer } from "node:http";
import { createServer, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import postgres from "postgres";
import t, { type Test } from "tap";
import { catalogCommand } from "../../src/catalog/module.ts";
import { ParsedArguments } from "../../src/platform/cli/command.ts";
import { ConfigError } from "../../src/platform/config/load-config.ts";
import { sleep } from "../../src/platform/time/clock.ts";
import { createFakeContext, createFakeTerminal } from "../support/fake-terminal.ts";
import { findFreePort, startPostgres } from "../support/postgres-server.ts";
import { openRawConnection } from "../support/raw-http.ts";
import { startRedis } from "../support/redis-server.ts";

interface Running {
  readonly url: string;
  readonly port: number;
  readonly log: () => string;
  readonly exited: Promise<number>;
  readonly stop: () => void;
}

async function start(t: Test, env: Record<string, string> = {}): Promise<Running> {
  const controller = new AbortController();
  const terminal = createFakeTerminal();
  const port = env["PORT"] === undefined ? await findFreePort() : Number(env["PORT"]);
  const context = createFakeContext({ env: { PORT: String(port), ...env }, terminal, signal: controller.signal });
  const exited = catalogCommand.run?.(new ParsedArguments({}), context) ?? Promise.resolve(-1);
  t.teardown(async () => {
    controller.abort();
    await exited.catch(() => {});
  });
  while (!terminal.errorOutput().includes("listening")) {
    await Promise.race([exited, sleep(5)]);
  }
  const url = `http://127.0.0.1:${port}`;
  return { url, port, log: terminal.errorOutput, exited, stop: () => controller.abort() };
}

async function get(url: string): Promise<{ status: number; body: unknown; headers: Headers }> {
  const response = await fetch(url);
  return { status: response.status, body: await response.json(), headers: response.headers };
}

/** Asks until the status is the wanted one. @returns how long that took */
async function untilReadiness(url: string, status: number): Promise<number> {
  const startedMs = performance.now();
  while (performance.now() - startedMs < 10_000) {
    if ((await fetch(`${url}/readyz`)).status === status) return performance.now() - startedMs;
    await sleep(20);
  }
  throw new Error(`/readyz did not become ${status}`);
}

/** A machine that hangs: takes connections and never says a word. */
async function startSilentServer(t: Test): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

const aboutASecondMs = 1500;

t.test("without database and cache it serves the sample on every interface", async (t) => {
  const { url, port, log } = await start(t);
  const books = await get(`${url}/books`);
  t.equal(books.status, 200);
  t.equal(books.headers.get("content-type"), "application/json");
  t.ok(Array.isArray(books.body) && books.body.length > 0);
  t.match(books.body, [{ id: 1, title: String, author: String }]);
  const health = await get(`${url}/healthz`);
  t.strictSame([health.status, health.body], [200, { status: "ok" }]);
  const ready = await get(`${url}/readyz`);
  t.strictSame([ready.status, ready.body], [200, { status: "ready" }]);
  const metrics = await fetch(`${url}/metrics`);
  t.match(metrics.headers.get("content-type"), /^text\/plain; version=0\.0\.4/);
  const text = await metrics.text();
  t.match(text, 'catalog_http_requests_total{route="/books",method="GET",code="200"} 1');
  t.match(text, "process_cpu_seconds_total");
  t.match(await get(`${url}/nowhere`), { status: 404, body: { error: { code: "NOT_FOUND" } } });
  const refused = await fetch(`${url}/books`, { method: "POST" });
  t.strictSame([refused.status, refused.headers.get("allow")], [405, "GET, HEAD"]);
  t.match(log(), new RegExp(`"address":":${port}"`));
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  for (const { address } of addresses.filter((item) => item.family === "IPv4")) {
    t.equal((await fetch(`http://${address}:${port}/healthz`)).status, 200, address);
  }
});

t.test("the configuration is checked, and shown without its secrets", async (t) => {
  const run = (env: Record<string, string>): Promise<number> | undefined =>
    catalogCommand.run?.(new ParsedArguments({}), createFakeContext({ env }));
  const problemsOf = async (env: Record<string, string>): Promise<readonly string[]> => {
    const error = await run(env)?.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return error instanceof ConfigError ? error.problems : [String(error)];
  };
  t.strictSame(await problemsOf({ PORT: "65536", DB_DSN: "mysql://u:hush@h/d", REDIS_ADDR: "http://x:1" }), [
    'PORT: must be a whole number from 0 to 65535, not "65536"',
    "DB_DSN: must be a URL such as postgres://user:password@host:5432/database",
    "REDIS_ADDR: must be host:port or a redis:// URL",
  ]);
  t.match(await problemsOf({ PORT: "x" }), [/^PORT: must be a whole number/]);
  const env = { DB_DSN: "postgres://u:hush@h/d", REDIS_ADDR: "localhost:6379" };
  const rows = catalogCommand.effectiveConfig?.({}, createFakeContext({ env })) ?? [];
  t.match(rows, [
    { name: "PORT", value: "8080", source: "default" },
    { name: "DB_DSN", value: "[set]" },
    { name: "REDIS_ADDR", value: "[set]" },
  ]);
  t.notMatch(JSON.stringify(rows), /hush/);
});

t.test("a port that is taken ends it with the reason", async (t) => {
  const { port } = await start(t);
  const context = createFakeContext({ env: { PORT: String(port) } });
  await t.rejects(async () => catalogCommand.run?.(new ParsedArguments({}), context), {
    message: `Cannot listen on ":${port}": another process uses that port; stop it or choose another port`,
  });
});

t.test("SIGTERM: open requests are answered, new ones refused, and it ends with 0", async (t) => {
  const port = await startSilentServer(t);
  const running = await start(t, { DB_DSN: `postgres://u:hush@127.0.0.1:${port}/d` });
  const open = await openRawConnection(running.port);
  open.write("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
  await sleep(100);
  running.stop();
  await t.rejects(fetch(`${running.url}/healthz`));
  t.match(await open.closed, /^HTTP\/1\.1 503 [\s\S]*connection: close/i);
  t.equal(await running.exited, 0);
  t.match(running.log(), /"msg":"shutdown complete"/);
  t.notMatch(running.log(), /hush/);
});

t.test("each request is a span when an OTLP endpoint is set", async (t) => {
  const received: string[] = [];
  const receiver = createHttpServer(async (request, response) => {
    received.push(`${request.url} ${Buffer.concat(await request.toArray()).toString()}`);
    response.setHeader("Content-Type", "application/json").end("{}");
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  t.teardown(() => receiver.close());
  const { port } = receiver.address() as { port: number };
  const running = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
  await fetch(`${running.url}/books`);
  running.stop();
  t.equal(await running.exited, 0);
  t.match(received, [/^\/v1\/traces .*"name":"GET \/books"/]);
});

t.test("with a real Postgres", async (t) => {
  const server = await startPostgres();
  t.teardown(() => server[Symbol.asyncDispose]());
  const sql = postgres(server.url, { max: 1, onnotice: () => {}, backoff: () => 0.1 });
  t.teardown(() => sql.end({ timeout: 1 }));

  t.test("several instances make and fill the table once", async (t) => {
    const instances = await Promise.all([1, 2, 3].map(() => start(t, { DB_DSN: server.url })));
    const answers = await Promise.all(instances.map(({ url }) => get(`${url}/books`)));
    for (const answer of answers) t.strictSame([answer.status, answer.body], [200, answers[0]?.body]);
    t.equal(answers[0]?.headers.get("x-catalog-origin"), "database");
    const [count] = await sql`select count(*)::int as rows from books`;
    t.equal(count?.["rows"], 5);
  });

  t.test("what is in the table is what is served, whoever made it", async (t) => {
    const { url } = await start(t, { DB_DSN: server.url });
    await sql`update books set title = 'Changed' where id = 1`;
    t.match((await get(`${url}/books`)).body, [{ id: 1, title: "Changed" }]);
    await sql`delete from books`;
    t.strictSame((await get(`${url}/books`)).body, [], "an empty table is not filled again");
    await sql`drop table books`;
    t.ok(((await get(`${url}/books`)).body as unknown[]).length > 0, "a table that is gone is made again");
    await sql.unsafe(
      "drop table books; create table books (isbn text, pages bigint); insert into books values ('x', 7)",
    );
    t.strictSame((await get(`${url}/books`)).body, [{ isbn: "x", pages: 7 }]);
    await sql.unsafe("drop table books");
  });

  t.test(
    "readiness follows the database going away and coming back, and nothing crashes",
    { timeout: 60_000 },
    async (t) => {
      const { url, log } = await start(t, { DB_DSN: server.url });
      t.equal(await untilReadiness(url, 200).then((ms) => ms < aboutASecondMs), true);
      for (let round = 0; round < 2; round++) {
        await server.stop();
        t.ok((await untilReadiness(url, 503)) < aboutASecondMs, "unreachable is seen");
        t.strictSame((await get(`${url}/readyz`)).body, { status: "unavailable", checks: { database: "unreachable" } });
        const books = await get(`${url}/books`);
        t.match(books, { status: 503, body: { error: { code: "DATABASE_UNAVAILABLE" } } });
        t.equal(books.headers.get("retry-after"), "1");
        t.equal((await fetch(`${url}/healthz`)).status, 200, "alive all the same");
        await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/readyz`)));
        await server.start();
        t.ok((await untilReadiness(url, 200)) < aboutASecondMs, "reachable is seen");
        t.equal((await get(`${url}/books`)).status, 200);
      }
      const metrics = await (await fetch(`${url}/metrics`)).text();
      t.match(metrics, 'catalog_dependency_up{dependency="database"} 1');
      t.equal(log().match(/dependency is unreachable/g)?.length, 2, "each change is logged once");
      t.notMatch(log(), /postgres:\/\//);
    },
  );

  t.test("it starts while the database is away", async (t) => {
    await server.stop();
    const { url } = await start(t, { DB_DSN: server.url });
    t.equal((await get(`${url}/readyz`)).status, 503);
    t.equal((await get(`${url}/books`)).status, 503);
    await server.start();
    t.ok((await untilReadiness(url, 200)) < aboutASecondMs);
    t.ok(((await get(`${url}/books`)).body as unknown[]).length > 0);
  });

  t.test("a database that hangs is noticed within a second, and so is its return", { timeout: 60_000 }, async (t) => {
    let isHanging = false;
    const sockets = new Set<Socket>();
    const { connect } = await import("node:net");
    const proxy = createServer((client) => {
      sockets.add(client.on("error", () => {}));
      if (isHanging) return;
      const upstream = connect(server.port, "127.0.0.1").on("error", () => {});
      sockets.add(upstream);
      const pass = (from: Socket, to: Socket): void => void from.on("data", (chunk) => isHanging || to.write(chunk));
      pass(client, upstream);
      pass(upstream, client);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    t.teardown(() => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    });
    const port = (proxy.address() as { port: number }).port;
    const { url } = await start(t, { DB_DSN: server.url.replace(String(server.port), String(port)) });
    t.ok((await untilReadiness(url, 200)) < aboutASecondMs);
    isHanging = true;
    t.ok((await untilReadiness(url, 503)) < aboutASecondMs);
    const waiting = Promise.all(Array.from({ length: 10 }, () => fetch(`${url}/readyz`)));
    t.strictSame([...new Set((await waiting).map((response) => response.status))], [503]);
    isHanging = false;
    t.ok((await untilReadiness(url, 200)) < aboutASecondMs);
    t.equal((await get(`${url}/books`)).status, 200);
  });
});

t.test("with a real Redis", { timeout: 60_000 }, async (t) => {
  const redis = await startRedis();
  t.teardown(() => redis[Symbol.asyncDispose]());
  const database = await startPostgres();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { url } = await start(t, { REDIS_ADDR: redis.address, DB_DSN: database.url });
  t.ok((await untilReadiness(url, 200)) < aboutASecondMs);
  const originOf = async (): Promise<string | null> => (await get(`${url}/books`)).headers.get("x-catalog-origin");
  t.strictSame([await originOf(), await originOf()], ["database", "cache"]);
  await sleep(1100);
  t.equal(await originOf(), "database", "the cache is never far behind");
  await redis.stop();
  t.ok((await untilReadiness(url, 503)) < aboutASecondMs);
  t.strictSame((await get(`${url}/readyz`)).body, {
    status: "unavailable",
    checks: { database: "ok", cache: "unreachable" },
  });
  t.equal(await originOf(), "database", "books are served without the cache");
  await redis.start();
  t.ok((await untilReadiness(url, 200)) < aboutASecondMs);
  redis.freeze();
  t.ok((await untilReadiness(url, 503)) < aboutASecondMs, "a cache that hangs is noticed");
  redis.thaw();
  t.ok((await untilReadiness(url, 200)) < aboutASecondMs);
  t.strictSame([(await originOf()) !== null, (await fetch(`${url}/healthz`)).status], [true, 200]);
});

t.test("with Redis alone it is ready only while that answers", async (t) => {
  const redis = await startRedis();
  t.teardown(() => redis[Symbol.asyncDispose]());
  await redis.stop();
  const running = await start(t, { REDIS_ADDR: `redis://${redis.address}` });
  t.equal((await get(`${running.url}/readyz`)).status, 503);
  await redis.start();
  t.ok((await untilReadiness(running.url, 200)) < aboutASecondMs);
  t.equal((await get(`${running.url}/books`)).headers.get("x-catalog-origin"), "memory");
  running.stop();
  t.equal(await running.exited, 0);
});
