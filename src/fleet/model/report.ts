import type { ObjectRef } from "./inventory.ts";
import type { KubernetesMinor } from "./kubernetes-minor.ts";

/**
 * What an evaluation answers. Every list has an order of its own that does not depend on the order of the input, and
 * absent fields are absent, so equal input gives equal bytes. Findings are sorted by severity, category, title, key;
 * gaps required first, then by name.
 */
export interface Report {
  readonly schemaVersion: 1;
  readonly toolVersion?: string;
  readonly clusterId: string;
  readonly target: KubernetesMinor;
  readonly serverVersion?: string;
  readonly kbVersion: string;
  /** The date the facts were judged on, `YYYY-MM-DD`. */
  readonly date: string;
  /** 0 to 100. */
  readonly score: number;
  readonly ready: boolean;
  readonly verdict: Verdict;
  readonly blockers: number;
  readonly warnings: number;
  readonly findings: readonly Finding[];
  readonly notAssessed: readonly Gap[];
  readonly suppressed: readonly Suppressed[];
  readonly suppressedCount: number;
  readonly unrecognizedImages: readonly string[];
  readonly unrecognizedImagesOmitted: number;
  readonly support?: Support;
  readonly teams: Readonly<Record<string, TeamScore>>;
  /** Texts about the input itself, such as an ignore rule that has expired. */
  readonly notes: readonly string[];
}

/** A stored report with what a server knows of it. */
export interface Evaluation {
  readonly report: Report;
  readonly evaluatedAt: string;
  readonly snapshotId: number;
  readonly source: "stored" | "what-if";
  /** The cluster already runs the target. */
  readonly notApplicable?: boolean;
  /** Judged before today or with other facts or another team map. */
  readonly outdated?: boolean;
}

/** `unknown`: nothing blocks, but something that had to be seen was not. */
export type Verdict = "ready" | "blocked" | "unknown";

export type Severity = "blocker" | "warning" | "info";

/** When the problem bites: as the control plane moves, as nodes are drained and replaced, at the next apply, or any time. */
export type Phase = "control-plane" | "nodes" | "applies" | "any";

export type Category =
  | "removed-api"
  | "deprecated-api"
  | "deprecated-api-in-use"
  | "unknown-api"
  | "crd-version"
  | "eol-addon"
  | "eol-approaching"
  | "chart-incompat"
  | "addon-no-data"
  | "version-skew"
  | "volume-plugin"
  | "support-lifecycle"
  | "kb-stale"
  | "removed-flag"
  | "removed-feature-gate"
  | "locked-feature-gate"
  | "removed-admission-plugin"
  | "removed-config"
  | "removed-scheduler-plugin"
  | "changed-default"
  | "node-runtime"
  | "node-os"
  | "webhook"
  | "conversion-webhook"
  | "apiservice"
  | "drain"
  | "image-registry"
  | "field"
  | "kube-proxy"
  | "label";

export interface Finding {
  readonly category: Category;
  readonly severity: Severity;
  /** Stable over time and free of counts: the identity of the problem in diffs, ignore rules and fingerprints. */
  readonly key: string;
  /** First two segments of the key: the rule in the catalogue. */
  readonly rule: string;
  readonly phase: Phase;
  /** Ends in ` (3 objects)` when objects were counted. */
  readonly title: string;
  readonly detail: string;
  readonly source: "manifest" | "cluster";
  /** Owners of the namespaces concerned; empty when no team owns the finding. */
  readonly teams: readonly string[];
  /** At most `maxNamespacesPerFinding`; `namespacesOmitted` counts the rest. */
  readonly namespaces: readonly string[];
  readonly namespacesOmitted: number;
  /** Part of the evidence lies in no namespace. */
  readonly unnamespaced: boolean;
  readonly remediation?: string;
  readonly citations: readonly string[];
  /** At most `maxObjectsPerFinding`; `objectsOmitted` counts the rest. */
  readonly objects: readonly ObjectRef[];
  readonly objectsOmitted: number;
  readonly callers?: readonly string[];
  /** Against another report: set by whoever compares. */
  readonly baselineState?: "new" | "unchanged";
}

export interface Suppressed extends Finding {
  readonly reason: string;
  /** Who accepted it. */
  readonly suppressedBy: "annotation" | "config" | "agent";
  /** Last day the acceptance holds, `YYYY-MM-DD`. */
  readonly expires?: string;
}

/** Something that could not be seen. */
export interface Gap {
  readonly capability: string;
  readonly reason?: string;
  /** Without it the verdict cannot be `ready`. */
  readonly required?: boolean;
  readonly partial?: boolean;
  readonly skipped?: readonly string[];
  readonly skippedOmitted?: number;
}

export interface TeamScore {
  readonly score: number;
  readonly ready: boolean;
  readonly verdict: Verdict;
  readonly blockers: number;
  readonly warnings: number;
}

/** Where the running minor stands in its support calendar. */
export interface Support {
  readonly provider: string;
  readonly minor: KubernetesMinor;
  readonly phase: "standard" | "extended" | "ended" | "unknown";
  readonly standardUntil?: string;
  readonly extendedUntil?: string;
}

/** Key of `teams` for the findings that no team owns. */
export const unattributedTeam = "(unattributed)";

export const maxObjectsPerFinding = 100;
export const maxNamespacesPerFinding = 100;
export const maxCallersPerFinding = 100;
