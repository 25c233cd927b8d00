/**
 * Rows that are well-formed and still cannot all be true. The committed facts have none; a registry folder with any is
 * refused, since a fact that contradicts another makes reports that cannot be explained.
 */
import type { AddOn, ApiLifecycle, KnowledgeBase, SupportCalendar } from "./knowledge-base.ts";
import {
  apiKey,
  apiLabel,
  builtInComponent,
  indexKnowledgeBase,
  type KnowledgeBaseIndex,
  minorField,
  resolveReplacement,
} from "./knowledge-base-index.ts";
import { rowIdentity } from "./knowledge-base-sections.ts";
import { compareVersions, parseVersion } from "./product-version.ts";

/** The earliest and the latest date that a row may name. */
const plausibleDates = { first: "2013-01-01", last: "2035-12-31" } as const;

export function findContradictions(knowledgeBase: KnowledgeBase): string[] {
  const index = indexKnowledgeBase(knowledgeBase);
  return [
    ...findDuplicates(knowledgeBase),
    ...knowledgeBase.apis.flatMap((row) => apiContradictions(index, row)),
    ...migrationContradictions(index),
    ...knowledgeBase.addOns.flatMap((addOn) => addOnContradictions(knowledgeBase, addOn)),
    ...matcherContradictions(knowledgeBase.addOns),
    ...knowledgeBase.calendars.flatMap(calendarContradictions),
    ...factContradictions(knowledgeBase),
  ];
}

function findDuplicates(knowledgeBase: KnowledgeBase): string[] {
  const problems: string[] = [];
  const check = <Row>(section: string, rows: readonly Row[], identify: (row: Row) => string): void => {
    const seen = new Set<string>();
    for (const row of rows) {
      const identity = identify(row);
      if (seen.has(identity)) problems.push(`${section}: "${identity}" is there twice`);
      seen.add(identity);
    }
  };
  check("apis", knowledgeBase.apis, rowIdentity.apis);
  check("migrations", knowledgeBase.migrations, rowIdentity.migrations);
  check("addOns", knowledgeBase.addOns, rowIdentity.addOns);
  check("calendars", knowledgeBase.calendars, rowIdentity.calendars);
  check("facts", knowledgeBase.facts, rowIdentity.facts);
  return problems;
}

function apiContradictions(index: KnowledgeBaseIndex, row: ApiLifecycle): string[] {
  const problems: string[] = [];
  const label = `apis: ${apiLabel(row)}`;
  const steps = [row.introduced, row.deprecated, row.removed].filter((step) => step !== undefined);
  if (!isAscending(steps)) problems.push(`${label} goes ${steps.join(" → ")}, which is not upwards`);
  if (row.unserved !== undefined && row.gone !== undefined && !isAscending([row.unserved, row.gone])) {
    problems.push(`${label} is gone in ${row.gone}, before it is unserved in ${row.unserved}`);
  }
  if (row.component === builtInComponent && minorsOf(row).some((minor) => minorField(minor) === undefined)) {
    problems.push(`${label} has a minor that Kubernetes cannot have`);
  }
  if (
    row.version.includes("beta") !== (row.stage === "beta") ||
    row.version.includes("alpha") !== (row.stage === "alpha")
  ) {
    problems.push(`${label} is called ${row.stage}, which its version denies`);
  }
  problems.push(...replacementContradictions(index, row, label));
  return problems;
}

function replacementContradictions(index: KnowledgeBaseIndex, row: ApiLifecycle, label: string): string[] {
  if (row.replacement === undefined) return [];
  if (apiKey(row.replacement) === apiKey(row)) return [`${label} replaces itself`];
  if (row.component === "kubernetes-config") return [];
  const replacement = index.apis.get(apiKey(row.replacement));
  if (replacement === undefined) return [`${label} is replaced by ${apiLabel(row.replacement)}, which is not known`];
  const removed = minorField(row.removed);
  if (row.component !== builtInComponent || removed === undefined || !row.isServedByDefault) return [];
  if (resolveReplacement(index, row, removed) !== undefined) return [];
  return [`${label} leaves in ${removed}, and no replacement is served then`];
}

function migrationContradictions(index: KnowledgeBaseIndex): string[] {
  return index.source.migrations.flatMap((migration) => {
    const label = `migrations: ${apiLabel(migration.from)}`;
    const from = index.apis.get(apiKey(migration.from));
    if (from === undefined) return [`${label} is no known API`];
    if (migration.to !== undefined && index.apis.get(apiKey(migration.to)) === undefined) {
      return [`${label} moves to ${apiLabel(migration.to)}, which is not known`];
    }
    if ((migration.to === undefined) !== (from.replacement === undefined)) {
      return [`${label} and its row disagree on whether there is a replacement`];
    }
    return [];
  });
}

