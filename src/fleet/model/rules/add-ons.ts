/**
 * Add-ons past or near their end of life, and add-ons whose publishers do not support the target. A row that is
 * missing never blocks: it is said (`addon-no-data`), because silence would read as "fine".
 *
 * Image, chart and label all count as evidence of an add-on. Charts of GitOps tools and Helm only speak for add-ons that
 * nothing else has shown, so that one installation is not counted twice.
 */
import { daysBetween } from "../calendar-date.ts";
import { type Evidence, evidenceOfObjects, evidenceOfPlaces, mergeEvidence } from "../evidence.ts";
import type { AddOnUsage, Inventory } from "../inventory.ts";
import type { AddOn, AddOnCompatibility, AddOnCycle, CompatibilityBasis } from "../knowledge-base.ts";
import type { KnowledgeBaseIndex } from "../knowledge-base-index.ts";
import { compareMinors, type KubernetesMinor } from "../kubernetes-minor.ts";
import { sortedUnique } from "../order.ts";
import { compareVersions, isInCycle, isInRange, type ProductVersion, parseVersion } from "../product-version.ts";
import type { Severity } from "../report.ts";
import { type Emit, isManifestEntry, type RuleContext } from "../rule-context.ts";

/** An end of life this many days ahead is told. */
export const approachingDays = 90;

interface Installation {
  readonly addOn: AddOn;
  readonly version: ProductVersion | undefined;
  readonly versionText: string;
  readonly evidence: Evidence;
}

export function judgeAddOns(context: RuleContext, emit: Emit): void {
  for (const usage of listAddOns(context)) {
    const addOn = context.index.addOns.get(usage.id);
    const evidence = evidenceOfAddOn(context, usage);
    if (addOn === undefined) {
      emitNoData({ id: usage.id, name: usage.id, state: "the add-on is not in the knowledge base" }, evidence, emit);
      continue;
    }
    const version = parseVersion(usage.version);
    const installation: Installation = { addOn, version, versionText: usage.version, evidence };
    const knowsLife = judgeLife(context, installation, emit);
    const knowsRange = judgeCompatibility(context, installation, emit);
    if (!knowsLife && !knowsRange)
      emitNoData({ id: addOn.id, name: addOn.name, state: noDataState(installation) }, evidence, emit);
  }
}

/** End of life of a cycle: of an add-on, or of the container runtime of nodes. */
export interface CycleLife {
  readonly addOn: AddOn;
  readonly version: ProductVersion;
  readonly evidence: Evidence;
  readonly severity: Severity;
  readonly noun?: string;
}

/** Answers whether the cycle of the version is known. */
export function judgeCycle(context: RuleContext, life: CycleLife, emit: Emit): boolean {
  const { addOn, version } = life;
  const cycle = findCycle(addOn, version);
  if (cycle !== undefined) {
    emitCycle(context, life, cycle, emit);
    return true;
  }
  const oldest = oldestCycle(addOn);
  if (oldest === undefined || !isEnded(oldest, context.date) || compareVersions(version, cycleVersion(oldest)) >= 0)
    return false;
  const own = version.slice(0, 2).join(".");
  emitEnded(
    { ...life, cycle: own, when: `before ${oldest.cycle} did`, newer: newestLiving(addOn, context.date) },
    emit,
  );
  return true;
}

function judgeLife(context: RuleContext, { addOn, version, evidence }: Installation, emit: Emit): boolean {
  if (addOn.retired !== undefined) {
    const isOver = addOn.retired.date <= context.date;
    if (isOver || daysBetween(context.date, addOn.retired.date) <= approachingDays) {
      emitRetired(addOn, isOver, evidence, emit);
      return true;
    }
  }
  if (version === undefined) return false;
  return judgeCycle(context, { addOn, version, evidence, severity: "blocker" }, emit);
}

