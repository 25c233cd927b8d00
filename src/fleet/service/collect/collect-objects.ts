/**
 * Lists whose objects are read whole, and fed to the same collectors that read manifests. A pod is shown by what
 * controls it, because the names of pods change with every roll-out and a report must not.
 */

import { GitopsCollector, ServiceCollector, WebhookCollector } from "../../manifests/collect/collect-cluster-config.ts";
import { ComponentCollector } from "../../manifests/collect/collect-components.ts";
import { CrdCollector } from "../../manifests/collect/collect-crds.ts";
import { WorkloadCollector } from "../../manifests/collect/collect-workloads.ts";
import type { Collector } from "../../manifests/collect/collector.ts";
import type { ManifestMap } from "../../manifests/manifest-node.ts";
import type { ManifestObject } from "../../manifests/manifest-object.ts";
import { containersOf } from "../../manifests/object-facts.ts";
import { objectSelection } from "../../manifests/object-selection.ts";
import { type Selection, selectionOf } from "../../manifests/selection.ts";
import { parseImageReference } from "../../model/image-recognition.ts";
import type { AddOnUsage, CapabilityName, ComponentVersion, Inventory, ObjectRef } from "../../model/inventory.ts";
import type { KnowledgeBase } from "../../model/knowledge-base.ts";
import { type CapabilityLog, reasonOf } from "./capability-log.ts";
import { maxObjectsPerUsage } from "./collect-api-usage.ts";
import { isMissing } from "./discovery.ts";
import {
  asObject,
  type KubernetesApi,
  largeObjectPageSize,
  listAll,
  listPageSize,
  parseObject,
} from "./kubernetes-api.ts";

export interface ObjectsContext {
  readonly api: KubernetesApi;
  readonly knowledgeBase: KnowledgeBase;
  readonly capabilities: CapabilityLog;
  readonly refOf: (object: ManifestMap) => ObjectRef;
  readonly onProgress: (note: string) => void;
  /** Sees every pod that runs. */
  readonly onPod: (pod: ManifestMap) => void;
}

interface ListSpec {
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly capability: CapabilityName;
  readonly pageSize?: number;
  /** A server without it has none of it. */
  readonly isOptional?: boolean;
}

const lists: readonly ListSpec[] = [
  { path: "/api/v1/pods", apiVersion: "v1", kind: "Pod", capability: "addons" },
  {
    path: "/apis/networking.k8s.io/v1/ingressclasses",
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    capability: "addons",
    isOptional: true,
  },
  { path: "/api/v1/persistentvolumes", apiVersion: "v1", kind: "PersistentVolume", capability: "volumes" },
  {
    path: "/apis/storage.k8s.io/v1/storageclasses",
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    capability: "volumes",
  },
  { path: "/api/v1/services", apiVersion: "v1", kind: "Service", capability: "volumes" },
  {
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    capability: "crds",
    pageSize: largeObjectPageSize,
  },
  {
    path: "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    capability: "webhooks",
  },
  {
    path: "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    capability: "webhooks",
  },
  {
    path: "/apis/argoproj.io/v1alpha1/applications",
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    capability: "helm",
    isOptional: true,
  },
  {
    path: "/apis/helm.toolkit.fluxcd.io/v2/helmreleases",
    apiVersion: "helm.toolkit.fluxcd.io/v2",
    kind: "HelmRelease",
    capability: "helm",
    isOptional: true,
  },
  {
    path: "/apis/helm.cattle.io/v1/helmcharts",
    apiVersion: "helm.cattle.io/v1",
    kind: "HelmChart",
    capability: "helm",
    isOptional: true,
  },
];

const systemConfigMaps = ["kubeadm-config", "kube-proxy", "kubelet-config"];
const controlPlane = new Set(["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"]);
const finishedPhases = new Set(["Succeeded", "Failed"]);

