/** The committed facts, their validator, the contradictions it finds, and registry folders that add to them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  knowledgeBaseAssets,
  loadEmbeddedKnowledgeBase,
  loadKnowledgeBase,
  maxRegistryFileSizeBytes,
  maxRegistryFiles,
} from "../../../src/fleet/drivers/knowledge-base-files.ts";
import { evaluate } from "../../../src/fleet/model/evaluate.ts";
import { createImageRecognizer } from "../../../src/fleet/model/image-recognition.ts";
import type { AddOn, ApiLifecycle, KnowledgeBase } from "../../../src/fleet/model/knowledge-base.ts";
import { findContradictions } from "../../../src/fleet/model/knowledge-base-contradictions.ts";
import { maxRowsPerSection, parseSections } from "../../../src/fleet/model/knowledge-base-sections.ts";
import { readAsset } from "../../../src/platform/assets/assets.ts";
import { healthyCluster } from "../model/golden-scenarios.ts";

const knowledgeBase = loadEmbeddedKnowledgeBase();

const widget: ApiLifecycle = {
  component: "widgets",
  group: "widgets.example.com",
  version: "v1beta1",
  kind: "Widget",
  stage: "beta",
  isServedByDefault: true,
  isStored: true,
  introduced: "1.0",
  removed: "2.0",
  notes: [],
  citations: ["https://widgets.example.com/changes"],
};

const gadget: AddOn = {
  id: "gadget",
  name: "Gadget",
  kind: "workload",
  match: { images: ["gadgets/gadget"], charts: ["gadget"], labels: [], crdGroups: [] },
  cycles: [{ cycle: "1.0", released: "2024-01-01", endOfLife: "2025-01-01", latest: "1.0.9" }],
  compatibility: [{ versions: "1.0", kubernetesMin: "1.25", kubernetesMax: "1.30", basis: "upstream-supported" }],
  notes: [],
  citations: ["https://gadgets.example.com/support"],
};

t.test("every committed file passes the validator", async (t) => {
  for (const name of knowledgeBaseAssets.sections) {
    const value: unknown = JSON.parse(readAsset(name).toString("utf8"));
    t.doesNotThrow(() => parseSections(value, name), name);
  }
});

t.test("the committed facts contradict nothing", async (t) => {
  t.strictSame(findContradictions(knowledgeBase), []);
});

t.test("there is what there has to be", async (t) => {
  t.ok(knowledgeBase.apis.length >= 476, `${knowledgeBase.apis.length} APIs`);
  t.ok(knowledgeBase.addOns.length >= 34, `${knowledgeBase.addOns.length} add-ons`);
  t.ok(knowledgeBase.facts.length >= 190, `${knowledgeBase.facts.length} facts`);
  t.match(knowledgeBase.version, /^api 1\.\d+; addons \d{4}-\d{2}; curated \d{4}-\d{2}$/);
  t.strictSame(knowledgeBase.calendars.map(({ id }) => id).sort(), ["aks", "eks", "gke", "kubernetes"]);
  const removedOnByDefault = knowledgeBase.apis.filter(
    ({ component, removed, isServedByDefault, isStored }) =>
      component === "kubernetes" &&
      isServedByDefault &&
      isStored &&
      removed !== undefined &&
      Number(removed.slice(2)) <= 32,
  );
  t.equal(removedOnByDefault.length, 46, "kinds that were on by default and left up to 1.32");
});

t.test("citations are addresses anyone can open", async (t) => {
  const rows = [
    ...knowledgeBase.apis,
    ...knowledgeBase.addOns,
    ...knowledgeBase.calendars,
    ...knowledgeBase.facts,
    ...knowledgeBase.migrations,
  ];
  for (const { citations } of rows) {
    for (const citation of citations) {
      const [address = ""] = citation.split(" ", 1);
      t.ok(URL.canParse(address) && address.startsWith("https://"), citation);
      t.notMatch(citation, /corpus|\/work\//, citation);
    }
  }
});

t.test("the embedded facts are read once", async (t) => {
  t.equal(loadEmbeddedKnowledgeBase(), knowledgeBase);
  t.equal(loadKnowledgeBase(), knowledgeBase);
});

t.test("the validator names what is wrong and where", async (t) => {
  const bad: readonly (readonly [unknown, RegExp])[] = [
    [[], /it is not a mapping/],
    [{ rows: [] }, /rows is not known/],
    [{ apis: {} }, /apis is not a list/],
    [{ apis: [{ ...widget, citations: [] }] }, /apis\[0\]\.citations has 0 entries, at least 1 are needed/],
    [
      { apis: [{ ...widget, citations: ["see the docs"] }] },
      /apis\[0\]\.citations\[0\] is "see the docs", which is no https address/,
    ],
    [{ apis: [{ ...widget, version: "1beta1" }] }, /apis\[0\]\.version is "1beta1", which is no API version/],
    [{ apis: [{ ...widget, stage: "gamma" }] }, /apis\[0\]\.stage is not one of/],
    [{ apis: [{ ...widget, isStored: "yes" }] }, /apis\[0\]\.isStored is neither true nor false/],
    [{ apis: [{ ...widget, removed: "2" }] }, /apis\[0\]\.removed is "2", which is no minor/],
    [{ apis: [{ ...widget, remvoed: "2.0" }] }, /apis\[0\]\.remvoed is not known/],
    [{ apis: [widget, { ...widget, kind: undefined }] }, /apis\[1\]\.kind is missing/],
    [{ apis: [{ ...widget, kind: "x".repeat(5000) }] }, /longer than 4096/],
    [{ addOns: [{ ...gadget, match: { images: [] } }] }, /addOns\[0\]\.match\.charts is missing/],
    [{ addOns: [{ ...gadget, cycles: [{ cycle: "one" }] }] }, /cycles\[0\]\.cycle is "one"/],
    [{ addOns: [{ ...gadget, cycles: [{ cycle: "1.0", endOfLife: "2025-02-31x" }] }] }, /endOfLife/],
    [{ addOns: [{ ...gadget, compatibility: [{ versions: "~1", basis: "upstream-tested" }] }] }, /versions is "~1"/],
    [{ facts: [{ kind: "removed-flg" }] }, /facts\[0\]\.kind is not one of/],
    [
      { facts: [{ kind: "removed-flag", components: ["kubelet"], name: "--x", citations: ["https://a.example/b"] }] },
      /removed is missing/,
    ],
    [{ apis: Array.from({ length: maxRowsPerSection + 1 }, () => widget) }, /at most 20000 are allowed/],
  ];
  for (const [value, message] of bad) {
    const isThrown = (() => {
      try {
        parseSections(value, "mine.json");
        return "nothing";
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    })();
    t.match(isThrown, message, String(message));
    t.match(isThrown, /^Cannot use facts of "mine.json": /);
  }
  t.doesNotThrow(() => parseSections({ apis: [widget], addOns: [gadget] }, "mine.json"));
  t.doesNotThrow(() => parseSections({}, "empty.json"));
});

t.test("contradictions are found, each by itself", async (t) => {
  const with_ = (changes: Partial<KnowledgeBase>): string[] => findContradictions({ ...knowledgeBase, ...changes });
  const api = (change: Partial<ApiLifecycle>): string[] =>
    with_({ apis: [...knowledgeBase.apis, { ...widget, ...change }] });
  const addOn = (change: Partial<AddOn>): string[] =>
    with_({ addOns: [...knowledgeBase.addOns, { ...gadget, ...change }] });
  t.strictSame(api({}), [], "a row that is right");
  t.strictSame(addOn({}), [], "an add-on that is right");
  const cases: readonly (readonly [string[], RegExp])[] = [
    [with_({ apis: [...knowledgeBase.apis, widget, widget] }), /is there twice/],
    [api({ deprecated: "3.0" }), /goes 1\.0 → 3\.0 → 2\.0, which is not upwards/],
    [api({ introduced: "1.9", removed: "1.10", deprecated: "1.11" }), /not upwards/],
    [api({ unserved: "2.0", gone: "1.9" }), /is gone in 1\.9, before it is unserved in 2\.0/],
    [api({ stage: "stable" }), /is called stable, which its version denies/],
    [api({ replacement: { group: widget.group, version: "v1beta1", kind: "Widget" } }), /replaces itself/],
    [api({ replacement: { group: widget.group, version: "v1", kind: "Widget" } }), /which is not known/],
    [api({ component: "kubernetes", removed: "2.1" }), /a minor that Kubernetes cannot have/],
    [
      api({
        component: "kubernetes",
        removed: "1.20",
        replacement: { group: "settings.k8s.io", version: "v1alpha1", kind: "PodPreset" },
        introduced: "1.18",
      }),
      /leaves in 1\.20, and no replacement is served then/,
    ],
    [addOn({ cycles: [...gadget.cycles, ...gadget.cycles] }), /cycle 1\.0 twice/],
    [
      addOn({ cycles: [{ cycle: "1.0", released: "2025-01-02", endOfLife: "2025-01-01" }] }),
      /ended before it was released/,
    ],
    [addOn({ cycles: [{ cycle: "1.0", released: "2031-01-02" }] }), /released after the facts were read/],
    [addOn({ cycles: [{ cycle: "1.0", endOfLife: "2099-01-01" }] }), /names the day 2099-01-01/],
    [addOn({ cycles: [{ cycle: "1.0", latest: "1.1.0" }] }), /has the latest release 1\.1\.0/],
    [
      addOn({
        compatibility: [{ versions: "1.0", kubernetesMin: "1.30", kubernetesMax: "1.9", basis: "upstream-tested" }],
      }),
      /from 1\.30 to 1\.9/,
    ],
    [addOn({ compatibility: [{ versions: "1.0", basis: "upstream-tested" }] }), /has no bound/],
    [addOn({ match: { images: [], charts: [], labels: [], crdGroups: [] } }), /can never be recognised/],
    [
      addOn({ match: { ...gadget.match, charts: ["cert-manager"] } }),
      /cert-manager and gadget both claim "cert-manager"/,
    ],
    [
      with_({
        calendars: knowledgeBase.calendars.map((calendar) =>
          calendar.id === "eks"
            ? { ...calendar, cycles: [{ minor: "1.30", standardUntil: "2026-01-01", extendedUntil: "2025-01-01" }] }
            : calendar,
        ),
      }),
      /eks 1\.30 goes 2026-01-01 → 2025-01-01/,
    ],
    [
      with_({
        facts: [
          ...knowledgeBase.facts,
          {
            kind: "removed-feature-gate",
            components: ["kubelet"],
            name: "DRAPrioritizedList",
            removed: "1.36",
            citations: gadget.citations,
          },
        ],
      }),
      /removed in 1\.36, before it is locked in 1\.37/,
    ],
    [
      with_({
        migrations: [
          ...knowledgeBase.migrations,
          { from: { group: "a", version: "v1", kind: "B" }, change: "x", citations: gadget.citations },
        ],
      }),
      /is no known API/,
    ],
  ];
  for (const [found, expected] of cases) t.match(found.join("\n"), expected);
});

t.test("a registry folder adds rows, replaces rows, and shows in the version", async (t) => {
  const folder = t.testdir({
    "10-apis.json": JSON.stringify({ apis: [widget] }),
    "20-add-ons.json": JSON.stringify({
      addOns: [
        gadget,
        { ...gadget, id: "keda", match: { ...gadget.match, images: ["kedacore/keda"], charts: ["keda"] } },
      ],
    }),
    "README.md": "not read",
  });
  const extended = loadKnowledgeBase(folder);
  t.match(extended.version, /; registry [0-9a-f]{8}$/);
  t.equal(loadKnowledgeBase(folder).version, extended.version, "the same content has the same version");
  t.equal(extended.apis.length, knowledgeBase.apis.length + 1);
  t.equal(extended.addOns.length, knowledgeBase.addOns.length + 1, "keda was replaced, gadget added");
  t.strictSame(extended.addOns.find(({ id }) => id === "keda")?.cycles, gadget.cycles);
  t.equal(
    knowledgeBase.addOns.find(({ id }) => id === "keda")?.cycles.length === 1,
    false,
    "the embedded row is as it was",
  );

  const addOns = [{ id: "gadget", version: "1.0.3", namespaces: ["tools"], source: "image" as const }];
  const keys = evaluate({
    inventory: { ...healthyCluster, addOns },
    knowledgeBase: extended,
    target: "1.36",
    date: "2026-11-21",
  }).findings.map(({ severity, key }) => `${severity} ${key}`);
  t.strictSame(keys, ["warning chart-incompat/gadget", "blocker eol-addon/gadget/1.0"].sort());

  writeFileSync(join(folder, "30-more.json"), "{}");
  t.not(loadKnowledgeBase(folder).version, extended.version, "other content has another version");
});

t.test("ranges add to an add-on that has its row elsewhere", async (t) => {
  const range = {
    addOn: "cilium",
    compatibility: [{ versions: "1.18", kubernetesMin: "1.20", kubernetesMax: "1.21", basis: "upstream-supported" }],
    citations: gadget.citations,
  };
  const folder = t.testdir({
    good: { "a.json": JSON.stringify({ ranges: [range] }) },
    bad: { "a.json": JSON.stringify({ ranges: [{ ...range, addOn: "nothing" }] }) },
  });
  const before = knowledgeBase.addOns.find(({ id }) => id === "cilium");
  const after = loadKnowledgeBase(join(folder, "good")).addOns.find(({ id }) => id === "cilium");
  t.equal(after?.compatibility.length, before?.compatibility.length, "the range of 1.18 was replaced");
  t.strictSame(after?.compatibility[0], range.compatibility[0]);
  t.ok(after?.citations.includes(gadget.citations[0] ?? ""), "its citation came along");
  t.throws(() => loadKnowledgeBase(join(folder, "bad")), {
    code: "knowledge_base_invalid",
    message: /Cannot use ranges of "nothing": there is no such add-on/,
  });
});

t.test("images with version numbers of their own are not matched to an add-on", async (t) => {
  const { recognize } = createImageRecognizer(knowledgeBase);
  for (const image of [
    "ghcr.io/fluxcd/source-controller:v1.4.1",
    "quay.io/tigera/operator:v1.34.0",
    "registry.k8s.io/ingress-nginx/kube-webhook-certgen:v1.4.1",
  ]) {
    t.equal(recognize(image), undefined, image);
  }
});

t.test("retired products and curated ranges judge as they should", async (t) => {
  const judge = (id: string, version: string, target: "1.33" | "1.36"): string[] =>
    evaluate({
      inventory: {
        ...healthyCluster,
        serverVersion: "v1.32.1",
        nodes: [{ name: "n", kubeletVersion: "v1.32.1" }],
        addOns: [{ id, version, namespaces: ["x"], source: "image" }],
      },
      knowledgeBase,
      target,
      date: "2026-11-21",
    })
      .findings.filter(({ category }) => ["eol-addon", "chart-incompat", "addon-no-data"].includes(category))
      .map(({ severity, key }) => `${severity} ${key}`);
  t.strictSame(judge("kubernetes-dashboard", "2.7.0", "1.33"), ["blocker eol-addon/kubernetes-dashboard"]);
  t.strictSame(judge("promtail", "3.0.0", "1.33"), ["blocker eol-addon/promtail"]);
  t.strictSame(judge("strimzi", "0.45.0", "1.33"), ["blocker chart-incompat/strimzi"]);
  t.strictSame(judge("strimzi", "0.45.1", "1.33"), []);
  t.strictSame(judge("strimzi", "0.50.0", "1.36"), []);
  t.strictSame(judge("cilium", "1.18.2", "1.33"), []);
  t.strictSame(judge("cilium", "1.18.2", "1.36"), ["warning chart-incompat/cilium"]);
  t.strictSame(judge("cloudnative-pg", "1.25.1", "1.33"), [
    "blocker chart-incompat/cloudnative-pg",
    "blocker eol-addon/cloudnative-pg/1.25",
  ]);
  t.strictSame(judge("knative", "1.23.0", "1.36"), []);
});

t.test("a registry folder that is wrong is refused, with its file and reason", async (t) => {
  const folder = t.testdir({
    broken: { "a.json": "{" },
    shape: { "a.json": JSON.stringify({ apis: [{ ...widget, kind: 7 }] }) },
    contradiction: { "a.json": JSON.stringify({ addOns: [gadget] }), "b.json": JSON.stringify({ addOns: [gadget] }) },
    empty: { "notes.txt": "" },
    large: { "a.json": `{"apis":[]}${" ".repeat(maxRegistryFileSizeBytes - 10)}` },
    atLimit: { "a.json": `{"apis":[]}${" ".repeat(maxRegistryFileSizeBytes - 11)}` },
  });
  const refused = (name: string): string => {
    try {
      loadKnowledgeBase(join(folder, name));
      return "nothing";
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
  t.match(refused("broken"), /^Cannot use facts of "a.json": .*JSON/);
  t.match(refused("shape"), /"a.json": apis\[0\]\.kind is not text/);
  t.match(refused("contradiction"), /addOns: "gadget" is there twice/);
  t.match(refused("empty"), /has no file named \*\.json/);
  t.match(refused("large"), /bytes, at most 4194304 are allowed/);
  t.equal(refused("atLimit"), "nothing");
  t.match(refused("missing"), /it cannot be read \(ENOENT\)/);

  const many = join(folder, "many");
  mkdirSync(many);
  for (let index = 0; index < maxRegistryFiles; index += 1) writeFileSync(join(many, `${index}.json`), "{}");
  t.equal(refused("many"), "nothing");
  writeFileSync(join(many, "one-too-many.json"), "{}");
  t.match(refused("many"), /it has 501 files, at most 500 are allowed/);
});
