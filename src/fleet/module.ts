/** The fleet feature as outsiders see it. */
import { statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "../platform/cli/command.ts";
import { formatInstant, systemClock } from "../platform/time/clock.ts";
import { createKnowledgeBaseCommand } from "./cli/kb-command.ts";
import { createScanCommand, type ScanPorts } from "./cli/scan-command.ts";
import { createServeCommand, type StartHub } from "./cli/serve-command.ts";
import { createGitFiles } from "./drivers/git-files.ts";
import { loadKnowledgeBase } from "./drivers/knowledge-base-files.ts";
import { createManifestFiles } from "./drivers/manifest-files.ts";
import { readIgnoreConfig, readTeamMap } from "./drivers/scan-config-file.ts";

export { fleetUpService } from "./up-service.ts";

const scanPorts: ScanPorts = {
  loadKnowledgeBase,
  openFiles: createManifestFiles,
  openBaseline: ({ base, ...files }) => {
    const isFolder = statSync(resolve(files.cwd, base), { throwIfNoEntry: false })?.isDirectory() === true;
    if (!isFolder) return createGitFiles({ ...files, reference: base });
    const shownPaths = files.paths.filter((path) => path !== "-");
    // One path is compared with the base itself, several with their namesakes below it.
    const paths = shownPaths.length === 1 ? [base] : shownPaths.map((path) => join(base, path));
    return createManifestFiles({ ...files, paths, shownPaths });
  },
  readIgnoreConfig,
  readTeamMap,
  collectCluster: async ({ command, ...options }) => {
    const { collectLiveCluster } = await import("./drivers/kubernetes-cluster.ts");
    const { env, homeDir, signal, version } = command;
    return collectLiveCluster({ ...options, env, homeDir, signal, userAgent: `fleetscope/${version}` });
  },
  writeFile: (path, cwd, text) => writeFileSync(resolve(cwd, path), text),
  today: () => formatInstant(systemClock.nowMs()).slice(0, 10),
};

/** The hub brings its HTTP server along, which no other command needs. */
const startHub: StartHub = async (config, dependencies) =>
  (await import("./start-hub.ts")).startHub(config, dependencies);

export const fleetscopeCommand: Command = {
  name: "fleetscope",
  summary: "What breaks when Kubernetes is upgraded, in manifests, clusters and fleets",
  examples: [
    { command: "fleetscope scan --files k8s/ --target 1.36", description: "Judge a folder" },
    { command: "fleetscope serve", description: "Judge over HTTP" },
  ],
  subcommands: [createScanCommand(scanPorts), createServeCommand(startHub), createKnowledgeBaseCommand(scanPorts)],
};
