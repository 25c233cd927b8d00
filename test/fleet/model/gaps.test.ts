/** What counts as not seen, and when that stands in the way of a verdict. */
import t from "tap";
import { loadEmbeddedKnowledgeBase } from "../../../src/fleet/drivers/knowledge-base-files.ts";
import { type EvaluateInput, evaluate } from "../../../src/fleet/model/evaluate.ts";
import type { Capability, Inventory } from "../../../src/fleet/model/inventory.ts";
import type { Gap } from "../../../src/fleet/model/report.ts";
import { allCapabilities, defaultDate, emptyStream, healthyCluster } from "./golden-scenarios.ts";

const knowledgeBase = loadEmbeddedKnowledgeBase();

function gapsOf(inventory: Inventory, more: Partial<EvaluateInput> = {}): readonly Gap[] {
  return evaluate({ inventory, knowledgeBase, target: "1.36", date: defaultDate, ...more }).notAssessed;
}

function withCapability(name: string, capability: Capability): Inventory {
  return { ...healthyCluster, capabilities: { ...allCapabilities, [name]: capability } };
}

t.test("a cluster where everything was seen has no gap", async (t) => {
  t.strictSame(gapsOf(healthyCluster), []);
});

t.test("only api-usage, versions and addons are required", async (t) => {
  for (const name of Object.keys(allCapabilities)) {
    const [gap, ...others] = gapsOf(withCapability(name, { available: false, reason: "forbidden" }));
    const isRequired = ["api-usage", "versions", "addons"].includes(name);
    t.strictSame(gap, { capability: name, reason: "forbidden", ...(isRequired ? { required: true } : {}) }, name);
    t.strictSame(others, []);
    const { [name]: _, ...rest } = allCapabilities;
    const [missing] = gapsOf({ ...healthyCluster, capabilities: rest });
    t.equal(missing?.capability, name, `${name} is missing`);
    t.equal(missing?.required ?? false, isRequired, `${name} is missing`);
  }
});

t.test("a partial list of APIs is required when it may lack a removed one", async (t) => {
  const requiredWith = (capability: Partial<Capability>): boolean =>
    gapsOf(withCapability("api-usage", { available: true, partial: true, ...capability }))[0]?.required ?? false;
  t.equal(requiredWith({ skipped: ["policy/v1beta1 PodDisruptionBudget"] }), true, "removed before the target");
  t.equal(
    requiredWith({ skipped: ["apps/v1 Deployment", "v1 ConfigMap", "example.com/v1 Widget"] }),
    false,
    "served at the target",
  );
  t.equal(
    requiredWith({ skipped: ["apps/v1 Deployment"], skippedOmitted: 1 }),
    true,
    "the list of what was skipped is cut",
  );
  t.equal(requiredWith({ skipped: [] }), true, "nothing is named");
  t.equal(requiredWith({}), true, "nothing is said");
  t.equal(requiredWith({ skipped: ["something unclear"] }), true, "what is named cannot be read");
  t.equal(requiredWith({ skipped: ["scheduling.k8s.io/v1beta1 PodGroup"] }), false, "removed after the target");
});

t.test("other required capabilities are required when partial, optional ones never", async (t) => {
  t.equal(gapsOf(withCapability("addons", { available: true, partial: true, skipped: ["pods"] }))[0]?.required, true);
  t.equal(
    gapsOf(withCapability("versions", { available: true, partial: true, skipped: ["nodes"] }))[0]?.required,
    true,
  );
  t.strictSame(
    gapsOf(withCapability("helm", { available: true, partial: true, skipped: ["b/y", "a/x"], skippedOmitted: 0 })),
    [{ capability: "helm", partial: true, skipped: ["a/x", "b/y"] }],
  );
});

t.test("a capability of a later agent is told when it is not there", async (t) => {
  t.strictSame(gapsOf(withCapability("audit-log", { available: false, reason: "off" })), [
    { capability: "audit-log", reason: "off" },
  ]);
  t.strictSame(gapsOf(withCapability("audit-log", { available: true })), []);
});

t.test("unmarked inventories of agents before 0.2.0 leave APIs not assessed", async (t) => {
  const { collectorSchema: _, ...unmarked } = healthyCluster;
  const isAssessed = (agentVersion: string | undefined, inventory: Inventory = unmarked): boolean =>
    !gapsOf(inventory, { agentVersion }).some(({ capability }) => capability === "api-usage");
  for (const old of ["0.1.4", "v0.1.99", "0.0.1", "unknown", ""]) t.equal(isAssessed(old), false, `"${old}"`);
  for (const recent of ["0.2.0-0", "0.2.0", "v0.10.1", "1.0.0"]) t.equal(isAssessed(recent), true, recent);
  t.equal(isAssessed(undefined), true, "no agent is named: a scan");
  t.equal(isAssessed("0.1.4", healthyCluster), true, "a marked inventory is believed");
});

t.test("manifests need no cluster, but the reach of the facts", async (t) => {
  t.strictSame(gapsOf(emptyStream), []);
  t.strictSame(gapsOf({ ...emptyStream, capabilities: {} }), [
    { capability: "api-usage", reason: "not reported", required: true },
  ]);
  t.strictSame(
    gapsOf(emptyStream, { target: "1.38" }).map(({ capability, required }) => [capability, required]),
    [["kb-coverage", true]],
  );
});

t.test("required gaps come first, then names", async (t) => {
  const capabilities = {
    ...allCapabilities,
    crds: { available: false },
    addons: { available: false },
    helm: { available: false },
  };
  const names = gapsOf({ ...healthyCluster, capabilities }, { target: "1.35" }).map(({ capability }) => capability);
  t.strictSame(names, ["addons", "target", "crds", "helm"]);
});

t.test("targets before 1.16 are refused, dates that are none are a bug of the caller", async (t) => {
  t.throws(() => gapsOf(healthyCluster, { target: "1.15" }), {
    code: "target_invalid",
    message: /targets start at 1\.16/,
  });
  t.doesNotThrow(() => gapsOf(healthyCluster, { target: "1.16" }));
  t.throws(() => gapsOf(healthyCluster, { date: "21.11.2026" }), { name: "AssertionError" });
});
