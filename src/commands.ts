import type { CliOptions, CommandEntry } from "./platform/cli/run-cli.ts";
import type { ServiceTable } from "./up/module.ts";

export const programName = "slipway";

/** What `slipway up` starts, in this order. */
const upServices: ServiceTable = {
  queue: async () => (await import("./queue/module.ts")).queueUpService,
  bsd: async () => (await import("./branching/module.ts")).branchingUpService,
  fleetscope: async () => (await import("./fleet/module.ts")).fleetUpService,
};

/** Command name → summary and lazy import; a feature is loaded only when one of its commands runs. */
const table: readonly CommandEntry[] = [
  {
    name: "up",
    summary: "Start every server on loopback with embedded defaults",
    isCallName: false,
    load: async () => (await import("./up/module.ts")).createUpCommand(upServices),
  },
  {
    name: "queue",
    summary: "Message broker: topics, groups, retries, dead letters, delays",
    isCallName: false,
    load: async () => (await import("./queue/module.ts")).queueCommand,
  },
  {
    name: "bsctl",
    summary: "Copy-on-write Postgres branches: sources, branches, diffs, repair",
    isCallName: true,
    load: async () => (await import("./branching/module.ts")).bsctlCommand,
  },
  {
    name: "bsd",
    summary: "Run the branching daemon: API, connection router, reconcile loop, web page",
    isCallName: true,
    load: async () => (await import("./branching/module.ts")).bsdCommand,
  },
  {
    name: "fleetscope",
    summary: "What breaks when Kubernetes manifests or clusters move to the next minor",
    isCallName: true,
    load: async () => (await import("./fleet/module.ts")).fleetscopeCommand,
  },
  {
    name: "catalog",
    summary: "Sample HTTP service: a few books, health and metrics",
    isCallName: true,
    load: async () => (await import("./catalog/module.ts")).catalogCommand,
  },
  {
    name: "config",
    summary: "Check the configuration of a command",
    isCallName: false,
    load: async () => (await import("./platform/cli/config-command.ts")).createConfigCommand(() => table),
  },
  {
    name: "completion",
    summary: "Print a completion script for bash, zsh or fish",
    isCallName: false,
    load: async () => (await import("./platform/cli/completion.ts")).createCompletionCommand(programName, () => table),
  },
];

export const cliOptions: CliOptions = {
  programName,
  table,
  banner: "slipway: a message broker, Postgres branches and a fleet upgrade scanner in one executable",
  examples: [
    { command: "slipway up", description: "Start every server on loopback with embedded defaults" },
    { command: "slipway queue serve", description: "Start the message broker on 127.0.0.1:8080 and :9000" },
    {
      command: "slipway bsctl branch create pr-7 --from shop",
      description: "A Postgres branch in well under a second",
    },
    { command: "slipway fleetscope scan --files k8s/ --target 1.36", description: "What breaks at the next minor" },
  ],
};
