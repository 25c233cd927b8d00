/**
 * What was seen of one cluster, or of a stream of manifests. The wire shape of a pushed snapshot is this type; the
 * manifest reader builds the same one with `source: "manifest"`. A list entry names one thing once; when it does not,
 * the engine adds the entries up. Unknown fields may be present and mean nothing.
 *
 * Counts are complete, lists are samples: `count` and `namespaces` cover everything, `objects` may be cut (at most 100
 * in a push) and `objectsOmitted` says by how much.
 */
export interface Inventory {
  readonly schemaVersion: 1;
  /** 1 from agents that record who writes an object; absent from older ones. */
  readonly collectorSchema?: 1 | undefined;
  readonly source: "cluster" | "manifest";
  /** UID of the kube-system namespace; empty for manifests. */
  readonly clusterId?: string | undefined;
  readonly collectedAt?: string | undefined;
  readonly apiServerStartTime?: string | undefined;
  /** As the API server says it, e.g. `v1.34.2-eks-3abc`. */
  readonly serverVersion?: string | undefined;
  readonly provider?: Provider | undefined;
  readonly capabilities: Readonly<Record<string, Capability>>;
  readonly apiUsage?: readonly ApiUsage[] | undefined;
  /** Objects of a deprecated or removed API whose writer could not be told. */
  readonly apiAuthorshipUnknown?: readonly ApiUsage[] | undefined;
  readonly deprecatedCalls?: readonly DeprecatedCall[] | undefined;
  readonly helmReleases?: readonly HelmRelease[] | undefined;
  readonly gitopsCharts?: readonly GitopsChart[] | undefined;
  readonly addOns?: readonly AddOnUsage[] | undefined;
  readonly nodes?: readonly NodeInfo[] | undefined;
  readonly controlPlane?: readonly ComponentVersion[] | undefined;
  readonly componentFlags?: readonly ComponentFlags[] | undefined;
  readonly componentConfigs?: readonly ComponentConfig[] | undefined;
  readonly namespaces?: readonly NamespaceInfo[] | undefined;
  readonly crds?: readonly CustomResourceDefinition[] | undefined;
  readonly volumePlugins?: readonly VolumePluginUsage[] | undefined;
  readonly webhooks?: readonly Webhook[] | undefined;
  readonly apiServices?: readonly ApiService[] | undefined;
  readonly disruption?: readonly DisruptionBudget[] | undefined;
  readonly fieldUsage?: readonly FieldUsage[] | undefined;
  readonly registries?: readonly RegistryUsage[] | undefined;
  readonly unrecognizedImages?: readonly string[] | undefined;
  readonly unrecognizedImagesOmitted?: number | undefined;
}

export type Provider = "eks" | "gke" | "aks" | "other";

export interface Capability {
  readonly available: boolean;
  readonly reason?: string | undefined;
  /** Some of it was read, `skipped` was not. */
  readonly partial?: boolean | undefined;
  /** What was left out: "group/version Kind", "group/version resource", "namespace/name", "configmaps", "nodes". */
  readonly skipped?: readonly string[] | undefined;
  readonly skippedOmitted?: number | undefined;
}

/** Set on an entry that comes from posted manifests inside the inventory of a cluster (the gate with a cluster). */
export interface Originated {
  readonly origin?: "manifest" | "cluster" | undefined;
  /** The posted object it was read from, with its file, line and annotations. */
  readonly object?: ObjectRef | undefined;
}

export interface ObjectRef {
  /** Empty or absent for a cluster-scoped object. */
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly file?: string | undefined;
  /** Line of `apiVersion`, from 1. */
  readonly line?: number | undefined;
  /** Template named by a Helm `# Source:` comment. */
  readonly renderedFrom?: string | undefined;
  /** Field manager that writes the flagged version. */
  readonly manager?: string | undefined;
  /** Text of the `<annotation domain>/ignore` annotation: tokens of what its owner accepts. */
  readonly ignore?: string | undefined;
  readonly ignoreReason?: string | undefined;
  readonly callers?: readonly string[] | undefined;
}

/** How much of something there is, and where. */
export interface Usage extends Originated {
  readonly count: number;
  /** Objects per namespace; the key `""` counts cluster-scoped objects. */
  readonly namespaces?: Readonly<Record<string, number>> | undefined;
  readonly objects?: readonly ObjectRef[] | undefined;
  readonly objectsOmitted?: number | undefined;
}

