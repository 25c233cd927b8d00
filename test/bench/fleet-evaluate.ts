// Evaluation of one snapshot: 20,000 objects against the goal, and 1,000 to 100,000 for the growth.
import { loadEmbeddedKnowledgeBase } from "../../src/fleet/drivers/knowledge-base-files.ts";
import { evaluate } from "../../src/fleet/model/evaluate.ts";
import type { ApiUsage, Inventory, ObjectRef } from "../../src/fleet/model/inventory.ts";
import { type BenchRow, type BenchTable, createTable, interleave, type Spread } from "../support/bench.ts";

const sizes = [1_000, 5_000, 20_000, 50_000, 100_000] as const;
const goalSize = 20_000;
const goalMs = 50;
/** How much more an object may cost at 100,000 than at 20,000 before growth is no longer called linear. */
const linearFactor = 1.5;

const apis: readonly Pick<ApiUsage, "group" | "version" | "kind">[] = [
  { group: "apps", version: "v1", kind: "Deployment" },
  { group: "", version: "v1", kind: "ConfigMap" },
  { group: "policy", version: "v1beta1", kind: "PodDisruptionBudget" },
  { group: "networking.k8s.io", version: "v1", kind: "Ingress" },
  { group: "batch", version: "v1beta1", kind: "CronJob" },
  { group: "cert-manager.io", version: "v1", kind: "Certificate" },
  { group: "autoscaling", version: "v2", kind: "HorizontalPodAutoscaler" },
  { group: "autoscaling", version: "v2beta2", kind: "HorizontalPodAutoscaler" },
];

/** A cluster of `size` listed objects, a quarter of them of removed APIs, in 200 namespaces of 20 teams. */
function createInventory(size: number): Inventory {
  const perApi = Math.floor(size / apis.length);
  const apiUsage = apis.map((api, apiIndex) => {
    const objects: ObjectRef[] = [];
    const namespaces: Record<string, number> = {};
    for (let index = 0; index < perApi; index += 1) {
      const namespace = `team-${(index * 7) % 20}-${(index * 31) % 200}`;
      namespaces[namespace] = (namespaces[namespace] ?? 0) + 1;
      objects.push({ namespace, name: `object-${apiIndex}-${(index * 7919) % perApi}`, manager: "helm" });
    }
    return { ...api, count: perApi, namespaces, objects };
  });
  return {
    schemaVersion: 1,
    collectorSchema: 1,
    source: "cluster",
    serverVersion: "v1.24.9",
    provider: "other",
    capabilities: {},
    apiUsage,
    nodes: Array.from({ length: Math.ceil(size / 50) }, (_, index) => ({
      name: `node-${index}`,
      kubeletVersion: `v1.${20 + (index % 5)}.3`,
      containerRuntime: "containerd://1.7.27",
    })),
    namespaces: Array.from({ length: 4000 }, (_, index) => ({
      name: `team-${index % 20}-${Math.floor(index / 20)}`,
      team: `team-${index % 20}`,
    })),
    addOns: Array.from({ length: 20 }, (_, index) => ({
      id: index % 2 === 0 ? "cert-manager" : "istio",
      version: `1.${10 + index}.0`,
      namespaces: [`tools-${index}`],
      source: "image",
    })),
  };
}

export async function run(rounds: number): Promise<BenchTable> {
  const knowledgeBase = loadEmbeddedKnowledgeBase();
  const sides = Object.fromEntries(
    sizes.map((size) => {
      const inventory = createInventory(size);
      return [
        String(size),
        async () => {
          const start = performance.now();
          evaluate({ inventory, knowledgeBase, target: "1.25", date: "2026-11-21" });
          return performance.now() - start;
        },
      ];
    }),
  );
  const spreads = await interleave(Math.max(rounds, 9), sides);
  return createTable(
    "fleet-evaluate",
    sizes.map((size) => rowOf(size, spreads)),
  );
}

function rowOf(size: number, spreads: Readonly<Record<string, Spread>>): BenchRow {
  const ours = spreads[String(size)];
  const atGoal = spreads[String(goalSize)];
  if (ours === undefined || atGoal === undefined) throw new Error("nothing was measured");
  const row = { name: `evaluate ${size.toLocaleString("en-US")} objects`, unit: "ms", ours };
  if (size === goalSize) return { ...row, goal: `≤ ${goalMs} ms`, isReached: ours.median <= goalMs };
  if (size < goalSize) return { ...row, goal: "–" };
  const growth = ours.median / size / (atGoal.median / goalSize);
  return {
    ...row,
    goal: `linear: ≤ ${linearFactor} × per object of ${goalSize.toLocaleString("en-US")}`,
    isReached: growth <= linearFactor,
    note: `${growth.toFixed(2)} ×`,
  };
}
