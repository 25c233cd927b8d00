import { fleetError } from "../errors.ts";
import type { Inventory } from "../model/inventory.ts";

export async function collectLiveCluster(_options: object): Promise<{ name: string; inventory: Inventory }> {
  throw fleetError("cluster_unreachable", "Cannot scan a live cluster: name manifests by --files");
}
