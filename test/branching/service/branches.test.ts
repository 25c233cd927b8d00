/** The conditions and refusals of the contract's tables, on a real registry and a fake runtime. */
import t from "tap";
import { openSecretBox } from "../../../src/branching/drivers/secret-keys.ts";
import { isDomainError } from "../../../src/platform/errors/domain-error.ts";
import { createSeededRandom } from "../../../src/platform/random/random.ts";
import { FakeWorld, stuckTimeoutMs } from "../../support/branching/fake-world.ts";

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "none";
  } catch (error) {
    return isDomainError(error) ? `${error.code} (${error.kind})` : String(error);
  }
}

t.test("names, quota and TTL of new branches", async (t) => {
  const world = await FakeWorld.create({ settings: { maxBranches: 2, ttl: { defaultTtlMs: 5000, maxTtlMs: 60_000 } } });
  await world.addSource();
  const { engine, caller } = world;
  const first = await engine.createBranch({ name: "a", source: "shop" }, caller);
  t.equal(first.expiresAtMs, world.nowMs + 5000, "the default TTL");
  const second = await engine.createBranch({ name: "b", source: "shop", ttlSeconds: 3600 }, caller);
  t.equal(second.expiresAtMs, world.nowMs + 60_000, "the longest TTL");
  t.equal(await codeOf(engine.createBranch({ name: "a", source: "shop" }, caller)), "name_taken (already_exists)");
  t.equal(
    await codeOf(engine.createBranch({ name: "c", source: "shop" }, caller)),
    "quota_reached (permission_denied)",
  );
  await engine.diffBranch("a", 0, caller);
  t.pass("a diff does not count against the quota");
  await engine.destroyBranch("a", caller);
  await engine.createBranch({ name: "a", source: "shop" }, caller);
  t.equal(await codeOf(engine.createBranch({ name: "x", source: "none" }, caller)), "source_not_found (not_found)");
});

t.test("only a ready source seeds branches; a failed one may be added again", async (t) => {
  const world = await FakeWorld.create();
  world.onCall = (call) => {
    if (call.name === "exec") throw new Error("no helper today");
  };
  t.match(await codeOf(world.addSource()), /no helper today/);
  t.equal((await world.engine.getSource("shop")).state, "failed");
  t.equal(
    await codeOf(world.engine.createBranch({ name: "b", source: "shop" }, world.caller)),
    "wrong_state (failed_precondition)",
  );
  t.equal(world.runtime.volumes.size, 0, "nothing is left of the seed");
  world.onCall = () => {};
  await world.addSource();
  t.equal((await world.engine.getSource("shop")).generation, 1);
  t.equal(await codeOf(world.addSource()), "name_taken (already_exists)");
});

t.test("recover and reset are refused in every state but theirs", async (t) => {
  const world = await FakeWorld.create();
  await world.addSource();
  const { engine, caller } = world;
  const branch = await engine.createBranch({ name: "b", source: "shop" }, caller);
  t.equal(await codeOf(engine.recoverBranch("b", caller)), "nothing_to_recover (failed_precondition)");
  t.equal(await codeOf(engine.recoverBranch("none", caller)), "branch_not_found (not_found)");
  const move = { branchId: branch.id, reason: "test", actor: "test", atMs: 1 };
  await world.registry.branches.transition({ ...move, from: "ready", trigger: "reset" });
  t.equal(await codeOf(engine.resetBranch("b", caller)), "wrong_state (failed_precondition)", "resetting");
  t.equal(await codeOf(engine.recoverBranch("b", caller)), "nothing_to_recover (failed_precondition)");
  t.equal(await codeOf(engine.createBranch({ name: "c", parent: "b" }, caller)), "wrong_state (failed_precondition)");
  t.equal(await codeOf(engine.diffBranch("b", 0, caller)), "wrong_state (failed_precondition)");
  await world.registry.branches.transition({
    ...move,
    from: "resetting",
    trigger: "failed",
    patch: { instanceId: undefined },
  });
  world.runtime.volumes.delete(branch.volume ?? "");
  t.equal(
    await codeOf(engine.recoverBranch("b", caller)),
    "nothing_to_recover (failed_precondition)",
    "its volume is gone",
  );
  await engine.resetBranch("b", caller);
  t.equal((await engine.getBranch("b")).state, "ready");
});

t.test("a source with live branches stays; its history and theirs outlive it", async (t) => {
  const world = await FakeWorld.create();
  await world.addSource("shop", [{ name: "m", sql: "SELECT 1;" }]);
  const { engine, caller } = world;
  await engine.createBranch({ name: "b", source: "shop" }, caller);
  t.equal(await codeOf(engine.removeSource("shop")), "source_has_branches (failed_precondition)");
  await engine.destroyBranch("b", caller);
  await engine.removeSource("shop");
  t.equal(world.runtime.volumes.size, 0);
  t.strictSame(
    (await engine.getHistory("b")).map((entry) => entry.toState),
    ["creating", "ready", "destroying", "destroyed"],
  );
  t.equal(await codeOf(engine.getHistory("never")), "branch_not_found (not_found)");
  await world.addSource();
  t.strictSame(await engine.listMasks("shop"), [], "masks go with their source");
});

