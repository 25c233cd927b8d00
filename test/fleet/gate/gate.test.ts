import t from "tap";
import { loadEmbeddedKnowledgeBase } from "../../../src/fleet/drivers/knowledge-base-files.ts";
import { evaluate } from "../../../src/fleet/model/evaluate.ts";
import type { Inventory } from "../../../src/fleet/model/inventory.ts";
import type { Report } from "../../../src/fleet/model/report.ts";
import { type GateResult, judgeChange } from "../../../src/fleet/service/gate.ts";
import { decideGate, type FailOn, findNewFindings } from "../../../src/fleet/service/judge.ts";
import { inventoryOf } from "../../support/fleet-manifests.ts";

const knowledgeBase = loadEmbeddedKnowledgeBase();
const date = "2026-11-21";
const seen = { available: true };

const cluster: Inventory = {
  schemaVersion: 1,
  collectorSchema: 1,
  source: "cluster",
  clusterId: "uid",
  serverVersion: "v1.24.9",
  provider: "other",
  capabilities: Object.fromEntries(
    [
      "api-usage",
      "versions",
      "addons",
      "deprecated-calls",
      "helm",
      "crds",
      "volumes",
      "webhooks",
      "disruption",
      "component-flags",
      "kubelet-config",
    ].map((name) => [name, seen]),
  ),
  apiUsage: [
    {
      group: "batch",
      version: "v1beta1",
      kind: "CronJob",
      count: 1,
      namespaces: { ops: 1 },
      objects: [{ namespace: "ops", name: "nightly" }],
    },
  ],
  nodes: [{ name: "n1", kubeletVersion: "v1.24.9", containerRuntime: "containerd://1.7.27" }],
  namespaces: [{ name: "shop", team: "storefront" }],
  crds: [
    {
      group: "example.com",
      kind: "Thing",
      plural: "things",
      versions: [
        { name: "v1", served: true, storage: true },
        { name: "v1beta1", served: false, storage: false },
      ],
    },
  ],
};

const budget =
  "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: shop}\nspec: {maxUnavailable: 1}\n";
const harmless = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n";
const thing = "apiVersion: example.com/v1beta1\nkind: Thing\nmetadata: {name: t, namespace: shop}\n";

function judge(
  manifests: string,
  options: { cluster?: Inventory; target?: "1.24" | "1.25" | "1.60"; failOn?: FailOn; allowIncomplete?: boolean } = {},
): GateResult {
  return judgeChange({
    manifests: inventoryOf(manifests),
    ...(options.cluster === undefined ? {} : { cluster: { inventory: options.cluster } }),
    knowledgeBase,
    target: options.target ?? "1.25",
    date,
    policy: { failOn: options.failOn ?? "blocker", allowIncomplete: options.allowIncomplete ?? false },
  });
}

t.test("a change is judged by what it brings in, not by what was there", async (t) => {
  const { report, clusterVerdict, decision } = judge(harmless, { cluster });
  t.equal(clusterVerdict, "blocked", "the cluster has a removed API of its own");
  t.equal(report.verdict, "ready");
  t.ok(decision.isPassed);
  const own = report.findings.find(({ key }) => key === "removed-api/batch/v1beta1/CronJob");
  t.equal(own?.source, "cluster", "and it is shown");
  t.equal(report.blockers, 0, "but not counted");
});

t.test("posted objects are blamed, with their file and the team of the cluster's namespace", async (t) => {
  const { report, decision } = judge(budget, { cluster });
  t.notOk(decision.isPassed);
  t.match(
    report.findings.find(({ key }) => key === "removed-api/policy/v1beta1/PodDisruptionBudget"),
    { source: "manifest", teams: ["storefront"], objects: [{ file: "a.yaml", line: 1 }] },
  );
  t.equal(report.blockers, 1);
});

t.test("a finding of both shows the objects of the change alone", async (t) => {
  const both: Inventory = {
    ...cluster,
    apiUsage: [{ group: "policy", version: "v1beta1", kind: "PodDisruptionBudget", count: 9, namespaces: { old: 9 } }],
  };
  const { report } = judge(budget, { cluster: both });
  const found = report.findings.filter(({ key }) => key === "removed-api/policy/v1beta1/PodDisruptionBudget");
  t.equal(found.length, 1);
  t.strictSame(
    [found[0]?.namespaces, found[0]?.objectsOmitted, found[0]?.title],
    [["shop"], 0, "policy/v1beta1 PodDisruptionBudget is removed in 1.25 (1 object)"],
  );
});

