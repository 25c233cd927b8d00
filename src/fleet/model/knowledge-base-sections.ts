/**
 * The file format of facts: any of six sections, in the committed files and in a registry folder alike, under one
 * validator. A registry row replaces the built-in row of the same identity; the same identity twice in one set is a
 * contradiction.
 */
import { fleetError } from "../errors.ts";
import { byKind, type Check, fields, list, oneOf, runCheck, text, truth } from "./check-shape.ts";
import type {
  AddOn,
  AddOnRanges,
  ApiLifecycle,
  ApiMigration,
  KnowledgeBase,
  SupportCalendar,
  UpgradeFact,
} from "./knowledge-base.ts";
import { apiKey } from "./knowledge-base-index.ts";

export interface KnowledgeBaseSections {
  readonly apis?: readonly ApiLifecycle[];
  readonly migrations?: readonly ApiMigration[];
  readonly addOns?: readonly AddOn[];
  readonly ranges?: readonly AddOnRanges[];
  readonly calendars?: readonly SupportCalendar[];
  readonly facts?: readonly UpgradeFact[];
}

export type KnowledgeBaseManifest = Pick<KnowledgeBase, "version" | "date" | "horizon">;

export const maxRowsPerSection = 20_000;

/**
 * Takes a parsed document for sections.
 * @param origin file name for the message
 * @throws DomainError knowledge_base_invalid
 */
export function parseSections(value: unknown, origin: string): KnowledgeBaseSections {
  const problems = runCheck(sectionsCheck, value, "");
  if (problems.length > 0) {
    throw fleetError("knowledge_base_invalid", `Cannot use facts of "${origin}": ${problems[0]}`, {
      details: { problems },
    });
  }
  return value as KnowledgeBaseSections;
}

/** Identity of a row, by which a registry replaces it. */
export const rowIdentity = {
  apis: (row: ApiLifecycle): string => apiKey(row),
  migrations: (row: ApiMigration): string => apiKey(row.from),
  addOns: (row: AddOn): string => row.id,
  calendars: (row: SupportCalendar): string => row.id,
  facts: identifyFact,
} as const;

/** @throws DomainError knowledge_base_invalid */
export function assembleKnowledgeBase(
  manifest: KnowledgeBaseManifest,
  sections: readonly KnowledgeBaseSections[],
): KnowledgeBase {
  const ranges = sections.flatMap((section) => section.ranges ?? []);
  return {
    version: manifest.version,
    date: manifest.date,
    horizon: manifest.horizon,
    apis: sections.flatMap((section) => section.apis ?? []),
    migrations: sections.flatMap((section) => section.migrations ?? []),
    addOns: addRanges(
      sections.flatMap((section) => section.addOns ?? []),
      ranges,
    ),
    calendars: sections.flatMap((section) => section.calendars ?? []),
    facts: sections.flatMap((section) => section.facts ?? []),
  };
}

/**
 * The knowledge base with the rows of a registry in place of its own. `registryVersion` names their content.
 * @throws DomainError knowledge_base_invalid
 */
export function extendKnowledgeBase(
  base: KnowledgeBase,
  registry: readonly KnowledgeBaseSections[],
  registryVersion: string,
): KnowledgeBase {
  const added = assembleKnowledgeBase(
    base,
    registry.map((section) => ({ ...section, ranges: [] })),
  );
  const addOns = replaceRows(base.addOns, added.addOns, rowIdentity.addOns);
  return {
    ...base,
    version: `${base.version}; registry ${registryVersion}`,
    apis: replaceRows(base.apis, added.apis, rowIdentity.apis),
    migrations: replaceRows(base.migrations, added.migrations, rowIdentity.migrations),
    addOns: addRanges(
      addOns,
      registry.flatMap((section) => section.ranges ?? []),
    ),
    calendars: replaceRows(base.calendars, added.calendars, rowIdentity.calendars),
    facts: replaceRows(base.facts, added.facts, rowIdentity.facts),
  };
}

