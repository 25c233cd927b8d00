/**
 * Every supported major: a physical seed of a source that has everything which makes copies hard (tablespace, checksums,
 * leftovers of a standby, a subscription), branches under load checked by pg_amcheck, and a logical seed by a role that
 * may not replicate.
 */
import { spawnSync } from "node:child_process";
import t, { type Test } from "tap";
import { LocalBench, type SourceContainer, sourcePassword, startSource } from "../support/branching/local-bench.ts";
import { docker } from "../support/e2e/docker.ts";

t.setTimeout(1_800_000);
const majors = (process.env["BRANCHING_MAJORS"] ?? "14,15,16,17,18").split(",");

/** The clients of this machine work with every server. */
function pgbench(url: string, ...args: readonly string[]): void {
  const result = spawnSync("pgbench", [...args, url], {
    encoding: "utf8",
    env: { ...process.env, PGPASSWORD: sourcePassword },
  });
  if (result.status !== 0) throw new Error(`pgbench ${args.join(" ")} failed: ${result.stderr}`);
}

function fillSource(source: SourceContainer): void {
  docker(
    "exec",
    source.id,
    "sh",
    "-c",
    "mkdir /var/lib/postgresql/away && chown postgres:postgres /var/lib/postgresql/away",
  );
  source.sql("CREATE TABLESPACE away LOCATION '/var/lib/postgresql/away'");
  source.sql("CREATE TABLE far (i int PRIMARY KEY) TABLESPACE away");
  source.sql("INSERT INTO far SELECT generate_series(1, 1000)");
  source.sql("CREATE EXTENSION amcheck");
  source.sql("ALTER SYSTEM SET primary_conninfo = 'host=prod.internal password=leaked-secret'");
  source.sql("ALTER SYSTEM SET archive_command = 'false'");
  source.sql(
    "CREATE SUBSCRIPTION feed CONNECTION 'host=prod.internal dbname=x' PUBLICATION p WITH (connect = false, slot_name = 'feed')",
  );
  pgbench(`postgres://postgres@${source.host}/postgres`, "-i", "-q", "-s", "2");
}

async function checkIntegrity(t: Test, bench: LocalBench, branch: string): Promise<void> {
  const [row] = await bench.sql(
    branch,
    "SELECT (SELECT sum(abalance) FROM pgbench_accounts)::int = (SELECT coalesce(sum(delta), 0) FROM pgbench_history)::int",
  );
  t.strictSame(row, [true], `${branch}: accounts and history agree`);
  const check = docker(
    "exec",
    "-u",
    "postgres",
    await bench.containerOf(branch),
    "pg_amcheck",
    "-U",
    "postgres",
    "--heapallindexed",
    "-d",
    "postgres",
  );
  t.equal(check, "", `${branch}: pg_amcheck finds nothing`);
}

