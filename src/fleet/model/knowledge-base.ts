import type { KubernetesMinor } from "./kubernetes-minor.ts";

/**
 * The dated facts an evaluation rests on. Every row names its sources, and nothing outside these rows can make a
 * finding. Rows are plain data so that the committed files, a registry folder and the tests share one validator.
 */
export interface KnowledgeBase {
  /** Shown as `kbVersion`, e.g. `api 1.37; addons 2026-08`. */
  readonly version: string;
  /** Day the newest source was read, `YYYY-MM-DD`. */
  readonly date: string;
  /** Newest minor the rows know; a later target cannot be judged completely. */
  readonly horizon: KubernetesMinor;
  readonly apis: readonly ApiLifecycle[];
  readonly migrations: readonly ApiMigration[];
  readonly addOns: readonly AddOn[];
  readonly calendars: readonly SupportCalendar[];
  readonly facts: readonly UpgradeFact[];
}

export interface ApiName {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface ApiLifecycle extends ApiName {
  /** `kubernetes` for built-in APIs, `kubernetes-config` for configuration files, else the product that ships the CRD. */
  readonly component: string;
  /** Plural, as in URLs and metrics. */
  readonly resource?: string;
  readonly isNamespaced?: boolean;
  readonly stage: "alpha" | "beta" | "stable";
  readonly isServedByDefault: boolean;
  /** False for kinds that exist only inside a request, such as TokenReview. */
  readonly isStored: boolean;
  /** Minors of `component`, which for CRDs are the product's own. */
  readonly introduced?: string;
  readonly deprecated?: string;
  /** First minor that does not serve it (by default). */
  readonly removed?: string;
  /** CRDs: first minor that keeps the version in the CRD but does not serve it. */
  readonly unserved?: string;
  /** CRDs: first minor without the version. */
  readonly gone?: string;
  readonly isRemovalInferred?: boolean;
  readonly replacement?: ApiName;
  readonly notes: readonly string[];
  readonly citations: readonly string[];
}

/** What changes besides `apiVersion` when one API becomes another; the fix as a person has to do it. */
export interface ApiMigration {
  readonly from: ApiName;
  readonly to?: ApiName;
  readonly change: string;
  readonly citations: readonly string[];
}

export type CompatibilityBasis =
  | "upstream-supported"
  | "upstream-breaking"
  | "upstream-tested"
  | "upstream-recommended-match"
  | "client-go-version";

export interface AddOnCompatibility {
  /** A cycle such as `1.19`, or comparators joined by blanks: `>=0.10 <0.18`. */
  readonly versions: string;
  readonly kubernetesMin?: KubernetesMinor;
  readonly kubernetesMax?: KubernetesMinor;
  readonly basis: CompatibilityBasis;
}

export interface AddOnCycle {
  readonly cycle: string;
  readonly released?: string;
  /** `YYYY-MM-DD`; "ended" when it is over and the day is not known; absent while it is maintained. */
  readonly endOfLife?: string;
  readonly latest?: string;
}

export interface AddOnMatch {
  /** Whole path segments at the end of an image name, host and mirror prefixes left out. */
  readonly images: readonly string[];
  readonly charts: readonly string[];
  /** Values of `app.kubernetes.io/name`. */
  readonly labels: readonly string[];
  readonly crdGroups: readonly string[];
}

export interface AddOn {
  readonly id: string;
  readonly name: string;
  readonly kind: "workload" | "node-runtime";
  readonly match: AddOnMatch;
  readonly cycles: readonly AddOnCycle[];
  readonly compatibility: readonly AddOnCompatibility[];
  readonly retired?: { readonly date: string; readonly replacement: string; readonly citation: string };
  readonly notes: readonly string[];
  readonly citations: readonly string[];
}

/** Ranges for an add-on that has its row elsewhere; a range for the same versions takes the other's place. */
export interface AddOnRanges {
  readonly addOn: string;
  readonly compatibility: readonly AddOnCompatibility[];
  readonly citations: readonly string[];
}

export interface SupportCycle {
  readonly minor: KubernetesMinor;
  readonly released?: string;
  readonly standardUntil?: string;
  readonly extendedUntil?: string;
  readonly latest?: string;
}

export interface SupportCalendar {
  readonly id: "kubernetes" | "eks" | "gke" | "aks";
  readonly name: string;
  readonly cycles: readonly SupportCycle[];
  readonly citations: readonly string[];
}

interface FactBase {
  readonly citations: readonly string[];
  readonly note?: string;
}

/** A setting or part of a component that a later minor refuses, changes or drops. */
export type UpgradeFact =
  | (FactBase & {
      readonly kind: "removed-flag" | "removed-feature-gate" | "removed-admission-plugin" | "removed-scheduler-plugin";
      /** Components that refuse it. */
      readonly components: readonly string[];
      readonly name: string;
      readonly removed: KubernetesMinor;
    })
  | (FactBase & {
      readonly kind: "locked-feature-gate";
      readonly components: readonly string[];
      readonly name: string;
      readonly locked: KubernetesMinor;
      readonly lockedTo: boolean;
    })
  | (FactBase & {
      readonly kind: "removed-config";
      readonly components: readonly string[];
      readonly group: string;
      readonly version: string;
      readonly removed: KubernetesMinor;
    })
  | (FactBase & {
      readonly kind: "node-runtime";
      readonly name: "dockershim" | "containerd-1" | "cri-o-before-1.28";
      readonly deprecated?: KubernetesMinor;
      readonly removed?: KubernetesMinor;
      readonly plannedRemoval?: KubernetesMinor;
    })
  | (FactBase & {
      readonly kind: "node-os";
      readonly name: "cgroup-v1";
      readonly deprecated: KubernetesMinor;
      readonly offByDefault: KubernetesMinor;
      readonly plannedRemoval?: KubernetesMinor;
    })
  | (FactBase & {
      readonly kind: "field";
      readonly name: "service-externalips" | "kube-proxy-ipvs" | "node-role-master";
      readonly deprecated: KubernetesMinor;
      readonly offByDefault: KubernetesMinor;
      readonly isPlanned: boolean;
    })
  | (FactBase & {
      readonly kind: "image-registry";
      readonly name: string;
      readonly frozen: string;
      readonly replacement: string;
    })
  | (FactBase & {
      readonly kind: "changed-default";
      readonly components: readonly string[];
      readonly flag: string;
      readonly value: string;
      readonly changed: KubernetesMinor;
    })
  | (FactBase & {
      readonly kind: "volume-plugin";
      readonly name: string;
      readonly outcome: "removed" | "csi-migration" | "deprecated";
      /** First minor without the plugin, or with its calls sent to the CSI driver, or with it deprecated. */
      readonly since: KubernetesMinor;
      readonly csiDriver?: string;
      readonly provisioner?: string;
    });

export type FactKind = UpgradeFact["kind"];

/** The facts a kind can be: of the kinds that share a shape, that shape. */
export type FactOf<Kind extends FactKind> = UpgradeFact extends infer Fact
  ? Fact extends { readonly kind: infer Kinds }
    ? Kind extends Kinds
      ? Fact
      : never
    : never
  : never;
