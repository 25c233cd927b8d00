import type { RunningService, UpOptions, UpService } from "../platform/lifecycle/up-service.ts";
import { loadHubConfig } from "./cli/serve-command.ts";

/** The hub as a part of `slipway up`: open to this machine, embedded facts. */
export const fleetUpService: UpService = { name: "fleetscope", start: startForUp };

async function startForUp({ context, logger, addressFor }: UpOptions): Promise<RunningService> {
  const environment = { FLEETSCOPE_LISTEN: addressFor(8081), ...context.env };
  const config = loadHubConfig({ environment, flags: {}, readFile: () => "" });
  const { startHub } = await import("./start-hub.ts");
  const hub = await startHub(config, { logger, version: context.version, cwd: context.cwd });
  return {
    kind: "running",
    endpoints: [
      { label: "page, /docs, /metrics", address: hub.url },
      { label: "gate", address: `${hub.url}/api/v1/gate?target=1.36` },
    ],
    firstCommands: [
      "slipway fleetscope scan --files k8s/ --target 1.36",
      `curl --data-binary @k8s/all.yaml '${hub.url}/api/v1/gate?target=1.36'`,
    ],
    demo: (say) => runDemo(hub.url, config.readToken, say),
    close: async () => {
      await hub[Symbol.asyncDispose]();
    },
  };
}

/** A chart that was right in 2021, and the same after the work. */
const oldManifests = `apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: { name: web, namespace: shop }
spec: { minAvailable: 1, selector: { matchLabels: { app: web } } }
---
apiVersion: autoscaling/v2beta2
kind: HorizontalPodAutoscaler
metadata: { name: web, namespace: shop }
spec: { maxReplicas: 4, scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: web } }
`;
const newManifests = oldManifests
  .replace("policy/v1beta1", "policy/v1")
  .replace("autoscaling/v2beta2", "autoscaling/v2");

interface GateReport {
  readonly verdict: string;
  readonly score: number;
  readonly findings: readonly {
    readonly severity: string;
    readonly title: string;
    readonly objects: readonly { readonly line?: number }[];
  }[];
}

async function runDemo(url: string, readToken: string | undefined, say: (line: string) => void): Promise<void> {
  for (const [name, body] of [
    ["manifests of 2021", oldManifests],
    ["the same, migrated", newManifests],
  ] as const) {
    const response = await fetch(`${url}/api/v1/gate?target=1.36`, {
      method: "POST",
      headers: {
        "Content-Type": "application/x-yaml",
        ...(readToken === undefined ? {} : { Authorization: `Bearer ${readToken}` }),
      },
      body,
    });
    const report = (await response.json()) as GateReport;
    say(`${name} → Kubernetes 1.36: ${report.verdict}, score ${report.score}/100 (HTTP ${response.status})`);
    for (const { severity, title, objects } of report.findings)
      say(`  ${severity}, line ${objects[0]?.line ?? "?"}: ${title}`);
  }
}
