/** Pods and what makes them: images, add-ons, registries, in-tree volumes, node selection, flags of the control plane. */
import { createImageRecognizer, type ImageRecognizer, registryOf } from "../../model/image-recognition.ts";
import type { AddOnUsage, ComponentFlags, Inventory, ObjectRef } from "../../model/inventory.ts";
import type { KnowledgeBase } from "../../model/knowledge-base.ts";
import type { ManifestMap } from "../manifest-node.ts";
import type { ManifestObject } from "../manifest-object.ts";
import {
  type ContainerFacts,
  containersOf,
  labelsOf,
  parseFeatureGates,
  parseFlags,
  podSpecificationsOf,
  selectsMasterNodes,
  volumeSourcesOf,
} from "../object-facts.ts";
import type { Collector } from "./collector.ts";
import { UsageTally } from "./usage-tally.ts";

export const maxUnrecognizedImages = 200;

const controlPlaneComponents = new Set([
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "cloud-controller-manager",
  "kube-proxy",
]);
const systemNamespace = "kube-system";
const workloadKinds = new Set(["Deployment", "DaemonSet", "StatefulSet"]);

/** Controllers of ingress classes that belong to a known add-on. */
const addOnOfIngressController = new Map([
  ["k8s.io/ingress-nginx", "ingress-nginx"],
  ["traefik.io/ingress-controller", "traefik"],
  ["haproxy-ingress.github.io/controller", "haproxy-ingress"],
]);

export class WorkloadCollector implements Collector {
  readonly #recognizer: ImageRecognizer;
  readonly #addOnOfLabel = new Map<string, string>();
  readonly #knownAddOns: ReadonlySet<string>;
  readonly #volumePlugins: ReadonlySet<string>;
  readonly #pluginOfProvisioner = new Map<string, string>();
  readonly #frozenRegistries: ReadonlySet<string>;
  readonly #addOns = new Map<string, { usage: Omit<AddOnUsage, "namespaces" | "objects">; refs: Set<ObjectRef> }>();
  readonly #ingressAddOns = new Map<string, ObjectRef[]>();
  readonly #volumes: UsageTally;
  readonly #provisioners: UsageTally;
  readonly #registries: UsageTally;
  readonly #masterSelectors: UsageTally;
  readonly #flags: ComponentFlags[] = [];
  readonly #unrecognized = new Set<string>();

  /** @param maxObjects most objects that a usage lists */
  constructor(knowledgeBase: KnowledgeBase, maxObjects: number = Number.POSITIVE_INFINITY) {
    this.#volumes = new UsageTally(maxObjects);
    this.#provisioners = new UsageTally(maxObjects);
    this.#registries = new UsageTally(maxObjects);
    this.#masterSelectors = new UsageTally(maxObjects);
    this.#recognizer = createImageRecognizer(knowledgeBase);
    this.#knownAddOns = new Set(knowledgeBase.addOns.map(({ id }) => id));
    for (const { id, match } of knowledgeBase.addOns)
      for (const label of match.labels) this.#addOnOfLabel.set(label, id);
    const volumePlugins = new Set<string>();
    const frozenRegistries = new Set<string>();
    for (const fact of knowledgeBase.facts) {
      if (fact.kind === "image-registry") frozenRegistries.add(fact.name);
      if (fact.kind !== "volume-plugin") continue;
      volumePlugins.add(fact.name);
      if (fact.provisioner !== undefined) this.#pluginOfProvisioner.set(fact.provisioner, fact.name);
    }
    this.#volumePlugins = volumePlugins;
    this.#frozenRegistries = frozenRegistries;
  }

  add(object: ManifestObject, ref: ObjectRef): void {
    const { group, kind, root } = object;
    if (group === "" && kind === "PersistentVolume") this.#addVolumes(root.map("spec")?.fields.keys() ?? [], ref);
    if (group === "storage.k8s.io" && kind === "StorageClass") this.#addProvisioner(root.text("provisioner"), ref);
    if (kind === "IngressClass") this.#addIngressClass(root.map("spec")?.text("controller"), ref);
    let recognized = 0;
    for (const { spec } of podSpecificationsOf(object)) recognized += this.#addPod(object, spec, ref);
    if (recognized === 0 && workloadKinds.has(kind)) this.#addByLabel(root, ref);
  }

