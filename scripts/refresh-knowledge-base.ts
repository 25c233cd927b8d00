/**
 * Turns a dataset of collected upstream facts (`api-lifecycle.json`, `addons.json`, `upgrade-facts.json`) into the files
 * below `src/fleet/knowledge/data`. Run it with the folder of a newer dataset, then `check-knowledge-base.ts`, then
 * review the diff: rows are one per line for that. Files named `curated-*` are written by hand and left alone.
 *
 *   node scripts/refresh-knowledge-base.ts <folder> <date of the dataset, YYYY-MM-DD>
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const outputFolder = join(import.meta.dirname, "..", "src", "fleet", "knowledge", "data");

interface RawApi {
  component: string;
  group: string;
  version: string;
  kind: string;
  resource: string | null;
  namespaced: boolean | null;
  stage: string;
  servedByDefault: boolean;
  stored: boolean;
  introduced: string | null;
  deprecated: string | null;
  removed: string | null;
  removedInferred: boolean;
  unserved?: string | null;
  gone?: string | null;
  replacement: { group: string; version: string; kind: string } | null;
  notes: string[];
  source: string[];
}

interface RawAddOn {
  id: string;
  name: string;
  kind: string;
  match: { images: string[]; charts: string[]; labels: string[]; crdGroups: string[] };
  lifecycle: {
    cycle: string;
    released: string | null;
    eol: string | boolean | null;
    latest: string | null;
    extendedUntil?: string | null;
  }[];
  compat: { versions: string; k8sMin: string | null; k8sMax: string | null; basis: string }[];
  retired: { date: string; replacement: string; source: string } | null;
  notes: string[];
  source: string[];
}

interface RawFact {
  type: string;
  component: string;
  name: string;
  removed?: string | null;
  deprecated?: string | null;
  disabledByDefault?: string | null;
  plannedRemoval?: string | null;
  lockedTo?: boolean;
  class?: string;
  csiDriver?: string | null;
  provisioner?: string | null;
  note?: string;
  evidence: string | null;
  source: string;
}

type Row = Record<string, unknown>;

/** When the `curated-*` files were last worked on; part of the version, so that reports judged before are redone. */
const curatedMonth = "2026-11";

/** Minors the Kubernetes deprecation guide has a section for. */
const guideMinors = new Set(["1.16", "1.22", "1.25", "1.26", "1.27", "1.29", "1.32"]);

/** Plurals the dataset derived by rule and got wrong. */
const plurals: Readonly<Record<string, string>> = {
  resourceclaimparameterses: "resourceclaimparameters",
  resourceclassparameterses: "resourceclassparameters",
};

/** Stored kinds new in the newest minor, whose endpoint list the dataset did not have: it took them for request-only. */
const storedKinds = new Set([
  "certificates.k8s.io/v1 ClusterTrustBundle",
  "certificates.k8s.io/v1 PodCertificateRequest",
  "resource.k8s.io/v1 DeviceTaintRule",
  "scheduling.k8s.io/v1beta1 PodGroup",
  "scheduling.k8s.io/v1beta1 Workload",
  "storagemigration.k8s.io/v1 StorageVersionMigration",
  "lifecycle.k8s.io/v1alpha1 EvictionRequest",
]);

const calendarIds: Readonly<Record<string, string>> = {
  kubernetes: "kubernetes",
  "amazon-eks": "eks",
  "google-kubernetes-engine": "gke",
  "azure-kubernetes-service": "aks",
};

/** Images released with an add-on under version numbers of their own: they would be judged by the wrong cycles. */
const foreignVersions = new Set([
  "fluxcd/source-controller",
  "fluxcd/kustomize-controller",
  "fluxcd/helm-controller",
  "fluxcd/notification-controller",
  "ingress-nginx/kube-webhook-certgen",
  "tigera/operator",
]);

/** Charts whose names other products use as well: a name alone is no evidence. */
const ambiguousCharts = new Set(["base", "gateway"]);

