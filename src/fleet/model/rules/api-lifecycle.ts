/**
 * Removed, deprecated and unknown APIs in objects, stored Helm manifests and calls. What counts is who writes a
 * version, never at which version an object happens to be served: the collector has decided that already, and what it
 * could not decide arrives as `apiAuthorshipUnknown` and stays information.
 *
 * Only built-in APIs are judged here; custom resources follow their own CRD (`crd-version.ts`) and configuration
 * files their component (`component-settings.ts`).
 */
import { evidenceOf, noEvidence } from "../evidence.ts";
import type { ApiUsage, DeprecatedCall, HelmRelease } from "../inventory.ts";
import type { ApiLifecycle } from "../knowledge-base.ts";
import {
  apiKey,
  apiLabel,
  builtInComponent,
  groupVersion,
  isReached,
  isServed,
  minorField,
} from "../knowledge-base-index.ts";
import { compareMinors, type KubernetesMinor } from "../kubernetes-minor.ts";
import { sortedUnique } from "../order.ts";
import type { Severity } from "../report.ts";
import { distanceOf, type Emit, isManifestEntry, type RuleContext } from "../rule-context.ts";
import { apiRemediation } from "./api-remediation.ts";

interface UsesOfApi {
  readonly written: ApiUsage[];
  readonly inHelm: { readonly release: HelmRelease; readonly usage: ApiUsage }[];
}

export function judgeApis(context: RuleContext, emit: Emit): void {
  for (const [key, uses] of collectUses(context)) {
    const row = context.index.apis.get(key);
    if (row === undefined) judgeUnknownApi(context, uses, emit);
    else if (row.component === builtInComponent && row.isStored) judgeKnownApi(context, row, uses, emit);
  }
}

export function judgeAuthorshipUnknown(context: RuleContext, emit: Emit): void {
  for (const [key, usages] of groupUsages(context.inventory.apiAuthorshipUnknown ?? [])) {
    const row = context.index.apis.get(key);
    if (row === undefined || row.component !== builtInComponent || !row.isStored) continue;
    const distance = distanceOf(minorField(row.removed), context.target);
    const isDeprecated = isReached(minorField(row.deprecated), context.target);
    if (distance !== "reached" && distance !== "next" && !isDeprecated) continue;
    emit({
      key: `deprecated-api/${key}/authorship-unknown`,
      category: "deprecated-api",
      severity: "info",
      phase: "applies",
      title: `${apiLabel(row)}: no record of who writes this version`,
      noun: "object",
      detail: `${lifecycleSentence(row)} The objects are stored and served at a newer version as well, and nothing in them tells which version their manifests use.`,
      remediation: `Look at the manifests or charts these objects come from. ${apiRemediation(context.index, row, context.target)}`,
      citations: row.citations,
      evidence: evidenceOf(usages),
    });
  }
}

export function judgeDeprecatedCalls(context: RuleContext, emit: Emit): void {
  const byResource = new Map<string, DeprecatedCall[]>();
  for (const call of context.inventory.deprecatedCalls ?? []) {
    const key = `${call.group}/${call.version}/${call.resource}`;
    const same = byResource.get(key);
    if (same === undefined) byResource.set(key, [call]);
    else same.push(call);
  }
  for (const [key, calls] of byResource) emitCalls(context, { key, calls }, emit);
}

interface CallsOfResource {
  readonly key: string;
  readonly calls: readonly DeprecatedCall[];
}

function emitCalls(context: RuleContext, { key, calls }: CallsOfResource, emit: Emit): void {
  const [first] = calls;
  if (first === undefined) return;
  const row = context.index.apisByResource.get(key);
  const removed = minorField(row?.removed) ?? earliestRelease(calls);
  const distance = distanceOf(removed, context.target);
  const groupName = first.group === "" ? "core" : first.group;
  const when = removed === undefined ? "which is deprecated" : `which ${removalVerb(distance)} in ${removed}`;
  const audit = "Find the client in the audit log (annotation `k8s.io/deprecated`)";
  emit({
    key: `deprecated-api-in-use/${groupName}/${first.version}/${first.resource}`,
    category: "deprecated-api-in-use",
    severity: distance === "reached" ? "blocker" : distance === "next" ? "warning" : "info",
    phase: "control-plane",
    title: `Clients call ${groupVersion(first)} ${first.resource}, ${when}`,
    detail: callDetail(calls, removed),
    remediation:
      row === undefined
        ? `${audit} and move it to a current version of the API.`
        : `${audit} and upgrade it. ${apiRemediation(context.index, row, context.target)}`,
    citations: row?.citations ?? ["https://kubernetes.io/docs/reference/using-api/deprecation-guide/"],
    evidence: { ...noEvidence, callers: calls.flatMap((call) => call.callers ?? []) },
  });
}

