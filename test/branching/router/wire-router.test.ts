import { connect, type Socket } from "node:net";
import postgres from "postgres";
import t from "tap";
import { type RouterLimits, startWireRouter } from "../../../src/branching/drivers/router/wire-router.ts";
import { silentLogger } from "../../../src/platform/log/logger.ts";
import { createMetrics } from "../../../src/platform/metrics/metrics.ts";
import { sleep, systemTimers } from "../../../src/platform/time/clock.ts";
import { TlsCertificates } from "../../../src/platform/tls/tls-certificates.ts";
import { createCertificateFolder } from "../../support/certificates.ts";
import { startPostgres } from "../../support/postgres-server.ts";

const server = await startPostgres();
t.teardown(() => server[Symbol.asyncDispose]());

async function startRouter(
  t: { teardown(action: () => unknown): void },
  limits: Partial<RouterLimits> = {},
  tls?: TlsCertificates,
) {
  const metrics = createMetrics();
  const router = await startWireRouter({
    listen: { host: "127.0.0.1", port: 0 },
    tls,
    findEndpoint: async (branch) => {
      if (branch === "pr-7") return { host: "127.0.0.1", port: server.port };
      if (branch === "dead") return { host: "127.0.0.1", port: 1 };
      if (branch === "broken") throw new Error("the registry is away");
      return undefined;
    },
    limits,
    timers: systemTimers,
    logger: silentLogger,
    metrics: {
      connections: metrics.counter({ name: "connections", help: "x", labels: ["result"] }),
      active: metrics.gauge({ name: "active", help: "x" }),
    },
  });
  t.teardown(() => router.close());
  return { port: router.address.port, metrics };
}

function client(port: number, database: string, options: postgres.Options<Record<string, never>> = {}) {
  return postgres({
    host: "127.0.0.1",
    port,
    database,
    username: "postgres",
    max: 1,
    fetch_types: false,
    connect_timeout: 5,
    ...options,
  });
}

/** Everything a raw connection answers until it is closed. */
function exchange(port: number, bytes: Buffer, pieceSize = bytes.length): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket: Socket = connect({ port, host: "127.0.0.1" });
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("close", () => resolve(Buffer.concat(chunks)));
    socket.on("error", reject);
    socket.on("connect", async () => {
      for (let start = 0; start < bytes.length; start += pieceSize) {
        socket.write(bytes.subarray(start, start + pieceSize));
        if (pieceSize < bytes.length) await sleep(1);
      }
    });
  });
}

function startup(database: string | undefined): Buffer {
  const body = Buffer.from(`user\0postgres\0${database === undefined ? "" : `database\0${database}\0`}\0`);
  const packet = Buffer.alloc(8 + body.length);
  packet.writeUInt32BE(packet.length, 0);
  packet.writeUInt32BE(196_608, 4);
  body.copy(packet, 8);
  return packet;
}

t.test("the router relays a session to the branch of the database name", async (t) => {
  const { port } = await startRouter(t);
  const sql = client(port, "postgres@pr-7");
  const [row] = await sql`SELECT current_database() AS name, 40 + 2 AS answer`;
  t.strictSame({ ...row }, { name: "postgres", answer: 42 });
  const rows = await sql`SELECT repeat('x', 1000) AS text FROM generate_series(1, 20000)`;
  t.equal(rows.length, 20_000, "20 MB pass with back-pressure");
  await sql.end();
});

t.test("the router refuses alike whatever is wrong with a branch, and tells of a missing @", async (t) => {
  const { port, metrics } = await startRouter(t);
  const answers = await Promise.all(["x@unknown", "x@dead", "x@broken"].map((name) => exchange(port, startup(name))));
  t.match(answers[0]?.toString("latin1"), /C3D000.*branchsvc: database not available/);
  t.ok(
    answers.every((answer) => answer.equals(answers[0] ?? Buffer.alloc(0))),
    "the same bytes",
  );
  for (const database of ["postgres", undefined, "@pr-7", "postgres@"]) {
    t.match((await exchange(port, startup(database))).toString("latin1"), /C3D000.*<database>@<branch>/);
  }
  t.match((await exchange(port, Buffer.from("GET / HTTP/1.1\r\n\r\n"))).toString("latin1"), /C08P01/);
  t.match(await metrics.render(), /connections\{result="unreachable"\} 1/);
});