/** What manifests do not have: owners, phases and stored versions. */
const liveSelection: Selection = mergeSelections(
  objectSelection,
  selectionOf({
    metadata: { ownerReferences: { kind: "all", name: "all", controller: "all" } },
    status: { phase: "all", storedVersions: "all" },
  }),
);

export async function collectObjects(context: ObjectsContext): Promise<Partial<Inventory>> {
  const parts: Partial<Inventory>[] = [];
  for (const spec of lists) parts.push(...(await readList(context, spec)));
  const components = new ComponentCollector();
  await readSystemConfig(context, components);
  parts.push(components.contribute());
  const merged = mergeParts(parts);
  return {
    ...merged,
    addOns: tidyAddOns(merged.addOns ?? []),
    componentFlags: (merged.componentFlags ?? []).map(withoutObject),
    webhooks: (merged.webhooks ?? []).map(withoutObject),
    crds: (merged.crds ?? []).map(withoutObject),
    gitopsCharts: (merged.gitopsCharts ?? []).map(withoutObject),
    componentConfigs: (merged.componentConfigs ?? []).map(withoutObject),
  };
}

/** One list: objects go to the collectors page by page; a list that begins anew begins with new collectors. */
async function readList(context: ObjectsContext, spec: ListSpec): Promise<Partial<Inventory>[]> {
  const { api, capabilities, onProgress } = context;
  capabilities.see(spec.capability);
  onProgress(`${spec.kind} objects`);
  let gathered = new Gathered(context, spec);
  try {
    const outcome = await listAll(api, spec.path, {
      accept: "json",
      selection: liveSelection,
      pageSize: spec.pageSize ?? listPageSize,
      onItem: (item) => gathered.add(item),
      onRestart: () => {
        gathered = new Gathered(context, spec);
      },
    });
    if (outcome.kind === "partial") capabilities.skip(spec.capability, skippedName(spec), outcome.reason);
  } catch (error) {
    if (spec.isOptional === true && isMissing(error)) return [];
    const isWhole = spec.kind === "Pod" || spec.kind === "CustomResourceDefinition";
    if (isWhole) capabilities.miss(spec.capability, reasonOf(error));
    else capabilities.skip(spec.capability, skippedName(spec), reasonOf(error));
  }
  return gathered.parts();
}

class Gathered {
  readonly #context: ObjectsContext;
  readonly #spec: ListSpec;
  readonly #collectors: readonly Collector[];
  readonly #versions = new Map<string, ComponentVersion>();
  readonly #refs = new Map<string, ObjectRef>();