function emitRetired(addOn: AddOn, isOver: boolean, evidence: Evidence, emit: Emit): void {
  if (addOn.retired === undefined) return;
  const { date, replacement, citation } = addOn.retired;
  emit({
    key: `${isOver ? "eol-addon" : "eol-approaching"}/${addOn.id}`,
    category: isOver ? "eol-addon" : "eol-approaching",
    severity: isOver ? "blocker" : "warning",
    phase: "any",
    title: isOver ? `${addOn.name} was retired on ${date}` : `${addOn.name} retires on ${date}`,
    detail: `Its publisher ${isOver ? "has ended" : "ends"} the project: no version of it gets fixes ${isOver ? "any more" : "after that day"}, and none is tested with later Kubernetes versions.`,
    remediation: `Move to ${replacement}.`,
    citations: [citation, ...addOn.citations.filter((other) => other !== citation)],
    evidence,
  });
}

function emitCycle(context: RuleContext, life: CycleLife, cycle: AddOnCycle, emit: Emit): void {
  const { addOn } = life;
  const newer = newestLiving(addOn, context.date, cycle);
  if (isEnded(cycle, context.date)) {
    emitEnded(
      { ...life, cycle: cycle.cycle, when: cycle.endOfLife === "ended" ? undefined : `on ${cycle.endOfLife}`, newer },
      emit,
    );
    return;
  }
  if (cycle.endOfLife === undefined || daysBetween(context.date, cycle.endOfLife) > approachingDays) return;
  emit({
    key: `eol-approaching/${addOn.id}/${cycle.cycle}`,
    category: "eol-approaching",
    severity: "warning",
    phase: "any",
    title: `${addOn.name} ${cycle.cycle} reaches its end of life on ${cycle.endOfLife}`,
    ...(life.noun === undefined ? {} : { noun: life.noun }),
    detail: "After that day its publisher fixes nothing in it, security problems included.",
    ...upgradeTo(addOn, newer),
    citations: addOn.citations,
    evidence: life.evidence,
  });
}

interface EndedCycle extends Omit<CycleLife, "version"> {
  readonly cycle: string;
  readonly when: string | undefined;
  readonly newer: AddOnCycle | undefined;
}

function emitEnded({ addOn, cycle, when, newer, severity, evidence, noun }: EndedCycle, emit: Emit): void {
  emit({
    key: `eol-addon/${addOn.id}/${cycle}`,
    category: "eol-addon",
    severity,
    phase: "any",
    title: `${addOn.name} ${cycle} is past its end of life`,
    ...(noun === undefined ? {} : { noun }),
    detail: `Support for ${cycle} ended${when === undefined ? "" : ` ${when}`}: it gets no fixes and is not tested with later Kubernetes versions.`,
    ...upgradeTo(addOn, newer),
    citations: addOn.citations,
    evidence,
  });
}

function upgradeTo(addOn: AddOn, newer: AddOnCycle | undefined): { readonly remediation: string } {
  if (newer === undefined)
    return { remediation: `Upgrade ${addOn.name} to a cycle that began after these facts were read.` };
  const release = newer.latest === undefined ? "" : ` (latest ${newer.latest})`;
  return { remediation: `Upgrade ${addOn.name} to ${newer.cycle}${release}.` };
}

/** Severity when the target lies above the range, by what the publisher's statement is worth. */
const severityAbove: Readonly<Record<CompatibilityBasis, Severity>> = {
  "upstream-supported": "blocker",
  "upstream-breaking": "blocker",
  "upstream-tested": "warning",
  "upstream-recommended-match": "warning",
  "client-go-version": "info",
};

const severityBelow: Readonly<Record<CompatibilityBasis, Severity>> = {
  ...severityAbove,
  "upstream-supported": "warning",
};

