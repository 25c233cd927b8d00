import type { Command, CommandContext, ParsedArguments } from "../../platform/cli/command.ts";
import { formatBytes } from "../../platform/cli/progress.ts";
import { formatTable } from "../../platform/cli/table.ts";
import { isDomainError } from "../../platform/errors/domain-error.ts";
import { formatInstantSeconds } from "../../platform/time/clock.ts";
import { parseDuration } from "../../platform/time/duration.ts";
import { branchingError } from "../errors.ts";
import type { Branch } from "../model/records.ts";
import type { BranchingEngine, BranchPassword } from "../service/engine.ts";
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
  "walRecycle",
  "branchSettings",
  "branchNetwork",
);
const name = { name: "name", description: "Name of the branch", isRequired: true } as const;

const createCommand: Command = {
  name: "create",
  summary: "Create a branch; returns when it accepts connections",
  examples: [
    {
      command: "bsctl branch create pr-7 --from shop --ttl 24h",
      description: "From the source's newest generation; it ends by itself",
    },
    {
      command: "bsctl branch create pr-7-b --from-branch pr-7",
      description: "From the present state of another branch",
    },
  ],
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
      await writeBranch(context, args, branch, engine.openPassword(branch));
      return 0;
    }),
};

const listCommand: Command = {
  name: "ls",
  summary: "List live branches",
  examples: [{ command: "bsctl branch ls --usage", description: "With what each branch has written" }],
  options: {
    usage: { kind: "boolean", description: "Add the size of each branch's own data" },
    ...engineOptions("secretKeyPath"),
    ...jsonOption,
  },
  run: (args, context) =>
    withLocalEngine(args, context, "reads", async ({ engine }) => {
      const branches = await engine.listBranches();
      const sizes = args.boolean("usage") ? await measureAll(engine, branches, context.signal) : undefined;
      const shown = args.boolean("json")
        ? formatBranchesJson(engine, branches, sizes)
        : formatBranchTable(context, branches, sizes);
      await context.terminal.write(shown);
      return 0;
    }),
};

/** Undefined where a size could not be had: one broken branch must not hide the others. */
async function measureAll(
  engine: BranchingEngine,
  branches: readonly Branch[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number | undefined>> {
  const sizes = new Map<string, number | undefined>();
  for (const branch of branches) {
    try {
      sizes.set(branch.name, await engine.measureUsage(branch.name, signal));
    } catch (error) {
      if (!isDomainError(error)) throw error;
      sizes.set(branch.name, undefined);
    }
  }
  return sizes;
}

type Sizes = ReadonlyMap<string, number | undefined> | undefined;

function formatBranchesJson(engine: BranchingEngine, branches: readonly Branch[], sizes: Sizes): string {
  return formatJson(
    branches.map((branch) => {
      const bytes = sizes?.get(branch.name);
      return { ...toBranchJson(branch, engine.openPassword(branch)), ...(bytes === undefined ? {} : { bytes }) };
    }),
  );
}

function formatBranchTable(context: CommandContext, branches: readonly Branch[], sizes: Sizes): string {
  const titles = ["NAME", "PARENT", "STATE", "PORT", "EXPIRES", "CREATED", ...(sizes ? ["SIZE"] : [])];
  const rows = branches.map((branch) => {
    const bytes = sizes?.get(branch.name);
    return [...toRow(branch), ...(sizes ? [bytes === undefined ? "unknown" : formatBytes(bytes)] : [])];
  });
  return formatTable(
    context.terminal,
    titles.map((title) => ({ title })),
    rows,
  );
}

async function writeBranch(
  context: CommandContext,
  args: ParsedArguments,
  branch: Branch,
  password: BranchPassword,
): Promise<void> {
  const text = `branch ${branch.name} is ready on port ${branch.port}\n`;
  await context.terminal.write(args.boolean("json") ? formatJson(toBranchJson(branch, password)) : text);
}

const resetCommand: Command = {
  name: "reset",
  summary: "Discard the writes of a branch; it gets a new container and port",
  examples: [{ command: "bsctl branch reset pr-7", description: "Back to the state it was created with" }],
  positionals: [name],
  options: { ...branchOptions, ...jsonOption },
  run: (args, context) =>
    withLocalEngine(args, context, "writes", async ({ engine, caller }) => {
      const branch = await engine.resetBranch(args.requiredString("name"), caller);
      await writeBranch(context, args, branch, engine.openPassword(branch));
      return 0;
    }),
};

const recoverCommand: Command = {
  name: "recover",
  summary: "Restart a failed branch on the data it has",
  examples: [{ command: "bsctl branch recover pr-7", description: "Without masking or credentials again" }],
  positionals: [name],
  options: { ...branchOptions, ...jsonOption },
  run: (args, context) =>
    withLocalEngine(args, context, "writes", async ({ engine, caller }) => {
      const branch = await engine.recoverBranch(args.requiredString("name"), caller);
      await writeBranch(context, args, branch, engine.openPassword(branch));
      return 0;
    }),
};

const destroyCommand: Command = {
  name: "destroy",
  summary: "Destroy a branch and its data",
  examples: [{ command: "bsctl branch destroy pr-7", description: "Its history remains" }],
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
  examples: [
    { command: "bsctl branch create pr-7 --from shop", description: "Create" },
    { command: "bsctl branch ls", description: "List" },
  ],
  subcommands: [createCommand, listCommand, resetCommand, recoverCommand, destroyCommand],
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
