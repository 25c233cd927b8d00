/**
 * Golden scenarios of the engine: `test/fixtures/fleet/engine/<name>.json` is what went in, `<name>.report.json` what has
 * to come out. An input names only what differs from a healthy cluster, or from an empty stream of manifests.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadEmbeddedKnowledgeBase } from "../../../src/fleet/drivers/knowledge-base-files.ts";
import { type EvaluateInput, evaluate } from "../../../src/fleet/model/evaluate.ts";
import type { IgnoreRule } from "../../../src/fleet/model/ignore-rules.ts";
import { parseIgnoreRules } from "../../../src/fleet/model/ignore-rules.ts";
import type { CapabilityName, Inventory } from "../../../src/fleet/model/inventory.ts";
import type { KubernetesMinor } from "../../../src/fleet/model/kubernetes-minor.ts";
import type { Report } from "../../../src/fleet/model/report.ts";
import { parseTeamMap } from "../../../src/fleet/model/team-map.ts";

export const goldenFolder = join(import.meta.dirname, "..", "..", "fixtures", "fleet", "engine");

export interface Scenario {
  readonly about: string;
  readonly base: "cluster" | "manifest";
  readonly target: KubernetesMinor;
  readonly date?: string;
  readonly inventory: Partial<Inventory>;
  readonly teamMap?: unknown;
  readonly configRules?: unknown;
  readonly agentRules?: unknown;
  readonly agentVersion?: string;
}

const capabilityNames: readonly CapabilityName[] = [
  "api-usage",
  "deprecated-calls",
  "helm",
  "addons",
  "versions",
  "crds",
  "volumes",
  "webhooks",
  "disruption",
  "component-flags",
  "kubelet-config",
];

export const allCapabilities = Object.fromEntries(capabilityNames.map((name) => [name, { available: true }]));

/** A cluster of 1.35 with nothing to find in it, for a target of 1.36. */
export const healthyCluster: Inventory = {
  schemaVersion: 1,
  collectorSchema: 1,
  source: "cluster",
  clusterId: "5f7c2d3e-0000-4000-8000-000000000001",
  serverVersion: "v1.35.4",
  provider: "other",
  capabilities: allCapabilities,
  nodes: [
    {
      name: "node-1",
      kubeletVersion: "v1.35.4",
      containerRuntime: "containerd://2.3.1",
      osImage: "Ubuntu 24.04.2 LTS",
      cgroupVersion: 2,
    },
  ],
};

export const emptyStream: Inventory = {
  schemaVersion: 1,
  source: "manifest",
  capabilities: { "api-usage": { available: true } },
};

export const defaultDate = "2026-11-21";

export function listScenarios(): string[] {
  return readdirSync(goldenFolder)
    .filter((name) => name.endsWith(".json") && !name.endsWith(".report.json"))
    .map((name) => name.slice(0, -".json".length))
    .sort();
}

export function readScenario(name: string): Scenario {
  return JSON.parse(readFileSync(join(goldenFolder, `${name}.json`), "utf8")) as Scenario;
}

export function inputOf(scenario: Scenario): EvaluateInput {
  const base = scenario.base === "cluster" ? healthyCluster : emptyStream;
  return {
    inventory: withoutNulls({ ...base, ...scenario.inventory }),
    knowledgeBase: loadEmbeddedKnowledgeBase(),
    target: scenario.target,
    date: scenario.date ?? defaultDate,
    teamMap: scenario.teamMap === undefined ? undefined : parseTeamMap(scenario.teamMap).teamMap,
    ignoreRules: rulesOf(scenario),
    agentVersion: scenario.agentVersion,
  };
}

/** In a scenario `null` takes a field of the base away. */
function withoutNulls(inventory: Inventory): Inventory {
  return Object.fromEntries(Object.entries(inventory).filter(([, value]) => value !== null)) as unknown as Inventory;
}

export function evaluateScenario(name: string): Report {
  return evaluate(inputOf(readScenario(name)));
}

function rulesOf({ configRules, agentRules }: Scenario): IgnoreRule[] {
  return [
    ...(configRules === undefined ? [] : parseIgnoreRules(configRules, "config")),
    ...(agentRules === undefined ? [] : parseIgnoreRules(agentRules, "agent")),
  ];
}