function addOnContradictions(knowledgeBase: KnowledgeBase, addOn: AddOn): string[] {
  const problems: string[] = [];
  const label = `addOns: ${addOn.id}`;
  const cycles = new Set<string>();
  for (const { cycle, released, endOfLife, latest } of addOn.cycles) {
    if (cycles.has(cycle)) problems.push(`${label} has cycle ${cycle} twice`);
    cycles.add(cycle);
    if (released !== undefined && released > knowledgeBase.date)
      problems.push(`${label} ${cycle} was released after the facts were read`);
    const dates = [released, endOfLife].filter((day) => day !== undefined && day !== "ended");
    if (!isAscending(dates)) problems.push(`${label} ${cycle} ended before it was released`);
    for (const day of dates) if (!isPlausible(day)) problems.push(`${label} ${cycle} names the day ${day}`);
    const version = latest === undefined ? undefined : parseVersion(latest);
    if (version !== undefined && !`${version.join(".")}.`.startsWith(`${cycle}.`)) {
      problems.push(`${label} ${cycle} has the latest release ${latest}`);
    }
  }
  const ranges = new Set<string>();
  for (const { versions, kubernetesMin, kubernetesMax } of addOn.compatibility) {
    if (ranges.has(versions)) problems.push(`${label} has the range of ${versions} twice`);
    ranges.add(versions);
    if (kubernetesMin !== undefined && kubernetesMax !== undefined && !isAscending([kubernetesMin, kubernetesMax])) {
      problems.push(`${label} ${versions} wants Kubernetes from ${kubernetesMin} to ${kubernetesMax}`);
    }
    if (kubernetesMin === undefined && kubernetesMax === undefined) problems.push(`${label} ${versions} has no bound`);
  }
  const { images, charts, labels } = addOn.match;
  if (addOn.kind === "workload" && images.length + charts.length + labels.length === 0)
    problems.push(`${label} can never be recognised`);
  return problems;
}

/** Two add-ons that claim one image or chart would make recognition a matter of order. */
function matcherContradictions(addOns: readonly AddOn[]): string[] {
  const problems: string[] = [];
  for (const kind of ["images", "charts"] as const) {
    const owners = new Map<string, string>();
    for (const addOn of addOns) {
      for (const matcher of addOn.match[kind]) {
        const owner = owners.get(matcher);
        if (owner !== undefined) problems.push(`addOns: ${owner} and ${addOn.id} both claim "${matcher}"`);
        owners.set(matcher, addOn.id);
      }
    }
  }
  return problems;
}

function calendarContradictions(calendar: SupportCalendar): string[] {
  const problems: string[] = [];
  const minors = new Set<string>();
  for (const { minor, released, standardUntil, extendedUntil } of calendar.cycles) {
    const label = `calendars: ${calendar.id} ${minor}`;
    if (minors.has(minor)) problems.push(`${label} is there twice`);
    minors.add(minor);
    const dates = [released, standardUntil, extendedUntil].filter((day) => day !== undefined);
    if (!isAscending(dates)) problems.push(`${label} goes ${dates.join(" → ")}, which is not upwards`);
    for (const day of dates) if (!isPlausible(day)) problems.push(`${label} names the day ${day}`);
  }
  return problems;
}

function factContradictions(knowledgeBase: KnowledgeBase): string[] {
  const locked = new Map<string, string>();
  for (const fact of knowledgeBase.facts) {
    if (fact.kind === "locked-feature-gate")
      for (const name of fact.components) locked.set(`${name} ${fact.name}`, fact.locked);
  }
  return knowledgeBase.facts.flatMap((fact) => {
    if (fact.kind !== "removed-feature-gate") return [];
    return fact.components.flatMap((name) => {
      const since = locked.get(`${name} ${fact.name}`);
      if (since === undefined || isAscending([since, fact.removed])) return [];
      return [`facts: feature gate ${fact.name} is removed in ${fact.removed}, before it is locked in ${since}`];
    });
  });
}

function minorsOf(row: ApiLifecycle): string[] {
  return [row.introduced, row.deprecated, row.removed].filter((minor) => minor !== undefined);
}

/** Dates compare as text, versions by their numbers. */
function isAscending(values: readonly (string | undefined)[]): boolean {
  return values.every((value, position) => {
    const before = position === 0 ? undefined : values[position - 1];
    return before === undefined || value === undefined || compareSteps(before, value) <= 0;
  });
}

function compareSteps(left: string, right: string): number {
  const [leftVersion, rightVersion] = [parseVersion(left), parseVersion(right)];
  if (left.includes("-") || leftVersion === undefined || rightVersion === undefined)
    return left < right ? -1 : left > right ? 1 : 0;
  return compareVersions(leftVersion, rightVersion);
}

function isPlausible(day: string | undefined): boolean {
  return day === undefined || (day >= plausibleDates.first && day <= plausibleDates.last);
}