const [folder, date] = process.argv.slice(2);
if (folder === undefined || date === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(date)) {
  console.error("usage: node scripts/refresh-knowledge-base.ts <folder> <YYYY-MM-DD>");
  process.exitCode = 64;
} else {
  refresh(folder, date);
}

function refresh(inputFolder: string, datasetDate: string): void {
  const read = <Value>(name: string): Value => JSON.parse(readFileSync(join(inputFolder, name), "utf8")) as Value;
  const apis = read<RawApi[]>("api-lifecycle.json").map(toApi);
  const addOns = read<RawAddOn[]>("addons.json");
  const facts = read<RawFact[]>("upgrade-facts.json");
  const horizon = Math.max(
    ...apis.filter((row) => row["component"] === "kubernetes").map(({ introduced }) => minorOf(introduced)),
  );
  writeSection("apis.asset.json", "apis", apis);
  writeSection("add-ons.asset.json", "addOns", addOns.filter(({ kind }) => kind !== "platform").map(toAddOn));
  writeSection("calendars.asset.json", "calendars", addOns.filter(({ kind }) => kind === "platform").map(toCalendar));
  writeSection("upgrade-facts.asset.json", "facts", facts.flatMap(toFacts));
  const version = `api 1.${horizon}; addons ${datasetDate.slice(0, 7)}; curated ${curatedMonth}`;
  const manifest = { version, date: datasetDate, horizon: `1.${horizon}` };
  writeFileSync(join(outputFolder, "manifest.asset.json"), `${JSON.stringify(manifest)}\n`);
}

function minorOf(introduced: unknown): number {
  return typeof introduced === "string" ? Number(introduced.slice(2)) : 0;
}

function writeSection(name: string, section: string, rows: readonly Row[]): void {
  const lines = rows.map((row) => JSON.stringify(row)).join(",\n");
  writeFileSync(join(outputFolder, name), `{"${section}":[\n${lines}\n]}\n`);
  console.log(`${name}: ${rows.length} rows`);
}

function toApi(raw: RawApi): Row {
  const isLateStored = storedKinds.has(`${raw.group}/${raw.version} ${raw.kind}`);
  return compact({
    component: raw.component,
    group: raw.group,
    version: raw.version,
    kind: raw.kind,
    resource: raw.resource === null ? undefined : (plurals[raw.resource] ?? raw.resource),
    isNamespaced: raw.namespaced ?? undefined,
    stage: raw.stage,
    isServedByDefault: raw.servedByDefault || (isLateStored && raw.stage === "stable"),
    isStored: raw.stored || isLateStored,
    introduced: raw.introduced ?? undefined,
    deprecated: raw.deprecated ?? undefined,
    removed: raw.removed ?? undefined,
    unserved: raw.unserved ?? undefined,
    gone: raw.gone ?? undefined,
    isRemovalInferred: raw.removedInferred ? true : undefined,
    replacement: raw.replacement ?? undefined,
    notes: raw.notes,
    citations: [...guideCitation(raw), ...raw.source.flatMap((source) => citationsOf(source, raw))],
  });
}

function guideCitation(raw: RawApi): string[] {
  if (raw.component !== "kubernetes" || !raw.servedByDefault || raw.removed === null || !guideMinors.has(raw.removed))
    return [];
  return [`https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v${raw.removed.replace(".", "-")}`];
}

function toAddOn(raw: RawAddOn): Row {
  return compact({
    id: raw.id,
    name: raw.name,
    kind: raw.kind,
    match: {
      ...raw.match,
      images: raw.match.images.filter((image) => !foreignVersions.has(image)),
      charts: raw.match.charts.filter((chart) => !ambiguousCharts.has(chart)),
    },
    cycles: raw.lifecycle.map(({ cycle, released, eol, latest }) =>
      compact({ cycle, released: released ?? undefined, endOfLife: endOfLife(eol), latest: latest ?? undefined }),
    ),
    compatibility: raw.compat.map(({ versions, k8sMin, k8sMax, basis }) =>
      compact({ versions, kubernetesMin: k8sMin ?? undefined, kubernetesMax: k8sMax ?? undefined, basis }),
    ),
    retired:
      raw.retired === null
        ? undefined
        : {
            date: raw.retired.date,
            replacement: raw.retired.replacement,
            citation: citationsOf(raw.retired.source)[0],
          },
    notes: raw.notes,
    citations: raw.source.flatMap((source) => citationsOf(source)),
  });
}

