/**
 * A live cluster → inventory, as `scan` and the agent read it: GET and list only, metadata only where that is enough,
 * one request after the other. Whatever cannot be read becomes a capability that says so; only an API server that does
 * not answer at all is an error.
 */
import { fleetError } from "../../errors.ts";
import type { ManifestMap } from "../../manifests/manifest-node.ts";
import { annotationsOf, labelsOf } from "../../manifests/object-facts.ts";
import { everything, type Selection, selectionOf } from "../../manifests/selection.ts";
import type { Inventory, NamespaceInfo, ObjectRef, Provider } from "../../model/inventory.ts";
import type { KnowledgeBase } from "../../model/knowledge-base.ts";
import { minorOfVersion } from "../../model/kubernetes-minor.ts";
import { CapabilityLog, reasonOf } from "./capability-log.ts";
import { collectApiUsage } from "./collect-api-usage.ts";
import { collectCrdUsage } from "./collect-crd-usage.ts";
import { BudgetCollector, collectApiServices, countEndpoints } from "./collect-health.ts";
import { collectHelm } from "./collect-helm.ts";
import { parseServerMetrics, type ServerMetrics } from "./collect-metrics.ts";
import { collectNodes, providerOfVersion } from "./collect-nodes.ts";
import { collectObjects } from "./collect-objects.ts";
import { discover } from "./discovery.ts";
import { type KubernetesApi, KubernetesRequestError, listAll, parseObject } from "./kubernetes-api.ts";

export interface CollectClusterOptions {
  readonly api: KubernetesApi;
  readonly knowledgeBase: KnowledgeBase;
  readonly annotationDomain: string;
  readonly teamLabel: string;
  /** RFC 3339 of an instant in milliseconds since the epoch. */
  readonly formatTime: (epochMs: number) => string;
  readonly nowMs: () => number;
  readonly onProgress?: (note: string) => void;
}

/** Longest texts of annotations that are sent on. */
export const maxIgnoreLength = 16 * 1024;
const namespaceSelection: Selection = selectionOf({ metadata: { name: "all", uid: "all", labels: "all" } });
const systemNamespace = "kube-system";

/** @throws DomainError cluster_unreachable */
export async function collectCluster(options: CollectClusterOptions): Promise<Inventory> {
  const { api, knowledgeBase, onProgress = () => {} } = options;
  const capabilities = new CapabilityLog();
  const refOf = createRefs(options.annotationDomain);
  const common = { api, knowledgeBase, capabilities, refOf, onProgress };
  onProgress("version");
  const serverVersion = await readVersion(api);
  const { clusterId, namespaces } = await readNamespaces(options);
  onProgress("nodes");
  const { nodes, provider } = await collectNodes(api, capabilities);
  const budgets = new BudgetCollector();
  await budgets.read(api, capabilities);
  const objects = await collectObjects({ ...common, onPod: (pod) => budgets.notePod(pod) });
  const { controlPlane = [], crds = [], webhooks = [], componentFlags = [], ...others } = objects;
  if (componentFlags.every(({ component }) => component !== "kube-apiserver")) {
    capabilities.miss("component-flags", "no pods of the control plane are visible");
  }
  onProgress("Helm releases");
  const helmReleases = await collectHelm(api, capabilities);
  const usage = await readApiUsage(common, serverVersion);
  const metrics = await readMetrics(api, capabilities);
  const apiServices = await collectApiServices(api, capabilities);
  const found = provider ?? providerOfVersion(serverVersion) ?? ("other" satisfies Provider);
  return {
    schemaVersion: 1,
    collectorSchema: 1,
    source: "cluster",
    clusterId,
    collectedAt: options.formatTime(options.nowMs()),
    serverVersion,
    provider: found,
    ...others,
    ...usage,
    namespaces,
    nodes,
    controlPlane,
    componentFlags,
    crds: await collectCrdUsage(common, crds),
    helmReleases,
    webhooks: await countEndpoints(api, webhooks, capabilities),
    apiServices,
    disruption: budgets.budgets(),
    deprecatedCalls: metrics.deprecatedCalls,
    ...(metrics.startedAtSeconds === undefined
      ? {}
      : { apiServerStartTime: options.formatTime(metrics.startedAtSeconds * 1000) }),
    capabilities: capabilities.capabilities(),
  };
}

