/** Webhooks, services, namespaces and charts that GitOps tools install. */
import type { GitopsChart, Inventory, NamespaceInfo, ObjectRef, Webhook } from "../../model/inventory.ts";
import type { ManifestMap } from "../manifest-node.ts";
import type { ManifestObject } from "../manifest-object.ts";
import { labelsOf } from "../object-facts.ts";
import type { Collector } from "./collector.ts";
import { UsageTally } from "./usage-tally.ts";

export class WebhookCollector implements Collector {
  readonly #webhooks: Webhook[] = [];

  add({ group, version, kind, name, root }: ManifestObject, ref: ObjectRef): void {
    if (group !== "admissionregistration.k8s.io") return;
    const type =
      kind === "ValidatingWebhookConfiguration"
        ? "Validating"
        : kind === "MutatingWebhookConfiguration"
          ? "Mutating"
          : undefined;
    if (type === undefined) return;
    for (const webhook of root.maps("webhooks"))
      this.#webhooks.push(readWebhook({ kind: type, name, object: ref }, webhook, version));
  }

  contribute(): Partial<Inventory> {
    return { webhooks: this.#webhooks };
  }
}

function readWebhook(owner: Pick<Webhook, "kind" | "name" | "object">, webhook: ManifestMap, version: string): Webhook {
  const service = webhook.at("clientConfig", "service");
  const serviceName = service?.text("name");
  const own = webhook.text("name");
  const timeout = Number(webhook.text("timeoutSeconds") ?? "10");
  // v1beta1 had the laxer defaults.
  const policy = webhook.text("failurePolicy") ?? (version === "v1" ? "Fail" : "Ignore");
  const match = webhook.text("matchPolicy") ?? (version === "v1" ? "Equivalent" : "Exact");
  return {
    ...owner,
    ...(own === undefined ? {} : { webhook: own }),
    failurePolicy: policy === "Ignore" ? "Ignore" : "Fail",
    matchPolicy: match === "Exact" ? "Exact" : "Equivalent",
    timeoutSeconds: Number.isFinite(timeout) ? timeout : 10,
    matchesAll: coversNodesOrPods(webhook),
    rules: rulesOf(webhook),
    ...(serviceName === undefined ? {} : { service: `${service?.text("namespace") ?? ""}/${serviceName}` }),
  };
}

const wideResources = new Set(["*", "*/*", "pods", "nodes"]);

/** True when requests for pods or nodes of any namespace reach it. */
function coversNodesOrPods(webhook: ManifestMap): boolean {
  if (isNarrowed(webhook.map("namespaceSelector")) || isNarrowed(webhook.map("objectSelector"))) return false;
  return webhook.maps("rules").some((rule) => {
    const groups = rule.texts("apiGroups");
    return (
      (groups.includes("*") || groups.includes("")) &&
      rule.texts("resources").some((resource) => wideResources.has(resource))
    );
  });
}

function isNarrowed(selector: ManifestMap | undefined): boolean {
  return selector !== undefined && [...selector.fields.values()].some((value) => value !== null);
}

function rulesOf(webhook: ManifestMap): string[] {
  return webhook
    .maps("rules")
    .flatMap((rule) =>
      rule
        .texts("apiGroups")
        .flatMap((group) =>
          rule
            .texts("apiVersions")
            .flatMap((version) => rule.texts("resources").map((resource) => `${group}/${version}/${resource}`)),
        ),
    );
}

export class ServiceCollector implements Collector {
  readonly #usage = new UsageTally();

  add({ group, kind, root }: ManifestObject, ref: ObjectRef): void {
    if (group !== "" || kind !== "Service") return;
    if ((root.map("spec")?.texts("externalIPs") ?? []).length > 0) this.#usage.add("service-externalips", ref);
  }

  contribute(): Partial<Inventory> {
    return { fieldUsage: this.#usage.usages(() => ({ field: "service-externalips" as const })) };
  }
}

export class NamespaceCollector implements Collector {
  readonly #teamLabel: string;
  readonly #namespaces = new Map<string, NamespaceInfo>();

  constructor(teamLabel: string) {
    this.#teamLabel = teamLabel;
  }

  add({ group, kind, name, root }: ManifestObject): void {
    if (group !== "" || kind !== "Namespace" || name === "") return;
    const team = labelsOf(root).get(this.#teamLabel);
    this.#namespaces.set(name, team === undefined || team === "" ? { name } : { name, team });
  }

  contribute(): Partial<Inventory> {
    return { namespaces: [...this.#namespaces.values()] };
  }
}

export class GitopsCollector implements Collector {
  readonly #charts: GitopsChart[] = [];

  add(object: ManifestObject, ref: ObjectRef): void {
    const { group, kind, root } = object;
    const spec = root.map("spec");
    if (spec === undefined) return;
    if (group === "argoproj.io" && kind === "Application") this.#addArgo(object, spec, ref);
    else if (group === "helm.toolkit.fluxcd.io" && kind === "HelmRelease") {
      const chart = spec.at("chart", "spec");
      this.#add(object, {
        tool: "flux",
        chart: chart?.text("chart"),
        version: chart?.text("version"),
        target: spec.text("targetNamespace"),
        ref,
      });
    } else if (group === "helm.cattle.io" && kind === "HelmChart") {
      this.#add(object, {
        tool: "k3s",
        chart: spec.text("chart"),
        version: spec.text("version"),
        repo: spec.text("repo"),
        target: spec.text("targetNamespace"),
        ref,
      });
    }
  }

  contribute(): Partial<Inventory> {
    return { gitopsCharts: this.#charts };
  }

  #addArgo(object: ManifestObject, spec: ManifestMap, ref: ObjectRef): void {
    const target = spec.map("destination")?.text("namespace");
    const single = spec.map("source");
    for (const source of single === undefined ? spec.maps("sources") : [single]) {
      const version = source.text("targetRevision");
      this.#add(object, {
        tool: "argocd",
        chart: source.text("chart"),
        version,
        repo: source.text("repoURL"),
        target,
        ref,
      });
    }
  }

  #add({ name, namespace }: ManifestObject, found: FoundChart): void {
    if (found.chart === undefined || found.chart === "") return;
    const { tool, version, repo, target } = found;
    // A chart reference may be a URL or a path; its last part is the name.
    const chart = found.chart.split("/").at(-1) ?? found.chart;
    this.#charts.push({
      tool,
      name,
      namespace,
      object: found.ref,
      chart,
      ...(target === undefined ? {} : { target }),
      ...(version === undefined ? {} : { version }),
      ...(repo === undefined ? {} : { repo }),
    });
  }
}

interface FoundChart {
  readonly tool: string;
  readonly chart: string | undefined;
  readonly version: string | undefined;
  readonly repo?: string | undefined;
  readonly target: string | undefined;
  readonly ref: ObjectRef;
}
