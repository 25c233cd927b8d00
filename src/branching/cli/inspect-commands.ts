import type { Command, CommandContext } from "../../platform/cli/command.ts";
import { formatTable } from "../../platform/cli/table.ts";
import { formatInstantSeconds } from "../../platform/time/clock.ts";
import { branchingError } from "../errors.ts";
import { type DiffResult, sampleRowsMax, unknownRows } from "../model/branch-diff.ts";
import type { Branch } from "../model/records.ts";
import { engineOptions, withLocalEngine } from "./local-session.ts";
import { formatJson, jsonOption, toDiffJson, toTransitionJson } from "./output.ts";

const name = { name: "name", description: "Name of the branch", isRequired: true } as const;

export const connectCommand: Command = {
  name: "connect",
  summary: "Print the connection URL of a branch",
  examples: [{ command: 'psql "$(bsctl connect pr-7)"', description: "Open a session" }],
  description: "The URL holds no password: a branch takes the passwords of its source, unless credentials are rotated.",
  positionals: [name],
  options: engineOptions("secretKeyPath"),
  run: (args, context) =>
    withLocalEngine(args, context, "reads", async ({ engine }) => {
      const branch = await engine.getBranch(args.requiredString("name"));
      if (engine.openPassword(branch).kind === "unavailable") {
        throw branchingError(
          "secret_unreadable",
          `Cannot connect to branch "${branch.name}": its password cannot be decrypted with the configured key; reset the branch to mint a new one`,
        );
      }
      await context.terminal.write(`${formatUrl(branch)}\n`);
      return 0;
    }),
};

const sampleDefault = 20;

export const diffCommand: Command = {
  name: "diff",
  summary: "Show what changed in a branch against the state that a reset would return to",
  examples: [
    { command: "bsctl diff pr-7", description: "Schema and row counts" },
    { command: "bsctl diff pr-7 --data --sample 5", description: "With new rows of tables that grew" },
  ],
  description:
    "Row counts are the planner's estimates; a table without statistics is counted when it has 64 MiB or less.",
  positionals: [name],
  options: {
    all: { kind: "boolean", description: "List unchanged tables too" },
    data: { kind: "boolean", description: "Show new rows of tables that grew" },
    sample: {
      kind: "integer",
      valueName: "N",
      description: `With --data: rows per table, ${sampleDefault} by default, ${sampleRowsMax} at most`,
    },
    ...engineOptions("stuckTimeoutMs"),
    ...jsonOption,
  },
  run: (args, context) =>
    withLocalEngine(args, context, "writes", async ({ engine, caller }) => {
      const sampleRows = args.boolean("data") ? (args.integer("sample") ?? sampleDefault) : 0;
      const result = await engine.diffBranch(args.requiredString("name"), sampleRows, caller);
      const shown = args.boolean("json")
        ? formatJson(toDiffJson(result))
        : formatDiff(context, result, args.boolean("all"));
      await context.terminal.write(shown);
      return 0;
    }),
};

function formatDiff(context: CommandContext, result: DiffResult, isAll: boolean): string {
  const changed = result.tables.filter((table) => isAll || table.delta !== 0 || table.isUnknown);
  const count = (rows: number): string => (rows === unknownRows ? "unknown" : String(rows));
  const columns = ["TABLE", "BASE", "BRANCH", "DELTA"].map((title, index) => ({ title, isRightAligned: index > 0 }));
  const rows = changed.map((table) => [
    `${table.schema}.${table.table}`,
    count(table.baseRows),
    count(table.branchRows),
    table.isUnknown ? "unknown" : `${table.delta > 0 ? "+" : ""}${table.delta}`,
  ]);
  const samples = result.tables.flatMap((table) =>
    (table.sampleRows ?? []).map((row) => `${table.schema}.${table.table}\t${JSON.stringify(row)}\n`),
  );
  const schema = result.schemaDiff === "" ? "schema: no difference\n" : result.schemaDiff;
  const tables = rows.length === 0 ? "rows: no difference\n" : formatTable(context.terminal, columns, rows);
  return `${schema.endsWith("\n") ? schema : `${schema}\n`}\n${tables}${samples.length === 0 ? "" : `\n${samples.join("")}`}`;
}

export const versionCommand: Command = {
  name: "version",
  summary: "Print the version",
  examples: [{ command: "bsctl version", description: "For bug reports and scripts" }],
  run: async (_args, context) => {
    await context.terminal.write(`bsctl ${context.version}\n`);
    return 0;
  },
};

export const historyCommand: Command = {
  name: "history",
  summary: "Print the transition journal of a branch, also of a destroyed one",
  examples: [{ command: "bsctl history pr-7", description: "Who did what, when and why" }],
  positionals: [name],
  options: jsonOption,
  run: (args, context) =>
    withLocalEngine(args, context, "reads", async ({ engine }) => {
      const history = await engine.getHistory(args.requiredString("name"));
      if (args.boolean("json")) {
        await context.terminal.write(formatJson(history.map(toTransitionJson)));
        return 0;
      }
      const columns = ["AT", "FROM", "TO", "ACTOR", "REASON"].map((title) => ({ title }));
      const rows = history.map((entry) => [
        formatInstantSeconds(entry.atMs),
        entry.fromState ?? "-",
        entry.toState,
        entry.actor,
        entry.reason,
      ]);
      await context.terminal.write(formatTable(context.terminal, columns, rows));
      return 0;
    }),
};

function formatUrl(branch: Branch): string {
  if (branch.state !== "ready" || branch.host === undefined || branch.port === undefined) {
    throw branchingError(
      "wrong_state",
      `Cannot connect to branch "${branch.name}": it is ${branch.state}, but must be ready`,
    );
  }
  const user = encodeURIComponent(branch.user);
  return `postgres://${user}@${branch.host}:${branch.port}/${encodeURIComponent(branch.database)}`;
}
