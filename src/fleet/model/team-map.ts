/**
 * Who owns a namespace: its team label, unless a rule of the server's team map names it. Rules are tried in order, the
 * first match wins.
 */
import { fleetError } from "../errors.ts";
import { type Glob, matchesGlob, parseGlob } from "./glob.ts";
import type { NamespaceInfo } from "./inventory.ts";
import { unattributedTeam } from "./report.ts";

export interface TeamMapRule {
  readonly pattern: string;
  readonly glob: Glob;
  readonly team: string;
}

export type TeamMap = readonly TeamMapRule[];

export const maxTeamMapRules = 10_000;
export const maxTeamNameSizeBytes = 256;

/** Team whose name would read as "the whole fleet" in a token. */
const wholeFleet = "*";

/**
 * Reads a team map, a list of `{pattern, team}`. A team called `*` becomes `(*)` and is named in `warnings`.
 * @throws DomainError team_map_invalid
 */
export function parseTeamMap(value: unknown): { readonly teamMap: TeamMap; readonly warnings: readonly string[] } {
  if (!Array.isArray(value)) throw invalid("it is not a list of entries with `pattern` and `team`");
  if (value.length > maxTeamMapRules)
    throw invalid(`it has ${value.length} entries, at most ${maxTeamMapRules} are allowed`);
  const warnings: string[] = [];
  const teamMap = value.map((entry: unknown, index) => {
    const rule = parseRule(entry, index + 1);
    if (rule.team !== wholeFleet) return rule;
    warnings.push(`team map entry ${index + 1} names the team "*", which is read as the team "(*)"`);
    return { ...rule, team: "(*)" };
  });
  return { teamMap, warnings };
}

/** Answers the team of a namespace, remembering what it has answered. */
export function createTeamLookup(
  namespaces: readonly NamespaceInfo[],
  teamMap: TeamMap,
): (namespace: string) => string | undefined {
  const labels = new Map<string, string>();
  for (const { name, team } of namespaces) {
    const other = labels.get(name);
    // Of two labels for one name the smaller counts, so that their order does not matter.
    if (team !== undefined && team !== "" && (other === undefined || team < other)) labels.set(name, team);
  }
  const known = new Map<string, string | undefined>();
  const mapped = createTeamMapLookup(teamMap);
  return (namespace) => {
    if (known.has(namespace)) return known.get(namespace);
    const team = mapped(namespace) ?? labels.get(namespace);
    known.set(namespace, team);
    return team;
  };
}

/** First matching rule. Names without a star are looked up, so that only patterns cost a comparison each. */
function createTeamMapLookup(teamMap: TeamMap): (namespace: string) => string | undefined {
  const plain = new Map<string, number>();
  const patterns: { readonly position: number; readonly rule: TeamMapRule }[] = [];
  for (const [position, rule] of teamMap.entries()) {
    if (!rule.glob.every(({ kind }) => kind === "literal")) patterns.push({ position, rule });
    else if (!plain.has(rule.pattern)) plain.set(rule.pattern, position);
  }
  return (namespace) => {
    const exact = plain.get(namespace);
    const earlier = patterns.find(
      ({ position, rule }) => position < (exact ?? Number.POSITIVE_INFINITY) && matchesGlob(rule.glob, namespace),
    );
    return earlier?.rule.team ?? (exact === undefined ? undefined : teamMap[exact]?.team);
  };
}

function parseRule(entry: unknown, position: number): TeamMapRule {
  if (typeof entry !== "object" || entry === null) throw invalid(`entry ${position} has no \`pattern\` and \`team\``);
  const { pattern, team, ...unknown } = entry as Record<string, unknown>;
  const [extra] = Object.keys(unknown);
  if (extra !== undefined) throw invalid(`entry ${position} has the unknown field "${extra}"`);
  if (typeof pattern !== "string" || pattern === "") throw invalid(`entry ${position} has no \`pattern\``);
  if (typeof team !== "string" || team.trim() === "") throw invalid(`entry ${position} has no \`team\``);
  if (team === unattributedTeam)
    throw invalid(`entry ${position} names the team "${team}", which stands for findings that no team owns`);
  if (new TextEncoder().encode(team).length > maxTeamNameSizeBytes) {
    throw invalid(`the team of entry ${position} is longer than ${maxTeamNameSizeBytes} bytes`);
  }
  const glob = parseGlob(pattern);
  if (glob === undefined) throw invalid(`the pattern of entry ${position} has an unclosed "["`);
  return { pattern, glob, team };
}

function invalid(state: string): Error {
  return fleetError("team_map_invalid", `Cannot read team map: ${state}`);
}
