/** Turns a draft into the finding of a report: owners, counts and caps. */
import type { Draft } from "./draft.ts";
import { countByNamespace, countOf } from "./evidence.ts";
import type { ObjectRef } from "./inventory.ts";
import { compareObjects, compareText, smallest, sortedUnique } from "./order.ts";
import { type Finding, maxCallersPerFinding, maxNamespacesPerFinding, maxObjectsPerFinding } from "./report.ts";

export type TeamLookup = (namespace: string) => string | undefined;

export function finishFinding(draft: Draft, teamOf: TeamLookup): Finding {
  const { evidence } = draft;
  const namespaces = [...evidence.namespaces.keys()].filter((namespace) => namespace !== "");
  const objects = smallest(evidence.objects, maxObjectsPerFinding, compareObjects);
  const callers = sortedUnique(evidence.callers).slice(0, maxCallersPerFinding);
  return {
    category: draft.category,
    severity: draft.severity,
    key: draft.key,
    rule: ruleOf(draft.key),
    phase: draft.phase,
    title: titleOf(draft),
    detail: draft.detail,
    source: evidence.isFromManifest ? "manifest" : "cluster",
    teams: sortedUnique(namespaces.map(teamOf).filter((team) => team !== undefined)),
    namespaces: smallest(namespaces, maxNamespacesPerFinding, compareText),
    namespacesOmitted: Math.max(0, namespaces.length - maxNamespacesPerFinding),
    unnamespaced: namespaces.length === 0 || evidence.namespaces.has(""),
    ...(draft.remediation === undefined ? {} : { remediation: draft.remediation }),
    citations: draft.citations,
    objects: objects.map(tidyObject),
    objectsOmitted: evidence.objects.length - objects.length + unlistedOf(draft),
    ...(callers.length === 0 ? {} : { callers }),
  };
}

/** The rule of a key: its first two segments. */
export function ruleOf(key: string): string {
  return key.split("/", 2).join("/");
}

function titleOf(draft: Draft): string {
  if (draft.noun === undefined) return draft.title;
  const count = countOf(draft.evidence);
  return count === 0 ? draft.title : `${draft.title} (${count} ${draft.noun}${count === 1 ? "" : "s"})`;
}

function unlistedOf({ evidence }: Draft): number {
  const listed = countByNamespace(evidence.objects);
  let unlisted = evidence.unplaced;
  for (const [namespace, count] of evidence.namespaces) unlisted += Math.max(0, count - (listed.get(namespace) ?? 0));
  return unlisted;
}

/** Fields in one order and without the absent ones, so that equal objects have equal bytes. */
function tidyObject(object: ObjectRef): ObjectRef {
  const { namespace, name, file, line, renderedFrom, manager, ignore, ignoreReason } = object;
  return {
    ...(namespace === undefined || namespace === "" ? {} : { namespace }),
    name,
    ...(file === undefined ? {} : { file }),
    ...(line === undefined ? {} : { line }),
    ...(renderedFrom === undefined ? {} : { renderedFrom }),
    ...(manager === undefined ? {} : { manager }),
    ...(ignore === undefined ? {} : { ignore }),
    ...(ignoreReason === undefined ? {} : { ignoreReason }),
  };
}
