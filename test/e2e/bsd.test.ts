import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import t from "tap";
import { sleep } from "../../src/platform/time/clock.ts";
import { docker, tryDocker } from "../support/e2e/docker.ts";
import { call, startServer } from "../support/e2e/executable.ts";

const token = "an-admin-token-of-32-characters!";

/** A Postgres 17 to seed from; returns its address as containers reach it. */
async function startSource(t: { teardown(action: () => unknown): void }, password: string): Promise<string> {
  const id = docker("run", "-d", "-e", `POSTGRES_PASSWORD=${password}`, "postgres:17", "-c", "wal_level=replica");
  t.teardown(() => tryDocker("rm", "-f", "-v", id));
  const psql = ["exec", "-e", `PGPASSWORD=${password}`, id, "psql", "-h", "127.0.0.1", "-U", "postgres", "-c"];
  for (let attempt = 0; attempt < 300 && tryDocker(...psql, "SELECT 1").exitCode !== 0; attempt += 1) await sleep(100);
  docker("exec", id, "sh", "-c", 'echo "host replication all all scram-sha-256" >> "$PGDATA/pg_hba.conf"');
  for (const sql of ["SELECT pg_reload_conf()", "CREATE TABLE items AS SELECT generate_series(1, 1000) AS id"]) {
    docker(...psql, sql);
  }
  return docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id);
}

t.test("bsd serves branches over its API and router, reaps them, and stops cleanly", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "slipway-bsd-"));
  t.teardown(() => rmSync(home, { recursive: true }));
  const password = "a-source-password";
  const host = await startSource(t, password);
  const env = { BRANCHSVC_HOME: home, BRANCHSVC_TOKEN: token };
  const flags = ["--api-addr", "127.0.0.1:0", "--pg-addr", "127.0.0.1:0", "--reconcile-interval", "1s"];
  const daemon = startServer(["bsd", ...flags], { env });
  t.teardown(() => daemon.stop("SIGKILL"));
  const [, api = "", port = ""] = await daemon.waitFor(/"api":"(http:[^"]+)","router":"127\.0\.0\.1:(\d+)"/);
  const request = async (method: string, path: string, body?: object) => {
    const response = await fetch(api + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  };
  const connect = (branch: string) =>
    postgres({
      host: "127.0.0.1",
      port: Number(port),
      database: `postgres@${branch}`,
      username: "postgres",
      password,
      max: 1,
      fetch_types: false,
      connect_timeout: 10,
    });
  const count = async (sql: postgres.Sql) => Number((await sql`SELECT count(*) AS n FROM items`)[0]?.["n"]);

  t.equal((await request("POST", "/v1/sources", { name: "shop", host, password })).status, 201);
  t.equal((await request("POST", "/v1/branches", { name: "pr-1", source: "shop" })).status, 201);
  const branch = connect("pr-1");
  await branch`DELETE FROM items WHERE id > 10`;
  t.equal(await count(branch), 10);
  await branch.end();
  t.equal((await request("POST", "/v1/branches", { name: "pr-2", source: "shop", ttl_seconds: 2 })).status, 201);
  const other = connect("pr-2");
  t.equal(await count(other), 1000, "branches do not see each other");
  await other.end();

  const local = await call(["bsctl", "branch", "create", "x", "--from", "shop"], { env, timeoutMs: 60_000 });
  t.equal(local.exitCode, 1, "a local command that writes is refused while the daemon runs");
  t.match(local.errorOutput, /works there/);

  let names: string[] = [];
  for (let attempt = 0; attempt < 100; attempt += 1) {
    names = ((await request("GET", "/v1/branches")).body as { name: string }[]).map(({ name }) => name);
    if (!names.includes("pr-2")) break;
    await sleep(200);
  }
  t.strictSame(names, ["pr-1"], "the expired branch was reaped");
  const history = (await request("GET", "/v1/branches/pr-2/history")).body as { actor: string }[];
  t.equal(history.at(-1)?.actor, "system:reconcile");
  await t.rejects(count(connect("pr-2")), { message: "branchsvc: database not available" });

  t.equal((await request("DELETE", "/v1/branches/pr-1")).status, 204);
  t.equal((await request("DELETE", "/v1/sources/shop")).status, 204);
  t.equal(await daemon.stop("SIGTERM"), 0);
  t.notMatch(daemon.said(), password);
  t.notMatch(daemon.said(), token);
  t.equal(statSync(join(home, "registry.db")).mode & 0o777, 0o600);
  const doctor = await call(["bsctl", "doctor"], { env });
  t.equal(doctor.exitCode, 0, doctor.output + doctor.errorOutput);
});