export interface ApiUsage extends Usage {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A row of the API server's own metric of requested deprecated APIs. */
export interface DeprecatedCall {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  /** Minor in which the API server says it goes away; empty or absent when it does not say. */
  readonly removedRelease?: string | undefined;
  readonly callers?: readonly string[] | undefined;
}

export interface HelmRelease extends Originated {
  readonly name: string;
  readonly namespace: string;
  readonly chartName: string;
  readonly chartVersion: string;
  readonly appVersion?: string | undefined;
  /** The chart's own constraint on Kubernetes, e.g. `>=1.25-0`. */
  readonly kubeVersion?: string | undefined;
  readonly status: string;
  readonly revision?: number | undefined;
  /** APIs in the stored manifest of the installed revision. */
  readonly manifestApis?: readonly ApiUsage[] | undefined;
}

export interface GitopsChart extends Originated {
  readonly tool: string;
  readonly name: string;
  readonly namespace: string;
  /** Namespace it deploys to. */
  readonly target?: string | undefined;
  readonly chart: string;
  readonly version?: string | undefined;
  readonly repo?: string | undefined;
}

export interface AddOnUsage extends Originated {
  readonly id: string;
  /** Empty when it could not be read. */
  readonly version: string;
  readonly chartVersion?: string | undefined;
  readonly namespaces: readonly string[];
  readonly source: "chart" | "image" | "labels" | "ingressclass";
  readonly objects?: readonly ObjectRef[] | undefined;
  readonly objectsOmitted?: number | undefined;
}

export interface NodeInfo {
  readonly name: string;
  readonly kubeletVersion: string;
  /** `containerd://1.7.27`, `docker://20.10.7`, `cri-o://1.30.0`. */
  readonly containerRuntime?: string | undefined;
  readonly osImage?: string | undefined;
  readonly kernelVersion?: string | undefined;
  /** Only when the kubelet itself said so; absent means not known. */
  readonly cgroupVersion?: 1 | 2 | undefined;
}

export interface ComponentVersion {
  readonly component: string;
  readonly version: string;
  readonly node?: string | undefined;
}

export interface ComponentFlags extends Originated {
  readonly component: string;
  readonly node?: string | undefined;
  /** Flag with its dashes → value as written. */
  readonly flags?: Readonly<Record<string, string>> | undefined;
  readonly featureGates?: Readonly<Record<string, string>> | undefined;
}

/** A component configuration file found in a ConfigMap, such as `kube-system/kubeadm-config`. */
export interface ComponentConfig extends Originated {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** Scheduler plugins it names. */
  readonly plugins?: readonly string[] | undefined;
}

export interface NamespaceInfo {
  readonly name: string;
  /** Value of the team label; absent when the namespace has none. */
  readonly team?: string | undefined;
}

export interface CrdVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated?: boolean | undefined;
  readonly deprecationWarning?: string | undefined;
}

export interface CrdVersionUsage extends Usage {
  readonly version: string;
}

export interface CustomResourceDefinition extends Originated {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly versions: readonly CrdVersion[];
  readonly storedVersions?: readonly string[] | undefined;
  /** Objects by the version their writer uses. */
  readonly usage?: readonly CrdVersionUsage[] | undefined;
}

export interface VolumePluginUsage extends Usage {
  /** Field name of the volume source: `rbd`, `awsElasticBlockStore`. */
  readonly plugin: string;
  /** True when a StorageClass names its in-tree provisioner; false for volumes of pods and PersistentVolumes. */
  readonly provisioner: boolean;
}

export interface Webhook extends Originated {
  readonly kind: "Validating" | "Mutating" | "Conversion";
  /** Configuration object; for a conversion webhook the CRD. */
  readonly name: string;
  readonly webhook?: string | undefined;
  readonly failurePolicy?: "Fail" | "Ignore" | undefined;
  /** `namespace/name`; absent for a webhook called by URL. */
  readonly service?: string | undefined;
  /** Absent when it was not counted (a URL, or endpoints unreadable). */
  readonly readyEndpoints?: number | undefined;
  /** Its scope covers pods, nodes or everything. */
  readonly matchesAll?: boolean | undefined;
  readonly timeoutSeconds?: number | undefined;
  readonly matchPolicy?: "Exact" | "Equivalent" | undefined;
  /** `group/version/resource` its rules name, `*` allowed in each part. */
  readonly rules?: readonly string[] | undefined;
}

export interface ApiService {
  readonly name: string;
  readonly available: boolean;
  readonly reason?: string | undefined;
}

export interface DisruptionBudget extends Originated {
  readonly namespace: string;
  readonly name: string;
  readonly disruptionsAllowed: number;
  readonly expectedPods: number;
  readonly currentHealthy?: number | undefined;
  readonly desiredHealthy?: number | undefined;
  readonly minAvailable?: string | undefined;
  readonly maxUnavailable?: string | undefined;
  /** Other budgets of the namespace that select one of the same pods. */
  readonly overlaps?: readonly string[] | undefined;
}

/** Use of a single field or label that a later Kubernetes turns off. */
export interface FieldUsage extends Usage {
  readonly field: "service-externalips" | "kube-proxy-ipvs" | "node-role-master";
}

export interface RegistryUsage extends Usage {
  readonly registry: string;
}

/** Names of the capabilities that collectors report. */
export type CapabilityName =
  | "api-usage"
  | "deprecated-calls"
  | "helm"
  | "addons"
  | "versions"
  | "crds"
  | "volumes"
  | "webhooks"
  | "disruption"
  | "component-flags"
  | "kubelet-config";
