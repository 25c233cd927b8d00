/** What holds for every inventory: order, repetition, later targets and accepted findings change nothing they must not. */
import fc from "fast-check";
import t from "tap";
import { loadEmbeddedKnowledgeBase } from "../../../src/fleet/drivers/knowledge-base-files.ts";
import { type EvaluateInput, evaluate } from "../../../src/fleet/model/evaluate.ts";
import type { IgnoreRule } from "../../../src/fleet/model/ignore-rules.ts";
import type { ApiUsage, Inventory, ObjectRef } from "../../../src/fleet/model/inventory.ts";
import { type KubernetesMinor, minorOf } from "../../../src/fleet/model/kubernetes-minor.ts";
import {
  type Finding,
  maxNamespacesPerFinding,
  maxObjectsPerFinding,
  type Report,
} from "../../../src/fleet/model/report.ts";
import { allCapabilities, defaultDate } from "./golden-scenarios.ts";

const knowledgeBase = loadEmbeddedKnowledgeBase();
const runs = { numRuns: 150, seed: 20_261_121 };

const namespaceName = fc.constantFrom("shop", "cart", "db", "legacy-a", "legacy-b", "");
const teamName = fc.constantFrom("storefront", "data", "(*)", undefined);
const version = fc.integer({ min: 20, max: 38 }).map((minor) => `v1.${minor}.${minor % 5}`);
const knownApis = knowledgeBase.apis.map(({ group, version: of, kind }) => ({ group, version: of, kind }));
const apiName = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...knownApis) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { group: "apps", version: "v9", kind: "Deployment" },
      { group: "example.com", version: "v1", kind: "Widget" },
    ),
  },
);

const objectRef: fc.Arbitrary<ObjectRef> = fc.record(
  {
    namespace: namespaceName,
    name: fc.constantFrom("web", "api", "pg", "x"),
    manager: fc.constantFrom("helm", "kubectl"),
    ignore: fc.constantFrom("removed-api", "deprecated-api", "crd-version unknown-api", "volume-plugin"),
    ignoreReason: fc.constantFrom("agreed", "later"),
  },
  { requiredKeys: ["name"] },
);

const usage = fc
  .record({
    objects: fc.array(objectRef, { maxLength: 5 }),
    extra: fc.dictionary(namespaceName, fc.nat({ max: 4 }), { maxKeys: 3 }),
    unplaced: fc.nat({ max: 2 }),
  })
  .map(({ objects, extra, unplaced }) => {
    const namespaces: Record<string, number> = { ...extra };
    for (const { namespace = "" } of objects) namespaces[namespace] = (namespaces[namespace] ?? 0) + 1;
    const placed = Object.values(namespaces).reduce((sum, count) => sum + count, 0);
    return { count: placed + unplaced, namespaces, objects, objectsOmitted: placed + unplaced - objects.length };
  });

const apiUsage: fc.Arbitrary<ApiUsage> = fc.tuple(apiName, usage).map(([name, of]) => ({ ...name, ...of }));