for (const major of majors) {
  t.test(`Postgres ${major}: physical seed, branches under load`, async (t) => {
    using source = await startSource({ major, initdbArguments: "--data-checksums" });
    await using bench = new LocalBench();
    fillSource(source);
    await bench.run("source", "add", "shop", "--host", source.host, "--pg-version", major);
    await bench.run("branch", "create", "one", "--from", "shop");
    t.strictSame(await bench.sql("one", "SELECT count(*)::int FROM far"), [[1000]], "the tablespace came along");
    t.strictSame(await bench.sql("one", "SELECT current_setting('data_checksums'), pg_is_in_recovery()"), [
      ["on", false],
    ]);
    t.strictSame(
      await bench.sql("one", "SELECT subenabled, subslotname FROM pg_subscription"),
      [[false, null]],
      "the subscription is cut",
    );
    const leak = docker(
      "exec",
      await bench.containerOf("one"),
      "sh",
      "-c",
      "grep -r leaked-secret /b/data/*.conf /b/0/data/*.conf || true",
    );
    t.equal(leak, "", "the standby's password was stripped");
    pgbench(await bench.run("connect", "one"), "-n", "-T", "2", "-c", "4");
    await bench.run("branch", "create", "child", "--from-branch", "one");
    await checkIntegrity(t, bench, "child");
    pgbench(await bench.run("connect", "child"), "-n", "-T", "2", "-c", "4");
    docker("kill", await bench.containerOf("child"));
    await bench.run("gc");
    await checkIntegrity(t, bench, "child");
    await checkIntegrity(t, bench, "one");
    await bench.run("branch", "reset", "one");
    await checkIntegrity(t, bench, "one");
    t.strictSame(await bench.sql("one", "SELECT count(*)::int FROM pgbench_history"), [[0]]);
    t.equal(source.sql("SELECT count(*) FROM pgbench_history"), "0", "the source saw nothing");
    source.sql("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements', 'no_such_library'");
    const missing = await bench.try(["source", "refresh", "shop"]);
    t.match(missing.errorOutput, /it preloads the library "no_such_library", which the image does not hold/);
    t.match(await bench.run("source", "ls"), /ready +1/, "the source is as it was");
    for (const name of ["child", "one"]) await bench.run("branch", "destroy", name);
    await bench.run("source", "rm", "shop");
    t.strictSame(await bench.listResources(), { containers: [], volumes: [] });
  });

  t.test(`Postgres ${major}: logical seed by a role that may not replicate`, async (t) => {
    using source = await startSource({ major });
    await using bench = new LocalBench();
    source.sql(`CREATE ROLE app LOGIN PASSWORD '${sourcePassword}'`);
    source.sql("CREATE ROLE reader");
    source.sql("CREATE DATABASE crm OWNER app");
    source.sql(
      "CREATE EXTENSION pgcrypto; CREATE EXTENSION hstore SCHEMA public; CREATE SCHEMA sales AUTHORIZATION app; CREATE SCHEMA other AUTHORIZATION app",
      "crm",
    );
    source.sql(
      "SET ROLE app; CREATE TABLE sales.orders (id bigserial PRIMARY KEY, note hstore, twice int GENERATED ALWAYS AS (2) STORED); INSERT INTO sales.orders (note) SELECT 'a=>1' FROM generate_series(1, 50); CREATE TABLE other.x (i int); GRANT SELECT ON sales.orders TO reader",
      "crm",
    );
    const physical = await bench.try([
      "source",
      "add",
      "nope",
      "--host",
      source.host,
      "--user",
      "app",
      "--database",
      "crm",
      "--pg-version",
      major,
    ]);
    t.equal(physical.exitCode, 1);
    t.match(
      physical.errorOutput,
      /must be superuser or replication role|must have the REPLICATION attribute|permission denied to start WAL sender/,
    );
    const add = ["--host", source.host, "--user", "app", "--database", "crm", "--pg-version", major, "--via", "dump"];
    await bench.run("source", "add", "whole", ...add);
    await bench.run("source", "add", "part", ...add, "--dump-schema", "sales");
    await bench.run("branch", "create", "one", "--from", "whole");
    await bench.run("branch", "create", "two", "--from", "part");
    t.match(await bench.run("connect", "one"), /postgres:\/\/app@127\.0\.0\.1:\d+\/crm/);
    const tables =
      "SELECT string_agg(schemaname || '.' || tablename, ' ' ORDER BY 1) FROM pg_tables WHERE schemaname IN ('sales', 'other')";
    t.strictSame(await bench.sql("one", tables), [["other.x sales.orders"]]);
    t.strictSame(await bench.sql("two", tables), [["sales.orders"]]);
    for (const branch of ["one", "two"]) {
      t.strictSame(await bench.sql(branch, "SELECT count(*)::int, sum(twice)::int FROM sales.orders"), [[50, 100]]);
      await bench.sql(branch, "INSERT INTO sales.orders (note) VALUES ('b=>2')");
      t.strictSame(await bench.sql(branch, "SELECT max(id)::int FROM sales.orders"), [[51]], "the sequence goes on");
    }
    t.equal(source.sql("SELECT count(*) FROM sales.orders", "crm"), "50");
  });
}
