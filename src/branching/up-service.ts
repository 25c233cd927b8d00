import { isDomainError } from "../platform/errors/domain-error.ts";
import type { RunningService, SkippedService, UpOptions, UpService } from "../platform/lifecycle/up-service.ts";
import { randomBase62, systemRandom } from "../platform/random/random.ts";
import { loadDaemonConfig } from "./daemon-config.ts";
import type { Daemon } from "./start-daemon.ts";

/** The branching daemon as a part of `slipway up`; skipped where no container engine answers. */
export const branchingUpService: UpService = { name: "bsd", start: startForUp };

const tokenLength = 32;

async function startForUp(options: UpOptions): Promise<RunningService | SkippedService> {
  const { context, dataDir, logger, addressFor } = options;
  const token = context.env["BRANCHSVC_TOKEN"] ?? randomBase62(systemRandom, tokenLength);
  const environment = {
    BRANCHSVC_HOME: dataDir,
    BRANCHSVC_API_ADDR: addressFor(7070),
    BRANCHSVC_PG_ADDR: addressFor(6432),
    ...context.env,
    BRANCHSVC_TOKEN: token,
  };
  const config = loadDaemonConfig({ environment, flags: {}, readFile: () => "" });
  const { startDaemon } = await import("./start-daemon.ts");
  let daemon: Daemon;
  try {
    daemon = await startDaemon(config, { logger, version: context.version, environment, userHome: context.homeDir });
    await daemon.engine.describeRuntime();
  } catch (error) {
    if (!isDomainError(error) || error.code !== "runtime_unreachable") throw error;
    return { kind: "skipped", reason: `${error.message}; start a Docker engine or set DOCKER_HOST` };
  }
  return {
    kind: "running",
    endpoints: [
      { label: "API, /ui/, /docs, /metrics", address: daemon.apiUrl },
      { label: "Postgres router, <database>@<branch>", address: daemon.routerAddress },
    ],
    firstCommands: [
      `open ${daemon.apiUrl}/ui/   # token: ${token}`,
      `curl -H 'Authorization: Bearer ${token}' ${daemon.apiUrl}/v1/branches`,
    ],
    demo: async (say) =>
      (await import("./demo.ts")).runBranchDemo({ daemon, token, environment, userHome: context.homeDir, say }),
    close: () => daemon.close(),
  };
}
