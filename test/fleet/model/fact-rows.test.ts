/** Every row of settings, volume plugins, add-on cycles, ranges and calendars at the edges it draws. */
import t from "tap";
import { loadEmbeddedKnowledgeBase } from "../../../src/fleet/drivers/knowledge-base-files.ts";
import { evaluate } from "../../../src/fleet/model/evaluate.ts";
import type { Inventory, Provider } from "../../../src/fleet/model/inventory.ts";
import { type KubernetesMinor, minorNumber, minorOf } from "../../../src/fleet/model/kubernetes-minor.ts";
import type { Finding } from "../../../src/fleet/model/report.ts";
import { allCapabilities, defaultDate } from "./golden-scenarios.ts";

const knowledgeBase = loadEmbeddedKnowledgeBase();
const bare: Inventory = { schemaVersion: 1, source: "cluster", capabilities: allCapabilities };

interface At {
  readonly target: KubernetesMinor;
  readonly date?: string;
}

function find(inventory: Partial<Inventory>, key: string, { target, date = defaultDate }: At): Finding | undefined {
  return evaluate({ inventory: { ...bare, ...inventory }, knowledgeBase, target, date }).findings.find(
    (finding) => finding.key === key,
  );
}

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
}

function daysBefore(day: string, days: number): string {
  return new Date(Date.parse(day) - days * 86_400_000).toISOString().slice(0, 10);
}

t.test("removed flags, gates and plugins: silent, then a warning, then a blocker", async (t) => {
  let judged = 0;
  for (const fact of knowledgeBase.facts) {
    if (
      fact.kind !== "removed-flag" &&
      fact.kind !== "removed-feature-gate" &&
      fact.kind !== "removed-admission-plugin"
    )
      continue;
    for (const component of fact.components) {
      const settings =
        fact.kind === "removed-flag"
          ? { flags: { [fact.name]: "x" } }
          : fact.kind === "removed-feature-gate"
            ? { flags: { "--feature-gates": `Other=true,${fact.name}=false` } }
            : { flags: { "--enable-admission-plugins": `NodeRestriction,${fact.name}` } };
      const key =
        fact.kind === "removed-admission-plugin"
          ? `${fact.kind}/${fact.name}`
          : `${fact.kind}/${component}/${fact.name}`;
      const inventory = { componentFlags: [{ component, ...settings }] };
      const removed = minorNumber(fact.removed);
      const severities = [-2, -1, 0, 1].map(
        (distance) => find(inventory, key, { target: minorOf(removed + distance) })?.severity,
      );
      t.strictSame(severities, [undefined, "warning", "blocker", "blocker"], `${component} ${fact.name}`);
      judged += 1;
    }
  }
  t.ok(judged > 140, `${judged} settings`);
});

t.test("removed scheduler plugins and configuration files, in ConfigMaps", async (t) => {
  for (const fact of knowledgeBase.facts) {
    if (fact.kind !== "removed-scheduler-plugin" && fact.kind !== "removed-config") continue;
    const [key, config] =
      fact.kind === "removed-config"
        ? [
            `removed-config/${fact.group}/${fact.version}`,
            { group: fact.group, version: fact.version, kind: "Anything" },
          ]
        : [
            `removed-scheduler-plugin/${fact.name}`,
            {
              group: "kubescheduler.config.k8s.io",
              version: "v1",
              kind: "KubeSchedulerConfiguration",
              plugins: [fact.name],
            },
          ];
    const removed = minorNumber(fact.removed);
    const severities = [-2, -1, 0, 1].map(
      (distance) => find({ componentConfigs: [config] }, key, { target: minorOf(removed + distance) })?.severity,
    );
    t.strictSame(severities, [undefined, "warning", "blocker", "blocker"], key);
  }
});

t.test("locked gates block only with the other value", async (t) => {
  for (const fact of knowledgeBase.facts) {
    if (fact.kind !== "locked-feature-gate") continue;
    for (const component of fact.components) {
      const severityOf = (value: boolean, distance: number): string | undefined =>
        find(
          { componentFlags: [{ component, featureGates: { [fact.name]: String(value) } }] },
          `locked-feature-gate/${component}/${fact.name}`,
          { target: minorOf(minorNumber(fact.locked) + distance) },
        )?.severity;
      t.strictSame(
        [-2, -1, 0, 1].map((distance) => severityOf(!fact.lockedTo, distance)),
        [undefined, "warning", "blocker", "blocker"],
        fact.name,
      );
      t.strictSame(
        [-2, 0, 1].map((distance) => severityOf(fact.lockedTo, distance)),
        [undefined, "info", "info"],
        fact.name,
      );
    }
  }
});

t.test("volume plugins", async (t) => {
  for (const fact of knowledgeBase.facts) {
    if (fact.kind !== "volume-plugin") continue;
    const volumePlugins = [{ plugin: fact.name, provisioner: false, count: 1 }];
    const severities = [-2, -1, 0, 1].map(
      (distance) =>
        find({ volumePlugins }, `volume-plugin/${fact.name}`, { target: minorOf(minorNumber(fact.since) + distance) })
          ?.severity,
    );
    const expected = {
      removed: [undefined, "warning", "blocker", "blocker"],
      "csi-migration": [undefined, undefined, "warning", "warning"],
      deprecated: [undefined, undefined, "info", "info"],
    }[fact.outcome];
    t.strictSame(severities, expected, fact.name);
  }
});

