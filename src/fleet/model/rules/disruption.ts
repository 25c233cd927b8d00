/** Disruption budgets that let no pod go, so that draining a node never ends. */
import { evidenceOfObjects } from "../evidence.ts";
import type { DisruptionBudget } from "../inventory.ts";
import { sortedUnique } from "../order.ts";
import { type Emit, isManifestEntry, type RuleContext } from "../rule-context.ts";

const citations = ["https://kubernetes.io/docs/tasks/run-application/configure-pdb/"];

export function judgeDisruption(context: RuleContext, emit: Emit): void {
  const overlapping = new Map<string, DisruptionBudget[]>();
  for (const budget of context.inventory.disruption ?? []) {
    if (budget.expectedPods > 0 && budget.disruptionsAllowed === 0) emitZero(context, budget, emit);
    if ((budget.overlaps ?? []).length === 0) continue;
    const same = overlapping.get(budget.namespace);
    if (same === undefined) overlapping.set(budget.namespace, [budget]);
    else same.push(budget);
  }
  for (const [namespace, budgets] of overlapping) emitOverlap(context, { namespace, budgets }, emit);
}

function emitZero(context: RuleContext, budget: DisruptionBudget, emit: Emit): void {
  const { namespace, name } = budget;
  const isStrict = allowsNone(budget);
  emit({
    key: `drain/pdb-zero/${namespace}/${name}`,
    category: "drain",
    severity: "warning",
    phase: "nodes",
    title: `Disruption budget ${namespace}/${name} lets no pod be evicted`,
    detail: isStrict
      ? `With ${boundOf(budget)} it can never allow an eviction: every drain of a node with one of its pods waits until it times out.`
      : "Right now none of its pods may be evicted, because too few of them are healthy: a drain waits until they are.",
    remediation: isStrict
      ? "Allow at least one disruption (`maxUnavailable: 1`), and run more than one replica."
      : "Bring the pods back to health before nodes are drained.",
    citations,
    evidence: evidenceOfObjects([budget.object ?? { namespace, name }], {
      isFromManifest: isManifestEntry(context, budget),
    }),
  });
}

/** True when the bounds alone rule out every eviction, whatever the health of the pods. */
function allowsNone({ minAvailable, maxUnavailable, expectedPods }: DisruptionBudget): boolean {
  if (maxUnavailable !== undefined) return /^0+%?$/.test(maxUnavailable.trim());
  if (minAvailable === undefined) return false;
  const share = /^(\d+)%$/.exec(minAvailable.trim());
  const needed = share === null ? Number(minAvailable) : Math.ceil((Number(share[1]) * expectedPods) / 100);
  return Number.isFinite(needed) && needed >= expectedPods;
}

function boundOf({ minAvailable, maxUnavailable }: DisruptionBudget): string {
  return maxUnavailable === undefined ? `\`minAvailable: ${minAvailable}\`` : `\`maxUnavailable: ${maxUnavailable}\``;
}

function emitOverlap(
  context: RuleContext,
  { namespace, budgets }: { readonly namespace: string; readonly budgets: readonly DisruptionBudget[] },
  emit: Emit,
): void {
  const names = sortedUnique(budgets.flatMap(({ name, overlaps }) => [name, ...(overlaps ?? [])]));
  emit({
    key: `drain/pdb-overlap/${namespace}`,
    category: "drain",
    severity: "warning",
    phase: "nodes",
    title: `Disruption budgets of namespace ${namespace} select the same pods`,
    detail:
      "A pod that more than one budget selects cannot be evicted at all: the API server refuses, and the drain does not end.",
    remediation: "Give each pod one budget only.",
    citations,
    evidence: evidenceOfObjects(
      names.map((name) => budgets.find((budget) => budget.name === name)?.object ?? { namespace, name }),
      {
        isFromManifest: budgets.some((budget) => isManifestEntry(context, budget)),
      },
    ),
  });
}