t.test("masks run in order, behind the gate, at creation and at reset", async (t) => {
  const world = await FakeWorld.create();
  const masks = [
    { name: "a.sql", sql: "MASK A;" },
    { name: "b.sql", sql: "MASK B;" },
  ];
  await world.addSource("shop", masks);
  world.onCall = (call) => {
    if (call.name !== "exec") return;
    const running = [...world.runtime.instances.values()].filter((item) => item.spec.labels.kind === "branch");
    for (const instance of running) t.equal(world.runtime.admits(instance.id), false, "closed while masks run");
  };
  const branch = await world.engine.createBranch({ name: "b", source: "shop" }, world.caller);
  t.equal(world.runtime.admits(branch.instanceId ?? ""), true);
  const seen = (): readonly string[] => world.runtime.sqlSeen.flatMap((sql) => sql.match(/MASK [AB]/)?.[0] ?? []);
  t.strictSame(seen(), ["MASK A", "MASK B"]);
  await world.engine.resetBranch("b", world.caller);
  t.strictSame(seen(), ["MASK A", "MASK B", "MASK A", "MASK B"]);
  world.onCall = () => {};
  world.runtime.failingSql.set("MASK B", "ERROR:  no such table\nDETAIL:  secret row\n");
  const error = await world.engine
    .createBranch({ name: "c", source: "shop" }, world.caller)
    .catch((caught: unknown) => caught);
  t.match(error, { code: "mask_failed", kind: "unprocessable", message: /with "b.sql": ERROR: {2}no such table$/ });
  const failed = await world.engine.getBranch("c");
  t.strictSame([failed.state, failed.volume], ["failed", undefined]);
  t.match((await world.engine.getHistory("c")).at(-1)?.reason, /no such table/);
  t.equal(await codeOf(world.engine.recoverBranch("c", world.caller)), "nothing_to_recover (failed_precondition)");
});