  contribute(): Partial<Inventory> {
    const images = [...this.#unrecognized].sort();
    return {
      addOns: this.#listAddOns(),
      componentFlags: this.#flags,
      volumePlugins: [
        ...this.#volumes.usages((plugin) => ({ plugin, provisioner: false })),
        ...this.#provisioners.usages((plugin) => ({ plugin, provisioner: true })),
      ],
      registries: this.#registries.usages((registry) => ({ registry })),
      fieldUsage: this.#masterSelectors.usages(() => ({ field: "node-role-master" as const })),
      unrecognizedImages: images.slice(0, maxUnrecognizedImages),
      unrecognizedImagesOmitted: Math.max(0, images.length - maxUnrecognizedImages),
    };
  }

  /** Answers how many of its images are known add-ons. */
  #addPod(object: ManifestObject, spec: ManifestMap, ref: ObjectRef): number {
    let recognized = 0;
    const registries = new Set<string>();
    for (const container of containersOf(spec)) {
      if (this.#addImage(container.image, object, ref)) recognized += 1;
      const registry = container.image === "" ? undefined : registryOf(container.image);
      if (registry !== undefined && this.#frozenRegistries.has(registry)) registries.add(registry);
      this.#addFlags(object, container, ref);
    }
    for (const registry of registries) this.#registries.add(registry, ref);
    this.#addVolumes(volumeSourcesOf(spec), ref);
    if (selectsMasterNodes(spec)) this.#masterSelectors.add("node-role-master", ref);
    return recognized;
  }

  #addImage(image: string, { root }: ManifestObject, ref: ObjectRef): boolean {
    if (image === "") return false;
    const found = this.#recognizer.recognize(image);
    if (found === undefined) {
      const name = nameOfImage(image);
      if (name !== "") this.#unrecognized.add(name);
      return false;
    }
    this.#addAddOn({ id: found.id, version: found.version, source: "image", ...chartVersionOf(root) }, ref);
    return true;
  }

  /** Images behind mirrors with names of their own still carry the label of their chart. */
  #addByLabel(root: ManifestMap, ref: ObjectRef): void {
    const labels = labelsOf(root);
    const id = this.#addOnOfLabel.get(labels.get("app.kubernetes.io/name") ?? "");
    if (id === undefined) return;
    const version = (labels.get("app.kubernetes.io/version") ?? "").replace(/^v(?=\d)/, "");
    this.#addAddOn({ id, version, source: "labels", ...chartVersionOf(root) }, ref);
  }

  #addAddOn(usage: Omit<AddOnUsage, "namespaces" | "objects">, ref: ObjectRef): void {
    const key = `${usage.id}\0${usage.version}\0${usage.source}\0${usage.chartVersion ?? ""}`;
    const known = this.#addOns.get(key);
    if (known === undefined) this.#addOns.set(key, { usage, refs: new Set([ref]) });
    else known.refs.add(ref);
  }

  #addIngressClass(controller: string | undefined, ref: ObjectRef): void {
    const id = controller === undefined ? undefined : addOnOfIngressController.get(controller);
    if (id === undefined || !this.#knownAddOns.has(id)) return;
    this.#ingressAddOns.set(id, [...(this.#ingressAddOns.get(id) ?? []), ref]);
  }

  #listAddOns(): AddOnUsage[] {
    const addOns = [...this.#addOns.values()].map(({ usage, refs }) => withPlaces(usage, [...refs]));
    const shown = new Set(addOns.map(({ id }) => id));
    for (const [id, refs] of this.#ingressAddOns) {
      if (!shown.has(id)) addOns.push(withPlaces({ id, version: "", source: "ingressclass" }, refs));
    }
    return addOns;
  }

  #addVolumes(fields: Iterable<string>, ref: ObjectRef): void {
    const plugins = new Set([...fields].filter((field) => this.#volumePlugins.has(field)));
    for (const plugin of plugins) this.#volumes.add(plugin, ref);
  }

  #addProvisioner(provisioner: string | undefined, ref: ObjectRef): void {
    const plugin = provisioner === undefined ? undefined : this.#pluginOfProvisioner.get(provisioner);
    if (plugin !== undefined) this.#provisioners.add(plugin, ref);
  }

  #addFlags({ kind, namespace, root }: ManifestObject, { name, words }: ContainerFacts, ref: ObjectRef): void {
    if (!controlPlaneComponents.has(name) || namespace !== systemNamespace) return;
    if (kind !== "Pod" && kind !== "DaemonSet") return;
    const flags = parseFlags(words);
    if (Object.keys(flags).length === 0) return;
    const node = root.map("spec")?.text("nodeName");
    const { "--feature-gates": gates, ...others } = flags;
    this.#flags.push({
      component: name,
      object: ref,
      ...(node === undefined ? {} : { node }),
      flags: others,
      featureGates: parseFeatureGates(gates),
    });
  }
}

function withPlaces(usage: Omit<AddOnUsage, "namespaces" | "objects">, refs: readonly ObjectRef[]): AddOnUsage {
  const namespaces = [...new Set(refs.map((ref) => ref.namespace ?? ""))]
    .filter((namespace) => namespace !== "")
    .sort();
  return { ...usage, namespaces, objects: refs };
}

/** `helm.sh/chart: cert-manager-v1.14.2` → 1.14.2 */
function chartVersionOf(root: ManifestMap): { readonly chartVersion?: string } {
  const chart = labelsOf(root).get("helm.sh/chart");
  const version = chart === undefined ? undefined : /-v?(\d+\.\d+\.\d+\S*)$/.exec(chart)?.[1];
  return version === undefined ? {} : { chartVersion: version };
}

function nameOfImage(image: string): string {
  return image.replace(/@.*$/, "").replace(/:[^/:]*$/, "");
}