function earliestRelease(calls: readonly DeprecatedCall[]): KubernetesMinor | undefined {
  const releases = calls.map((call) => minorField(call.removedRelease)).filter((release) => release !== undefined);
  return releases.sort(compareMinors)[0];
}

function callDetail(calls: readonly DeprecatedCall[], removed: string | undefined): string {
  const parts = sortedUnique(calls.map(({ subresource }) => subresource ?? "")).filter((part) => part !== "");
  const named = parts.length === 0 ? "" : ` (its subresources ${parts.join(", ")} included)`;
  const when = removed === undefined ? "no minor is set for its removal" : `requests fail from ${removed} on`;
  return `The API server has counted requests to this version${named} since it started; ${when}. Controllers and the API server itself can be among the callers.`;
}

function judgeKnownApi(context: RuleContext, row: ApiLifecycle, uses: UsesOfApi, emit: Emit): void {
  const { target } = context;
  const removed = minorField(row.removed);
  const introduced = minorField(row.introduced);
  const posted = uses.written.filter((usage) => isManifestEntry(context, usage));
  const distance = distanceOf(removed, target);
  if (distance === "reached" || distance === "next") {
    emitRemoval(context, { row, uses, distance }, emit);
  } else if (introduced !== undefined && compareMinors(introduced, target) > 0 && posted.length > 0) {
    emitNotYetServed(context, row, posted, emit);
  } else if (isReached(minorField(row.deprecated), target)) {
    emitDeprecation(context, row, uses, emit);
  } else if (!row.isServedByDefault && posted.length > 0) {
    emitOffByDefault(context, row, posted, emit);
  }
}

interface Removal {
  readonly row: ApiLifecycle;
  readonly uses: UsesOfApi;
  readonly distance: "reached" | "next";
}

function emitRemoval(context: RuleContext, { row, uses, distance }: Removal, emit: Emit): void {
  const isGoneToday =
    context.current !== undefined &&
    !isServed(row, context.current) &&
    isReached(minorField(row.removed), context.current);
  const isHelmOnly = uses.written.length === 0;
  // A release whose stored manifest is broken today stays as broken by the upgrade: no reason to hold it back.
  const severity: Severity = distance === "next" || (isHelmOnly && isGoneToday) ? "warning" : "blocker";
  emit({
    key: `removed-api/${apiKey(row)}`,
    category: "removed-api",
    severity,
    phase: "applies",
    title: `${apiLabel(row)} ${removalVerb(distance)} in ${row.removed}`,
    noun: "object",
    detail: [
      lifecycleSentence(row),
      ...usesSentences(uses),
      ...(isHelmOnly && isGoneToday ? [alreadyBroken] : []),
    ].join(" "),
    remediation: joinFixes(apiRemediation(context.index, row, context.target), uses),
    citations: row.citations,
    evidence: evidenceOfUses(uses),
  });
}

function emitNotYetServed(context: RuleContext, row: ApiLifecycle, posted: readonly ApiUsage[], emit: Emit): void {
  emit({
    key: `removed-api/${apiKey(row)}`,
    category: "removed-api",
    severity: "blocker",
    phase: "applies",
    title: `${apiLabel(row)} is not served before ${row.introduced}`,
    noun: "object",
    detail: `The API server of ${context.target} does not know this version and refuses the manifest.`,
    remediation: `Apply it after the upgrade to ${row.introduced}, or use a version that ${context.target} serves.`,
    citations: row.citations,
    evidence: evidenceOf(posted),
  });
}

function emitDeprecation(context: RuleContext, row: ApiLifecycle, uses: UsesOfApi, emit: Emit): void {
  emit({
    key: `deprecated-api/${apiKey(row)}`,
    category: "deprecated-api",
    severity: uses.inHelm.length > 0 ? "warning" : "info",
    phase: "applies",
    title: `${apiLabel(row)} is deprecated since ${row.deprecated}`,
    noun: "object",
    detail: [lifecycleSentence(row), ...usesSentences(uses)].join(" "),
    remediation: joinFixes(apiRemediation(context.index, row, context.target), uses),
    citations: row.citations,
    evidence: evidenceOfUses(uses),
  });
}

