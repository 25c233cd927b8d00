/** Suppression at the seams that the golden scenarios do not reach. */
import t from "tap";
import { loadEmbeddedKnowledgeBase } from "../../../src/fleet/drivers/knowledge-base-files.ts";
import { type EvaluateInput, evaluate } from "../../../src/fleet/model/evaluate.ts";
import type { IgnoreRule } from "../../../src/fleet/model/ignore-rules.ts";
import type { Inventory } from "../../../src/fleet/model/inventory.ts";
import type { Report } from "../../../src/fleet/model/report.ts";
import { defaultDate, healthyCluster } from "./golden-scenarios.ts";

function judge(inventory: Partial<Inventory>, more: Partial<EvaluateInput> = {}): Report {
  return evaluate({
    inventory: { ...healthyCluster, ...inventory },
    knowledgeBase: loadEmbeddedKnowledgeBase(),
    target: "1.36",
    date: defaultDate,
    ...more,
  });
}

const volumes: Partial<Inventory> = {
  volumePlugins: [
    {
      plugin: "rbd",
      provisioner: false,
      count: 1,
      objects: [{ namespace: "db", name: "pg", ignore: "volume-plugin removed-api" }],
    },
  ],
  apiUsage: [
    {
      group: "batch",
      version: "v1beta1",
      kind: "CronJob",
      count: 1,
      objects: [{ namespace: "db", name: "x", ignore: "volume-plugin removed-api" }],
    },
  ],
};

t.test("annotations cannot accept an exempt category, rules without selectors can", async (t) => {
  const exempt = { annotationExempt: new Set(["volume-plugin"]) };
  t.equal(judge(volumes).blockers, 0, "both are accepted where nothing is exempt");
  const report = judge(volumes, exempt);
  t.strictSame(
    report.findings.map(({ key }) => key),
    ["volume-plugin/rbd"],
  );
  const rule: IgnoreRule = { category: "volume-plugin", reason: "moved next week", source: "config" };
  t.equal(judge(volumes, { ...exempt, ignoreRules: [rule] }).blockers, 0);
});

t.test("a rule by name or file takes nothing that has neither", async (t) => {
  const webhooks = [
    {
      kind: "Validating" as const,
      name: "policy",
      failurePolicy: "Fail" as const,
      readyEndpoints: 0,
      matchesAll: true,
    },
  ];
  const rule = (fields: Partial<IgnoreRule>): IgnoreRule => ({
    category: "webhook",
    reason: "known",
    source: "config",
    ...fields,
  });
  t.equal(
    judge({ webhooks }, { ignoreRules: [rule({ name: "policy" })] }).blockers,
    0,
    "the name of a cluster-scoped object counts",
  );
  t.equal(
    judge({ webhooks }, { ignoreRules: [rule({ namespace: "*" })] }).blockers,
    1,
    "a namespace pattern needs a namespace",
  );
  t.equal(judge({ webhooks }, { ignoreRules: [rule({ file: "**" })] }).blockers, 1, "a file pattern needs a file");
  t.equal(judge({ webhooks }, { ignoreRules: [rule({})] }).blockers, 0);
});

t.test("a finding without any object or place is taken by a rule without selectors only", async (t) => {
  const rule = (fields: Partial<IgnoreRule>): IgnoreRule => ({
    key: "version-skew/upgrade-path",
    reason: "known",
    source: "config",
    ...fields,
  });
  const old = { serverVersion: "v1.33.1", nodes: [{ name: "n", kubeletVersion: "v1.33.1" }] };
  const keys = (ignoreRules: IgnoreRule[]): string[] => judge(old, { ignoreRules }).suppressed.map(({ key }) => key);
  t.strictSame(keys([rule({})]), ["version-skew/upgrade-path"]);
  t.strictSame(keys([rule({ namespace: "*" })]), []);
});

t.test("an accepted finding costs no points, and says who accepted it until when", async (t) => {
  const rule: IgnoreRule = {
    category: "eol-addon",
    reason: "replaced in January",
    expires: "2027-01-31",
    source: "agent",
  };
  const addOns = [{ id: "ingress-nginx", version: "", namespaces: ["edge"], source: "ingressclass" as const }];
  const report = judge({ addOns }, { ignoreRules: [rule] });
  t.equal(report.score, 100);
  t.equal(report.verdict, "ready");
  t.equal(report.suppressedCount, 1);
  const [accepted] = report.suppressed;
  t.match(accepted, {
    reason: "replaced in January",
    expires: "2027-01-31",
    suppressedBy: "agent",
    severity: "blocker",
    namespaces: ["edge"],
  });
});

t.test("one finding accepted for several reasons is told once for each", async (t) => {
  const apiUsage = [
    {
      group: "batch",
      version: "v1beta1",
      kind: "CronJob",
      count: 3,
      objects: [
        { namespace: "a", name: "x", ignore: "removed-api", ignoreReason: "first" },
        { namespace: "b", name: "x", ignore: "removed-api", ignoreReason: "second" },
        { namespace: "c", name: "x" },
      ],
    },
  ];
  const rule: IgnoreRule = { category: "removed-api", namespace: "[bc]", reason: "third", source: "config" };
  const { suppressed, findings } = judge({ apiUsage }, { ignoreRules: [rule] });
  t.strictSame(findings, []);
  t.strictSame(
    suppressed.map(({ suppressedBy, reason, namespaces, title }) => [
      suppressedBy,
      reason,
      namespaces.join(),
      title.slice(-10),
    ]),
    [
      ["annotation", "first", "a", "(1 object)"],
      ["annotation", "second", "b", "(1 object)"],
      ["config", "third", "c", "(1 object)"],
    ],
  );
});