t.test("rotation sends a verifier, never the password", async (t) => {
  const random = createSeededRandom(9);
  const secrets = openSecretBox({
    key: "ab".repeat(32),
    keyPath: undefined,
    previousKeys: [],
    homeFolder: "/nowhere",
    generates: false,
    random,
  });
  t.ok(secrets);
  if (secrets === undefined) return;
  const world = await FakeWorld.create({ settings: { rotatesCredentials: true }, secrets });
  await world.addSource();
  const branch = await world.engine.createBranch({ name: "b", source: "shop" }, world.caller);
  const password = world.engine.openPassword(branch);
  t.equal(password.kind, "known");
  if (password.kind !== "known") return;
  const all = world.runtime.sqlSeen.join("\n");
  t.notMatch(all, password.password);
  t.match(all, /ALTER ROLE "postgres" PASSWORD 'SCRAM-SHA-256\$4096:/);
  t.match(branch.sealedPassword, /^enc:v2:/);
  const before = branch.sealedPassword;
  t.not((await world.engine.resetBranch("b", world.caller)).sealedPassword, before, "a reset mints a new one");
});

t.test("a change of the key seals every password again, and one that nobody opens harms nobody", async (t) => {
  const random = createSeededRandom(9);
  const box = (key: string, previousKeys: readonly string[]) =>
    openSecretBox({
      key: key.repeat(32),
      keyPath: undefined,
      previousKeys,
      homeFolder: "/nowhere",
      generates: false,
      random,
    });
  const [oldBox, newBox, otherBox] = [box("ab", []), box("cd", ["ab".repeat(32)]), box("ef", [])];
  const secrets = { current: oldBox };
  const world = await FakeWorld.create({
    settings: { rotatesCredentials: true },
    secrets: {
      seal: (plain) => secrets.current?.seal(plain) ?? "",
      open: (sealed) => secrets.current?.open(sealed),
      isStale: (sealed) => secrets.current?.isStale(sealed) ?? true,
    },
  });
  await world.addSource();
  const made = await world.engine.createBranch({ name: "b", source: "shop" }, world.caller);
  const before = world.engine.openPassword(made);
  secrets.current = newBox;
  t.strictSame(await world.engine.resealPasswords(), { resealedCount: 1, unavailable: [] });
  t.strictSame(await world.engine.resealPasswords(), { resealedCount: 0, unavailable: [] }, "once is enough");
  t.strictSame(world.engine.openPassword(await world.engine.getBranch("b")), before);
  secrets.current = otherBox;
  t.strictSame(await world.engine.resealPasswords(), { resealedCount: 0, unavailable: ["b"] });
  t.strictSame(world.engine.openPassword(await world.engine.getBranch("b")), { kind: "unavailable" });
  t.equal((await world.engine.listBranches()).length, 1);
});

t.test("a parent in use is neither reset nor destroyed, and the chain has its limit", async (t) => {
  const world = await FakeWorld.create({ layout: "overlay", settings: { maxLayerDepth: 2 } });
  await world.addSource();
  const { engine, caller } = world;
  await engine.createBranch({ name: "p", source: "shop" }, caller);
  const row = {
    ...(await engine.getBranch("p")),
    id: "child",
    name: "child",
    parentId: (await engine.getBranch("p")).id,
    instanceId: undefined,
    volume: "v",
    nowMs: world.nowMs,
  };
  await world.registry.branches.insertBranch(row, { maxBranches: 0 }, "test");
  t.equal(await codeOf(engine.resetBranch("p", caller)), "branch_in_use (failed_precondition)");
  t.equal(await codeOf(engine.destroyBranch("p", caller)), "branch_in_use (failed_precondition)");
  await engine.destroyBranch("child", caller);
  await engine.createBranch({ name: "c1", parent: "p" }, caller);
  await engine.createBranch({ name: "c2", parent: "p" }, caller);
  t.equal(
    await codeOf(engine.createBranch({ name: "c3", parent: "p" }, caller)),
    "layer_depth_reached (permission_denied)",
  );
  await engine.resetBranch("p", caller);
  await engine.createBranch({ name: "c3", parent: "p" }, caller);
  t.pass("a reset shortens the chain");
  for (const name of ["p", "c1", "c2", "c3"]) await engine.destroyBranch(name, caller);
  t.strictSame(await world.registry.layers.listLayers(), [], "layers go with their last user");
});

t.test("a port that is taken is replaced", async (t) => {
  const world = await FakeWorld.create();
  await world.addSource();
  const first = await world.engine.createBranch({ name: "a", source: "shop" }, world.caller);
  await world.registry.branches.patchBranch(first.id, "ready", { port: undefined }, world.nowMs);
  const { fraction } = world.random;
  const taken = ((first.port ?? 0) - 21_000) / 10_000;
  let calls = 0;
  Object.assign(world.random, { fraction: () => (calls++ === 0 ? taken + 1e-9 : fraction()) });
  const second = await world.engine.createBranch({ name: "b", source: "shop" }, world.caller);
  t.not(second.port, first.port);
  t.equal([...world.runtime.instances.values()].length, 2, "the refused container is gone");
});

t.test("a destroy that fails stays destroying, is journaled and can be repeated", async (t) => {
  const world = await FakeWorld.create();
  await world.addSource();
  await world.engine.createBranch({ name: "b", source: "shop" }, world.caller);
  world.onCall = (call) => {
    if (call.name === "removeInstance") throw new Error("engine trouble");
  };
  t.equal(await codeOf(world.engine.destroyBranch("b", world.caller)), "destroy_failed (internal)");
  t.equal((await world.engine.getBranch("b")).state, "destroying");
  world.onCall = () => {};
  const entries = await world.engine.getHistory("b");
  t.match(entries.at(-1), { fromState: "destroying", toState: "destroying", reason: /engine trouble/ });
  world.nowMs += stuckTimeoutMs + 1;
  t.strictSame(
    (await world.engine.planReconcile()).map((action) => action.kind),
    ["retry_destroy"],
  );
  await world.engine.destroyBranch("b", world.caller);
  t.equal(await codeOf(world.engine.destroyBranch("b", world.caller)), "branch_not_found (not_found)");
});

t.test("a caller that goes away rolls the creation back", async (t) => {
  const world = await FakeWorld.create();
  await world.addSource();
  const controller = new AbortController();
  world.onCall = (call) => {
    if (call.name === "startInstance") controller.abort(new Error("gone"));
  };
  const code = await codeOf(
    world.engine.createBranch({ name: "b", source: "shop" }, { actor: "x", signal: controller.signal }),
  );
  t.equal(code, "operation_stopped (unavailable)");
  t.equal(world.runtime.instances.size, 0);
  t.equal((await world.engine.getBranch("b")).state, "failed");
});

t.test("a second refresh is refused while one runs; a dead one can be taken over", async (t) => {
  const world = await FakeWorld.create();
  await world.addSource();
  const source = await world.engine.getSource("shop");
  await world.registry.sources.claimRefresh(source.id, world.nowMs, 0);
  t.equal(await codeOf(world.engine.refreshSource("shop", "", world.caller)), "source_busy (failed_precondition)");
  world.nowMs += stuckTimeoutMs + 1;
  t.equal((await world.engine.refreshSource("shop", "", world.caller)).generation, 2);
});
