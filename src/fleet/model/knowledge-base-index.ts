import type {
  AddOn,
  ApiLifecycle,
  ApiMigration,
  ApiName,
  FactKind,
  FactOf,
  KnowledgeBase,
  SupportCalendar,
  UpgradeFact,
} from "./knowledge-base.ts";
import { compareMinors, type KubernetesMinor, parseKubernetesMinor } from "./kubernetes-minor.ts";

/** Lookups over a knowledge base, built once per knowledge base and shared by all evaluations with it. */
export interface KnowledgeBaseIndex {
  readonly source: KnowledgeBase;
  /** By `apiKey`. */
  readonly apis: ReadonlyMap<string, ApiLifecycle>;
  /** Built-in APIs by `group/version/resource`. */
  readonly apisByResource: ReadonlyMap<string, ApiLifecycle>;
  /** Groups served by the API server itself. */
  readonly builtInGroups: ReadonlySet<string>;
  readonly migrations: ReadonlyMap<string, ApiMigration>;
  readonly addOns: ReadonlyMap<string, AddOn>;
  readonly addOnsByChart: ReadonlyMap<string, AddOn>;
  readonly calendars: ReadonlyMap<string, SupportCalendar>;
  readonly facts: ReadonlyMap<FactKind, readonly UpgradeFact[]>;
}

const indexes = new WeakMap<KnowledgeBase, KnowledgeBaseIndex>();

export function indexKnowledgeBase(knowledgeBase: KnowledgeBase): KnowledgeBaseIndex {
  let index = indexes.get(knowledgeBase);
  if (index === undefined) {
    index = buildIndex(knowledgeBase);
    indexes.set(knowledgeBase, index);
  }
  return index;
}

export function apiKey(api: ApiName): string {
  return `${api.group === "" ? "core" : api.group}/${api.version}/${api.kind}`;
}

/** `policy/v1beta1 PodDisruptionBudget`, `v1 Pod`. */
export function apiLabel(api: ApiName): string {
  return `${groupVersion(api)} ${api.kind}`;
}

/** `policy/v1beta1`, `v1`: the text of `apiVersion`. */
export function groupVersion(api: { readonly group: string; readonly version: string }): string {
  return api.group === "" ? api.version : `${api.group}/${api.version}`;
}

/** Facts of one kind, with their type. */
export function factsOf<Kind extends FactKind>(index: KnowledgeBaseIndex, kind: Kind): readonly FactOf<Kind>[] {
  return (index.facts.get(kind) ?? []) as readonly FactOf<Kind>[];
}

/**
 * Follows replacements until one is served at `target`: the upstream tag of an old API often names a successor that
 * has left in the meantime. Undefined when there is none at that minor.
 */
export function resolveReplacement(
  index: KnowledgeBaseIndex,
  row: ApiLifecycle,
  target: KubernetesMinor,
): ApiLifecycle | undefined {
  const seen = new Set<ApiLifecycle>([row]);
  let next = row.replacement && index.apis.get(apiKey(row.replacement));
  while (next !== undefined && !seen.has(next)) {
    seen.add(next);
    if (isServed(next, target)) return next;
    next = next.replacement && index.apis.get(apiKey(next.replacement));
  }
  return undefined;
}

/** True when a built-in API exists at the minor, on by default or not. */
export function isServed(row: ApiLifecycle, minor: KubernetesMinor): boolean {
  const introduced = minorField(row.introduced);
  const removed = minorField(row.removed);
  return (introduced === undefined || compareMinors(introduced, minor) <= 0) && !isReached(removed, minor);
}

export function isReached(when: KubernetesMinor | undefined, minor: KubernetesMinor): boolean {
  return when !== undefined && compareMinors(when, minor) <= 0;
}

export function minorField(text: string | undefined): KubernetesMinor | undefined {
  return text === undefined ? undefined : parseKubernetesMinor(text);
}

export const builtInComponent = "kubernetes";
export const configComponent = "kubernetes-config";

function buildIndex(source: KnowledgeBase): KnowledgeBaseIndex {
  const apis = new Map<string, ApiLifecycle>();
  const apisByResource = new Map<string, ApiLifecycle>();
  const builtInGroups = new Set<string>();
  for (const row of source.apis) {
    apis.set(apiKey(row), row);
    if (row.component !== builtInComponent) continue;
    builtInGroups.add(row.group);
    if (row.resource !== undefined) apisByResource.set(`${row.group}/${row.version}/${row.resource}`, row);
  }
  const addOnsByChart = new Map<string, AddOn>();
  for (const addOn of source.addOns) for (const chart of addOn.match.charts) addOnsByChart.set(chart, addOn);
  return {
    source,
    apis,
    apisByResource,
    builtInGroups,
    migrations: new Map(source.migrations.map((migration) => [apiKey(migration.from), migration])),
    addOns: new Map(source.addOns.map((addOn) => [addOn.id, addOn])),
    addOnsByChart,
    calendars: new Map(source.calendars.map((calendar) => [calendar.id, calendar])),
    facts: groupFacts(source.facts),
  };
}

function groupFacts(facts: readonly UpgradeFact[]): Map<FactKind, UpgradeFact[]> {
  const groups = new Map<FactKind, UpgradeFact[]>();
  for (const fact of facts) {
    const group = groups.get(fact.kind);
    if (group === undefined) groups.set(fact.kind, [fact]);
    else group.push(fact);
  }
  return groups;
}
