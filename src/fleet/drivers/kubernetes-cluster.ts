/** A live cluster for `scan`: the connection of a kubeconfig and the collectors. */
import { formatInstantSeconds, systemClock } from "../../platform/time/clock.ts";
import type { Inventory } from "../model/inventory.ts";
import type { KnowledgeBase } from "../model/knowledge-base.ts";
import { collectCluster } from "../service/collect/collect-cluster.ts";
import { type ConnectionOptions, connectKubernetes } from "./kubernetes-connection.ts";

export interface LiveClusterOptions extends ConnectionOptions {
  readonly knowledgeBase: KnowledgeBase;
  readonly annotationDomain: string;
  readonly teamLabel: string;
  readonly onProgress: (note: string) => void;
}

export interface LiveCluster {
  readonly name: string;
  readonly inventory: Inventory;
}

/** @throws DomainError kubeconfig_invalid, cluster_unreachable */
export async function collectLiveCluster(options: LiveClusterOptions): Promise<LiveCluster> {
  const { knowledgeBase, annotationDomain, teamLabel, onProgress } = options;
  const api = await connectKubernetes(options);
  const inventory = await collectCluster({
    api,
    knowledgeBase,
    annotationDomain,
    teamLabel,
    formatTime: formatInstantSeconds,
    nowMs: () => systemClock.nowMs(),
    onProgress,
  });
  return { name: api.name, inventory };
}