  constructor(context: ObjectsContext, spec: ListSpec) {
    this.#context = context;
    this.#spec = spec;
    this.#collectors = [
      new WorkloadCollector(context.knowledgeBase, maxObjectsPerUsage),
      new CrdCollector(),
      new WebhookCollector(),
      new ServiceCollector(),
      new GitopsCollector(),
    ];
  }

  add(item: ManifestMap): void {
    const { apiVersion, kind } = this.#spec;
    const isPod = kind === "Pod";
    if (isPod && finishedPhases.has(item.map("status")?.text("phase") ?? "")) return;
    const object = asObject(item, apiVersion, kind);
    if (object === undefined) return;
    const ref = isPod ? this.#shared(ownerRef(item, object)) : this.#context.refOf(item);
    for (const collector of this.#collectors) collector.add(object, ref);
    if (!isPod) return;
    this.#context.onPod(item);
    for (const version of versionsOf(object))
      this.#versions.set(`${version.component}\0${version.node ?? ""}`, version);
  }

  /** Pods of one workload share one reference, so that it counts once. */
  #shared(ref: ObjectRef): ObjectRef {
    const key = `${ref.namespace ?? ""}/${ref.name}`;
    const known = this.#refs.get(key) ?? ref;
    this.#refs.set(key, known);
    return known;
  }

  parts(): Partial<Inventory>[] {
    return [
      ...this.#collectors.map((collector) => collector.contribute()),
      { controlPlane: [...this.#versions.values()] },
    ];
  }
}

/** Lists of all parts one after the other; the engine adds up what is named twice. */
function mergeParts(parts: readonly Partial<Inventory>[]): Partial<Inventory> {
  const merged: Record<string, unknown> = {};
  for (const part of parts) {
    for (const [name, value] of Object.entries(part)) {
      const known = merged[name];
      if (Array.isArray(value)) merged[name] = Array.isArray(known) ? [...known, ...value] : value;
      else if (typeof value === "number") merged[name] = (typeof known === "number" ? known : 0) + value;
    }
  }
  return merged;
}

/** Which pods run an add-on changes by the hour, where it runs does not; an ingress class adds nothing to an image. */
function tidyAddOns(addOns: readonly AddOnUsage[]): AddOnUsage[] {
  const shown = new Set(addOns.filter(({ source }) => source !== "ingressclass").map(({ id }) => id));
  return addOns
    .filter(({ id, source }) => source !== "ingressclass" || !shown.has(id))
    .map(({ objects: _, objectsOmitted: __, ...addOn }) => addOn);
}

function skippedName({ apiVersion, path }: ListSpec): string {
  return `${apiVersion} ${path.split("/").at(-1) ?? ""}`;
}

/** What controls a pod: its workload, found by the name that the pod template hash was appended to. */
function ownerRef(item: ManifestMap, { namespace, name, root }: ManifestObject): ObjectRef {
  const owner = item
    .map("metadata")
    ?.maps("ownerReferences")
    .find((reference) => reference.text("controller") === "true");
  const ownName = owner?.text("name");
  if (owner === undefined || ownName === undefined || owner.text("kind") === "Node") return { namespace, name };
  const hash = root.at("metadata", "labels")?.text("pod-template-hash");
  const isReplicaSet = owner.text("kind") === "ReplicaSet" && hash !== undefined && ownName.endsWith(`-${hash}`);
  return { namespace, name: isReplicaSet ? ownName.slice(0, -hash.length - 1) : ownName };
}

/** Versions of control plane components, by the tags of their images. */
function versionsOf({ namespace, root }: ManifestObject): ComponentVersion[] {
  const spec = root.map("spec");
  if (namespace !== "kube-system" || spec === undefined) return [];
  const node = spec.text("nodeName");
  return containersOf(spec).flatMap(({ name, image }) => {
    const tag = controlPlane.has(name) ? parseImageReference(image)?.tag : undefined;
    if (tag === undefined || !/^v?1\.\d+/.test(tag)) return [];
    return [{ component: name, version: tag, ...(node === undefined ? {} : { node }) }];
  });
}

async function readSystemConfig({ api, capabilities }: ObjectsContext, components: ComponentCollector): Promise<void> {
  capabilities.see("component-flags");
  for (const name of systemConfigMaps) {
    try {
      const item = parseObject(
        await api.read(`/api/v1/namespaces/kube-system/configmaps/${name}`, "json"),
        objectSelection,
      );
      const object = asObject(item, "v1", "ConfigMap");
      if (object !== undefined) components.add(object, { namespace: "kube-system", name });
    } catch (error) {
      if (!isMissing(error)) capabilities.skip("component-flags", `kube-system/${name}`, reasonOf(error));
    }
  }
}

function withoutObject<Entry extends { readonly object?: ObjectRef | undefined }>(entry: Entry): Omit<Entry, "object"> {
  const { object: _, ...rest } = entry;
  return rest;
}

function mergeSelections(left: Selection, right: Selection): Selection {
  const fields = new Map(left.fields);
  for (const [name, selection] of right.fields) {
    const known = fields.get(name);
    fields.set(name, known === undefined ? selection : mergeSelections(known, selection));
  }
  return { fields, rest: left.rest ?? right.rest };
}
