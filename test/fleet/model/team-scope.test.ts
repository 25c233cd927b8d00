import t from "tap";
import { evaluate } from "../../../src/fleet/model/evaluate.ts";
import type { Inventory } from "../../../src/fleet/model/inventory.ts";
import type { Finding, Report } from "../../../src/fleet/model/report.ts";
import { createTeamScope, cutEvaluation, cutReport, isInScope } from "../../../src/fleet/model/team-scope.ts";
import { allCapabilities, healthyCluster, inputOf, readScenario } from "./golden-scenarios.ts";

const namespaces = [{ name: "shop", team: "storefront" }, { name: "cart", team: "checkout" }, { name: "lone" }];

const inventory: Inventory = {
  ...healthyCluster,
  serverVersion: "v1.24.9",
  nodes: [{ name: "n", kubeletVersion: "v1.24.9" }],
  namespaces,
  capabilities: {
    ...allCapabilities,
    helm: {
      available: true,
      partial: true,
      reason: "cart/secret-release is too large",
      skipped: ["cart/secret-release"],
      skippedOmitted: 2,
    },
  },
  apiUsage: [
    {
      group: "policy",
      version: "v1beta1",
      kind: "PodDisruptionBudget",
      count: 3,
      objects: [
        { namespace: "shop", name: "web", callers: ["ci"] },
        { namespace: "cart", name: "web" },
        { namespace: "lone", name: "web" },
      ],
    },
    {
      group: "batch",
      version: "v1beta1",
      kind: "CronJob",
      count: 1,
      objects: [{ namespace: "shop", name: "nightly" }],
    },
    {
      group: "autoscaling",
      version: "v2beta2",
      kind: "HorizontalPodAutoscaler",
      count: 1,
      objects: [{ namespace: "cart", name: "web" }],
    },
    { group: "policy", version: "v1beta1", kind: "PodSecurityPolicy", count: 1, objects: [{ name: "restricted" }] },
    {
      group: "discovery.k8s.io",
      version: "v1beta1",
      kind: "EndpointSlice",
      count: 9,
      namespaces: { shop: 4, cart: 5 },
    },
  ],
  volumePlugins: [
    {
      plugin: "rbd",
      provisioner: true,
      count: 2,
      namespaces: { shop: 1, "": 1 },
      objects: [{ name: "class" }, { namespace: "shop", name: "pod" }],
    },
  ],
  unrecognizedImages: ["ghcr.io/acme/cart"],
  unrecognizedImagesOmitted: 3,
};

const input = { ...inputOf(readScenario("clean-cluster")), inventory, target: "1.31" as const };
const report = evaluate({
  ...input,
  ignoreRules: [{ key: "removed-api/autoscaling/*", reason: "cart accepts it", source: "config" }],
});
const scope = createTeamScope(["storefront"], { namespaces, teamMap: [] });

t.test("a scope sees the findings of its teams, and none that nobody owns", async (t) => {
  const cut = cutReport(report, scope);
  t.strictSame(keysOf(cut), [
    "removed-api/batch/v1beta1/CronJob",
    "removed-api/discovery.k8s.io/v1beta1/EndpointSlice",
    "removed-api/policy/v1beta1/PodDisruptionBudget",
    "volume-plugin/rbd",
  ]);
  t.strictSame(cut.suppressed, [], "suppressed findings of others");
  t.equal(cut.suppressedCount, 0);
  t.strictSame(Object.keys(cut.teams), ["storefront"]);
  t.strictSame(cut.teams["storefront"], report.teams["storefront"], "the team score is of the whole report");
});

t.test("what belongs to the cluster stays, but for what names others", async (t) => {
  const cut = cutReport(report, scope);
  for (const field of ["score", "verdict", "ready", "blockers", "warnings", "serverVersion", "target"] as const) {
    t.equal(cut[field], report[field], field);
  }
  t.strictSame(cut.unrecognizedImages, []);
  t.equal(cut.unrecognizedImagesOmitted, 0);
  const helm = cut.notAssessed.find(({ capability }) => capability === "helm");
  t.ok(helm);
  t.notMatch(JSON.stringify(helm), /cart|secret-release/);
  t.equal(helm?.skipped, undefined);
  t.equal(helm?.partial, true);
});

