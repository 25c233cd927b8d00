/**
 * What could not be seen. A capability that is missing, unavailable or partial is a gap; a required gap makes `ready`
 * impossible, because a blocker may hide in it. Manifests have no cluster behind them: of them only the APIs and the
 * reach of the knowledge base are required.
 */
import type { Capability, CapabilityName, Inventory } from "./inventory.ts";
import { isReached, minorField } from "./knowledge-base-index.ts";
import { compareMinors } from "./kubernetes-minor.ts";
import { compareText } from "./order.ts";
import type { Gap } from "./report.ts";
import type { RuleContext } from "./rule-context.ts";

const clusterCapabilities: readonly { readonly name: CapabilityName; readonly isRequired: boolean }[] = [
  { name: "api-usage", isRequired: true },
  { name: "versions", isRequired: true },
  { name: "addons", isRequired: true },
  { name: "deprecated-calls", isRequired: false },
  { name: "helm", isRequired: false },
  { name: "crds", isRequired: false },
  { name: "volumes", isRequired: false },
  { name: "webhooks", isRequired: false },
  { name: "disruption", isRequired: false },
  { name: "component-flags", isRequired: false },
  { name: "kubelet-config", isRequired: false },
];

/** The provider runs the control plane and sets its flags: nothing to see is nothing missed. */
const managedByProvider: readonly CapabilityName[] = ["component-flags"];

const firstMarkingVersion = [0, 2, 0] as const;

export function findGaps(context: RuleContext, agentVersion: string | undefined): Gap[] {
  const gaps = new Map<string, Gap>();
  const add = (gap: Gap): void => {
    if (!gaps.has(gap.capability) || gap.required === true) gaps.set(gap.capability, gap);
  };
  for (const gap of collectorGaps(context)) add(gap);
  if (context.inventory.source === "cluster") {
    for (const gap of [...clusterGaps(context), ...unmarkedGaps(context.inventory, agentVersion)]) add(gap);
  }
  if (compareMinors(context.target, context.index.source.horizon) > 0 || isBeyondHorizon(context)) {
    add({
      capability: "kb-coverage",
      reason: `The knowledge base ends at ${context.index.source.horizon}, so later changes are not known`,
      required: true,
    });
  }
  return [...gaps.values()].sort(compareGaps);
}

export function isBeyondHorizon({ current, index }: RuleContext): boolean {
  return current !== undefined && compareMinors(current, index.source.horizon) > 0;
}

function collectorGaps(context: RuleContext): Gap[] {
  const { inventory } = context;
  const isCluster = inventory.source === "cluster";
  const isManaged = inventory.provider !== undefined && inventory.provider !== "other";
  const expected = isCluster ? clusterCapabilities : clusterCapabilities.filter(({ name }) => name === "api-usage");
  const gaps: Gap[] = [];
  for (const { name, isRequired } of expected) {
    if (isManaged && managedByProvider.includes(name)) continue;
    const gap = gapOf(context, name, isRequired, inventory.capabilities[name]);
    if (gap !== undefined) gaps.push(gap);
  }
  const names = new Set<string>(expected.map(({ name }) => name));
  for (const [name, capability] of Object.entries(inventory.capabilities)) {
    if (names.has(name) || (isManaged && (managedByProvider as readonly string[]).includes(name))) continue;
    const gap = gapOf(context, name, false, capability);
    if (gap !== undefined) gaps.push(gap);
  }
  return gaps;
}

function gapOf(
  context: RuleContext,
  name: string,
  isRequired: boolean,
  capability: Capability | undefined,
): Gap | undefined {
  if (capability === undefined) {
    const reason =
      name === "kubelet-config" ? "the configuration of kubelets cannot be read through the API" : "not reported";
    return { capability: name, reason, ...(isRequired ? { required: true } : {}) };
  }
  if (capability.available && capability.partial !== true) return undefined;
  const { reason, partial, skipped, skippedOmitted } = capability;
  const isPartial = capability.available && partial === true;
  const mayHideBlocker = isRequired && (!isPartial || name !== "api-usage" || skipsRemovedApi(context, capability));
  return {
    capability: name,
    ...(reason === undefined ? {} : { reason }),
    ...(mayHideBlocker ? { required: true } : {}),
    ...(isPartial ? { partial: true } : {}),
    ...(skipped === undefined || skipped.length === 0 ? {} : { skipped: [...skipped].sort(compareText) }),
    ...(skippedOmitted === undefined || skippedOmitted === 0 ? {} : { skippedOmitted }),
  };
}

/** A partial list of APIs matters when what it lacks, or may lack, is gone at the target. */
function skipsRemovedApi(context: RuleContext, { skipped, skippedOmitted }: Capability): boolean {
  if (skipped === undefined || skipped.length === 0 || (skippedOmitted ?? 0) > 0) return true;
  return skipped.some((entry) => {
    const row = context.index.apis.get(keyOfSkipped(entry));
    return row === undefined ? !isWellFormed(entry) : isReached(minorField(row.removed), context.target);
  });
}

/** `policy/v1beta1 PodDisruptionBudget` → `policy/v1beta1/PodDisruptionBudget`, `v1 Pod` → `core/v1/Pod`. */
function keyOfSkipped(entry: string): string {
  const [groupVersion = "", kind = ""] = entry.split(" ", 2);
  return `${groupVersion.includes("/") ? groupVersion : `core/${groupVersion}`}/${kind}`;
}

function isWellFormed(entry: string): boolean {
  return /^(?:[a-z0-9.-]+\/)?v\d[a-z0-9]* [A-Z]\w*$/.test(entry);
}

function clusterGaps(context: RuleContext): Gap[] {
  const { inventory, current, target } = context;
  const gaps: Gap[] = [];
  if (current === undefined) {
    gaps.push({ capability: "versions", reason: "the version of the API server is not known", required: true });
  } else if (compareMinors(target, current) <= 0) {
    gaps.push({
      capability: "target",
      reason: `${target} is no upgrade: the oldest API server runs ${current}`,
      required: true,
    });
  }
  if ((inventory.nodes ?? []).length === 0) {
    gaps.push({ capability: "versions", reason: "no nodes were listed", required: true });
  }
  return gaps;
}

/** Agents before 0.2.0 did not record who writes an object; what they say of APIs cannot be judged. */
function unmarkedGaps(inventory: Inventory, agentVersion: string | undefined): Gap[] {
  if (inventory.collectorSchema !== undefined || agentVersion === undefined || marksWriters(agentVersion)) return [];
  const reason = `agent ${agentVersion} does not record who writes an object`;
  return [
    { capability: "api-usage", reason, required: true },
    { capability: "deprecated-calls", reason },
  ];
}

function marksWriters(agentVersion: string): boolean {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(agentVersion);
  if (match === null) return false;
  for (const [index, least] of firstMarkingVersion.entries()) {
    const part = Number(match[index + 1]);
    if (part !== least) return part > least;
  }
  return true;
}

function compareGaps(left: Gap, right: Gap): number {
  return (
    Number(right.required ?? false) - Number(left.required ?? false) || compareText(left.capability, right.capability)
  );
}
