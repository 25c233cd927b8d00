import type { NamespaceInfo } from "./inventory.ts";
import { compareText } from "./order.ts";
import { type Finding, type TeamScore, unattributedTeam, type Verdict } from "./report.ts";
import { createTeamLookup, type TeamMap } from "./team-map.ts";

/** Points a blocker and a warning cost, and how much each kind can cost together. */
const blockerCost = { each: 25, atMost: 75 };
const warningCost = { each: 5, atMost: 20 };

export interface Tally {
  readonly blockers: number;
  readonly warnings: number;
}

export function tally(findings: readonly Finding[]): Tally {
  let blockers = 0;
  let warnings = 0;
  for (const { severity } of findings) {
    if (severity === "blocker") blockers += 1;
    else if (severity === "warning") warnings += 1;
  }
  return { blockers, warnings };
}

export function scoreOf({ blockers, warnings }: Tally): number {
  const lost =
    Math.min(blockerCost.atMost, blockerCost.each * blockers) +
    Math.min(warningCost.atMost, warningCost.each * warnings);
  return Math.max(0, 100 - lost);
}

export function verdictOf(blockers: number, hasRequiredGap: boolean): Verdict {
  return blockers > 0 ? "blocked" : hasRequiredGap ? "unknown" : "ready";
}

export interface TeamScoresInput {
  readonly findings: readonly Finding[];
  readonly namespaces: readonly NamespaceInfo[];
  readonly teamMap: TeamMap;
  readonly hasRequiredGap: boolean;
}

/**
 * Scores of every team that owns a namespace or a finding, and of the findings no team owns. A score counts the team's
 * own findings; the verdict also falls to blockers that nobody owns, since they stop everybody.
 */
export function scoreTeams({
  findings,
  namespaces,
  teamMap,
  hasRequiredGap,
}: TeamScoresInput): Record<string, TeamScore> {
  const teamOf = createTeamLookup(namespaces, teamMap);
  const byTeam = new Map<string, Finding[]>();
  for (const { name } of namespaces) {
    const team = teamOf(name);
    if (team !== undefined && !byTeam.has(team)) byTeam.set(team, []);
  }
  for (const finding of findings) {
    for (const team of finding.teams.length === 0 ? [unattributedTeam] : finding.teams) {
      const own = byTeam.get(team);
      if (own === undefined) byTeam.set(team, [finding]);
      else own.push(finding);
    }
  }
  const sharedBlockers = tally(byTeam.get(unattributedTeam) ?? []).blockers;
  const teams = [...byTeam].sort(([left], [right]) => compareText(left, right));
  return Object.fromEntries(
    teams.map(([team, own]) => {
      const counts = tally(own);
      const blocking = team === unattributedTeam ? counts.blockers : counts.blockers + sharedBlockers;
      const verdict = verdictOf(blocking, hasRequiredGap);
      return [team, { score: scoreOf(counts), ready: verdict === "ready", verdict, ...counts }];
    }),
  );
}
