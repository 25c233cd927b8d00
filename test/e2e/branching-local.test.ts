/** The local mode of bsctl on a real engine and a real Postgres 17: every command, every refusal that needs a database. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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
source.sql("CREATE TABLE people (id int PRIMARY KEY, mail text)");
source.sql("INSERT INTO people SELECT g, 'person' || g || '@example.org' FROM generate_series(1, 20000) g");

t.test("source add seeds once and keeps the password to itself", async (t) => {
  const added = await bench.try(["source", "add", "shop", "--host", source.host]);
  t.equal(added.exitCode, 0, added.errorOutput);
  t.match(added.output, /source shop is ready \(generation 1\)/);
  t.match(added.errorOutput, /seeding shop: copying/, "progress is told on standard error");
  t.match(
    await bench.run("source", "ls"),
    /NAME +VERSION +HOST +VIA +STATE +GENERATION\nshop +17 +\S+:5432 +basebackup +ready +1/,
  );
  for (const file of readdirSync(bench.home)) {
    t.notMatch(readFileSync(join(bench.home, file), "latin1"), sourcePassword, `${file} holds no password`);
    t.equal(statSync(join(bench.home, file)).mode & 0o077, 0, `${file} is the owner's alone`);
  }
  const again = await bench.try(["source", "add", "shop", "--host", source.host]);
  t.equal(again.exitCode, 1);
  t.match(again.errorOutput, /name is taken by a source that is ready/);
  const { containers, volumes } = await bench.listResources();
  t.strictSame([containers.length, volumes.length], [0, 1], "the helper is gone, one base is there");
});

t.test("source add refuses what cannot work, before and after it has looked", async (t) => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [["--host", " "], /host is blank/],
    [["--host", "/var/run"], /socket path/],
    [["--host", source.host, "--pg-version", "13"], /must be one of 14, 15, 16, 17, 18/],
    [["--host", source.host, "--pg-version", "19"], /must be one of 14, 15, 16, 17, 18/],
    [["--host", source.host, "--port", "0"], /from 1 to 65535/],
    [["--host", source.host, "--via", "rsync"], /must be basebackup or dump/],
    [["--host", source.host, "--dump-schema", "public"], /only via=dump/],
    [["--host", source.host, "--via", "dump", "--dump-schema", "a,b"], /must not be blank or hold commas/],
    [
      ["--host", source.host, "--pg-version", "16"],
      /the server has version 17, but pg_version is 16; use --pg-version 17/,
    ],
    [["--host", source.host, "--via", "dump", "--pg-version", "16"], /the server has version 17/],
    [["--host", source.host, "--no-password"], /no password supplied/],
    [
      ["--host", source.host, "--no-password", "--password-env", "X"],
      /no-password and password-env|password-env and no-password|--no-password/,
    ],
    [["--host", source.host, "--password-env", "NOT_SET"], /NOT_SET is not set/],
    [["--host", source.host, "--database", "none", "--via", "dump"], /database "none" does not exist/],
  ];
  for (const [args, expected] of cases) {
    const result = await bench.try(["source", "add", "bad", ...args]);
    t.equal(result.exitCode, 1, args.join(" "));
    t.match(result.errorOutput, expected, args.join(" "));
    t.notMatch(result.errorOutput + result.output, sourcePassword);
  }
  const wrong = await bench.try(["source", "add", "bad", "--host", source.host], { PGPASSWORD: "wrong-pass" });
  t.match(wrong.errorOutput, /password authentication failed/);
  t.notMatch(wrong.errorOutput, /wrong-pass/);
  const { containers, volumes } = await bench.listResources();
  t.strictSame([containers.length, volumes.length], [0, 1], "nothing is left of them");
  await bench.run("source", "rm", "bad");
});

t.test("a branch is isolated from its source and its siblings", async (t) => {
  t.match(
    await bench.run("branch", "create", "one", "--from", "shop", "--ttl", "24h"),
    /branch one is ready on port \d+/,
  );
  await bench.run("branch", "create", "two", "--from", "shop");
  await bench.sql("one", "DELETE FROM people WHERE id > 100; CREATE TABLE mine (i int)");
  t.strictSame(await bench.sql("one", "SELECT count(*)::int FROM people"), [[100]]);
  t.strictSame(await bench.sql("two", "SELECT count(*)::int FROM people"), [[20000]]);
  t.equal(source.sql("SELECT count(*) FROM people"), "20000");
  const listed = await bench.run("branch", "ls", "--usage");
  t.match(
    listed,
    /^NAME +PARENT +STATE +PORT +EXPIRES +CREATED +SIZE\none +shop +ready +\d+ +\d{4}-\S+Z +\S+Z +[\d.]+ [kM]B\ntwo +shop +ready +\d+ +never/,
  );
  t.match(await bench.run("connect", "one"), /^postgres:\/\/postgres@127\.0\.0\.1:\d+\/postgres$/);
  t.match(
    await bench.run("history", "one"),
    /creating +local:\S+ +create from source shop\n\S+ +creating +ready +local:\S+ +provisioned/,
  );
  const taken = await bench.try(["branch", "create", "one", "--from", "shop"]);
  t.equal(taken.exitCode, 1);
  t.match(taken.errorOutput, /name is taken by a branch that is ready/);
});

t.test("create refuses wrong requests", async (t) => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [["Bad_Name", "--from", "shop"], /1 to 41 lowercase/],
    [["x", "--from", "nowhere"], /Cannot find source "nowhere"/],
    [["x", "--from-branch", "nobody"], /Cannot find branch "nobody"/],
    [["x"], /exactly one of source and parent is needed, but neither is set/],
    [["x", "--from", "shop", "--ttl", "soon"], /must be a duration/],
    [["x", "--from", "shop", "--branch-pg-conf", "hba_file=/tmp/x"], /branches need their own value/],
    [["x", "--from", "shop", "--max-branches", "2"], /2 branches exist, the limit is 2/],
  ];
  for (const [args, expected] of cases) {
    const result = await bench.try(["branch", "create", ...args]);
    t.not(result.exitCode, 0, args.join(" "));
    t.match(result.errorOutput, expected, args.join(" "));
  }
});

t.test("a branch of a branch starts from the parent's state, and the parent goes on", async (t) => {
  const portBefore = await bench.run("connect", "one");
  await bench.run("branch", "create", "child", "--from-branch", "one");
  t.strictSame(await bench.sql("child", "SELECT count(*)::int FROM people"), [[100]]);
  await bench.sql("child", "DELETE FROM people");
  await bench.sql("one", "INSERT INTO people VALUES (-1, 'later')");
  t.strictSame(await bench.sql("one", "SELECT count(*)::int FROM people"), [[101]]);
  t.strictSame(await bench.sql("child", "SELECT count(*)::int FROM people"), [[0]]);
  t.equal(await bench.run("connect", "one"), portBefore, "the parent keeps its port");
  await bench.run("branch", "reset", "child");
  t.strictSame(
    await bench.sql("child", "SELECT count(*)::int FROM people"),
    [[100]],
    "a reset returns to the fork point",
  );
});

t.test("diff shows schema, rows and samples against the base", async (t) => {
  await bench.sql(
    "two",
    "INSERT INTO people SELECT g, 'new' FROM generate_series(30001, 30300) g; ALTER TABLE people ADD note text",
  );
  const text = await bench.run("diff", "two", "--data", "--sample", "2");
  t.match(text, /\+ {4}note text/);
  t.match(text, /public\.people +20000 +20\d+ +\+\d+/);
  t.match(text, /public\.people\t\{"id":30300,"mail":"new","note":null\}\npublic\.people\t\{"id":30299/);
  const json = JSON.parse(await bench.run("diff", "child", "--json")) as {
    schema_diff: string;
    tables: { delta: number }[];
  };
  t.equal(json.schema_diff, "");
  t.ok(json.tables.every((table) => table.delta === 0));
  t.notMatch(await bench.run("branch", "ls"), /diff-/, "the throwaway is gone");
});

t.test("reset discards writes and moves; destroy removes; names come back", async (t) => {
  const before = await bench.run("connect", "two");
  await bench.run("branch", "reset", "two");
  t.not(await bench.run("connect", "two"), before, "a new port");
  t.strictSame(await bench.sql("two", "SELECT count(*)::int FROM people"), [[20000]]);
  const inUse = await bench.try(["source", "rm", "shop"]);
  t.equal(inUse.exitCode, 1);
  t.match(inUse.errorOutput, /it has 3 live branches/);
  await bench.run("branch", "destroy", "two");
  t.match((await bench.try(["connect", "two"])).errorOutput, /Cannot find branch "two"/);
  t.match(await bench.run("history", "two"), /destroying +destroyed/);
  await bench.run("branch", "create", "two", "--from", "shop");
});

t.test("a lost container is restarted on its data, a hopeless one can be recovered or not", async (t) => {
  await bench.sql("one", "INSERT INTO people VALUES (-2, 'kept')");
  docker("rm", "-f", "-v", await bench.containerOf("one"));
  const doctor = await bench.try(["doctor"]);
  t.equal(doctor.exitCode, 1);
  t.match(doctor.output, /restart_branch +one +its container is gone/);
  await bench.run("gc");
  t.strictSame(await bench.sql("one", "SELECT mail FROM people WHERE id = -2"), [["kept"]]);
  t.equal((await bench.try(["doctor"])).exitCode, 0);
  docker("pause", await bench.containerOf("one"));
  t.match((await bench.try(["doctor"])).output, /restart_branch +one +its container is paused/);
  await bench.run("gc");
  t.strictSame(await bench.sql("one", "SELECT mail FROM people WHERE id = -2"), [["kept"]]);
  t.match((await bench.try(["branch", "recover", "one"])).errorOutput, /it is ready, but must be failed/);
});

t.test("masks run before anybody gets in, and their failure leaves nothing open", async (t) => {
  const file = join(bench.home, "mask.sql");
  writeFileSync(file, "SELECT pg_sleep(1); UPDATE people SET mail = 'masked';\n");
  await bench.run("source", "set-mask", "shop", file);
  t.match(await bench.run("source", "get-mask", "shop"), /-- mask\.sql\nSELECT pg_sleep/);
  await bench.run("branch", "create", "masked", "--from", "shop");
  t.strictSame(await bench.sql("masked", "SELECT DISTINCT mail FROM people"), [["masked"]]);
  writeFileSync(file, "UPDATE people SET mail = 'x'; SELECT 1/0;\n");
  await bench.run("source", "set-mask", "shop", file);
  const failed = await bench.try(["branch", "create", "broken", "--from", "shop"]);
  t.equal(failed.exitCode, 1);
  t.match(failed.errorOutput, /Cannot mask branch "broken" with "mask\.sql": .*division by zero/);
  t.match(await bench.run("branch", "ls"), /broken +shop +failed +-/);
  t.match((await bench.try(["branch", "recover", "broken"])).errorOutput, /it has no data left/);
  t.equal(await bench.containerOf("broken"), "", "no container is left");
  await bench.run("source", "clear-mask", "shop");
  await bench.run("branch", "reset", "broken");
  t.strictSame(await bench.sql("broken", "SELECT count(*)::int FROM people"), [[20000]]);
  for (const name of ["broken", "masked"]) await bench.run("branch", "destroy", name);
});

t.test("a branch has no way to production", async (t) => {
  const names =
    "archive_mode,max_logical_replication_workers,primary_conninfo,ssl,recovery_init_sync_method,max_connections";
  const rows = await bench.sql("two", `SELECT current_setting(n) FROM unnest('{${names}}'::text[]) n`);
  t.strictSame(rows.flat(), ["off", "0", "", "off", "syncfs", "100"]);
  const container = await bench.containerOf("two");
  const dial = `timeout 3 bash -c 'exec 3<>/dev/tcp/${source.host}/5432'`;
  t.not(tryDocker("exec", container, "sh", "-c", dial).exitCode, 0, "the source cannot be reached");
  const child = tryDocker("exec", "-u", "postgres", container, "sh", "-c", "ls /b/0/data");
  t.match(child.output, /Permission denied/, "Postgres cannot read the base behind the branch");
  const inspected = docker("inspect", container);
  t.notMatch(inspected, sourcePassword);
  t.match(inspected, /"HostIp": "127\.0\.0\.1"/, "published on loopback only");
  t.match(inspected, /"Memory": 1073741824/);
  t.match(inspected, /"ShmSize": 268435456/);
});

t.test("refresh makes a generation for new branches and leaves the others alone", async (t) => {
  source.sql("INSERT INTO people VALUES (0, 'fresh')");
  const port = await bench.run("connect", "two");
  t.match(await bench.run("source", "refresh", "shop"), /generation 2/);
  await bench.run("branch", "create", "newer", "--from", "shop");
  t.strictSame(await bench.sql("newer", "SELECT mail FROM people WHERE id = 0"), [["fresh"]]);
  t.strictSame(await bench.sql("two", "SELECT mail FROM people WHERE id = 0"), []);
  t.equal(await bench.run("connect", "two"), port);
  const failed = await bench.try(["source", "refresh", "shop"], { PGPASSWORD: "wrong" });
  t.equal(failed.exitCode, 1);
  t.match(await bench.run("source", "ls"), /ready +2/, "a failed refresh changes nothing");
});

t.test("an expired branch is reaped by gc, not before", async (t) => {
  await bench.run("branch", "create", "short", "--from", "shop", "--ttl", "1s");
  await new Promise((resolve) => setTimeout(resolve, 1100));
  t.match(await bench.run("branch", "ls"), /short/);
  const doctor = await bench.try(["doctor", "--json"]);
  t.equal(doctor.exitCode, 1);
  t.strictSame(
    (JSON.parse(doctor.output) as { actions: { kind: string; target: string }[] }).actions.map(({ kind, target }) => [
      kind,
      target,
    ]),
    [["reap", "short"]],
  );
  await bench.run("gc");
  t.notMatch(await bench.run("branch", "ls"), /short/);
  t.equal((await bench.try(["doctor", "--json"])).output.trim().replace(/\s/g, ""), '{"actions":null}');
});

t.test("rotation gives each branch a password of its own, under a key", async (t) => {
  const key = { BRANCHSVC_SECRET_KEY: "ab".repeat(32) };
  const noKey = await bench.try(["branch", "create", "rotated", "--from", "shop", "--rotate-branch-credentials"]);
  t.match(noKey.errorOutput, /no key to store it under/);
  const made = await bench.try(["branch", "reset", "rotated", "--rotate-branch-credentials", "--json"], key);
  t.equal(made.exitCode, 0, made.errorOutput);
  const { password } = JSON.parse(made.output) as { password: string };
  t.match(password, /^[0-9a-f]{32}$/);
  const url = (await bench.try(["connect", "rotated"], key)).output.trim();
  t.notMatch(url, password, "the URL holds no password");
  await t.rejects(bench.sql("rotated", "SELECT 1"), "the source's password is not accepted");
  const unreadable = await bench.try(["connect", "rotated"], { BRANCHSVC_SECRET_KEY: "cd".repeat(32) });
  t.match(unreadable.errorOutput, /cannot be decrypted with the configured key/);
  t.notMatch(
    docker("logs", await bench.containerOf("rotated")),
    /SCRAM-SHA-256|ALTER ROLE/,
    "the log does not show it",
  );
  await bench.run("branch", "destroy", "rotated");
});

t.test("a second process waits for the home and then gives up; other engines are refused clearly", async (t) => {
  const ssh = await bench.try(["branch", "ls"], { DOCKER_HOST: "ssh://someone@host" });
  t.equal(ssh.exitCode, 1);
  t.match(ssh.errorOutput, /ssh:\/\/ is not supported/);
  const gone = await bench.try(["doctor"], { DOCKER_HOST: "tcp://127.0.0.1:9" });
  t.equal(gone.exitCode, 2, "the plan could not be made");
  t.match(gone.errorOutput, /the Docker engine does not answer/);
  const results = await Promise.all(
    ["p1", "p2", "p3"].map((name) => bench.try(["branch", "create", name, "--from", "shop"])),
  );
  t.strictSame(
    results.map((result) => result.exitCode),
    [0, 0, 0],
    "three at once take turns",
  );
});

t.test("nothing is left when everything is destroyed", async (t) => {
  for (const line of (await bench.run("branch", "ls")).split("\n").slice(1)) {
    await bench.run("branch", "destroy", line.split(" ")[0] ?? "");
  }
  await bench.run("source", "rm", "shop");
  t.strictSame(await bench.listResources(), { containers: [], volumes: [] });
  t.match(await bench.run("history", "one"), /destroyed/, "history outlives branch and source");
  t.equal((await bench.try(["doctor"])).exitCode, 0);
});
