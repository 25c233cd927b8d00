import type { Command } from "../../platform/cli/command.ts";
import { formatTable } from "../../platform/cli/table.ts";
import { formatInstantSeconds } from "../../platform/time/clock.ts";
import { parseDuration } from "../../platform/time/duration.ts";
import { branchingError } from "../errors.ts";
import type { Branch } from "../model/records.ts";
import { engineOptions, withLocalEngine } from "./local-session.ts";
import { formatJson, jsonOption, toBranchJson } from "./output.ts";

const branchOptions = engineOptions(
  "stuckTimeoutMs",
  "maxBranches",
  "defaultTtlMs",
  "maxTtlMs",
  "maxLayerDepth",
  "rotatesCredentials",
  "secretKeyPath",
  "branchMemoryBytes",
  "branchSharedMemoryBytes",
  "branchMaxConnections",
  "branchDurability",
  "branchSettings",
  "branchNetwork",
);
const name = { name: "name", description: "Name of the branch", isRequired: true } as const;

const createCommand: Command = {
  name: "create",
  summary: "Create a branch; returns when it accepts connections",
  positionals: [name],
  options: {
    from: { kind: "string", valueName: "SOURCE", description: "Source to branch from", conflictsWith: ["from-branch"] },
    "from-branch": { kind: "string", valueName: "BRANCH", description: "Branch to branch from, at its current state" },
    ttl: { kind: "string", valueName: "DURATION", description: "Destroy it after this long, for example 24h" },
    ...branchOptions,
    ...jsonOption,
  },
  run: (args, context) =>
    withLocalEngine(args, context, "writes", async ({ engine, caller }) => {
      const request = {
        name: args.requiredString("name"),
        source: args.string("from"),
        parent: args.string("from-branch"),
        ttlSeconds: parseTtl(args.string("ttl")),
      };
      const branch = await engine.createBranch(request, caller);
      await context.terminal.write(
        args.boolean("json")
          ? formatJson(toBranchJson(branch))
          : `branch ${branch.name} is ready on port ${branch.port}\n`,
      );
      return 0;
    }),
};

const listCommand: Command = {
  name: "ls",
  summary: "List live branches",
  options: jsonOption,
  run: (args, context) =>
    withLocalEngine(args, context, "reads", async ({ engine }) => {
      const branches = await engine.listBranches();
      if (args.boolean("json")) {
        await context.terminal.write(formatJson(branches.map(toBranchJson)));
        return 0;
      }
      const titles = ["NAME", "PARENT", "STATE", "PORT", "EXPIRES", "CREATED"];
      const columns = titles.map((title) => ({ title }));
      await context.terminal.write(formatTable(context.terminal, columns, branches.map(toRow)));
      return 0;
    }),
};

const destroyCommand: Command = {
  name: "destroy",
  summary: "Destroy a branch and its data",
  positionals: [name],
  run: (args, context) =>
    withLocalEngine(args, context, "writes", async ({ engine, caller }) => {
      const branchName = args.requiredString("name");
      await engine.destroyBranch(branchName, caller);
      await context.terminal.write(`branch ${branchName} is destroyed\n`);
      return 0;
    }),
};

export const branchCommand: Command = {
  name: "branch",
  summary: "Branches and their life cycle",
  subcommands: [createCommand, listCommand, destroyCommand],
};

function toRow(branch: Branch): readonly string[] {
  return [
    branch.name,
    branch.parentName ?? branch.sourceName,
    branch.state,
    branch.port === undefined ? "-" : String(branch.port),
    branch.expiresAtMs === undefined ? "never" : formatInstantSeconds(branch.expiresAtMs),
    formatInstantSeconds(branch.createdAtMs),
  ];
}

function parseTtl(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ttlMs = parseDuration(text);
  if (ttlMs === undefined) {
    throw branchingError(
      "invalid_request",
      `Cannot use the TTL "${text}": it must be a duration such as 30m, 24h or 7d`,
    );
  }
  return Math.ceil(ttlMs / 1000);
}