function addRanges(addOns: readonly AddOn[], ranges: readonly AddOnRanges[]): readonly AddOn[] {
  const known = new Set(addOns.map(({ id }) => id));
  const unknown = ranges.find(({ addOn }) => !known.has(addOn));
  if (unknown !== undefined) {
    throw fleetError("knowledge_base_invalid", `Cannot use ranges of "${unknown.addOn}": there is no such add-on`);
  }
  if (ranges.length === 0) return addOns;
  return addOns.map((addOn) => ranges.filter((row) => row.addOn === addOn.id).reduce(addRange, addOn));
}

function addRange(addOn: AddOn, { compatibility, citations }: AddOnRanges): AddOn {
  const replaced = new Set(compatibility.map(({ versions }) => versions));
  return {
    ...addOn,
    compatibility: [...compatibility, ...addOn.compatibility.filter(({ versions }) => !replaced.has(versions))],
    citations: [...addOn.citations, ...citations.filter((citation) => !addOn.citations.includes(citation))],
  };
}

function replaceRows<Row>(base: readonly Row[], added: readonly Row[], identify: (row: Row) => string): readonly Row[] {
  if (added.length === 0) return base;
  const replaced = new Set(added.map(identify));
  return [...base.filter((row) => !replaced.has(identify(row))), ...added];
}

function identifyFact(fact: UpgradeFact): string {
  switch (fact.kind) {
    case "removed-config":
      return `${fact.kind} ${fact.group}/${fact.version}`;
    case "changed-default":
      return `${fact.kind} ${fact.components.join("+")} ${fact.flag}`;
    case "removed-flag":
    case "removed-feature-gate":
    case "locked-feature-gate":
    case "removed-admission-plugin":
    case "removed-scheduler-plugin":
      return `${fact.kind} ${fact.components.join("+")} ${fact.name}`;
    default:
      return `${fact.kind} ${fact.name}`;
  }
}

const minor = text({ pattern: /^1\.(0|[1-9]\d{0,2})$/, what: "Kubernetes minor such as 1.34" });
const productMinor = text({ pattern: /^\d{1,4}\.\d{1,4}$/, what: "minor such as 1.34" });
const date = text({ pattern: /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/, what: "date of the form YYYY-MM-DD" });
const dateOrEnded = text({ pattern: /^(ended|\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01]))$/, what: 'date or "ended"' });
const group = text({ pattern: /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$/, what: "API group", mayBeEmpty: true });
const apiVersion = text({ pattern: /^v\d+((alpha|beta)\d+)?$/, what: "API version" });
const kind = text({ pattern: /^[A-Za-z][A-Za-z0-9]*$/, what: "kind" });
const name = text({ pattern: /^[\w.:@/-]+$/, what: "name" });
const identifier = text({
  pattern: /^[a-z0-9][a-z0-9.-]*$/,
  what: "identifier of lower-case letters, digits, dots and dashes",
});
const citation = text({
  pattern: /^https:\/\/[^\s/]+\.[^\s/]+\S*( .+)?$/,
  what: "https address, optionally with a remark",
});
const citations = list(citation, { least: 1, most: 20 });
const notes = list(text(), { most: 20 });
const components = list(identifier, { least: 1, most: 10 });
const names = list(name, { most: 200 });
const apiName = fields({ group, version: apiVersion, kind });

const api = fields(
  {
    component: identifier,
    group,
    version: apiVersion,
    kind,
    stage: oneOf(["alpha", "beta", "stable"]),
    isServedByDefault: truth,
    isStored: truth,
    notes,
    citations,
  },
  {
    resource: identifier,
    isNamespaced: truth,
    introduced: productMinor,
    deprecated: productMinor,
    removed: productMinor,
    unserved: productMinor,
    gone: productMinor,
    isRemovalInferred: truth,
    replacement: apiName,
  },
);

const migration = fields({ from: apiName, change: text(), citations }, { to: apiName });

