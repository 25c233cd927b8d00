/**
 * The crash matrix on the fake runtime: every step of every operation is the last of its process once; every call of the
 * runtime fails once. Afterwards gc must leave nothing without an owner, and every operation must work again.
 */
import t, { type Test } from "tap";
import { actionKinds } from "../../src/branching/model/reconcile-plan.ts";
import type { BranchingEngine } from "../../src/branching/service/engine.ts";
import { isDomainError } from "../../src/platform/errors/domain-error.ts";
import { FakeWorld, stuckTimeoutMs, type WorldOptions } from "../support/branching/fake-world.ts";
import { checkJournal, findProblems } from "../support/branching/world-checks.ts";

interface Scenario {
  readonly name: string;
  prepare(world: FakeWorld): Promise<void>;
  run(engine: BranchingEngine, world: FakeWorld): Promise<unknown>;
}

const masks = [{ name: "mask.sql", sql: "UPDATE people SET mail = 'x';" }];

const scenarios: readonly Scenario[] = [
  {
    name: "seed",
    prepare: async () => {},
    run: (engine, world) => engine.addSource({ name: "shop", host: "db" }, world.caller),
  },
  {
    name: "refresh",
    prepare: (world) => world.addSource(),
    run: (engine, world) => engine.refreshSource("shop", "", world.caller),
  },
  {
    name: "create",
    prepare: (world) => world.addSource("shop", masks),
    run: (engine, world) => engine.createBranch({ name: "b", source: "shop" }, world.caller),
  },
  {
    name: "create from a branch",
    prepare: async (world) => {
      await world.addSource("shop", masks);
      await prepareParent(world);
    },
    run: (engine, world) => engine.createBranch({ name: "b", parent: "parent" }, world.caller),
  },
  {
    name: "reset",
    prepare: async (world) => {
      await world.addSource("shop", masks);
      await world.engine.createBranch({ name: "b", source: "shop" }, world.caller);
    },
    run: (engine, world) => engine.resetBranch("b", world.caller),
  },
  {
    name: "recover",
    prepare: prepareFailed,
    run: (engine, world) => engine.recoverBranch("b", world.caller),
  },
  {
    name: "diff",
    prepare: async (world) => {
      await world.addSource();
      await world.engine.createBranch({ name: "b", source: "shop" }, world.caller);
    },
    run: (engine, world) => engine.diffBranch("b", 0, world.caller),
  },
  {
    name: "destroy",
    prepare: async (world) => {
      await world.addSource();
      await prepareParent(world);
      await world.engine.createBranch({ name: "b", parent: "parent" }, world.caller);
    },
    run: (engine, world) => engine.destroyBranch("b", world.caller),
  },
];

async function prepareParent(world: FakeWorld): Promise<void> {
  const parent = await world.engine.createBranch({ name: "parent", source: "shop" }, world.caller);
  world.runtime.write(parent.instanceId ?? "", "kept");
}

async function prepareFailed(world: FakeWorld): Promise<void> {
  await world.addSource();
  const branch = await world.engine.createBranch({ name: "b", source: "shop" }, world.caller);
  await world.runtime.removeInstance(branch.instanceId ?? "");
  world.onCall = (call) => {
    if (call.name === "startInstance") throw new Error("it does not start");
  };
  await world.engine.reconcile(world.caller);
  world.onCall = () => {};
}

/** gc until nothing is left to do, with the time for dead operations to count as stuck in between. */
async function settle(world: FakeWorld): Promise<readonly string[]> {
  const kinds: string[] = [];
  for (let round = 0; round < 4; round++) {
    world.nowMs += stuckTimeoutMs + 1000;
    const { done, failed } = await world.engine.reconcile(world.caller);
    kinds.push(...done.map((action) => action.kind));
    if (failed.length > 0) throw failed[0]?.error;
  }
  return kinds;
}

async function checkAftermath(test: Test, world: FakeWorld, what: string): Promise<void> {
  const kinds = await settle(world);
  test.strictSame(
    kinds.filter((kind) => !actionKinds.some((known) => known === kind)),
    [],
    `${what}: only known kinds`,
  );
  test.strictSame(await findProblems(world), [], `${what}: nothing is left over`);
  const parent = await world.registry.branches.findLiveBranch("parent");
  if (parent !== undefined) {
    if (parent.state === "failed") await world.engine.recoverBranch("parent", world.caller);
    const alive = await world.engine.getBranch("parent");
    test.ok(world.runtime.readWords(alive.instanceId ?? "").includes("kept"), `${what}: the parent has its data`);
  }
  await checkNameIsReusable(test, world, what);
}

async function checkNameIsReusable(test: Test, world: FakeWorld, what: string): Promise<void> {
  const source = await world.registry.sources.findSource("shop");
  if (source?.state !== "ready") await world.addSource();
  if ((await world.registry.branches.findLiveBranch("b")) !== undefined)
    await world.engine.destroyBranch("b", world.caller);
  await world.engine.createBranch({ name: "b", source: "shop" }, world.caller);
  test.strictSame(await checkJournal(world, "b"), [], `${what}: the journal is continuous`);
  test.strictSame(await findProblems(world), [], `${what}: the name can be used again`);
}

async function listPoints(
  scenario: Scenario,
  options: WorldOptions,
): Promise<{ points: readonly string[]; calls: number }> {
  const world = await FakeWorld.create(options);
  await scenario.prepare(world);
  const [pointsBefore, callsBefore] = [world.points.length, world.runtime.callCount];
  await scenario.run(world.engine, world);
  return { points: world.points.slice(pointsBefore), calls: world.runtime.callCount - callsBefore };
}

for (const layout of ["overlay", "reflink"] as const) {
  for (const scenario of scenarios) {
    t.test(`${layout}: ${scenario.name} survives a death at each of its steps`, async (t) => {
      const { points } = await listPoints(scenario, { layout });
      t.ok(points.length > 0, "there are steps");
      for (const [index, point] of points.entries()) {
        const world = await FakeWorld.create({ layout });
        await scenario.prepare(world);
        let seen = 0;
        world.diesAt = () => seen++ === index;
        const isEnded = await world.attempt((engine) => scenario.run(engine, world));
        t.equal(isEnded, false, `dies at ${point}`);
        world.diesAt = () => false;
        world.restart();
        await checkAftermath(t, world, `death at ${point}`);
      }
    });

    t.test(`${layout}: ${scenario.name} survives the failure of each of its calls`, async (t) => {
      const { calls } = await listPoints(scenario, { layout });
      t.ok(calls > 0, "there are calls");
      for (let index = 0; index < calls; index++) {
        const world = await FakeWorld.create({ layout });
        await scenario.prepare(world);
        const failing = world.runtime.callCount + index;
        let name = "";
        world.onCall = (call) => {
          if (call.index !== failing) return;
          name = call.name;
          throw new Error(`call ${call.name} failed`);
        };
        let error: unknown;
        await scenario.run(world.engine, world).catch((caught: unknown) => {
          error = caught;
        });
        t.ok(error === undefined || error instanceof Error || isDomainError(error), `${name} (${index}) ends`);
        world.onCall = () => {};
        if (scenario.name.startsWith("create") && error !== undefined) {
          t.strictSame(await findProblems(world), [], `failure of call ${index} (${name}) is rolled back at once`);
          const parent = await world.registry.branches.findLiveBranch("parent");
          t.ok(parent === undefined || parent.state === "ready", "the parent is not harmed");
        }
        await checkAftermath(t, world, `failure of call ${index} (${name})`);
      }
    });
  }
}
