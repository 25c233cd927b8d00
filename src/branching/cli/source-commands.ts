import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { Command, CommandContext, OptionSpec, ParsedArguments } from "../../platform/cli/command.ts";
import { createProgress, formatBytes } from "../../platform/cli/progress.ts";
import { formatTable } from "../../platform/cli/table.ts";
import { systemClock } from "../../platform/time/clock.ts";
import { branchingError } from "../errors.ts";
import { supportedMajors } from "../model/requests.ts";
import type { SeedProgress } from "../service/seed-helper.ts";
import { engineOptions, withLocalEngine } from "./local-session.ts";
import { formatJson, jsonOption, toMaskJson, toSourceJson } from "./output.ts";

const passwordOptions: Readonly<Record<string, OptionSpec>> = {
  "password-env": {
    kind: "string",
    valueName: "VAR",
    description: "Variable with the source's password (default PGPASSWORD); it is used for the seed and never stored",
    conflictsWith: ["no-password"],
  },
  "no-password": { kind: "boolean", description: "Connect without a password (trust, peer or certificate)" },
};

const volumeOptions = engineOptions("layout", "volumeRoot", "volumePoolBytes", "seedSettle");

const addCommand: Command = {
  name: "add",
  summary: "Register a source database and seed its first generation",
  positionals: [{ name: "name", description: "Name of the source", isRequired: true }],
  options: {
    host: { kind: "string", isRequired: true, description: "Host of the database, as containers reach it" },
    port: { kind: "integer", default: 5432, description: "Port of the database" },
    user: { kind: "string", default: "postgres", description: "User; needs REPLICATION unless --via dump" },
    database: {
      kind: "string",
      default: "postgres",
      description: "Database to connect to, and to dump with --via dump",
    },
    "pg-version": {
      kind: "string",
      default: "17",
      valueName: "MAJOR",
      description: `Major version, ${supportedMajors.join(", ")}`,
    },
    image: {
      kind: "string",
      valueName: "REF",
      description: "Image for seed and branches instead of postgres:<version>",
    },
    network: { kind: "string", valueName: "NAME", description: "Container network from which the database is reached" },
    via: { kind: "string", default: "basebackup", description: "How to copy: basebackup (physical) or dump (logical)" },
    "dump-schema": {
      kind: "string",
      isRepeatable: true,
      valueName: "PATTERN",
      description: "With --via dump: only these schemas",
    },
    ...passwordOptions,
    ...volumeOptions,
    ...jsonOption,
  },
  examples: [
    { command: "slipway bsctl source add shop --host db.internal --user replicator", description: "Physical copy" },
    {
      command: "slipway bsctl source add crm --host x.rds.example --via dump --database crm --password-env CRM_PW",
      description: "Managed database",
    },
  ],
  run: (args, context) =>
    withLocalEngine(args, context, "writes", async ({ engine, caller }) => {
      const request = {
        name: args.requiredString("name"),
        host: args.requiredString("host"),
        port: args.integer("port"),
        user: args.string("user"),
        database: args.string("database"),
        network: args.string("network"),
        pgVersion: args.string("pg-version"),
        password: readPassword(args, context),
        via: args.string("via"),
        dumpSchemas: args.strings("dump-schema"),
        image: args.string("image"),
      };
      const source = await withSeedProgress(context, request.name, (report) =>
        engine.addSource(request, caller, report),
      );
      await context.terminal.write(
        args.boolean("json")
          ? formatJson(toSourceJson(source))
          : `source ${source.name} is ready (generation ${source.generation})\n`,
      );
      return 0;
    }),
};

const refreshCommand: Command = {
  name: "refresh",
  summary: "Seed a new generation; branches keep the one they have",
  examples: [{ command: "PGPASSWORD=... bsctl source refresh shop", description: "Every night, for example" }],
  positionals: [{ name: "name", description: "Name of the source", isRequired: true }],
  options: { ...passwordOptions, ...volumeOptions, ...jsonOption },
  run: (args, context) =>
    withLocalEngine(args, context, "writes", async ({ engine, caller }) => {
      const name = args.requiredString("name");
      const password = readPassword(args, context);
      const source = await withSeedProgress(context, name, (report) =>
        engine.refreshSource(name, password, caller, report),
      );
      await context.terminal.write(
        args.boolean("json")
          ? formatJson(toSourceJson(source))
          : `source ${source.name} is at generation ${source.generation}\n`,
      );
      return 0;
    }),
};

const listCommand: Command = {
  name: "ls",
  summary: "List sources",
  examples: [{ command: "bsctl source ls", description: "Names, states and generations" }],
  options: jsonOption,
  run: (args, context) =>
    withLocalEngine(args, context, "reads", async ({ engine }) => {
      const sources = await engine.listSources();
      if (args.boolean("json")) {
        await context.terminal.write(formatJson(sources.map(toSourceJson)));
        return 0;
      }
      const columns = ["NAME", "VERSION", "HOST", "VIA", "STATE", "GENERATION"].map((title) => ({ title }));
      const rows = sources.map((source) => [
        source.name,
        source.pgVersion,
        `${source.host}:${source.port}`,
        source.via,
        source.isRefreshing ? `${source.state} (refreshing)` : source.state,
        String(source.generation),
      ]);
      await context.terminal.write(formatTable(context.terminal, columns, rows));
      return 0;
    }),
};