t.test("custom resources are judged by the CRDs of the cluster, or by those that come with them", async (t) => {
  t.equal(judge(thing).report.blockers, 0, "without a cluster nothing is known of the CRD");
  t.match(
    judge(thing, { cluster })
      .report.findings.filter(({ source }) => source === "manifest")
      .map(({ key }) => key),
    ["crd-version/unserved/example.com/v1beta1/Thing"],
  );
  const crd =
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec: {group: example.com, names: {kind: Thing, plural: things}, versions: [{name: v1beta1, served: true, storage: true}]}\n---\n";
  t.strictSame(
    judge(crd + thing, { cluster }).report.findings.filter(({ source }) => source === "manifest"),
    [],
    "the posted CRD serves it",
  );
});

t.test(
  "a target that is no upgrade, or beyond the facts, cannot pass; gaps of the cluster alone do not fail a change",
  async (t) => {
    for (const allowIncomplete of [false, true]) {
      const same = judge(harmless, { cluster, target: "1.24", allowIncomplete });
      t.notOk(same.decision.isPassed);
      t.match(same.decision.reason, /1\.24 is no upgrade/);
    }
    t.notOk(judge(harmless, { target: "1.60" }).decision.isPassed);
    t.ok(judge(harmless, { target: "1.60", allowIncomplete: true }).decision.isPassed);
    const { "api-usage": _, ...capabilities } = cluster.capabilities;
    const blind = judge(harmless, { cluster: { ...cluster, capabilities, apiUsage: [] } });
    t.equal(blind.clusterVerdict, "unknown");
    t.ok(blind.decision.isPassed);
    t.ok(
      blind.report.notAssessed.some(({ capability }) => capability === "api-usage"),
      "the gap is shown",
    );
  },
);

t.test("what fails is the caller's choice", async (t) => {
  const warning = judge(budget, { target: "1.24", failOn: "blocker" });
  t.equal(warning.report.warnings, 1);
  t.ok(warning.decision.isPassed);
  const report = (blockers: number, warnings: number, capability?: string): Report => ({
    ...warning.report,
    blockers,
    warnings,
    notAssessed: capability === undefined ? [] : [{ capability, required: true }],
  });
  const table: readonly (readonly [Report, FailOn, boolean, boolean])[] = [
    [report(0, 0), "blocker", false, true],
    [report(1, 0), "blocker", false, false],
    [report(1, 0), "blocker", true, false],
    [report(0, 1), "blocker", false, true],
    [report(0, 1), "warning", false, false],
    [report(1, 1), "never", false, true],
    [report(0, 0, "addons"), "blocker", false, false],
    [report(0, 0, "addons"), "blocker", true, true],
    [report(0, 0, "target"), "blocker", true, false],
    [report(0, 0, "addons"), "never", false, true],
  ];
  for (const [given, failOn, allowIncomplete, isPassed] of table) {
    t.equal(
      decideGate(given, { failOn, allowIncomplete }).isPassed,
      isPassed,
      `${given.blockers} ${given.warnings} ${given.notAssessed[0]?.capability} ${failOn} ${allowIncomplete}`,
    );
  }
});

t.test("against a baseline only new objects, higher severities and new keys remain", async (t) => {
  const at = (names: readonly string[], target: "1.24" | "1.25" = "1.25"): Report =>
    evaluate({
      inventory: inventoryOf(
        names
          .map(
            (name) =>
              `apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: ${name}, namespace: shop}\nspec: {maxUnavailable: 1}\n`,
          )
          .join("---\n"),
      ),
      knowledgeBase,
      target,
      date,
    });
  t.strictSame(findNewFindings(at(["a", "b"]), at(["b", "a"])).findings, []);
  const added = findNewFindings(at(["a", "b", "c"]), at(["a", "c"]));
  t.match(added.findings, [{ title: /\(1 object\)$/, objects: [{ name: "b" }], baselineState: "new" }]);
  t.strictSame([added.blockers, added.score, added.verdict], [1, 75, "blocked"]);
  t.equal(findNewFindings(at(["a"], "1.25"), at(["a"], "1.24")).blockers, 1, "a warning that became a blocker is new");
  t.strictSame(findNewFindings(at(["a"]), at([])).findings[0]?.baselineState, "new");
  const many = Array.from({ length: 150 }, (_, index) => `n${index}`);
  t.strictSame(findNewFindings(at(many), at(many)).findings, [], "lists that were cut are compared by their totals");
  t.equal(findNewFindings(at([...many, "x"]), at(many)).blockers, 1);
});
