import type { Command } from "../../platform/cli/command.ts";
import { branchCommand } from "./branch-commands.ts";
import { connectCommand, diffCommand, historyCommand, versionCommand } from "./inspect-commands.ts";
import { doctorCommand, gcCommand } from "./reconcile-commands.ts";
import { sourceCommand } from "./source-commands.ts";

/** Exit codes as the contract has them: 0 and 1, and `doctor` its own. */
export const bsctlCommand: Command = {
  name: "bsctl",
  summary: "Copy-on-write Postgres branches on a Docker engine",
  description:
    "Seeds a source database once and gives every branch its own Postgres on a thin writable layer. Works on the engine of DOCKER_HOST or the current Docker context, with its registry in ~/.branchsvc (BRANCHSVC_HOME).",
  usageExitCode: 1,
  failureExitCode: 1,
  examples: [
    {
      command: "slipway bsctl source add shop --host db.internal --user replicator",
      description: "Seed a source (password from PGPASSWORD)",
    },
    { command: "slipway bsctl branch create pr-7 --from shop --ttl 24h", description: "A branch that ends by itself" },
    { command: "psql $(slipway bsctl connect pr-7)", description: "Use it" },
  ],
  subcommands: [
    sourceCommand,
    branchCommand,
    connectCommand,
    diffCommand,
    historyCommand,
    doctorCommand,
    gcCommand,
    versionCommand,
  ],
};