function toCalendar(raw: RawAddOn): Row {
  return {
    id: calendarIds[raw.id],
    name: raw.name,
    cycles: raw.lifecycle.map(({ cycle, released, eol, latest, extendedUntil }) =>
      compact({
        minor: cycle,
        released: released ?? undefined,
        standardUntil: endOfLife(eol),
        extendedUntil: extendedUntil ?? undefined,
        latest: latest ?? undefined,
      }),
    ),
    citations: raw.source.flatMap((source) => citationsOf(source)),
  };
}

function endOfLife(eol: string | boolean | null): string | undefined {
  if (eol === null || eol === false) return undefined;
  return eol === true || eol === "yes" ? "ended" : eol;
}

function toFacts(raw: RawFact): Row[] {
  const citations = [...(raw.evidence === null ? [] : citationsOf(raw.evidence)), ...citationsOf(raw.source)];
  const base = { citations: [...new Set(citations)], note: raw.note };
  const components = componentsOf(raw.component);
  switch (raw.type) {
    case "removed-flag":
    case "removed-feature-gate":
    case "removed-admission-plugin":
      return [compact({ kind: raw.type, components, name: raw.name, removed: raw.removed, ...base })];
    case "removed-scheduler-plugin":
      return raw.name
        .split(",")
        .map((name) => compact({ kind: raw.type, components, name, removed: raw.removed, ...base }));
    case "removed-config":
      return flagsIn(raw.name).map((name) =>
        compact({ kind: "removed-flag", components, name, removed: raw.removed, ...base }),
      );
    case "locked-feature-gate":
      return [
        compact({ kind: raw.type, components, name: raw.name, locked: raw.removed, lockedTo: raw.lockedTo, ...base }),
      ];
    case "removed-config-kind":
      return [
        compact({ kind: "removed-config", components, ...groupVersionIn(raw.name), removed: raw.removed, ...base }),
      ];
    case "volume-plugin":
      return [toVolumePlugin(raw, base)];
    default:
      return toSpecialFact(raw, base);
  }
}

function toVolumePlugin(raw: RawFact, base: Row): Row {
  return compact({
    kind: "volume-plugin",
    name: raw.name,
    outcome: raw.class,
    since: raw.removed ?? raw.deprecated,
    csiDriver: raw.csiDriver ?? undefined,
    provisioner: raw.provisioner ?? undefined,
    ...base,
  });
}

/** Facts there is one of each of. */
function toSpecialFact(raw: RawFact, base: Row): Row[] {
  const planned = { deprecated: raw.deprecated ?? undefined, plannedRemoval: raw.plannedRemoval ?? undefined };
  if (raw.type === "node-runtime" && raw.name.startsWith("dockershim")) {
    return [compact({ kind: "node-runtime", name: "dockershim", removed: raw.removed, ...base })];
  }
  if (raw.type === "node-runtime") {
    const names = ["containerd-1", "cri-o-before-1.28"];
    return names.map((name) => compact({ kind: "node-runtime", name, ...planned, ...base }));
  }
  if (raw.type === "node-os") {
    const offByDefault = raw.disabledByDefault;
    return [
      compact({
        kind: "node-os",
        name: "cgroup-v1",
        deprecated: raw.deprecated,
        offByDefault,
        plannedRemoval: "1.38",
        ...base,
      }),
    ];
  }
  if (raw.type === "kube-proxy-mode" || raw.type === "field") {
    const name = raw.type === "field" ? "service-externalips" : "kube-proxy-ipvs";
    return [
      compact({ kind: "field", name, deprecated: raw.deprecated, offByDefault: "1.40", isPlanned: true, ...base }),
    ];
  }
  if (raw.type === "image-registry") {
    return [
      compact({
        kind: "image-registry",
        name: raw.name,
        frozen: "2023-04-03",
        replacement: "registry.k8s.io",
        ...base,
      }),
    ];
  }
  if (raw.type === "kubelet-behaviour") {
    const setting = { components: ["kubelet"], flag: "--event-qps", value: "0", changed: raw.removed };
    return [compact({ kind: "changed-default", ...setting, ...base })];
  }
  throw new Error(`Cannot convert fact of type "${raw.type}": the type is not known`);
}