t.test("a finding wholly in the scope is served as it is", async (t) => {
  t.strictSame(find(cutReport(report, scope), "CronJob"), find(report, "CronJob"));
});

t.test("a finding that reaches beyond the scope is cut, and does not say from what", async (t) => {
  const whole = find(report, "PodDisruptionBudget");
  const cut = find(cutReport(report, scope), "PodDisruptionBudget");
  t.strictSame(cut?.teams, ["storefront"]);
  t.strictSame(cut?.namespaces, ["shop"]);
  t.strictSame(cut?.objects, [{ namespace: "shop", name: "web" }]);
  t.match(cut?.title, /\(1 object in scope\)$/);
  t.match(cut?.detail, "shop");
  t.notMatch(JSON.stringify(cut), /cart|lone|checkout/);
  t.equal(cut?.callers, undefined);
  t.strictSame(whole?.callers, ["ci"]);
  for (const field of ["key", "severity", "remediation", "citations"] as const)
    t.strictSame(cut?.[field], whole?.[field], field);
});

t.test("without a complete list of objects the cut title has no count", async (t) => {
  const cut = find(cutReport(report, scope), "EndpointSlice");
  t.match(find(report, "EndpointSlice")?.title, /\(9 objects\)$/);
  t.match(cut?.title, /is removed in 1\.25$/);
  t.equal(cut?.objectsOmitted, 0);
});

t.test("cluster-scoped objects stay when no namespace was cut", async (t) => {
  const cut = find(cutReport(report, scope), "rbd");
  t.strictSame(cut, find(report, "rbd"));
  const both = {
    ...inventory,
    volumePlugins: [
      {
        plugin: "rbd",
        provisioner: true,
        count: 2,
        namespaces: { cart: 1, "": 1 },
        objects: [{ name: "class" }, { namespace: "cart", name: "pod" }],
      },
      ...(inventory.volumePlugins ?? []),
    ],
  };
  const spanning = find(cutReport(evaluate({ ...input, inventory: both }), scope), "rbd");
  t.strictSame(spanning?.objects, [{ namespace: "shop", name: "pod" }]);
});

t.test("a finding whose namespaces were capped is always cut", async (t) => {
  const own = Array.from({ length: 130 }, (_, index) => ({
    name: `ns-${String(index).padStart(3, "0")}`,
    team: "storefront",
  }));
  const count = Object.fromEntries(own.map(({ name }) => [name, 1]));
  const many = {
    ...inventory,
    namespaces: own,
    apiUsage: [{ group: "batch", version: "v1beta1", kind: "CronJob", count: 130, namespaces: count }],
  };
  const capped = evaluate({ ...input, inventory: many });
  const cut = find(cutReport(capped, createTeamScope(["storefront"], { namespaces: own, teamMap: [] })), "CronJob");
  t.equal(find(capped, "CronJob")?.namespacesOmitted, 30);
  t.equal(cut?.namespacesOmitted, 0);
  t.match(cut?.detail, "not displayed");
});

t.test("a cluster is in a scope when its report names a team of it", async (t) => {
  t.equal(isInScope(report, scope), true);
  t.equal(isInScope(report, createTeamScope(["nobody"], { namespaces, teamMap: [] })), false);
  t.equal(isInScope(report, createTeamScope([], { namespaces, teamMap: [] })), false);
});

t.test("the team map decides the scope as it decides the attribution", async (t) => {
  const [rule] = [
    {
      pattern: "cart",
      glob: [..."cart"].map((text) => ({ kind: "literal" as const, text, isNegated: false })),
      team: "storefront",
    },
  ];
  const mapped = evaluate({ ...input, teamMap: [rule] });
  const cut = cutEvaluation(
    { report: mapped, evaluatedAt: "2026-11-21T00:00:00Z", snapshotId: 1, source: "stored" },
    createTeamScope(["storefront"], { namespaces, teamMap: [rule] }),
  );
  t.strictSame(find(cut.report, "PodDisruptionBudget")?.namespaces, ["cart", "shop"]);
  t.equal(cut.snapshotId, 1);
});

function keysOf({ findings }: Report): string[] {
  return findings.map(({ key }) => key).sort();
}

function find({ findings }: Report, part: string): Finding | undefined {
  return findings.find(({ key }) => key.includes(part));
}