const inventory: fc.Arbitrary<Inventory> = fc.record({
  schemaVersion: fc.constant(1 as const),
  collectorSchema: fc.constant(1 as const),
  source: fc.constant("cluster" as const),
  serverVersion: version,
  provider: fc.constantFrom("eks", "gke", "aks", "other"),
  capabilities: fc.constantFrom(allCapabilities, {
    ...allCapabilities,
    helm: { available: false, reason: "forbidden" },
  }),
  apiUsage: fc.array(apiUsage, { maxLength: 8 }),
  apiAuthorshipUnknown: fc.array(apiUsage, { maxLength: 3 }),
  deprecatedCalls: fc.array(
    fc.record({
      group: fc.constantFrom("batch", "policy", "autoscaling", "x.k8s.io"),
      version: fc.constantFrom("v1beta1", "v2beta2"),
      resource: fc.constantFrom("cronjobs", "poddisruptionbudgets", "horizontalpodautoscalers"),
      removedRelease: fc.constantFrom("1.25", "1.26", "", "1.40"),
    }),
    { maxLength: 4 },
  ),
  helmReleases: fc.array(
    fc.record({
      name: fc.constantFrom("web", "db"),
      namespace: fc.constantFrom("shop", "db"),
      chartName: fc.constantFrom("cert-manager", "web", "ingress-nginx"),
      chartVersion: fc.constantFrom("1.0.0", "2.0.0"),
      appVersion: fc.constantFrom("1.10.0", "1.21.0"),
      kubeVersion: fc.constantFrom(">=1.25-0", "<1.30", "nonsense"),
      status: fc.constantFrom("deployed", "superseded"),
      manifestApis: fc.array(apiUsage, { maxLength: 2 }),
    }),
    { maxLength: 3 },
  ),
  addOns: fc.array(
    fc.record({
      id: fc.constantFrom("cert-manager", "istio", "keda", "coredns", "ingress-nginx", "mystery"),
      version: fc.constantFrom("1.10.1", "1.21.0", "2.19.0", "1.30.0", ""),
      namespaces: fc.array(fc.constantFrom("tools", "shop", "db"), { minLength: 1, maxLength: 2 }),
      source: fc.constant("image" as const),
    }),
    { maxLength: 4 },
  ),
  nodes: fc.array(
    fc.record({
      name: fc.constantFrom("n1", "n2", "n3"),
      kubeletVersion: version,
      containerRuntime: fc.constantFrom(
        "containerd://1.7.2",
        "containerd://2.3.0",
        "docker://20.10.1",
        "cri-o://1.27.0",
      ),
      osImage: fc.constantFrom("Amazon Linux 2", "Ubuntu 24.04 LTS"),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  controlPlane: fc.array(
    fc.record({
      component: fc.constantFrom("kube-apiserver", "kube-scheduler", "kube-proxy", "kube-controller-manager"),
      version,
      node: fc.constantFrom("n1", "n2"),
    }),
    { maxLength: 4 },
  ),
  componentFlags: fc.array(
    fc.record({
      component: fc.constantFrom("kube-apiserver", "kube-controller-manager", "kubelet"),
      node: fc.constantFrom("n1", "n2"),
      flags: fc.constantFrom(
        { "--cloud-config": "/x" },
        { "--enable-admission-plugins": "PodSecurityPolicy,NodeRestriction" },
        {},
      ),
      featureGates: fc.constantFrom({ DeclarativeValidationTakeover: "true" }, { DynamicKubeletConfig: "false" }, {}),
    }),
    { maxLength: 3 },
  ),
  namespaces: fc.array(
    fc
      .record({ name: fc.constantFrom("shop", "cart", "db", "legacy-a"), team: teamName })
      .map(({ name, team }) => (team === undefined ? { name } : { name, team })),
    { maxLength: 5 },
  ),
  volumePlugins: fc.array(
    fc
      .tuple(fc.constantFrom("rbd", "gitRepo", "awsElasticBlockStore", "flexVolume", "nfs"), fc.boolean(), usage)
      .map(([plugin, provisioner, of]) => ({ plugin, provisioner, ...of })),
    { maxLength: 3 },
  ),
  disruption: fc.array(
    fc.record({
      namespace: fc.constantFrom("shop", "db"),
      name: fc.constantFrom("a", "b"),
      disruptionsAllowed: fc.nat({ max: 1 }),
      expectedPods: fc.nat({ max: 2 }),
      minAvailable: fc.constantFrom("1", "100%"),
    }),
    { maxLength: 3 },
  ),
  registries: fc.array(
    usage.map((of) => ({ registry: "k8s.gcr.io", ...of })),
    { maxLength: 2 },
  ),
  fieldUsage: fc.array(
    usage.map((of) => ({ field: "service-externalips" as const, ...of })),
    { maxLength: 2 },
  ),
});

const target = fc.integer({ min: 21, max: 39 }).map(minorOf);

const ignoreRule: fc.Arbitrary<IgnoreRule> = fc.oneof(
  fc.record({
    category: fc.constantFrom("removed-api", "deprecated-api", "version-skew", "eol-addon"),
    reason: fc.constant("agreed"),
    source: fc.constantFrom("config", "agent"),
  }),
  fc.record({
    key: fc.constantFrom("removed-api/policy/*", "*/v1beta1/*", "volume-plugin/rbd"),
    namespace: fc.constantFrom("legacy-*", "shop", "*"),
    reason: fc.constant("later"),
    source: fc.constant("config" as const),
  }),
  fc.record({
    category: fc.constantFrom("removed-api", "drain"),
    name: fc.constantFrom("web", "?"),
    reason: fc.constant("named"),
    expires: fc.constantFrom("2026-11-20", "2026-11-21"),
    source: fc.constant("config" as const),
  }),
);

const input: fc.Arbitrary<EvaluateInput> = fc.record({
  inventory,
  knowledgeBase: fc.constant(knowledgeBase),
  target,
  date: fc.constantFrom(defaultDate, "2026-03-01", "2027-08-01"),
  ignoreRules: fc.array(ignoreRule, { maxLength: 3 }),
});

t.test("order: no list of the inventory has to be in any order", async (t) => {
  fc.assert(
    fc.property(input, fc.infiniteStream(fc.nat()), (of, randomness) => {
      const shuffled = {
        ...of,
        inventory: shuffleLists(of.inventory, randomness),
        ignoreRules: shuffleLists(of.ignoreRules, randomness),
      };
      return JSON.stringify(evaluate(shuffled)) === JSON.stringify(evaluate(of));
    }),
    runs,
  );
  t.pass("holds");
});

t.test("repetition: the same input gives the same bytes", async (t) => {
  fc.assert(
    fc.property(input, (of) => {
      const copy = { ...of, inventory: JSON.parse(JSON.stringify(of.inventory)) as Inventory };
      return JSON.stringify(evaluate(copy)) === JSON.stringify(evaluate(of));
    }),
    runs,
  );
  t.pass("holds");
});

t.test("later targets: what is severe now is as severe for a later target", async (t) => {
  fc.assert(
    fc.property(inventory, target, fc.integer({ min: 1, max: 3 }), (of, first, distance) => {
      const later = minorOf(Number(first.slice(2)) + distance);
      const before = severityBySubject(report(of, first));
      const after = severityBySubject(report(of, later));
      for (const [subject, rank] of before) {
        if ((after.get(subject) ?? 0) < rank) throw new Error(`${subject} is less severe at ${later} than at ${first}`);
      }
    }),
    runs,
  );
  t.pass("holds");
});

t.test("accepting findings takes nothing else away and adds nothing", async (t) => {
  fc.assert(
    fc.property(input, (of) => {
      const plain = evaluate({ ...of, ignoreRules: [], inventory: withoutAnnotations(of.inventory) });
      const accepted = evaluate(of);
      const keys = new Set([...accepted.findings, ...accepted.suppressed].map(({ key }) => key));
      const plainKeys = new Set(plain.findings.map(({ key }) => key));
      if (!isSameSet(keys, plainKeys)) throw new Error("a finding was hidden or invented");
      for (const key of plainKeys) {
        const parts = [...accepted.findings, ...accepted.suppressed].filter((finding) => finding.key === key);
        const whole = plain.findings.find((finding) => finding.key === key);
        const total = parts.reduce((sum, part) => sum + objectCount(part), 0);
        if (whole !== undefined && total !== objectCount(whole)) throw new Error(`objects of ${key} were lost`);
        if (parts.some((part) => part.severity !== whole?.severity)) throw new Error(`severity of ${key} changed`);
      }
    }),
    runs,
  );
  t.pass("holds");
});

t.test("caps, score and verdict agree with the findings", async (t) => {
  fc.assert(
    fc.property(input, (of) => {
      const found = evaluate(of);
      const blockers = found.findings.filter(({ severity }) => severity === "blocker").length;
      const warnings = found.findings.filter(({ severity }) => severity === "warning").length;
      const isUnknown = found.notAssessed.some((gap) => gap.required === true);
      return (
        found.blockers === blockers &&
        found.warnings === warnings &&
        found.score === 100 - Math.min(75, 25 * blockers) - Math.min(20, 5 * warnings) &&
        found.verdict === (blockers > 0 ? "blocked" : isUnknown ? "unknown" : "ready") &&
        found.ready === (found.verdict === "ready") &&
        found.suppressedCount === found.suppressed.length &&
        found.findings.every(
          ({ objects, namespaces }) =>
            objects.length <= maxObjectsPerFinding && namespaces.length <= maxNamespacesPerFinding,
        )
      );
    }),
    runs,
  );
  t.pass("holds");
});

t.test("compatibility ranges: above the range no later target is milder", async (t) => {
  for (const addOn of knowledgeBase.addOns) {
    for (const { versions, kubernetesMax } of addOn.compatibility) {
      if (kubernetesMax === undefined || !/^\d/.test(versions)) continue;
      let before = 0;
      for (let minor = Math.max(16, Number(kubernetesMax.slice(2)) + 1); minor <= 40; minor += 1) {
        const addOns = [{ id: addOn.id, version: `${versions}.0`, namespaces: ["tools"], source: "image" as const }];
        const found = report({ schemaVersion: 1, source: "cluster", capabilities: {}, addOns }, minorOf(minor));
        const rank = rankOf(found.findings.find(({ key }) => key === `chart-incompat/${addOn.id}`)?.severity);
        t.ok(rank >= before && rank > 0, `${addOn.id} ${versions} at 1.${minor}`);
        before = rank;
      }
    }
  }
});

function report(of: Inventory, at: KubernetesMinor): Report {
  return evaluate({ inventory: of, knowledgeBase, target: at, date: defaultDate });
}

/** Families whose subject can get better with a later target: a range has a lower end, a minor its own calendar. */
const notMonotone = new Set(["chart-incompat", "support-lifecycle"]);

function severityBySubject({ findings }: Report): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const { key, category, severity } of findings) {
    if (notMonotone.has(category)) continue;
    const subject = key.replace(/^(removed-api|deprecated-api)\//, "api/");
    ranks.set(subject, Math.max(ranks.get(subject) ?? 0, rankOf(severity)));
  }
  return ranks;
}

function rankOf(severity: Finding["severity"] | undefined): number {
  return severity === "blocker" ? 3 : severity === "warning" ? 2 : severity === "info" ? 1 : 0;
}

function objectCount({ objects, objectsOmitted }: Finding): number {
  return objects.length + objectsOmitted;
}

function isSameSet(left: ReadonlySet<string>, right: ReadonlySet<string>): boolean {
  return left.size === right.size && [...left].every((value) => right.has(value));
}

function withoutAnnotations(of: Inventory): Inventory {
  return JSON.parse(JSON.stringify(of), (key, value) =>
    key === "ignore" || key === "ignoreReason" ? undefined : value,
  ) as Inventory;
}

function shuffleLists<Value>(value: Value, randomness: Iterator<number>): Value {
  if (Array.isArray(value)) {
    const copy = value.map((entry: unknown) => shuffleLists(entry, randomness));
    for (let position = copy.length - 1; position > 0; position -= 1) {
      const other = Number(randomness.next().value) % (position + 1);
      [copy[position], copy[other]] = [copy[other], copy[position]];
    }
    return copy as Value;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key, shuffleLists(entry, randomness)]),
  ) as Value;
}
