/** The reflink layout, on a pool that bsctl makes itself on a host which has only ext4. */
import { spawn, spawnSync } from "node:child_process";
import t from "tap";
import { LocalBench, sourcePassword, startSource } from "../support/branching/local-bench.ts";
import { docker, tryDocker } from "../support/e2e/docker.ts";

t.setTimeout(900_000);
const source = await startSource({ major: "17" });
const bench = new LocalBench();
t.teardown(async () => {
  await bench[Symbol.asyncDispose]();
  source[Symbol.dispose]();
});
source.sql("CREATE TABLE big AS SELECT g AS id, repeat('x', 200) AS body FROM generate_series(1, 300000) g");
source.sql("ALTER TABLE big ADD PRIMARY KEY (id)");
source.sql("CREATE EXTENSION amcheck");
spawnSync("pgbench", ["-i", "-q", "-s", "2", `postgres://postgres@${source.host}/postgres`], {
  env: { ...process.env, PGPASSWORD: sourcePassword },
});

const kibibyte = 1024;

async function usageOf(branch: string): Promise<number> {
  const branches = JSON.parse(await bench.run("branch", "ls", "--usage", "--json")) as {
    name: string;
    bytes: number;
  }[];
  return branches.find((item) => item.name === branch)?.bytes ?? -1;
}

t.test("a pool is made, and branches on it share extents", async (t) => {
  await bench.run("source", "add", "shop", "--host", source.host, "--volume-pool", "4GiB");
  const doctor = await bench.try(["doctor"]);
  t.equal(doctor.exitCode, 0);
  t.match(doctor.errorOutput, /source shop: layout reflink, clones extents/);
  await bench.run("branch", "create", "one", "--from", "shop");
  const fresh = await usageOf("one");
  t.ok(fresh < 2048 * kibibyte, `a fresh branch holds ${fresh} bytes`);
  await bench.sql("one", "SELECT sum(length(body)) FROM big; CHECKPOINT");
  const read = await usageOf("one");
  t.ok(read - fresh < 2048 * kibibyte, `a full read added ${read - fresh} bytes`);
  await bench.sql("one", "CHECKPOINT");
  const before = await usageOf("one");
  await bench.sql("one", "UPDATE big SET body = 'y' WHERE id = 150000; CHECKPOINT");
  const grown = (await usageOf("one")) - before;
  t.ok(grown < 512 * kibibyte, `one row updated added ${grown} bytes`);
  const caps = docker("inspect", "-f", "{{.HostConfig.CapAdd}}", await bench.containerOf("one"));
  t.notMatch(caps, /SYS_ADMIN/, "no right to mount is needed");
  const elsewhere = await bench.try(["branch", "ls"], { BRANCHSVC_VOLUME_ROOT: "/srv" });
  t.match(elsewhere.errorOutput, /this registry keeps them in a volume pool/);
});

t.test("a branch of a branch pauses its parent for a moment and loses nothing", async (t) => {
  const url = await bench.run("connect", "one");
  const load = spawn("pgbench", ["-n", "-c", "4", "-T", "8", "-P", "1", url], {
    env: { ...process.env, PGPASSWORD: sourcePassword },
  });
  const ended = new Promise<number | null>((resolve) => load.on("close", resolve));
  await new Promise((resolve) => setTimeout(resolve, 1500));
  for (const name of ["c1", "c2"]) await bench.run("branch", "create", name, "--from-branch", "one");
  t.equal(await ended, 0, "no client of the parent saw an error");
  for (const name of ["one", "c1", "c2"]) {
    const agree =
      "SELECT (SELECT sum(abalance) FROM pgbench_accounts)::int = (SELECT sum(delta) FROM pgbench_history)::int";
    t.strictSame(await bench.sql(name, agree), [[true]], `${name} is consistent`);
    const check = docker(
      "exec",
      "-u",
      "postgres",
      await bench.containerOf(name),
      "pg_amcheck",
      "-U",
      "postgres",
      "--heapallindexed",
      "-d",
      "postgres",
    );
    t.equal(check, "", `${name}: pg_amcheck finds nothing`);
  }
  const [history] = await bench.sql("c1", "SELECT count(*)::int FROM pgbench_history");
  await bench.sql("c1", "DELETE FROM pgbench_history");
  await bench.run("branch", "reset", "c1");
  t.strictSame(
    (await bench.sql("c1", "SELECT count(*)::int FROM pgbench_history"))[0],
    history,
    "a reset returns to the fork point",
  );
  await bench.run("branch", "destroy", "one");
  t.strictSame(await bench.sql("c2", "SELECT 1"), [[1]], "children do not need their parent");
});

t.test("a death while the parent is paused leaves it to gc", async (t) => {
  const died = await bench.try(["branch", "create", "c3", "--from-branch", "c2"], {
    BRANCHSVC_CRASH_AT: "fork.paused",
  });
  t.equal(died.exitCode, null, "killed");
  t.equal(docker("inspect", "-f", "{{.State.Status}}", await bench.containerOf("c2")), "paused");
  await new Promise((resolve) => setTimeout(resolve, 2200));
  const doctor = await bench.try(["doctor", "--stuck-timeout", "2s", "--json"]);
  const kinds = (JSON.parse(doctor.output) as { actions: { kind: string }[] }).actions
    .map((action) => action.kind)
    .sort();
  t.strictSame([...new Set(kinds)], ["fail_stuck", "gc_volume", "remove_orphan_helper", "restart_branch"]);
  await bench.run("gc", "--stuck-timeout", "2s");
  await bench.run("gc", "--stuck-timeout", "2s");
  t.strictSame(await bench.sql("c2", "SELECT 1"), [[1]]);
  t.equal((await bench.try(["doctor", "--stuck-timeout", "2s"])).exitCode, 0);
  await bench.run("branch", "reset", "c3");
  t.strictSame(await bench.sql("c3", "SELECT 1"), [[1]], "a reset retries the creation, fork included");
});

t.test("the pool comes back after everything was stopped and the loop device was lost", async (t) => {
  await bench.sql("c2", "CREATE TABLE survives AS SELECT 7 AS i");
  const { containers } = await bench.listResources();
  docker("stop", "-t", "20", ...containers);
  const id = await bench.instanceId();
  const loop = spawnSync("losetup", ["-a"], { encoding: "utf8" })
    .stdout.split("\n")
    .find((line) => line.includes(`branchsvc-${id}.img`))
    ?.split(":")[0];
  t.ok(loop, "the pool is on a loop device");
  t.equal(spawnSync("losetup", ["-d", loop ?? ""]).status, 0);
  await bench.run("gc");
  t.strictSame(await bench.sql("c2", "SELECT i FROM survives"), [[7]]);
  t.equal((await bench.try(["doctor"])).exitCode, 0);
});

t.test("nothing but the pool is left when everything is destroyed", async (t) => {
  for (const name of ["c1", "c2", "c3"]) await bench.run("branch", "destroy", name);
  await bench.run("source", "rm", "shop");
  const { containers } = await bench.listResources();
  t.equal(containers.length, 1, "the keeper");
  const folders = tryDocker("exec", containers[0] ?? "", "ls", "/pool").output.trim();
  t.equal(folders, "", "the pool is empty");
  t.equal((await bench.try(["doctor"])).exitCode, 0);
});
