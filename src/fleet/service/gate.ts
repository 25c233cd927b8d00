/**
 * The gate: what a change brings in, judged in the context of the cluster it goes to.
 *
 * Two evaluations answer it. The first sees the posted objects with the cluster's surroundings (its CRDs, the teams of
 * its namespaces, its nodes and version) but not with its own objects, so every finding marked `manifest` comes from
 * the change alone. The second sees the cluster as it is; its findings are shown, and its verdict is told apart, but
 * they do not decide: a change must not fail for what was there before it.
 */
import type { CalendarDate } from "../model/calendar-date.ts";
import { compareFindings, evaluate } from "../model/evaluate.ts";
import type { IgnoreRule } from "../model/ignore-rules.ts";
import type { CustomResourceDefinition, Inventory, NamespaceInfo, Originated } from "../model/inventory.ts";
import type { KnowledgeBase } from "../model/knowledge-base.ts";
import type { KubernetesMinor } from "../model/kubernetes-minor.ts";
import type { Finding, Gap, Report, Verdict } from "../model/report.ts";
import { scoreOf, tally, verdictOf } from "../model/score.ts";
import type { TeamMap } from "../model/team-map.ts";
import { decideGate, type GateDecision, type GatePolicy } from "./judge.ts";

export interface GateInput {
  readonly manifests: Inventory;
  /** Latest snapshot of the cluster the change goes to. */
  readonly cluster?: { readonly inventory: Inventory; readonly agentVersion?: string | undefined } | undefined;
  readonly knowledgeBase: KnowledgeBase;
  readonly target: KubernetesMinor;
  readonly date: CalendarDate;
  readonly teamMap?: TeamMap | undefined;
  readonly ignoreRules?: readonly IgnoreRule[] | undefined;
  readonly annotationExempt?: ReadonlySet<string> | undefined;
  readonly toolVersion?: string | undefined;
  readonly policy: GatePolicy;
}

export interface GateResult {
  /** Findings of the change, then those of the cluster; score, counts and verdict are those of the change. */
  readonly report: Report;
  readonly clusterVerdict?: Verdict | undefined;
  readonly decision: GateDecision;
}

/** Gaps of a cluster that also make a change impossible to judge. */
const decidingGaps = new Set(["target", "kb-coverage"]);

/** @throws DomainError target_invalid */
export function judgeChange(input: GateInput): GateResult {
  const { cluster, manifests, policy } = input;
  if (cluster === undefined) {
    const report = evaluateWith(input, manifests);
    return { report, decision: decideGate(report, policy) };
  }
  const whole = evaluateWith(input, cluster.inventory, cluster.agentVersion);
  const change = onlyChange(evaluateWith(input, inSurroundings(manifests, cluster.inventory)), manifests);
  const decision = decideGate(change, policy);
  return { report: withClusterFindings(change, whole), clusterVerdict: whole.verdict, decision };
}

function evaluateWith(input: GateInput, inventory: Inventory, agentVersion?: string): Report {
  const { knowledgeBase, target, date, teamMap, ignoreRules, annotationExempt, toolVersion } = input;
  return evaluate({
    inventory,
    knowledgeBase,
    target,
    date,
    teamMap,
    ignoreRules,
    annotationExempt,
    toolVersion,
    agentVersion,
  });
}

/** Posted objects where the cluster's own would be; what is only there to judge them by stays. */
export function inSurroundings(manifests: Inventory, cluster: Inventory): Inventory {
  const { clusterId, serverVersion, provider, nodes, controlPlane, capabilities, collectorSchema } = cluster;
  return {
    schemaVersion: 1,
    source: "cluster",
    collectorSchema,
    clusterId,
    serverVersion,
    provider,
    nodes,
    controlPlane,
    capabilities,
    apiUsage: posted(manifests.apiUsage),
    addOns: posted(manifests.addOns),
    gitopsCharts: posted(manifests.gitopsCharts),
    componentConfigs: posted(manifests.componentConfigs),
    // Flags of a posted control plane are those of the manifests, whoever runs the present one.
    componentFlags: posted(manifests.componentFlags),
    crds: mergeCrds(manifests.crds ?? [], cluster.crds ?? []),
    namespaces: mergeNamespaces(manifests.namespaces ?? [], cluster.namespaces ?? []),
    volumePlugins: posted(manifests.volumePlugins),
    webhooks: posted(manifests.webhooks),
    disruption: posted(manifests.disruption),
    fieldUsage: posted(manifests.fieldUsage),
    registries: posted(manifests.registries),
    unrecognizedImages: manifests.unrecognizedImages,
    unrecognizedImagesOmitted: manifests.unrecognizedImagesOmitted,
  };
}

function posted<Entry extends Originated>(entries: readonly Entry[] | undefined): Entry[] {
  return (entries ?? []).map((entry) => ({ ...entry, origin: "manifest" as const }));
}

/** A posted CRD replaces the cluster's; the usage that the cluster counted is not the change's. */
function mergeCrds(
  manifests: readonly CustomResourceDefinition[],
  cluster: readonly CustomResourceDefinition[],
): CustomResourceDefinition[] {
  const replaced = new Set(manifests.map(({ group, plural }) => `${plural}.${group}`));
  const kept = cluster
    .filter(({ group, plural }) => !replaced.has(`${plural}.${group}`))
    .map(({ group, kind, plural, versions }) => ({ group, kind, plural, versions }));
  return [...posted(manifests), ...kept];
}

function mergeNamespaces(manifests: readonly NamespaceInfo[], cluster: readonly NamespaceInfo[]): NamespaceInfo[] {
  const known = new Map<string, NamespaceInfo>();
  // A namespace that is posted without the label keeps the team that it has.
  for (const info of cluster) known.set(info.name, info);
  for (const info of manifests) if (info.team !== undefined || !known.has(info.name)) known.set(info.name, info);
  return [...known.values()];
}

function onlyChange(report: Report, manifests: Inventory): Report {
  const findings = report.findings.filter(({ source }) => source === "manifest");
  const suppressed = report.suppressed.filter(({ source }) => source === "manifest");
  const notAssessed = report.notAssessed
    .map((gap) => (decidingGaps.has(gap.capability) ? gap : withoutRequirement(gap)))
    .concat(
      manifests.capabilities["api-usage"]?.available === true ? [] : [{ capability: "api-usage", required: true }],
    );
  return recount({ ...report, suppressed, suppressedCount: suppressed.length, notAssessed }, findings);
}

function recount(report: Report, findings: readonly Finding[]): Report {
  const counts = tally(findings);
  const verdict = verdictOf(
    counts.blockers,
    report.notAssessed.some((gap) => gap.required === true),
  );
  return { ...report, ...counts, findings, score: scoreOf(counts), verdict, ready: verdict === "ready" };
}

function withoutRequirement(gap: Gap): Gap {
  const { required: _, ...rest } = gap;
  return rest;
}

/** The cluster's findings beside those of the change; a key of both stands for the change. */
function withClusterFindings(change: Report, whole: Report): Report {
  const own = new Set(change.findings.map(({ key }) => key));
  const others = whole.findings
    .filter(({ key }) => !own.has(key))
    .map((finding) => ({ ...finding, source: "cluster" as const }));
  return { ...change, findings: [...change.findings, ...others].sort(compareFindings) };
}
