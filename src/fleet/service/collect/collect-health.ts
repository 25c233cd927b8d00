/** What stands in the way of an upgrade while it runs: budgets that let no pod go, webhooks and aggregated APIs that do not answer. */
import type { ManifestMap } from "../../manifests/manifest-node.ts";
import { labelsOf, textsOf } from "../../manifests/object-facts.ts";
import { type Selection, selectionOf } from "../../manifests/selection.ts";
import type { ApiService, DisruptionBudget, Webhook } from "../../model/inventory.ts";
import { type CapabilityLog, reasonOf } from "./capability-log.ts";
import { type KubernetesApi, listAll, parseObject } from "./kubernetes-api.ts";

export const maxServicesAsked = 500;

const budgetSelection: Selection = selectionOf({
  metadata: { name: "all", namespace: "all" },
  spec: {
    minAvailable: "all",
    maxUnavailable: "all",
    selector: { matchLabels: "all", matchExpressions: { key: "all" } },
  },
  status: { disruptionsAllowed: "all", expectedPods: "all", currentHealthy: "all", desiredHealthy: "all" },
});
const apiServiceSelection: Selection = selectionOf({
  metadata: { name: "all" },
  spec: { service: { name: "all" } },
  status: { conditions: { type: "all", status: "all", reason: "all", message: "all" } },
});
const sliceSelection: Selection = selectionOf({ items: { endpoints: { conditions: { ready: "all" } } } });

interface Budget {
  readonly budget: DisruptionBudget;
  readonly labels: ReadonlyMap<string, string>;
  readonly canBeFollowed: boolean;
}

/** Budgets first, then every pod is shown to them: a pod of two budgets can never be evicted. */
export class BudgetCollector {
  readonly #budgets = new Map<string, Budget[]>();
  readonly #overlaps = new Map<DisruptionBudget, Set<string>>();

  async read(api: KubernetesApi, capabilities: CapabilityLog): Promise<void> {
    capabilities.see("disruption");
    try {
      const outcome = await listAll(api, "/apis/policy/v1/poddisruptionbudgets", {
        accept: "json",
        selection: budgetSelection,
        onItem: (item) => this.#add(item),
        onRestart: () => this.#budgets.clear(),
      });
      if (outcome.kind === "partial") capabilities.skip("disruption", "policy/v1 poddisruptionbudgets", outcome.reason);
    } catch (error) {
      capabilities.miss("disruption", reasonOf(error));
    }
  }

  notePod(pod: ManifestMap): void {
    const budgets = this.#budgets.get(pod.map("metadata")?.text("namespace") ?? "");
    if (budgets === undefined || budgets.length < 2) return;
    const labels = labelsOf(pod);
    const own = budgets.filter((candidate) => candidate.canBeFollowed && covers(candidate.labels, labels));
    if (own.length < 2) return;
    for (const { budget } of own) {
      const names = this.#overlaps.get(budget) ?? new Set();
      for (const other of own) if (other.budget !== budget) names.add(other.budget.name);
      this.#overlaps.set(budget, names);
    }
  }

  budgets(): DisruptionBudget[] {
    return [...this.#budgets.values()].flat().map(({ budget }) => {
      const overlaps = this.#overlaps.get(budget);
      return overlaps === undefined ? budget : { ...budget, overlaps: [...overlaps].sort() };
    });
  }

  #add(item: ManifestMap): void {
    const [metadata, spec, status] = [item.map("metadata"), item.map("spec"), item.map("status")];
    const namespace = metadata?.text("namespace") ?? "";
    const numberOf = (name: string): number => Number(status?.text(name) ?? "0");
    const [minAvailable, maxUnavailable] = [spec?.text("minAvailable"), spec?.text("maxUnavailable")];
    const selector = spec?.map("selector");
    const budget: DisruptionBudget = {
      namespace,
      name: metadata?.text("name") ?? "",
      disruptionsAllowed: numberOf("disruptionsAllowed"),
      expectedPods: numberOf("expectedPods"),
      currentHealthy: numberOf("currentHealthy"),
      desiredHealthy: numberOf("desiredHealthy"),
      ...(minAvailable === undefined ? {} : { minAvailable }),
      ...(maxUnavailable === undefined ? {} : { maxUnavailable }),
    };
    const known = this.#budgets.get(namespace) ?? [];
    const canBeFollowed = selector !== undefined && selector.list("matchExpressions").length === 0;
    known.push({ budget, labels: textsOf(selector?.map("matchLabels")), canBeFollowed });
    this.#budgets.set(namespace, known);
  }
}

function covers(wanted: ReadonlyMap<string, string>, labels: ReadonlyMap<string, string>): boolean {
  for (const [name, value] of wanted) if (labels.get(name) !== value) return false;
  return true;
}

/** Counts the ready endpoints behind webhooks that name a service. */
export async function countEndpoints(
  api: KubernetesApi,
  webhooks: readonly Webhook[],
  capabilities: CapabilityLog,
): Promise<Webhook[]> {
  const ready = new Map<string, number>();
  const services = [...new Set(webhooks.flatMap(({ service }) => service ?? []))].sort();
  for (const service of services.slice(0, maxServicesAsked)) {
    const [namespace = "", name = ""] = service.split("/", 2);
    try {
      ready.set(service, await countReady(api, namespace, name));
    } catch (error) {
      capabilities.skip("webhooks", service, reasonOf(error));
    }
  }
  for (const service of services.slice(maxServicesAsked)) {
    capabilities.skip("webhooks", service, `only ${maxServicesAsked} services are asked for their endpoints`);
  }
  return webhooks.map((webhook) => {
    const readyEndpoints = webhook.service === undefined ? undefined : ready.get(webhook.service);
    return readyEndpoints === undefined ? webhook : { ...webhook, readyEndpoints };
  });
}

async function countReady(api: KubernetesApi, namespace: string, service: string): Promise<number> {
  const query = `labelSelector=${encodeURIComponent(`kubernetes.io/service-name=${service}`)}`;
  const path = `/apis/discovery.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/endpointslices?${query}`;
  const list = parseObject(await api.read(path, "json"), sliceSelection);
  const endpoints = list.maps("items").flatMap((slice) => slice.maps("endpoints"));
  // An endpoint that does not say so is ready.
  return endpoints.filter((endpoint) => endpoint.map("conditions")?.text("ready") !== "false").length;
}

export async function collectApiServices(api: KubernetesApi, capabilities: CapabilityLog): Promise<ApiService[]> {
  let services: ApiService[] = [];
  try {
    await listAll(api, "/apis/apiregistration.k8s.io/v1/apiservices", {
      accept: "json",
      selection: apiServiceSelection,
      onItem: (item) => {
        const service = readApiService(item);
        if (service !== undefined) services.push(service);
      },
      onRestart: () => {
        services = [];
      },
    });
  } catch (error) {
    capabilities.skip("webhooks", "apiregistration.k8s.io/v1 apiservices", reasonOf(error));
  }
  return services;
}

/** Local ones are the API server's own. */
function readApiService(item: ManifestMap): ApiService | undefined {
  const name = item.map("metadata")?.text("name");
  if (name === undefined || item.at("spec", "service") === undefined) return undefined;
  const condition = item
    .map("status")
    ?.maps("conditions")
    .find((candidate) => candidate.text("type") === "Available");
  const reason = condition?.text("message") ?? condition?.text("reason");
  return { name, available: condition?.text("status") === "True", ...(reason === undefined ? {} : { reason }) };
}