/** Without its version nothing of a cluster can be judged. */
async function readVersion(api: KubernetesApi): Promise<string> {
  try {
    const version = parseObject(await api.read("/version", "json"), everything).text("gitVersion");
    if (version !== undefined) return version;
  } catch (error) {
    if (!(error instanceof KubernetesRequestError)) throw error;
    throw fleetError("cluster_unreachable", `Cannot read the cluster "${api.name}": ${reasonOf(error)}`, {
      cause: error,
    });
  }
  throw fleetError(
    "cluster_unreachable",
    `Cannot read the cluster "${api.name}": its API server does not tell its version`,
  );
}

async function readNamespaces({
  api,
  teamLabel,
}: CollectClusterOptions): Promise<{ clusterId: string; namespaces: NamespaceInfo[] }> {
  let namespaces: NamespaceInfo[] = [];
  let clusterId = "";
  try {
    await listAll(api, "/api/v1/namespaces", {
      accept: "metadata",
      selection: namespaceSelection,
      onItem: (item) => {
        const metadata = item.map("metadata");
        const name = metadata?.text("name");
        if (name === undefined) return;
        if (name === systemNamespace) clusterId = metadata?.text("uid") ?? "";
        const team = labelsOf(item).get(teamLabel);
        namespaces.push(team === undefined || team === "" ? { name } : { name, team });
      },
      onRestart: () => {
        namespaces = [];
      },
    });
  } catch (error) {
    if (!(error instanceof KubernetesRequestError)) throw error;
    // Credentials that may not even list namespaces are no reason to fail: teams stay unknown.
  }
  return { clusterId, namespaces };
}

type ApiUsageParts = Pick<Inventory, "apiUsage" | "apiAuthorshipUnknown">;

async function readApiUsage(
  common: Pick<
    Parameters<typeof collectApiUsage>[0],
    "api" | "knowledgeBase" | "capabilities" | "refOf" | "onProgress"
  >,
  serverVersion: string,
): Promise<ApiUsageParts> {
  const serverMinor = minorOfVersion(serverVersion);
  if (serverMinor === undefined) {
    common.capabilities.miss("api-usage", `"${serverVersion}" is no version of Kubernetes`);
    return {};
  }
  try {
    const discovery = await discover(common.api);
    return await collectApiUsage({ ...common, discovery, serverMinor });
  } catch (error) {
    common.capabilities.miss("api-usage", reasonOf(error));
    return {};
  }
}

async function readMetrics(api: KubernetesApi, capabilities: CapabilityLog): Promise<ServerMetrics> {
  capabilities.see("deprecated-calls");
  try {
    return parseServerMetrics(await api.read("/metrics", "text"));
  } catch (error) {
    capabilities.miss("deprecated-calls", reasonOf(error));
    return { deprecatedCalls: [], startedAtSeconds: undefined };
  }
}

function createRefs(annotationDomain: string): (object: ManifestMap) => ObjectRef {
  return (object) => {
    const metadata = object.map("metadata");
    const annotations = annotationsOf(object);
    const namespace = metadata?.text("namespace");
    const ignore = annotations.get(`${annotationDomain}/ignore`);
    const reason = annotations.get(`${annotationDomain}/ignore-reason`);
    return {
      ...(namespace === undefined || namespace === "" ? {} : { namespace }),
      name: metadata?.text("name") ?? "",
      ...(ignore === undefined ? {} : { ignore: cutTokens(ignore) }),
      ...(reason === undefined ? {} : { ignoreReason: reason.slice(0, maxIgnoreLength) }),
    };
  };
}

/** Half a token would accept something else. */
function cutTokens(text: string): string {
  if (text.length <= maxIgnoreLength) return text;
  return text.slice(0, maxIgnoreLength).replace(/[^\s,]*$/, "");
}
