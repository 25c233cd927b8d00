/**
 * From a report to pass or fail. A blocker fails, and so does a verdict that could not be reached, unless the caller
 * accepts incomplete evidence; a target that is no upgrade is never excused, since nothing was judged then.
 */
import { compareFindings } from "../model/evaluate.ts";
import type { ObjectRef } from "../model/inventory.ts";
import type { Finding, Gap, Report } from "../model/report.ts";
import { scoreOf, scoreTeams, tally, verdictOf } from "../model/score.ts";

export type FailOn = "blocker" | "warning" | "never";
export const failOnChoices: readonly FailOn[] = ["blocker", "warning", "never"];

export interface GatePolicy {
  readonly failOn: FailOn;
  readonly allowIncomplete: boolean;
}

export interface GateDecision {
  readonly isPassed: boolean;
  /** Why it failed, or what was excused; for people. */
  readonly reason: string;
}

export function decideGate(report: Report, { failOn, allowIncomplete }: GatePolicy): GateDecision {
  const missing = report.notAssessed.filter((gap) => gap.required === true);
  if (failOn === "never") return { isPassed: true, reason: "the gate is set to never fail" };
  if (report.blockers > 0) return { isPassed: false, reason: countText(report.blockers, "blocker") };
  if (failOn === "warning" && report.warnings > 0) {
    return { isPassed: false, reason: countText(report.warnings, "warning") };
  }
  if (missing.some((gap) => gap.capability === "target"))
    return { isPassed: false, reason: reasonOf(missing, "target") };
  const [first] = missing;
  if (first !== undefined) {
    return { isPassed: allowIncomplete, reason: `not assessed: ${reasonOf(missing, first.capability)}` };
  }
  return { isPassed: true, reason: "nothing stands in the way" };
}

/** The same report with other findings: counts, score and verdict follow. */
export function withFindings(report: Report, findings: readonly Finding[]): Report {
  const counts = tally(findings);
  const hasRequiredGap = report.notAssessed.some((gap) => gap.required === true);
  const verdict = verdictOf(counts.blockers, hasRequiredGap);
  return {
    ...report,
    ...counts,
    score: scoreOf(counts),
    verdict,
    ready: verdict === "ready",
    findings: [...findings].sort(compareFindings),
    teams: scoreTeams({ findings, namespaces: [], teamMap: [], hasRequiredGap }),
  };
}

/**
 * Findings that a baseline does not have: of a new key, of a higher severity, or with objects that it does not name.
 * Objects of the baseline are taken out of what remains.
 */
export function findNewFindings(report: Report, baseline: Report): Report {
  const known = new Map(baseline.findings.map((finding) => [finding.key, finding]));
  const fresh = report.findings.flatMap((finding) => {
    const before = known.get(finding.key);
    if (before === undefined || rank(finding) < rank(before)) return [{ ...finding, baselineState: "new" as const }];
    const added = addedObjects(finding, before);
    if (added.length > 0) return [cutTo(finding, added)];
    return totalOf(finding) > totalOf(before) ? [{ ...finding, baselineState: "new" as const }] : [];
  });
  return withFindings(report, fresh);
}

function addedObjects(finding: Finding, before: Finding): ObjectRef[] {
  // A list that was cut cannot tell whether an object is new; then the totals decide.
  if (before.objectsOmitted > 0) return [];
  const known = new Set(before.objects.map(identityOf));
  return finding.objects.filter((object) => !known.has(identityOf(object)));
}

function cutTo(finding: Finding, objects: readonly ObjectRef[]): Finding {
  const namespaces = [
    ...new Set(objects.flatMap(({ namespace }) => (namespace === undefined ? [] : [namespace]))),
  ].sort();
  const counted = /^(.*) \(\d+ (\w+?)s?\)$/.exec(finding.title);
  const title =
    counted === null ? finding.title : `${counted[1]} (${countText(objects.length, counted[2] ?? "object")})`;
  return { ...finding, title, objects, objectsOmitted: 0, namespaces, namespacesOmitted: 0, baselineState: "new" };
}

/** An object keeps its identity when it moves to another line. */
function identityOf({ namespace, name, file }: ObjectRef): string {
  return `${namespace ?? ""}\0${name}\0${file ?? ""}`;
}

function totalOf(finding: Finding): number {
  return finding.objects.length + finding.objectsOmitted;
}

function rank({ severity }: Finding): number {
  return severity === "blocker" ? 0 : severity === "warning" ? 1 : 2;
}

function reasonOf(gaps: readonly Gap[], capability: string): string {
  const gap = gaps.find((candidate) => candidate.capability === capability);
  return gap?.reason === undefined ? capability : `${capability} (${gap.reason})`;
}

function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
