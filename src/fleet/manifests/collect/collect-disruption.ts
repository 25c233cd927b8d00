/**
 * Disruption budgets against the workloads of the same stream. Manifests do not tell how many pods run, so a budget is
 * reported only where its bounds rule out every eviction, or where they do so for the replicas its workload asks for.
 */
import type { DisruptionBudget, Inventory, ObjectRef } from "../../model/inventory.ts";
import type { ManifestObject } from "../manifest-object.ts";
import { labelsOf, textsOf } from "../object-facts.ts";
import type { Collector } from "./collector.ts";

interface Budget {
  readonly namespace: string;
  readonly name: string;
  readonly object: ObjectRef;
  readonly minAvailable: string | undefined;
  readonly maxUnavailable: string | undefined;
  /** Undefined when its selector cannot be followed here. */
  readonly labels: ReadonlyMap<string, string> | undefined;
  readonly selectsNothing: boolean;
}

interface Workload {
  readonly namespace: string;
  readonly labels: ReadonlyMap<string, string>;
  /** Undefined when the manifest leaves it open, as it does below an autoscaler. */
  readonly replicas: number | undefined;
}

const scaledKinds = new Set(["Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"]);

export class DisruptionCollector implements Collector {
  readonly #budgets: Budget[] = [];
  readonly #workloads: Workload[] = [];

  add({ group, version, kind, namespace, name, root }: ManifestObject, ref: ObjectRef): void {
    const spec = root.map("spec");
    if (spec === undefined) return;
    if (group === "policy" && kind === "PodDisruptionBudget") {
      const selector = spec.map("selector");
      const labels = selector === undefined ? new Map<string, string>() : textsOf(selector.map("matchLabels"));
      const hasExpressions = (selector?.list("matchExpressions") ?? []).length > 0;
      this.#budgets.push({
        namespace,
        name,
        object: ref,
        minAvailable: spec.text("minAvailable"),
        maxUnavailable: spec.text("maxUnavailable"),
        labels: hasExpressions ? undefined : labels,
        selectsNothing: selector === undefined || (version !== "v1" && labels.size === 0 && !hasExpressions),
      });
    } else if (scaledKinds.has(kind)) {
      const replicas = spec.text("replicas");
      this.#workloads.push({
        namespace,
        labels: labelsOf(spec.map("template")),
        replicas: replicas !== undefined && /^\d+$/.test(replicas) ? Number(replicas) : undefined,
      });
    }
  }

  contribute(): Partial<Inventory> {
    const workloads = groupByNamespace(this.#workloads);
    const budgetsOf = new Map<Workload, Budget[]>();
    const covered = this.#budgets.map((budget) => {
      const own = (workloads.get(budget.namespace) ?? []).filter((workload) => selects(budget, workload));
      for (const workload of own) budgetsOf.set(workload, [...(budgetsOf.get(workload) ?? []), budget]);
      return { budget, own };
    });
    const disruption = covered.flatMap(({ budget, own }) => {
      const overlaps = own
        .flatMap((workload) => budgetsOf.get(workload) ?? [])
        .filter((other) => other !== budget)
        .map(({ name }) => name);
      const found = assess(budget, own);
      return found === undefined && overlaps.length === 0 ? [] : [describe(budget, found, overlaps)];
    });
    return { disruption };
  }
}

function groupByNamespace(workloads: readonly Workload[]): Map<string, Workload[]> {
  const groups = new Map<string, Workload[]>();
  for (const workload of workloads) {
    const group = groups.get(workload.namespace);
    if (group === undefined) groups.set(workload.namespace, [workload]);
    else group.push(workload);
  }
  return groups;
}

interface Assessment {
  readonly expectedPods: number;
  readonly disruptionsAllowed: number;
}

function describe(budget: Budget, found: Assessment | undefined, overlaps: readonly string[]): DisruptionBudget {
  const { namespace, name, object, minAvailable, maxUnavailable } = budget;
  return {
    namespace,
    name,
    object,
    // Without a count nothing is claimed about evictions.
    expectedPods: found?.expectedPods ?? 0,
    disruptionsAllowed: found?.disruptionsAllowed ?? 1,
    ...(minAvailable === undefined ? {} : { minAvailable }),
    ...(maxUnavailable === undefined ? {} : { maxUnavailable }),
    ...(overlaps.length === 0 ? {} : { overlaps: [...new Set(overlaps)].sort() }),
  };
}

function selects({ namespace, labels, selectsNothing }: Budget, workload: Workload): boolean {
  if (selectsNothing || labels === undefined || namespace !== workload.namespace) return false;
  for (const [name, value] of labels) if (workload.labels.get(name) !== value) return false;
  return true;
}

function assess(budget: Budget, workloads: readonly Workload[]): Assessment | undefined {
  if (budget.selectsNothing) return undefined;
  let expectedPods = 0;
  for (const { replicas } of workloads) {
    if (replicas === undefined) return isAlwaysZero(budget) ? { expectedPods: 1, disruptionsAllowed: 0 } : undefined;
    expectedPods += replicas;
  }
  if (workloads.length === 0) return isAlwaysZero(budget) ? { expectedPods: 1, disruptionsAllowed: 0 } : undefined;
  const allowed = disruptionsAllowed(budget, expectedPods);
  return allowed === undefined ? undefined : { expectedPods, disruptionsAllowed: Math.max(0, allowed) };
}

/** Bounds that allow nothing for any number of pods. */
function isAlwaysZero({ minAvailable, maxUnavailable }: Budget): boolean {
  return maxUnavailable === undefined ? minAvailable === "100%" : /^0+%?$/.test(maxUnavailable);
}

function disruptionsAllowed({ minAvailable, maxUnavailable }: Budget, pods: number): number | undefined {
  if (maxUnavailable !== undefined) return amountOf(maxUnavailable, pods);
  const needed = minAvailable === undefined ? undefined : amountOf(minAvailable, pods);
  return needed === undefined ? undefined : pods - needed;
}

/** Shares are rounded up, as the disruption controller does. */
function amountOf(bound: string, pods: number): number | undefined {
  const match = /^(\d+)(%?)$/.exec(bound);
  if (match === null) return undefined;
  const number = Number(match[1]);
  return match[2] === "%" ? Math.ceil((number * pods) / 100) : number;
}
