/**
 * A Docker engine with which one request goes wrong (lost on the way, refused, answered into the void, never answered):
 * whatever the operation then says, gc finds all that it left behind, and the parent of a branch goes on at once.
 * BRANCHING_ALL_FAULTS=1 tries every fault at every request. Also: volumes as folders under a root.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { isDomainError } from "../../src/platform/errors/domain-error.ts";
import { sleep } from "../../src/platform/time/clock.ts";
import { type Fault, FaultySocket } from "../support/branching/faulty-socket.ts";
import { LocalBench, sourcePassword, startSource } from "../support/branching/local-bench.ts";
import { checksum, listOperations, tidy } from "../support/branching/operations.ts";
import { RealWorld } from "../support/branching/real-world.ts";

t.setTimeout(1_800_000);
const source = await startSource({ major: "17" });
source.sql("CREATE TABLE t AS SELECT generate_series(1, 1000) AS i");
source.sql("CREATE TABLE kept AS SELECT g AS id, md5(g::text) AS note FROM generate_series(1, 1000) g");
t.teardown(() => source[Symbol.dispose]());
const faults: readonly Fault[] = ["drop", "refuse", "cut", "hang"];
const triesAll = process.env["BRANCHING_ALL_FAULTS"] === "1";
/** The operations on branches; the long ones on sources, diff and destroy take part when all are asked for. */
const quickOperations: ReadonlySet<string> = new Set(["create", "create from a branch", "reset", "recover"]);
const operationMsMax = 120_000;

for (const operation of listOperations(source.host)) {
  if (!triesAll && !quickOperations.has(operation.name)) continue;
  t.test(`${operation.name} leaves nothing behind when one request goes wrong`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "slipway-faults-"));
    await using socket = await FaultySocket.listen(folder);
    await using world = new RealWorld();
    await world.use(async (engine) => {
      await engine.addSource({ name: "shop", host: source.host, password: sourcePassword }, world.caller);
      await engine.createBranch({ name: "parent", source: "shop" }, world.caller);
    });
    await world.query("parent", "UPDATE kept SET note = 'of the parent' WHERE id <= 10");
    const expected = await world.query("parent", checksum);
    const attempt = async (index: number, fault: Fault): Promise<unknown> => {
      await world.use((engine) => operation.prepare(engine, world.caller));
      socket.arm(index, fault);
      const options = { dockerHost: socket.url, dockerCallTimeoutMs: 2000 };
      return world
        .use(
          (engine) => within(operation.run(engine, world.caller)),
          operation.environment === undefined ? options : { ...options, environment: operation.environment },
        )
        .then(
          () => undefined,
          (error: unknown) => error,
        );
    };
    t.equal(await attempt(-1, "drop"), undefined, "all goes well without a fault");
    const requests = [...socket.requests];
    t.ok(requests.length >= 2, `${requests.length} requests`);
    await tidy(world);
    for (let index = 0; index < requests.length; index += 1) {
      for (const fault of triesAll ? faults : [faults[index % faults.length] ?? "drop"]) {
        const what = `request ${index} ${fault}: ${requests[index]?.replace(/[0-9a-f]{64}/g, "ID")}`;
        const error = await attempt(index, fault);
        t.ok(error === undefined || isDomainError(error), `${what}: ${error ?? "done"}`);
        t.strictSame(await world.query("parent", checksum), expected, `${what}: the parent serves at once`);
        await world.settle();
        t.strictSame(await world.findProblems(), [], `${what}: nothing is left without an owner`);
        await tidy(world);
      }
    }
    rmSync(folder, { recursive: true, force: true });
  });
}

async function within(work: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  const late = sleep(operationMsMax, limit.signal).then(
    () => Promise.reject(new Error(`it still runs after ${operationMsMax / 1000} s`)),
    () => {},
  );
  try {
    await Promise.race([work, late]);
  } finally {
    limit.abort();
  }
}

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