/** Answers whether there is a range for the version. */
function judgeCompatibility(
  context: RuleContext,
  { addOn, version, versionText, evidence }: Installation,
  emit: Emit,
): boolean {
  if (version === undefined) return false;
  const range = addOn.compatibility.find((row) => isInRange(version, row.versions));
  if (range === undefined) return false;
  const { kubernetesMin, kubernetesMax, basis } = range;
  const isAbove = kubernetesMax !== undefined && compareMinors(context.target, kubernetesMax) > 0;
  const isBelow = kubernetesMin !== undefined && compareMinors(context.target, kubernetesMin) < 0;
  if (!isAbove && !isBelow) return true;
  // A table that no version reaches beyond was written before that Kubernetes minor: it cannot speak against it.
  const isUnstated = isAbove && basis !== "upstream-breaking" && kubernetesMax === newestKnown(addOn);
  const severity = isAbove
    ? isUnstated
      ? atMostWarning(severityAbove[basis])
      : severityAbove[basis]
    : severityBelow[basis];
  emit({
    key: `chart-incompat/${addOn.id}`,
    category: "chart-incompat",
    severity,
    phase: "control-plane",
    title: `${addOn.name} ${versionText} is not ${isUnstated ? "yet said to be " : ""}${claimOf(basis)} Kubernetes ${context.target}`,
    detail: `${spanOf(range)}${isUnstated ? ` No version of it names ${context.target} yet.` : ""}`,
    remediation: compatibleVersion(addOn, context.target),
    citations: addOn.citations,
    evidence,
  });
  return true;
}

function claimOf(basis: CompatibilityBasis): string {
  switch (basis) {
    case "upstream-supported":
      return "supported on";
    case "upstream-breaking":
      return "able to work with";
    case "upstream-tested":
      return "tested with";
    case "upstream-recommended-match":
      return "the version made for";
    case "client-go-version":
      return "built for";
  }
}

function spanOf({ versions, kubernetesMin, kubernetesMax }: AddOnCompatibility): string {
  const span =
    kubernetesMin === undefined
      ? `up to ${kubernetesMax}`
      : kubernetesMax === undefined
        ? `from ${kubernetesMin} on`
        : kubernetesMin === kubernetesMax
          ? kubernetesMin
          : `${kubernetesMin} to ${kubernetesMax}`;
  return `Its publisher names Kubernetes ${span} for ${versions}.`;
}

function compatibleVersion(addOn: AddOn, target: KubernetesMinor): string {
  const fitting = addOn.compatibility.find(
    ({ kubernetesMin, kubernetesMax }) =>
      (kubernetesMin === undefined || compareMinors(target, kubernetesMin) >= 0) &&
      (kubernetesMax === undefined || compareMinors(target, kubernetesMax) <= 0),
  );
  return fitting === undefined
    ? `Look for a release of ${addOn.name} made after these facts that names ${target}, and test it before the upgrade.`
    : `Move to ${addOn.name} ${fitting.versions}, which names ${target}, before the control plane does.`;
}

function newestKnown(addOn: AddOn): KubernetesMinor | undefined {
  let newest: KubernetesMinor | undefined;
  for (const { kubernetesMax } of addOn.compatibility) {
    if (kubernetesMax !== undefined && (newest === undefined || compareMinors(kubernetesMax, newest) > 0))
      newest = kubernetesMax;
  }
  return newest;
}

function atMostWarning(severity: Severity): Severity {
  return severity === "blocker" ? "warning" : severity;
}

interface NoData {
  readonly id: string;
  readonly name: string;
  readonly state: string;
}

function emitNoData({ id, name, state }: NoData, evidence: Evidence, emit: Emit): void {
  emit({
    key: `addon-no-data/${id}`,
    category: "addon-no-data",
    severity: "info",
    phase: "any",
    title: `${name} could not be judged`,
    detail: `It was found, but ${state}.`,
    remediation: "Check its own compatibility notes, or add a row for it to a registry folder.",
    citations: [],
    evidence,
  });
}

function noDataState({ addOn, version, versionText }: Installation): string {
  if (version === undefined) return "its version could not be read";
  const isEmpty = addOn.cycles.length === 0 && addOn.compatibility.length === 0;
  return isEmpty
    ? "the knowledge base has neither an end of life nor a range of Kubernetes versions for it"
    : `the knowledge base has no row for version ${versionText}`;
}

