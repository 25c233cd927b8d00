/**
 * Who writes an object at which version. That a server still serves an object at an old version says nothing, since it
 * serves every object at every version; what breaks at an upgrade is a writer that names the old one. Managed fields
 * tell the writers of today, the last-applied annotation may be years old, so it speaks only where they are silent.
 */
import { readJson } from "../../manifests/json-text.ts";
import { ManifestMap } from "../../manifests/manifest-node.ts";
import { NodeBudget } from "../../manifests/node-budget.ts";
import { annotationsOf } from "../../manifests/object-facts.ts";
import { type Selection, selectionOf } from "../../manifests/selection.ts";

export type Authorship =
  | { readonly kind: "written"; readonly manager: string | undefined }
  | { readonly kind: "not-written" }
  /** Nothing tells. */
  | { readonly kind: "unknown" };

/** Parts of the control plane that rewrite objects at whatever version they like. */
const ignoredManagers = new Set([
  "kube-apiserver",
  "kube-controller-manager",
  "api-priority-and-fairness-config-producer-v1",
]);
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
const autoUpdateAnnotation = "apf.kubernetes.io/autoupdate-spec";
const maxManagerLength = 128;
const versionSelection = selectionOf({ apiVersion: "all" });
const maxAppliedNodes = 1_000_000;

export const authorshipSelection: Selection = selectionOf({
  metadata: {
    name: "all",
    namespace: "all",
    annotations: "all",
    managedFields: { manager: "all", operation: "all", apiVersion: "all", time: "all", subresource: "all" },
  },
});

interface ManagedEntry {
  readonly manager: string;
  readonly operation: string;
  readonly apiVersion: string;
  readonly time: string;
}

/** @param apiVersion the flagged one, as `group/version` */
export function authorshipOf(object: ManifestMap, apiVersion: string): Authorship {
  const annotations = annotationsOf(object);
  if (annotations.get(autoUpdateAnnotation) === "true") return { kind: "not-written" };
  const fields = object.map("metadata")?.maps("managedFields") ?? [];
  const entries = fields.flatMap(readEntry);
  const applied = entries.find((entry) => entry.operation === "Apply" && entry.apiVersion === apiVersion);
  if (applied !== undefined) return written(applied.manager);
  const updated = entries.find(
    (entry) => entry.operation === "Update" && entry.apiVersion === apiVersion && isNewest(entry, entries),
  );
  if (updated !== undefined) return written(updated.manager);
  if (entries.length > 0) return { kind: "not-written" };
  const lastApplied = lastAppliedVersion(annotations.get(lastAppliedAnnotation));
  if (lastApplied !== undefined)
    return lastApplied === apiVersion ? written("kubectl-client-side-apply") : { kind: "not-written" };
  return fields.length > 0 ? { kind: "not-written" } : { kind: "unknown" };
}

/** Empty for entries of status and of the control plane: they are no writers of the object. */
function readEntry(field: ManifestMap): ManagedEntry[] {
  const manager = field.text("manager") ?? "";
  if (field.text("subresource") === "status" || ignoredManagers.has(manager)) return [];
  return [
    {
      manager,
      operation: field.text("operation") ?? "",
      apiVersion: field.text("apiVersion") ?? "",
      time: field.text("time") ?? "",
    },
  ];
}

/** A manager that moved on leaves its old entry behind: only its newest one speaks. */
function isNewest(entry: ManagedEntry, entries: readonly ManagedEntry[]): boolean {
  return entries.every(
    (other) =>
      other === entry ||
      other.manager !== entry.manager ||
      other.apiVersion === entry.apiVersion ||
      other.time < entry.time,
  );
}

function lastAppliedVersion(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const reading = readJson(text, {
    selection: versionSelection,
    budget: new NodeBudget(maxAppliedNodes),
    firstLine: 1,
  });
  return reading.kind === "read" && reading.root instanceof ManifestMap ? reading.root.text("apiVersion") : undefined;
}

function written(manager: string): Authorship {
  const printable = manager.replace(/[^\u0020-\u007e]/g, "").slice(0, maxManagerLength);
  return { kind: "written", manager: printable === "" ? undefined : printable };
}
