/**
 * One scan: an inventory against one or more targets, compared with a baseline when there is one, and decided. Manifests
 * and clusters differ only in where the inventory comes from.
 */
import { fleetError } from "../errors.ts";
import type { CalendarDate } from "../model/calendar-date.ts";
import { evaluate } from "../model/evaluate.ts";
import type { IgnoreRule } from "../model/ignore-rules.ts";
import type { Inventory } from "../model/inventory.ts";
import type { KnowledgeBase } from "../model/knowledge-base.ts";
import { compareMinors, type KubernetesMinor, oldestTarget, parseKubernetesMinor } from "../model/kubernetes-minor.ts";
import type { Report } from "../model/report.ts";
import type { TeamMap } from "../model/team-map.ts";
import { judgeChange } from "./gate.ts";
import { decideGate, findNewFindings, type GateDecision, type GatePolicy } from "./judge.ts";

export const maxScanTargets = 16;

export interface ScanInput {
  readonly inventory: Inventory;
  /** What the change is compared with; only what is new is reported then. */
  readonly baseline?: Inventory | undefined;
  /** Where the manifests of `inventory` go to: they are judged in its context, and for what they bring in. */
  readonly cluster?: Inventory | undefined;
  readonly knowledgeBase: KnowledgeBase;
  readonly targets: readonly KubernetesMinor[];
  readonly date: CalendarDate;
  readonly teamMap?: TeamMap | undefined;
  readonly ignoreRules?: readonly IgnoreRule[] | undefined;
  readonly toolVersion?: string | undefined;
  readonly policy: GatePolicy;
}

export interface TargetResult {
  readonly report: Report;
  readonly decision: GateDecision;
}

export interface ScanResult {
  readonly results: readonly TargetResult[];
  readonly isPassed: boolean;
}

/** @throws DomainError target_invalid */
export function scan(input: ScanInput): ScanResult {
  const results = input.targets.map((target) => {
    const report = reportFor(input, input.inventory, target);
    const compared =
      input.baseline === undefined ? report : findNewFindings(report, reportFor(input, input.baseline, target));
    return { report: compared, decision: decideGate(compared, input.policy) };
  });
  return { results, isPassed: results.every(({ decision }) => decision.isPassed) };
}

/**
 * Reads targets as they are typed; each once, in ascending order.
 * @throws DomainError target_invalid
 */
export function parseTargets(texts: readonly string[]): KubernetesMinor[] {
  const targets = new Set<KubernetesMinor>();
  for (const text of texts.flatMap((given) => given.split(","))) {
    const target = parseKubernetesMinor(text.trim());
    if (target === undefined) {
      throw fleetError("target_invalid", `Cannot use target "${text}": a target is a Kubernetes minor such as 1.36`);
    }
    if (compareMinors(target, oldestTarget) < 0) {
      throw fleetError("target_invalid", `Cannot use target "${text}": targets start at ${oldestTarget}`);
    }
    targets.add(target);
  }
  if (targets.size > maxScanTargets) {
    throw fleetError(
      "target_invalid",
      `Cannot use ${targets.size} targets: at most ${maxScanTargets} are judged at once`,
    );
  }
  return [...targets].sort(compareMinors);
}

function reportFor(input: ScanInput, inventory: Inventory, target: KubernetesMinor): Report {
  const { cluster, knowledgeBase, date, teamMap, ignoreRules, toolVersion, policy } = input;
  const common = { knowledgeBase, target, date, teamMap, ignoreRules, toolVersion };
  if (cluster === undefined) return evaluate({ ...common, inventory });
  return judgeChange({ ...common, manifests: inventory, cluster: { inventory: cluster }, policy }).report;
}
