/**
 * A Docker engine that loses or refuses one request: whatever the operation answers, it has left nothing behind, and the
 * parent of a branch goes on. Also: volumes as folders under a root.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { type Fault, FaultySocket } from "../support/branching/faulty-socket.ts";
import { LocalBench, startSource } from "../support/branching/local-bench.ts";

t.setTimeout(1_800_000);
const source = await startSource({ major: "17" });
source.sql("CREATE TABLE t AS SELECT generate_series(1, 1000) AS i");
t.teardown(() => source[Symbol.dispose]());
const faults: readonly Fault[] = ["drop", "refuse"];

t.test("one request lost or refused during create leaves nothing behind", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "slipway-faults-"));
  await using socket = await FaultySocket.listen(folder);
  await using bench = new LocalBench();
  await bench.run("source", "add", "shop", "--host", source.host);
  await bench.run("branch", "create", "parent", "--from", "shop");
  await bench.sql("parent", "CREATE TABLE kept AS SELECT 42 AS i");
  for (const origin of [
    ["--from", "shop"],
    ["--from-branch", "parent"],
  ]) {
    socket.arm(-1, "drop");
    const clean = await bench.try(["branch", "create", "b", ...origin], { DOCKER_HOST: socket.url });
    t.equal(clean.exitCode, 0, clean.errorOutput);
    const requests = [...socket.requests];
    t.ok(requests.length >= 5, `${requests.length} requests`);
    await bench.run("branch", "destroy", "b");
    const step = origin[0] === "--from" ? 1 : 3;
    for (let index = 0; index < requests.length; index += step) {
      const fault = faults[index % 2] ?? "drop";
      socket.arm(index, fault);
      const result = await bench.try(["branch", "create", "b", ...origin], { DOCKER_HOST: socket.url });
      const what = `${origin[0]} request ${index} ${fault}: ${requests[index]}`;
      if (result.exitCode !== 0) {
        t.match(result.errorOutput, /^slipway bsctl: Cannot |out of order|socket hang up/m, what);
        const doctor = await bench.try(["doctor"]);
        t.equal(doctor.exitCode, 0, `${what}: ${doctor.output}`);
        t.equal(await bench.containerOf("b"), "", `${what}: no container is left`);
      }
      t.strictSame(await bench.sql("parent", "SELECT i FROM kept"), [[42]], `${what}: the parent serves`);
      if ((await bench.run("branch", "ls")).includes("\nb ")) await bench.run("branch", "destroy", "b");
    }
  }
  const { volumes } = await bench.listResources();
  t.strictSame(
    volumes.filter((name) => name.includes("-branch-b-")),
    [],
    "no volume is left",
  );
  rmSync(folder, { recursive: true, force: true });
});

t.test("an engine that hangs is given up and the branch rolled back", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "slipway-faults-"));
  await using socket = await FaultySocket.listen(folder);
  await using bench = new LocalBench();
  await bench.run("source", "add", "shop", "--host", source.host);
  await bench.run("branch", "create", "first", "--from", "shop");
  socket.arm(-1, "drop");
  await bench.try(["branch", "create", "b", "--from", "shop"], { DOCKER_HOST: socket.url });
  const starting = socket.requests.findIndex((request) => /containers\/[0-9a-f]+\/start/.test(request));
  await bench.run("branch", "destroy", "b");
  socket.arm(starting, "hang");
  const result = await bench.try(["branch", "create", "b", "--from", "shop"], { DOCKER_HOST: socket.url });
  t.equal(result.exitCode, 1);
  t.match(result.errorOutput, /the Docker engine did not answer within 60 s/);
  t.match(await bench.run("branch", "ls"), /b +shop +failed/);
  t.equal(await bench.containerOf("b"), "");
  rmSync(folder, { recursive: true, force: true });
});

t.test("volumes can be folders under a root on the container host", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "slipway-root-"));
  {
    await using bench = new LocalBench({ BRANCHSVC_VOLUME_ROOT: root });
    await bench.run("source", "add", "shop", "--host", source.host);
    t.equal(readdirSync(root).filter((name) => name.includes("-source-shop-")).length, 1);
    await bench.run("branch", "create", "one", "--from", "shop");
    await bench.sql("one", "DELETE FROM t WHERE i > 10");
    await bench.run("branch", "create", "two", "--from-branch", "one");
    t.strictSame(await bench.sql("two", "SELECT count(*)::int FROM t"), [[10]]);
    await bench.run("branch", "reset", "one");
    t.strictSame(await bench.sql("one", "SELECT count(*)::int FROM t"), [[1000]]);
    t.match(await bench.run("branch", "ls", "--usage"), /one .* [kM]B\ntwo .* [kM]B/);
    const elsewhere = await bench.try(["branch", "ls"], { BRANCHSVC_VOLUME_ROOT: "/elsewhere" });
    t.match(elsewhere.errorOutput, /this registry keeps them in the volume root/);
    for (const name of ["one", "two"]) await bench.run("branch", "destroy", name);
    await bench.run("source", "rm", "shop");
    t.strictSame(
      readdirSync(root).filter((name) => name.startsWith("branchsvc-")),
      [],
      "all folders are gone",
    );
  }
  rmSync(root, { recursive: true, force: true });
});
