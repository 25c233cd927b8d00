/**
 * Objects of any number of streams → one inventory, the same shape that an agent pushes. What manifests cannot tell is
 * left out and named among the capabilities.
 */
import type { Capability, Inventory, ObjectRef } from "../model/inventory.ts";
import type { KnowledgeBase } from "../model/knowledge-base.ts";
import { ApiCollector } from "./collect/collect-apis.ts";
import {
  GitopsCollector,
  NamespaceCollector,
  ServiceCollector,
  WebhookCollector,
} from "./collect/collect-cluster-config.ts";
import { ComponentCollector } from "./collect/collect-components.ts";
import { CrdCollector } from "./collect/collect-crds.ts";
import { DisruptionCollector } from "./collect/collect-disruption.ts";
import { WorkloadCollector } from "./collect/collect-workloads.ts";
import type { Collector } from "./collect/collector.ts";
import { detached } from "./manifest-node.ts";
import type { ManifestObject } from "./manifest-object.ts";
import type { ManifestOrigin } from "./manifest-reader.ts";
import { annotationsOf } from "./object-facts.ts";

export interface InventoryBuilderOptions {
  readonly knowledgeBase: KnowledgeBase;
  /** Prefix of the annotations that accept findings. */
  readonly annotationDomain: string;
  /** Label of a namespace that names its team. */
  readonly teamLabel: string;
}

export const defaultAnnotationDomain = "fleetscope.dev";
export const defaultTeamLabel = "team";
/** Longest text of an annotation that accepts findings, in UTF-16 units. */
export const maxIgnoreReasonLength = 256 * 1024;

const notInManifests: Readonly<Record<string, string>> = {
  versions: "Manifests do not tell the versions of nodes and components",
  "deprecated-calls": "Manifests do not tell which clients call a deprecated API",
  helm: "Manifests do not tell which Helm releases are installed",
};

export class InventoryBuilder {
  readonly #options: InventoryBuilderOptions;
  readonly #collectors: readonly Collector[];
  readonly #texts = new Map<string, string>();
  #objectCount = 0;

  constructor(options: InventoryBuilderOptions) {
    this.#options = options;
    this.#collectors = [
      new ApiCollector(),
      new WorkloadCollector(options.knowledgeBase),
      new CrdCollector(),
      new WebhookCollector(),
      new ServiceCollector(),
      new NamespaceCollector(options.teamLabel),
      new GitopsCollector(),
      new DisruptionCollector(),
      new ComponentCollector(),
    ];
  }

  get objectCount(): number {
    return this.#objectCount;
  }

  add(object: ManifestObject, origin: ManifestOrigin): void {
    this.#objectCount += 1;
    const ref = this.#referTo(object, origin);
    const known = { ...object, namespace: ref.namespace ?? "", name: ref.name };
    for (const collector of this.#collectors) collector.add(known, ref);
  }

  build(): Inventory {
    const parts = this.#collectors.map((collector) => collector.contribute());
    const capabilities: Record<string, Capability> = { "api-usage": { available: true } };
    for (const [name, reason] of Object.entries(notInManifests)) capabilities[name] = { available: false, reason };
    return {
      ...Object.assign({}, ...parts),
      schemaVersion: 1,
      source: "manifest",
      capabilities,
      // More than one collector speaks of these.
      fieldUsage: parts.flatMap((part) => part.fieldUsage ?? []),
      webhooks: parts.flatMap((part) => part.webhooks ?? []),
      componentFlags: parts.flatMap((part) => part.componentFlags ?? []),
    };
  }

  #referTo({ namespace, name, line, root }: ManifestObject, { file, renderedFrom }: ManifestOrigin): ObjectRef {
    const annotations = annotationsOf(root);
    const ignore = annotations.get(`${this.#options.annotationDomain}/ignore`);
    const reason = annotations.get(`${this.#options.annotationDomain}/ignore-reason`);
    return {
      ...(namespace === "" ? {} : { namespace: this.#shared(namespace) }),
      name,
      file: this.#shared(file),
      line,
      ...(renderedFrom === undefined ? {} : { renderedFrom: this.#shared(renderedFrom) }),
      ...(ignore === undefined ? {} : { ignore }),
      ...(reason === undefined ? {} : { ignoreReason: reason.slice(0, maxIgnoreReasonLength) }),
    };
  }

  /** One copy of a text that comes up again and again. */
  #shared(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const copy = detached(text);
    this.#texts.set(copy, copy);
    return copy;
  }
}