t.test("a startup packet may arrive one byte at a time", async (t) => {
  const { port } = await startRouter(t);
  t.match((await exchange(port, startup("x@unknown"), 1)).toString("latin1"), /not available/);
});

t.test("encryption is declined without a certificate, offered with one", async (t) => {
  const plain = await startRouter(t);
  const ssl = Buffer.from("0000000804d2162f", "hex");
  const gss = Buffer.from("0000000804d21630", "hex");
  t.match(
    (await exchange(plain.port, Buffer.concat([ssl, startup("a@b")]))).toString("latin1"),
    /C08P01/,
    "bytes behind the request",
  );
  const answers = new Promise<string>((resolve) => {
    const socket = connect({ port: plain.port, host: "127.0.0.1" }, () => socket.write(gss));
    let said = "";
    socket.on("data", (chunk) => {
      said += chunk.toString("latin1");
      if (said === "N") socket.write(ssl);
      else if (said === "NN") socket.write(startup("x@unknown"));
    });
    socket.on("close", () => resolve(said));
  });
  t.match(await answers, /^NN.*not available/s);

  const folder = createCertificateFolder(t.testdir());
  folder.issue("router", "localhost");
  const files = { certFile: folder.path("router.crt"), keyFile: folder.path("router.key") };
  const tls = TlsCertificates.load({ ...files, logger: silentLogger });
  t.teardown(() => tls[Symbol.dispose]());
  const secure = await startRouter(t, {}, tls);
  const sql = client(secure.port, "postgres@pr-7", { ssl: { rejectUnauthorized: false } });
  t.equal((await sql`SELECT 1 AS one`)[0]?.["one"], 1);
  await sql.end();
});

t.test("a cancel request reaches the one session that holds its key", async (t) => {
  const { port } = await startRouter(t);
  const sql = client(port, "postgres@pr-7");
  await sql`SELECT 1`;
  const query = sql`SELECT pg_sleep(20)`;
  const failed = t.rejects(query, { code: "57014" });
  await sleep(200);
  query.cancel();
  await failed;
  await sql.end();
  const unknown = Buffer.from("0000001004d2162e0000000000000000", "hex");
  t.equal((await exchange(port, unknown)).length, 0, "an unknown key is dropped without a word");
});

t.test("silent, slow and idle clients are let go, and startups are bounded", async (t) => {
  const { port } = await startRouter(t, {
    firstByteMs: 100,
    startupMs: 300,
    idleMs: 150,
    startupsPerAddressMax: 4,
    authenticationMs: 300,
  });
  const timed = async (bytes: Buffer, pieceSize?: number): Promise<number> => {
    const startMs = performance.now();
    await exchange(port, bytes, pieceSize).catch(() => {});
    return performance.now() - startMs;
  };
  t.ok((await timed(Buffer.alloc(0))) < 250, "no first byte");
  t.ok((await timed(startup("x@unknown").subarray(0, 12))) < 900, "a packet that never ends");
  const idle = client(port, "postgres@pr-7", { max_lifetime: null });
  await idle`SELECT 1`;
  await sleep(500);
  const working = client(port, "postgres@pr-7");
  t.equal((await working`SELECT 1 AS one, pg_sleep(0.6)`)[0]?.["one"], 1, "a server at work is not idle");
  await Promise.all([idle.end({ timeout: 1 }), working.end({ timeout: 1 })]);
  const open = Array.from({ length: 4 }, () => connect({ port, host: "127.0.0.1" }));
  await Promise.all(open.map((socket) => new Promise((resolve) => socket.on("connect", resolve))));
  t.match((await exchange(port, Buffer.alloc(0))).toString("latin1"), /C53300/);
  for (const socket of open) socket.destroy();
});
