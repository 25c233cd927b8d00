import type { ManifestMap } from "../../manifests/manifest-node.ts";
import { labelsOf } from "../../manifests/object-facts.ts";
import { type Selection, selectionOf } from "../../manifests/selection.ts";
import type { NodeInfo, Provider } from "../../model/inventory.ts";
import { type CapabilityLog, reasonOf } from "./capability-log.ts";
import { type KubernetesApi, listAll } from "./kubernetes-api.ts";

const nodeSelection: Selection = selectionOf({
  metadata: { name: "all", labels: "all" },
  spec: { providerID: "all" },
  status: { nodeInfo: { kubeletVersion: "all", containerRuntimeVersion: "all", osImage: "all", kernelVersion: "all" } },
});

export interface CollectedNodes {
  readonly nodes: readonly NodeInfo[];
  /** As the nodes tell it; the server's version may tell it too. */
  readonly provider: Provider | undefined;
}

export async function collectNodes(api: KubernetesApi, capabilities: CapabilityLog): Promise<CollectedNodes> {
  capabilities.see("versions");
  let nodes: NodeInfo[] = [];
  let provider: Provider | undefined;
  try {
    const outcome = await listAll(api, "/api/v1/nodes", {
      accept: "json",
      selection: nodeSelection,
      onItem: (item) => {
        nodes.push(readNode(item));
        provider ??= providerOfNode(item);
      },
      onRestart: () => {
        nodes = [];
      },
    });
    if (outcome.kind === "partial") capabilities.skip("versions", "nodes", outcome.reason);
  } catch (error) {
    capabilities.skip("versions", "nodes", reasonOf(error));
  }
  return { nodes, provider };
}

function readNode(item: ManifestMap): NodeInfo {
  const info = item.at("status", "nodeInfo");
  const optional = {
    containerRuntime: info?.text("containerRuntimeVersion"),
    osImage: info?.text("osImage"),
    kernelVersion: info?.text("kernelVersion"),
  };
  return {
    name: item.map("metadata")?.text("name") ?? "",
    kubeletVersion: info?.text("kubeletVersion") ?? "",
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined && value !== "")),
  };
}

function providerOfNode(item: ManifestMap): Provider | undefined {
  const labels = labelsOf(item);
  if (labels.has("eks.amazonaws.com/nodegroup") || labels.has("eks.amazonaws.com/compute-type")) return "eks";
  if (labels.has("cloud.google.com/gke-nodepool")) return "gke";
  return labels.has("kubernetes.azure.com/cluster") ? "aks" : undefined;
}

/** `v1.34.2-eks-3abc`, `v1.33.1-gke.100`. */
export function providerOfVersion(version: string): Provider | undefined {
  if (version.includes("-eks-")) return "eks";
  return version.includes("-gke.") ? "gke" : undefined;
}