const bases = [
  "upstream-supported",
  "upstream-breaking",
  "upstream-tested",
  "upstream-recommended-match",
  "client-go-version",
];
const cycleName = text({ pattern: /^\d+(\.\d+){0,2}$/, what: "cycle such as 1.19" });
const versions = text({
  pattern: /^(\d+(\.\d+){0,2}|(>=|<=|>|<|=)\d+(\.\d+){0,2}( (>=|<=|>|<|=)\d+(\.\d+){0,2})*)$/,
  what: "cycle or comparators joined by blanks",
});

const compatibility = fields({ versions, basis: oneOf(bases) }, { kubernetesMin: minor, kubernetesMax: minor });

const addOn = fields(
  {
    id: identifier,
    name: text(),
    kind: oneOf(["workload", "node-runtime"]),
    match: fields({ images: names, charts: names, labels: names, crdGroups: list(group, { most: 200 }) }),
    cycles: list(fields({ cycle: cycleName }, { released: date, endOfLife: dateOrEnded, latest: name }), { most: 500 }),
    compatibility: list(fields({ versions, basis: oneOf(bases) }, { kubernetesMin: minor, kubernetesMax: minor }), {
      most: 500,
    }),
    notes,
    citations,
  },
  { retired: fields({ date, replacement: text(), citation }) },
);

const range = fields({ addOn: identifier, compatibility: list(compatibility, { most: 500, least: 1 }), citations });

const calendar = fields({
  id: oneOf(["kubernetes", "eks", "gke", "aks"]),
  name: text(),
  cycles: list(fields({ minor }, { released: date, standardUntil: date, extendedUntil: date, latest: name }), {
    most: 200,
    least: 1,
  }),
  citations,
});

const constant = (value: string): Check => oneOf([value]);
const removedSetting = (of: string): Check =>
  fields({ kind: constant(of), components, name, removed: minor, citations }, { note: text() });

const fact = byKind({
  "removed-flag": removedSetting("removed-flag"),
  "removed-feature-gate": removedSetting("removed-feature-gate"),
  "removed-admission-plugin": removedSetting("removed-admission-plugin"),
  "removed-scheduler-plugin": removedSetting("removed-scheduler-plugin"),
  "locked-feature-gate": fields(
    { kind: constant("locked-feature-gate"), components, name, locked: minor, lockedTo: truth, citations },
    { note: text() },
  ),
  "removed-config": fields(
    { kind: constant("removed-config"), components, group, version: apiVersion, removed: minor, citations },
    { note: text() },
  ),
  "node-runtime": fields(
    { kind: constant("node-runtime"), name: oneOf(["dockershim", "containerd-1", "cri-o-before-1.28"]), citations },
    { deprecated: minor, removed: minor, plannedRemoval: minor, note: text() },
  ),
  "node-os": fields(
    { kind: constant("node-os"), name: constant("cgroup-v1"), deprecated: minor, offByDefault: minor, citations },
    { plannedRemoval: minor, note: text() },
  ),
  field: fields(
    {
      kind: constant("field"),
      name: oneOf(["service-externalips", "kube-proxy-ipvs", "node-role-master"]),
      deprecated: minor,
      offByDefault: minor,
      isPlanned: truth,
      citations,
    },
    { note: text() },
  ),
  "image-registry": fields(
    { kind: constant("image-registry"), name, frozen: date, replacement: name, citations },
    { note: text() },
  ),
  "changed-default": fields(
    { kind: constant("changed-default"), components, flag: name, value: text(), changed: minor, citations },
    { note: text() },
  ),
  "volume-plugin": fields(
    {
      kind: constant("volume-plugin"),
      name,
      outcome: oneOf(["removed", "csi-migration", "deprecated"]),
      since: minor,
      citations,
    },
    { csiDriver: name, provisioner: name, note: text() },
  ),
});

const rows = (check: Check): Check => list(check, { most: maxRowsPerSection });

const sectionsCheck = fields(
  {},
  {
    apis: rows(api),
    migrations: rows(migration),
    addOns: rows(addOn),
    ranges: rows(range),
    calendars: rows(calendar),
    facts: rows(fact),
  },
);