t.test("add-on cycles: silent, approaching from 90 days on, ended the day after", async (t) => {
  let judged = 0;
  for (const addOn of knowledgeBase.addOns) {
    if (addOn.kind !== "workload" || addOn.retired !== undefined) continue;
    for (const { cycle, endOfLife } of addOn.cycles) {
      // A cycle that another one refines (2 beside 2.1) is judged through the longer name.
      if (endOfLife === undefined || addOn.cycles.some((other) => other.cycle.startsWith(`${cycle}.`))) continue;
      const version = `${cycle}.0`.split(".").slice(0, 3).join(".");
      const addOns = [{ id: addOn.id, version, namespaces: ["x"], source: "image" as const }];
      const stateOn = (date: string): string =>
        ["eol-addon", "eol-approaching"]
          .filter((category) => find({ addOns }, `${category}/${addOn.id}/${cycle}`, { target: "1.36", date }))
          .join();
      judged += 1;
      if (endOfLife === "ended") {
        t.equal(stateOn(defaultDate), "eol-addon", `${addOn.id} ${cycle}`);
        continue;
      }
      t.strictSame(
        [daysBefore(endOfLife, 91), daysBefore(endOfLife, 90), endOfLife, dayAfter(endOfLife)].map(stateOn),
        ["", "eol-approaching", "eol-approaching", "eol-addon"],
        `${addOn.id} ${cycle}`,
      );
    }
  }
  t.ok(judged > 250, `${judged} cycles`);
});

t.test("ranges: silent inside, told on both sides", async (t) => {
  let judged = 0;
  for (const addOn of knowledgeBase.addOns) {
    for (const { versions, kubernetesMin, kubernetesMax } of addOn.compatibility) {
      if (!/^\d/.test(versions)) continue;
      const addOns = [{ id: addOn.id, version: `${versions}.0`, namespaces: ["x"], source: "image" as const }];
      const severityAt = (minor: number): string | undefined =>
        find({ addOns }, `chart-incompat/${addOn.id}`, { target: minorOf(minor) })?.severity;
      const label = `${addOn.id} ${versions}`;
      for (const edge of [kubernetesMin, kubernetesMax]) {
        if (edge !== undefined && minorNumber(edge) >= 16)
          t.equal(severityAt(minorNumber(edge)), undefined, `${label} at ${edge}`);
      }
      if (kubernetesMax !== undefined && minorNumber(kubernetesMax) >= 15)
        t.ok(severityAt(minorNumber(kubernetesMax) + 1), `${label} above`);
      if (kubernetesMin !== undefined && minorNumber(kubernetesMin) > 16)
        t.ok(severityAt(minorNumber(kubernetesMin) - 1), `${label} below`);
      judged += 1;
    }
  }
  t.ok(judged > 250, `${judged} ranges`);
});

t.test("calendars: the target in standard support, ending, extended, ended", async (t) => {
  for (const { id, cycles } of knowledgeBase.calendars) {
    const provider: Provider = id === "kubernetes" ? "other" : id;
    for (const { minor, standardUntil, extendedUntil } of cycles) {
      if (standardUntil === undefined || minorNumber(minor) < 17) continue;
      const inventory: Partial<Inventory> = { provider, serverVersion: `v1.${minorNumber(minor) - 1}.0` };
      const stateOn = (date: string): string | undefined =>
        ["ending", "extended", "ended"].flatMap((stage) => {
          const finding = find(inventory, `support-lifecycle/${id}/${minor}/${stage}`, { target: minor, date });
          return finding === undefined ? [] : [`${finding.severity} ${stage}`];
        })[0];
      const ended = id === "kubernetes" ? "warning ended" : "blocker ended";
      t.equal(stateOn(daysBefore(standardUntil, 91)), undefined, `${id} ${minor} in support`);
      t.equal(stateOn(daysBefore(standardUntil, 90)), "warning ending", `${id} ${minor} ending`);
      t.equal(stateOn(standardUntil), "warning ending", `${id} ${minor} on its last day`);
      t.equal(
        stateOn(dayAfter(standardUntil)),
        extendedUntil === undefined ? ended : "warning extended",
        `${id} ${minor} after it`,
      );
      if (extendedUntil === undefined) continue;
      t.equal(stateOn(extendedUntil), "warning extended", `${id} ${minor} on its last extended day`);
      t.equal(stateOn(dayAfter(extendedUntil)), ended, `${id} ${minor} ended`);
    }
  }
});

t.test("retired products: silent, retiring from 90 days on, retired on the day", async (t) => {
  for (const { id, retired } of knowledgeBase.addOns) {
    if (retired === undefined) continue;
    const addOns = [{ id, version: "", namespaces: ["x"], source: "labels" as const }];
    const states = [
      daysBefore(retired.date, 91),
      daysBefore(retired.date, 90),
      daysBefore(retired.date, 1),
      retired.date,
    ].map((date) =>
      ["eol-addon", "eol-approaching"]
        .filter((category) => find({ addOns }, `${category}/${id}`, { target: "1.36", date }))
        .join(),
    );
    t.strictSame(states, ["", "eol-approaching", "eol-approaching", "eol-addon"], id);
  }
});
