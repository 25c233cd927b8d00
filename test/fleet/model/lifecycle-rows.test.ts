/** Every row of the life-cycle table at removed−2, removed−1, removed and removed+1, against an oracle of its own. */
import t from "tap";
import { loadEmbeddedKnowledgeBase } from "../../../src/fleet/drivers/knowledge-base-files.ts";
import { evaluate } from "../../../src/fleet/model/evaluate.ts";
import type { ApiLifecycle } from "../../../src/fleet/model/knowledge-base.ts";
import type { KubernetesMinor } from "../../../src/fleet/model/kubernetes-minor.ts";
import type { Finding } from "../../../src/fleet/model/report.ts";
import { defaultDate, emptyStream, healthyCluster } from "./golden-scenarios.ts";

const knowledgeBase = loadEmbeddedKnowledgeBase();
const builtIn = knowledgeBase.apis.filter(({ component }) => component === "kubernetes");

t.test("removed built-in APIs, row by row, as manifests and as objects", async (t) => {
  let judged = 0;
  for (const row of builtIn.filter(({ removed }) => removed !== undefined)) {
    for (const distance of [-2, -1, 0, 1]) {
      const target = numberOf(row.removed) + distance;
      if (target < 16) continue;
      judged += 1;
      for (const source of ["manifest", "cluster"] as const) {
        const found = findingsOf(row, target, source).map(({ severity, category }) => `${severity} ${category}`);
        t.strictSame(
          found,
          expectedOf(row, { target, distance, source }),
          `${labelOf(row)} at 1.${target} from a ${source}`,
        );
      }
    }
  }
  t.ok(judged > 300, `${judged} cases`);
});

t.test("current built-in APIs have nothing to report at the horizon", async (t) => {
  const horizon = numberOf(knowledgeBase.horizon);
  const current = builtIn.filter(
    (row) => row.deprecated === undefined && row.removed === undefined && row.isServedByDefault,
  );
  t.ok(current.length > 50, `${current.length} rows`);
  for (const row of current) t.strictSame(findingsOf(row, horizon, "manifest"), [], labelOf(row));
});

t.test("APIs that came later are refused in manifests for an earlier target", async (t) => {
  for (const row of builtIn.filter(({ isStored, introduced }) => isStored && numberOf(introduced) > 16)) {
    const target = numberOf(row.introduced) - 1;
    if (row.removed !== undefined && numberOf(row.removed) <= target + 1) continue;
    const [finding] = findingsOf(row, target, "manifest");
    t.equal(finding?.severity, "blocker", `${labelOf(row)} at 1.${target}`);
    t.match(finding?.title, `is not served before ${row.introduced}`);
    t.strictSame(findingsOf(row, target, "cluster"), [], `${labelOf(row)} as an object`);
  }
});

t.test("the fix of every removal names an API that the target serves", async (t) => {
  for (const row of builtIn.filter(({ removed, replacement, isStored }) => removed && replacement && isStored)) {
    const target = Math.max(16, numberOf(row.removed));
    const [finding] = findingsOf(row, target, "manifest");
    const fix = finding?.remediation ?? "";
    const named = /→ (?:([a-z0-9.]+)\/)?(v\w+)(?: ([A-Z]\w+))?: change/.exec(fix);
    if (named === null) {
      t.match(fix, `1.${target} serves no replacement`, labelOf(row));
      t.notOk(row.isServedByDefault, `${labelOf(row)} was on by default and has a replacement`);
      continue;
    }
    const [, group = "", version, kind = row.kind] = named;
    const to = builtIn.find((other) => other.group === group && other.version === version && other.kind === kind);
    t.ok(to, `${labelOf(row)}: ${fix}`);
    t.ok(numberOf(to?.introduced) <= target, `${labelOf(row)}: ${fix}`);
    t.ok(to?.removed === undefined || numberOf(to.removed) > target, `${labelOf(row)}: ${fix}`);
  }
});

t.test("custom resource rows are information in manifests and nothing for live objects", async (t) => {
  const products = knowledgeBase.apis.filter(({ component }) => !component.startsWith("kubernetes"));
  t.ok(products.length > 200, `${products.length} rows`);
  for (const row of products) {
    const isLeaving = row.removed !== undefined || row.unserved !== undefined || row.gone !== undefined;
    const found = findingsOf(row, 36, "manifest").map(({ severity, key }) => `${severity} ${key}`);
    const key = `crd-version/known-removed/${row.group}/${row.version}/${row.kind}`;
    t.strictSame(found, isLeaving ? [`info ${key}`] : [], labelOf(row));
    t.strictSame(findingsOf(row, 36, "cluster"), [], labelOf(row));
  }
});

t.test("configuration file rows, in manifests", async (t) => {
  for (const row of knowledgeBase.apis.filter(({ component }) => component === "kubernetes-config")) {
    const removed = numberOf(row.removed);
    const severityAt = (target: number): string | undefined => findingsOf(row, target, "manifest")[0]?.severity;
    t.equal(severityAt(removed - 2), undefined, labelOf(row));
    t.equal(severityAt(removed - 1), "warning", labelOf(row));
    t.equal(severityAt(removed), "blocker", labelOf(row));
    t.equal(severityAt(removed + 1), "blocker", labelOf(row));
  }
});

interface Case {
  readonly target: number;
  readonly distance: number;
  readonly source: "manifest" | "cluster";
}

function expectedOf(row: ApiLifecycle, { target, distance, source }: Case): string[] {
  if (!row.isStored) return [];
  if (distance >= 0) return ["blocker removed-api"];
  if (distance === -1) return ["warning removed-api"];
  if (source === "manifest" && row.introduced !== undefined && numberOf(row.introduced) > target)
    return ["blocker removed-api"];
  if (row.deprecated !== undefined && numberOf(row.deprecated) <= target) return ["info deprecated-api"];
  return source === "manifest" && !row.isServedByDefault ? ["info unknown-api"] : [];
}

function findingsOf(row: ApiLifecycle, target: number, source: "manifest" | "cluster"): Finding[] {
  const { group, version, kind } = row;
  const apiUsage = [{ group, version, kind, count: 1, objects: [{ namespace: "shop", name: "web" }] }];
  const base = source === "manifest" ? emptyStream : healthyCluster;
  const report = evaluate({
    inventory: { ...base, apiUsage },
    knowledgeBase,
    target: `1.${target}` as KubernetesMinor,
    date: defaultDate,
  });
  const others = new Set(["support-lifecycle", "kb-stale", "version-skew", "node-runtime"]);
  return report.findings.filter(({ category }) => !others.has(category));
}

function numberOf(minor: string | undefined): number {
  return minor === undefined ? 0 : Number(minor.slice(2));
}

function labelOf({ group, version, kind }: ApiLifecycle): string {
  return `${group}/${version} ${kind}`;
}