function componentsOf(component: string): string[] {
  const controlPlane = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
  return component.split(",").flatMap((name) => (name === "control-plane" ? controlPlane : [name]));
}

function flagsIn(text: string): string[] {
  return text.match(/--[a-z-]+/g) ?? [];
}

function groupVersionIn(name: string): { group: string; version: string } {
  const [, group = "", version = ""] = /^([\w.-]+)\/(v\w+)/.exec(name) ?? [];
  return { group, version };
}

/** A citation is a URL, optionally followed by a blank and a remark on where to look. */
function citationsOf(source: string, api?: RawApi): string[] {
  const direct = /^https:\/\/\S+$/.exec(source);
  if (direct !== null) return [source];
  const tag = /^kubernetes\/api zz_generated\.prerelease-lifecycle\.go@(.+)$/.exec(source);
  if (tag?.[1] !== undefined && api !== undefined) return [lifecycleFile(api, tag[1])];
  if (source === "kubernetes/api core/v1/lifecycle.go")
    return ["https://github.com/kubernetes/api/blob/master/core/v1/lifecycle.go"];
  const guide = /^kubernetes\/website deprecation-guide v(\d+)\.(\d+)/.exec(source);
  if (guide !== null)
    return [`https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v${guide[1]}-${guide[2]}`];
  const product = /^endoflife-date\/endoflife\.date products\/([\w-]+)\.md \((.*)\)$/.exec(source);
  if (product !== null) return [`https://endoflife.date/${product[1]} (${product[2]})`];
  const changelog = /^kubernetes CHANGELOG-([\d.]+)\.md$/.exec(source);
  if (changelog !== null)
    return [`https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-${changelog[1]}.md`];
  const proposal = /^keps\/(sig-[\w-]+\/[\w-]+)/.exec(source);
  if (proposal !== null) return [`https://github.com/kubernetes/enhancements/tree/master/keps/${proposal[1]}`];
  const issue = /(?:^|\s)([\w-]+\/[\w.-]+)#(\d+)$/.exec(source);
  if (issue !== null && !source.includes(",")) return [`https://github.com/${issue[1]}/issues/${issue[2]}`];
  if (/^kubernetes\.io\//.test(source)) return [`https://${source.replace(/ \(.*$/, "")}`];
  if (/corpus/.test(source)) return [];
  const repository = /^([\w-]+\/[\w.-]+)(?:[ ,]+(.*))?$/.exec(source);
  if (repository !== null)
    return [
      `https://github.com/${repository[1]}${repository[2] === undefined ? "" : ` (${stripParentheses(repository[2])})`}`,
    ];
  return source.split("; ").length > 1 ? source.split("; ").flatMap((part) => citationsOf(part)) : [];
}

function stripParentheses(text: string): string {
  return text.replace(/[()]/g, (parenthesis) => (parenthesis === "(" ? "[" : "]"));
}

function lifecycleFile({ group, version }: RawApi, at: string): string {
  const folder =
    group === "" ? "core" : group === "internal.apiserver.k8s.io" ? "apiserverinternal" : group.split(".")[0];
  const branch = at === "master" ? "master" : `release-${at}`;
  return `https://github.com/kubernetes/api/blob/${branch}/${folder}/${version}/zz_generated.prerelease-lifecycle.go`;
}

function compact(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined && value !== null));
}
