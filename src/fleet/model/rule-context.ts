import type { CalendarDate } from "./calendar-date.ts";
import type { Draft } from "./draft.ts";
import type { Inventory, Originated } from "./inventory.ts";
import type { KnowledgeBaseIndex } from "./knowledge-base-index.ts";
import { compareMinors, type KubernetesMinor, minorOfVersion } from "./kubernetes-minor.ts";

/** What every rule sees. A rule reads it and emits drafts; it knows no other rule. */
export interface RuleContext {
  readonly inventory: Inventory;
  readonly index: KnowledgeBaseIndex;
  readonly target: KubernetesMinor;
  readonly date: CalendarDate;
  /** Minor of the oldest API server; undefined for manifests and unreadable versions. */
  readonly current: KubernetesMinor | undefined;
}

export type Emit = (draft: Draft) => void;
export type Rule = (context: RuleContext, emit: Emit) => void;

export function isManifestEntry(context: RuleContext, entry: Originated): boolean {
  return context.inventory.source === "manifest" || entry.origin === "manifest";
}

/** Minor of the oldest API server: each of them as reported, else the version the cluster answers with. */
export function oldestApiServer(inventory: Inventory): KubernetesMinor | undefined {
  const reported = (inventory.controlPlane ?? [])
    .filter((entry) => entry.component === "kube-apiserver")
    .map((entry) => entry.version);
  if (inventory.serverVersion !== undefined) reported.push(inventory.serverVersion);
  let oldest: KubernetesMinor | undefined;
  for (const version of reported) {
    const minor = minorOfVersion(version);
    if (minor !== undefined && (oldest === undefined || compareMinors(minor, oldest) < 0)) oldest = minor;
  }
  return oldest;
}

/** Where a removal stands for a target: it bites at or before it, one minor after it, later, or never. */
export type RemovalDistance = "reached" | "next" | "later" | "never";

export function distanceOf(removed: KubernetesMinor | undefined, target: KubernetesMinor): RemovalDistance {
  if (removed === undefined) return "never";
  const distance = compareMinors(removed, target);
  return distance <= 0 ? "reached" : distance === 1 ? "next" : "later";
}
