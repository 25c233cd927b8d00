import { statSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { Generation, Source } from "../../../src/branching/model/records.ts";
import type { NewBranch, Registry } from "../../../src/branching/service/ports.ts";
import { openRegistry } from "../../../src/branching/store/registry.ts";
import { systemRandom } from "../../../src/platform/random/random.ts";
import type { DatabaseTarget } from "../../../src/platform/sql/database.ts";
import { startPostgres } from "../../support/postgres-server.ts";

const source: Source = {
  id: "s1",
  name: "shop",
  host: "db",
  port: 5432,
  user: "app",
  database: "shop",
  network: undefined,
  pgVersion: "17",
  via: "dump",
  dumpSchemas: ["a", "b"],
  image: undefined,
  state: "seeding",
  generation: 0,
  createdAtMs: 1_800_000_000_000,
  updatedAtMs: 1_800_000_000_000,
  isRefreshing: false,
};

const generation: Generation = {
  id: "g1",
  sourceId: "s1",
  sourceName: "shop",
  number: 1,
  state: "seeding",
  volume: "v1",
  layout: "overlay",
  clonesExtents: true,
  imageId: "sha256:1",
  superuser: "app",
  maxConnections: 50,
  walSegmentBytes: 16_777_216,
  createdAtMs: 1,
  updatedAtMs: 1,
};

function newBranch(name: string, id = name): NewBranch {
  return {
    id,
    name,
    sourceName: "shop",
    generationId: "g1",
    parentName: undefined,
    parentId: undefined,
    baseLayerId: undefined,
    topLayerId: undefined,
    volume: `v-${id}`,
    pendingVolume: undefined,
    instanceId: undefined,
    host: undefined,
    port: undefined,
    user: "app",
    database: "shop",
    sealedPassword: undefined,
    isThrowaway: false,
    expiresAtMs: undefined,
    nowMs: 10,
  };
}

async function prepare(registry: Registry): Promise<void> {
  await registry.sources.insertSource(source);
  await registry.sources.insertGeneration(generation);
  await registry.sources.activateGeneration(generation, 5);
}

const free = { maxBranches: 0 };
const move = { reason: "test", actor: "tester", atMs: 20 } as const;

/** One suite for both databases. */
async function checkRegistry(t: Test, open: () => Promise<Registry>): Promise<void> {
  const registry = await open();
  await prepare(registry);
  const { branches, sources, layers } = registry;

  t.strictSame(await sources.findSource("shop"), { ...source, state: "ready", generation: 1, updatedAtMs: 5 });
  t.strictSame(await sources.getGeneration("g1"), { ...generation, state: "ready", updatedAtMs: 5 });
  t.equal(
    await sources.activateGeneration({ ...generation, id: "g9", number: 3 }, 6),
    false,
    "generations count one by one",
  );
  const dead = { ...generation, id: "g2", number: 2 };
  t.equal(await sources.activateGeneration(dead, 6), false, "a seed whose row gc took away comes too late");
  t.equal((await sources.findSource("shop"))?.generation, 1, "and has changed nothing");
  t.match(await sources.insertSource({ ...source, id: "s2" }), { holder: { id: "s1" } }, "the name is held");

  const inserted = await Promise.all(
    ["a1", "a2", "a3"].map((id) => branches.insertBranch(newBranch("a", id), free, "me")),
  );
  t.strictSame(
    inserted.map((outcome) => outcome.kind).sort(),
    ["inserted", "name-taken", "name-taken"],
    "one of three wins",
  );
  t.strictSame(await branches.insertBranch(newBranch("b"), { maxBranches: 1 }, "me"), {
    kind: "quota-reached",
    count: 1,
  });
  t.strictSame(await branches.insertBranch({ ...newBranch("b"), generationId: "none" }, free, "me"), {
    kind: "source-changed",
  });
  t.strictSame(await branches.insertBranch({ ...newBranch("b"), parentId: "a1" }, free, "me"), {
    kind: "parent-changed",
  });

  const live = await branches.findLiveBranch("a");
  const id = live?.id ?? "";
  const raced = await Promise.all([
    branches.transition({
      ...move,
      branchId: id,
      from: "creating",
      trigger: "provisioned",
      patch: { port: 21_001, isReleased: true },
    }),
    branches.transition({ ...move, branchId: id, from: "creating", trigger: "failed" }),
    branches.transition({ ...move, branchId: id, from: "creating", trigger: "failed" }),
  ]);
  t.equal(raced.filter(Boolean).length, 1, "one transition wins the race");
  t.equal((await branches.findHistory("a"))?.length, 2, "and the losers write no journal");
  await t.rejects(branches.transition({ ...move, branchId: id, from: "creating", trigger: "recover" }), {
    message: /is no transition/,
  });

  await branches.insertBranch(newBranch("p"), free, "me");
  await branches.transition({ ...move, branchId: "p", from: "creating", trigger: "provisioned" });
  await branches.insertBranch({ ...newBranch("c"), parentId: "p", parentName: "p" }, free, "me");
  const guarded = { ...move, branchId: "p", from: "ready", trigger: "reset", isRefusedWhileForking: true } as const;
  t.equal(await branches.transition(guarded), false, "a parent at work is guarded");
  const layer = {
    id: "l1",
    volume: "v-p",
    generationId: "g1",
    parentId: undefined,
    layout: "overlay",
    createdAtMs: 3,
  } as const;
  await branches.transition({
    ...move,
    branchId: "p",
    from: "ready",
    trigger: "freeze",
    patch: { pendingVolume: "v-p2" },
  });
  await branches.transition({
    ...move,
    branchId: "p",
    from: "resetting",
    trigger: "provisioned",
    newLayer: layer,
    patch: { volume: "v-p2", pendingVolume: undefined, topLayerId: "l1" },
  });
  t.strictSame(await layers.getLayer("l1"), layer);
  t.match(await branches.getBranch("p"), { volume: "v-p2", pendingVolume: undefined, topLayerId: "l1" });
  t.equal(await layers.deleteUnusedLayer("l1"), false, "a layer in use stays");
  t.equal(await sources.deleteUnusedGeneration("g1"), false, "so does a generation");
  t.strictSame(await sources.deleteSource("s1"), { liveBranchCount: 3 });

  for (const name of ["a", "p", "c"]) {
    const branch = await branches.findLiveBranch(name);
    await branches.transition({
      ...move,
      branchId: branch?.id ?? "",
      from: branch?.state ?? "ready",
      trigger: "destroy",
    });
    await branches.transition({ ...move, branchId: branch?.id ?? "", from: "destroying", trigger: "destroyed" });
  }
  t.equal(await layers.deleteUnusedLayer("l1"), true);
  t.strictSame(await sources.deleteSource("s1"), { liveBranchCount: 0 });
  t.equal(await sources.deleteUnusedGeneration("g1"), true);
  t.equal((await branches.findHistory("a"))?.at(-1)?.toState, "destroyed", "history outlives source and branch");
  t.equal(await branches.findHistory("none"), undefined);

  await sources.setMasks("shop", [
    { name: "1", sql: "a" },
    { name: "2", sql: "b" },
  ]);
  await sources.setMasks("shop", [{ name: "3", sql: "c" }]);
  t.strictSame(await sources.listMasks("shop"), [{ name: "3", sql: "c" }]);
  await registry.facts.set("k", "1");
  await registry.facts.set("k", "2");
  t.equal(await registry.facts.find("k"), "2");
  const again = await open();
  t.equal(again.instanceId, registry.instanceId, "the instance id is minted once");
  await again.close();
  await registry.close();
}

t.test("the registry on SQLite", async (t) => {
  const target: DatabaseTarget = { kind: "sqlite", path: join(t.testdir(), "home", "registry.db") };
  await checkRegistry(t, () => openRegistry(target, systemRandom));
  t.equal(statSync(target.path).mode & 0o777, 0o600);
});

t.test("the registry on Postgres", async (t) => {
  await using server = await startPostgres();
  await checkRegistry(t, () => openRegistry({ kind: "postgres", url: server.url }, systemRandom));
});