function listAddOns({ inventory, index }: RuleContext): AddOnUsage[] {
  const usages = [...(inventory.addOns ?? [])].filter(({ id }) => index.addOns.get(id)?.kind !== "node-runtime");
  const shown = new Set(usages.map(({ id }) => id));
  for (const usage of [...helmAddOns(inventory, index), ...gitopsAddOns(inventory, index)]) {
    if (!shown.has(usage.id)) usages.push(usage);
  }
  return usages;
}

/** A release that is gone or replaced installs nothing. */
const deadStatuses = new Set(["uninstalled", "superseded", "uninstalling"]);

function helmAddOns(inventory: Inventory, index: KnowledgeBaseIndex): AddOnUsage[] {
  return (inventory.helmReleases ?? []).flatMap((release) => {
    const addOn = index.addOnsByChart.get(release.chartName);
    if (addOn === undefined || deadStatuses.has(release.status)) return [];
    const { name, namespace, origin } = release;
    return [
      {
        id: addOn.id,
        version: release.appVersion ?? "",
        namespaces: [namespace],
        source: "chart",
        origin,
        objects: [{ namespace, name }],
      },
    ];
  });
}

/** A chart version is not an application version: only what needs none can be judged. */
function gitopsAddOns(inventory: Inventory, index: KnowledgeBaseIndex): AddOnUsage[] {
  return (inventory.gitopsCharts ?? []).flatMap((chart) => {
    const addOn = index.addOnsByChart.get(chart.chart);
    if (addOn === undefined) return [];
    const { name, namespace, origin } = chart;
    const target = chart.target ?? namespace;
    return [
      {
        id: addOn.id,
        version: "",
        namespaces: [target],
        source: "chart",
        origin,
        objects: [chart.object ?? { namespace, name }],
      },
    ];
  });
}

function evidenceOfAddOn(context: RuleContext, usage: AddOnUsage): Evidence {
  const isFromManifest = isManifestEntry(context, usage);
  const objects = usage.objects ?? [];
  const places = evidenceOfPlaces(sortedUnique(usage.namespaces), { isFromManifest });
  const listed = evidenceOfObjects(objects, { isFromManifest });
  const merged = mergeEvidence([places, listed]);
  return { ...merged, unplaced: merged.unplaced + (usage.objectsOmitted ?? 0) };
}

function findCycle(addOn: AddOn, version: ProductVersion): AddOnCycle | undefined {
  let found: AddOnCycle | undefined;
  for (const cycle of addOn.cycles) {
    if (isInCycle(version, cycle.cycle) && cycle.cycle.length > (found?.cycle.length ?? 0)) found = cycle;
  }
  return found;
}

function isEnded({ endOfLife }: AddOnCycle, date: string): boolean {
  return endOfLife === "ended" || (endOfLife !== undefined && endOfLife < date);
}

function cycleVersion({ cycle }: AddOnCycle): ProductVersion {
  return cycle.split(".").map(Number);
}

function oldestCycle(addOn: AddOn): AddOnCycle | undefined {
  return pickCycle(addOn.cycles, (candidate, best) => compareVersions(cycleVersion(candidate), cycleVersion(best)) < 0);
}

function newestLiving(addOn: AddOn, date: string, besides?: AddOnCycle): AddOnCycle | undefined {
  const living = addOn.cycles.filter((cycle) => cycle !== besides && !isEnded(cycle, date));
  return pickCycle(living, (candidate, best) => compareVersions(cycleVersion(candidate), cycleVersion(best)) > 0);
}

function pickCycle(
  cycles: readonly AddOnCycle[],
  isBetter: (candidate: AddOnCycle, best: AddOnCycle) => boolean,
): AddOnCycle | undefined {
  let best: AddOnCycle | undefined;
  for (const cycle of cycles) if (best === undefined || isBetter(cycle, best)) best = cycle;
  return best;
}