function emitOffByDefault(context: RuleContext, row: ApiLifecycle, posted: readonly ApiUsage[], emit: Emit): void {
  emit({
    key: `unknown-api/${apiKey(row)}`,
    category: "unknown-api",
    severity: "info",
    phase: "applies",
    title: `${apiLabel(row)} is off by default`,
    noun: "object",
    detail: `The API server of ${context.target} serves this ${row.stage} version only when it is switched on with \`--runtime-config\` (and its feature gate, if it has one).`,
    remediation: `Switch \`${row.group}/${row.version}\` on, or leave these objects out.`,
    citations: row.citations,
    evidence: evidenceOf(posted),
  });
}

function judgeUnknownApi(context: RuleContext, uses: UsesOfApi, emit: Emit): void {
  const usages = [...uses.written, ...uses.inHelm.map(({ usage }) => usage)];
  const [first] = usages;
  if (first === undefined || !context.index.builtInGroups.has(first.group)) return;
  if ((context.inventory.crds ?? []).some((crd) => crd.group === first.group && crd.kind === first.kind)) return;
  emit({
    key: `unknown-api/${apiKey(first)}`,
    category: "unknown-api",
    severity: "info",
    phase: "applies",
    title: `${apiLabel(first)} is not an API that Kubernetes is known to have had`,
    noun: "object",
    detail: `The group belongs to Kubernetes itself, and no release up to ${context.index.source.horizon} serves this version and kind in it.`,
    remediation: "Check the spelling of `apiVersion` and `kind`.",
    citations: ["https://kubernetes.io/docs/reference/using-api/"],
    evidence: evidenceOf(usages),
  });
}

function collectUses(context: RuleContext): Map<string, UsesOfApi> {
  const uses = new Map<string, UsesOfApi>();
  const usesOf = (usage: ApiUsage): UsesOfApi => {
    const key = apiKey(usage);
    let entry = uses.get(key);
    if (entry === undefined) {
      entry = { written: [], inHelm: [] };
      uses.set(key, entry);
    }
    return entry;
  };
  for (const usage of context.inventory.apiUsage ?? []) usesOf(usage).written.push(usage);
  for (const release of context.inventory.helmReleases ?? []) {
    for (const usage of release.manifestApis ?? []) usesOf(usage).inHelm.push({ release, usage });
  }
  return uses;
}

export function groupUsages(usages: readonly ApiUsage[]): Map<string, ApiUsage[]> {
  const groups = new Map<string, ApiUsage[]>();
  for (const usage of usages) {
    const key = apiKey(usage);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [usage]);
    else group.push(usage);
  }
  return groups;
}

function evidenceOfUses(uses: UsesOfApi): ReturnType<typeof evidenceOf> {
  return evidenceOf([...uses.written, ...uses.inHelm.map(({ release, usage }) => inRelease(release, usage))]);
}

/** A usage in a stored manifest as one object: the release is what has to be changed. */
function inRelease(release: HelmRelease, usage: ApiUsage): ApiUsage {
  return {
    group: usage.group,
    version: usage.version,
    kind: usage.kind,
    count: 1,
    namespaces: { [release.namespace]: 1 },
    objects: [{ namespace: release.namespace, name: release.name, manager: "helm" }],
    origin: release.origin,
  };
}

const alreadyBroken =
  "The API has been gone from this cluster since before this upgrade, so the release is as broken today as it will be.";

function usesSentences(uses: UsesOfApi): string[] {
  if (uses.inHelm.length === 0) return [];
  const releases = sortedUnique(uses.inHelm.map(({ release }) => `${release.namespace}/${release.name}`));
  const named = releases.slice(0, 5).join(", ");
  const rest = releases.length > 5 ? " and others" : "";
  return [
    `The manifest stored by Helm names it (release ${named}${rest}): the running objects are not harmed, but the next \`helm upgrade\` or rollback of the release fails once the API is gone.`,
  ];
}

function joinFixes(fix: string, uses: UsesOfApi): string {
  if (uses.inHelm.length === 0) return fix;
  const helmFix =
    "For Helm releases: upgrade to a chart version that renders the new API before the control plane moves, or rewrite the stored manifest with the `mapkubeapis` plugin.";
  return uses.written.length === 0 ? `${helmFix} ${fix}` : `${fix} ${helmFix}`;
}

function lifecycleSentence(row: ApiLifecycle): string {
  const parts = [
    row.deprecated === undefined ? undefined : `deprecated since ${row.deprecated}`,
    row.removed === undefined ? undefined : `not served from ${row.removed} on`,
  ].filter((part) => part !== undefined);
  const inferred =
    row.isRemovalInferred === true ? " The minor is inferred from the API documents each release published." : "";
  return `${apiLabel(row)} is ${parts.length === 0 ? "served" : parts.join(", and ")}.${inferred}`;
}

function removalVerb(distance: ReturnType<typeof distanceOf>): string {
  return distance === "reached" ? "is removed" : "goes away";
}