const removeCommand: Command = {
  name: "rm",
  summary: "Remove a source that has no live branches",
  examples: [{ command: "bsctl source rm shop", description: "Refused while branches live" }],
  positionals: [{ name: "name", description: "Name of the source", isRequired: true }],
  run: (args, context) =>
    withLocalEngine(args, context, "writes", async ({ engine }) => {
      const name = args.requiredString("name");
      await engine.removeSource(name);
      await context.terminal.write(`source ${name} is removed\n`);
      return 0;
    }),
};

const setMaskCommand: Command = {
  name: "set-mask",
  summary: "Set the SQL scripts that mask every new or reset branch before it is ready",
  examples: [
    { command: "bsctl source set-mask shop emails.sql cards.sql", description: "Two scripts, run in this order" },
  ],
  positionals: [
    { name: "name", description: "Name of the source", isRequired: true },
    { name: "files", description: "SQL files, run in this order", isRequired: true, isVariadic: true },
  ],
  run: (args, context) =>
    withLocalEngine(args, context, "writes", async ({ engine }) => {
      const name = args.requiredString("name");
      const masks = args.strings("files").map((file) => ({ name: basename(file), sql: readScript(context, file) }));
      await engine.setMasks(name, masks);
      await context.terminal.write(
        `source ${name} has ${masks.length} mask ${masks.length === 1 ? "script" : "scripts"}\n`,
      );
      return 0;
    }),
};

const getMaskCommand: Command = {
  name: "get-mask",
  summary: "Print the mask scripts of a source",
  examples: [{ command: "bsctl source get-mask shop", description: "As they were set" }],
  positionals: [{ name: "name", description: "Name of the source", isRequired: true }],
  options: jsonOption,
  run: (args, context) =>
    withLocalEngine(args, context, "reads", async ({ engine }) => {
      const masks = await engine.listMasks(args.requiredString("name"));
      const text = masks
        .map((mask) => `-- ${mask.name}\n${mask.sql.endsWith("\n") ? mask.sql : `${mask.sql}\n`}`)
        .join("");
      await context.terminal.write(args.boolean("json") ? formatJson(masks.map(toMaskJson)) : text);
      return 0;
    }),
};

const clearMaskCommand: Command = {
  name: "clear-mask",
  summary: "Remove the mask scripts of a source",
  examples: [{ command: "bsctl source clear-mask shop", description: "New branches are not masked any more" }],
  positionals: [{ name: "name", description: "Name of the source", isRequired: true }],
  run: (args, context) =>
    withLocalEngine(args, context, "writes", async ({ engine }) => {
      const name = args.requiredString("name");
      await engine.setMasks(name, []);
      await context.terminal.write(`source ${name} has no mask scripts\n`);
      return 0;
    }),
};

export const sourceCommand: Command = {
  name: "source",
  summary: "Databases that branches are made from",
  examples: [
    { command: "bsctl source add shop --host db.internal --user replicator", description: "Register and seed" },
    { command: "bsctl source ls", description: "List" },
  ],
  subcommands: [
    addCommand,
    listCommand,
    removeCommand,
    refreshCommand,
    setMaskCommand,
    getMaskCommand,
    clearMaskCommand,
  ],
};

function readPassword(args: ParsedArguments, context: CommandContext): string {
  if (args.boolean("no-password")) return "";
  const variable = args.string("password-env") ?? "PGPASSWORD";
  const password = context.env[variable];
  if (password === undefined || password === "") {
    throw branchingError(
      "invalid_request",
      `Cannot seed without a password: ${variable} is not set; set it, name another with --password-env, or use --no-password`,
    );
  }
  if (/[\r\n]/.test(password))
    throw branchingError("invalid_request", `Cannot use the password in ${variable}: it holds a line feed`);
  return password;
}

function readScript(context: CommandContext, file: string): string {
  const path = resolve(context.cwd, file);
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "unreadable";
    throw branchingError("invalid_request", `Cannot read the mask script "${file}": ${code}`, { cause });
  }
}

/** A bar with bytes and speed on a terminal, one line per phase elsewhere. */
async function withSeedProgress<T>(
  context: CommandContext,
  name: string,
  work: (report: (progress: SeedProgress) => void) => Promise<T>,
): Promise<T> {
  const progress = createProgress(context.terminal, { label: `seeding ${name}`, format: formatBytes });
  const startedMs = systemClock.monotonicMs();
  let lastPhase = "";
  try {
    return await work((step) => {
      const seconds = Math.max(0.001, (systemClock.monotonicMs() - startedMs) / 1000);
      const speed = step.doneBytes === undefined ? "" : ` ${formatBytes(step.doneBytes / seconds)}/s`;
      progress.update(step.doneBytes ?? 0, step.totalBytes, `${step.phase}${speed}`);
      if (step.phase !== lastPhase && !context.terminal.isErrorTty)
        context.terminal.writeError(`seeding ${name}: ${step.phase}\n`);
      lastPhase = step.phase;
    });
  } finally {
    progress.stop();
  }
}
