/**
 * A report as the teams of a read scope may see it. Scoping limits what a read shows: what belongs to the cluster as a
 * whole (score, verdict, counts, gaps) stays, findings are kept when one of their owners is in the scope, and a finding
 * that reaches beyond the scope is cut to the scope's namespaces and objects, without saying what it was cut from.
 *
 * A finding's list of namespaces is capped, so a capped finding may reach beyond what is listed: it is always cut.
 */

import type { NamespaceInfo } from "./inventory.ts";
import { compareText } from "./order.ts";
import type { Evaluation, Finding, Gap, Report, Suppressed, TeamScore } from "./report.ts";
import { createTeamLookup, type TeamMap } from "./team-map.ts";

export interface TeamScope {
  readonly teams: ReadonlySet<string>;
  /** Owner of a namespace, as the evaluation attributed it. */
  readonly teamOf: (namespace: string) => string | undefined;
}

export function createTeamScope(
  teams: Iterable<string>,
  { namespaces, teamMap }: { readonly namespaces: readonly NamespaceInfo[]; readonly teamMap: TeamMap },
): TeamScope {
  return { teams: new Set(teams), teamOf: createTeamLookup(namespaces, teamMap) };
}

/** True when the report names a team of the scope: only then is its cluster in the scope at all. */
export function isInScope(report: Report, { teams }: TeamScope): boolean {
  return Object.keys(report.teams).some((team) => teams.has(team));
}

export function cutEvaluation(evaluation: Evaluation, scope: TeamScope): Evaluation {
  return { ...evaluation, report: cutReport(evaluation.report, scope) };
}

export function cutReport(report: Report, scope: TeamScope): Report {
  const suppressed = report.suppressed
    .filter((finding) => isOwned(finding, scope))
    .map((finding) => cutSuppressed(finding, scope));
  return {
    ...report,
    findings: report.findings.filter((finding) => isOwned(finding, scope)).map((finding) => cutFinding(finding, scope)),
    suppressed,
    suppressedCount: suppressed.length,
    notAssessed: report.notAssessed.map(cutGap),
    unrecognizedImages: [],
    unrecognizedImagesOmitted: 0,
    teams: Object.fromEntries(keepTeams(report.teams, scope)),
    notes: [],
  };
}

/** Cuts a finding to the scope; one that lies wholly in it comes back as it is. */
export function cutFinding(finding: Finding, scope: TeamScope): Finding {
  const isWhole =
    finding.namespacesOmitted === 0 &&
    finding.teams.every((team) => scope.teams.has(team)) &&
    finding.namespaces.every((namespace) => isOwn(namespace, scope));
  if (isWhole) return finding;
  const { callers: _, ...rest } = finding;
  const namespaces = finding.namespaces.filter((namespace) => isOwn(namespace, scope));
  const objects = finding.objects.filter(({ namespace }) => namespace !== undefined && isOwn(namespace, scope));
  return {
    ...rest,
    title: cutTitle(finding, objects.length),
    detail: detailOf(namespaces),
    teams: finding.teams.filter((team) => scope.teams.has(team)),
    namespaces,
    namespacesOmitted: 0,
    unnamespaced: false,
    objects,
    objectsOmitted: 0,
  };
}

/** What the `helm` gap skipped names releases of every team. */
function cutGap(gap: Gap): Gap {
  if (gap.capability !== "helm") return gap;
  const { reason: _reason, skipped: _skipped, skippedOmitted: _omitted, ...rest } = gap;
  return { ...rest, reason: "Helm releases were not all read; which ones is shown to the whole fleet only" };
}

function cutSuppressed(finding: Suppressed, scope: TeamScope): Suppressed {
  const { reason, suppressedBy, expires } = finding;
  return { ...cutFinding(finding, scope), reason, suppressedBy, ...(expires === undefined ? {} : { expires }) };
}

const countPattern = / \(\d+ ([a-z]+?)s?\)$/;

/** Counts again what is left when every object was listed; otherwise the title carries no count. */
function cutTitle({ title, objectsOmitted, objects }: Finding, kept: number): string {
  const noun = countPattern.exec(title)?.[1];
  if (noun === undefined) return title;
  const base = title.replace(countPattern, "");
  return objectsOmitted > 0 || objects.length === 0
    ? base
    : `${base} (${kept} ${noun}${kept === 1 ? "" : "s"} in scope)`;
}

function detailOf(namespaces: readonly string[]): string {
  const named = namespaces.length === 0 ? "" : ` in ${[...namespaces].sort(compareText).join(", ")}`;
  return `This concerns the teams of this view${named}. Whatever else it concerns is not displayed here.`;
}

function isOwned({ teams }: Finding, scope: TeamScope): boolean {
  return teams.some((team) => scope.teams.has(team));
}

function isOwn(namespace: string, { teams, teamOf }: TeamScope): boolean {
  const team = teamOf(namespace);
  return team !== undefined && teams.has(team);
}

function keepTeams(teams: Readonly<Record<string, TeamScore>>, scope: TeamScope): (readonly [string, TeamScore])[] {
  return Object.entries(teams).filter(([team]) => scope.teams.has(team));
}
