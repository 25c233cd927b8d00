import { closest, distance } from "fastest-levenshtein";
import yargs, { type Argv, type Options, type PositionalOptions } from "yargs";
import type { Command, CommandContext, OptionSpec, PositionalSpec } from "./command.ts";
import { UsageError } from "./usage-error.ts";

/** What yargs calls the errors of its own; anything else came from a command. */
const parserErrorName = "YError";

type Execute = (command: Command, values: Readonly<Record<string, unknown>>) => Promise<void>;

export interface Parser {
  /** Parses and runs; resolves to a text (help) to print, or undefined when the command ran. */
  run(args: readonly string[]): Promise<string | undefined>;
}

/**
 * Turns command data into a yargs parser: strict options, suggestions, help with examples and exit codes.
 *
 * @param displayName how the root command is called, for example `slipway bsctl`, or `bsctl` through a link
 */
export function buildParser(displayName: string, root: Command, context: CommandContext, execute: Execute): Parser {
  const columns = Math.min(context.terminal.columns, 120);
  let reached = root.name;
  const displayPath = (path: string): string => displayName + path.slice(root.name.length);
  const configure = (parser: Argv, command: Command, path: string): Argv => {
    for (const subcommand of command.subcommands ?? []) addSubcommand(parser, subcommand, `${path} ${subcommand.name}`);
    for (const [name, spec] of Object.entries(command.options ?? {})) parser.option(name, toYargsOption(name, spec));
    for (const positional of command.positionals ?? [])
      parser.positional(positional.name, toYargsPositional(positional));
    for (const example of command.examples ?? []) parser.example(example.command, example.description);
    if (command.run === undefined)
      parser.demandCommand(1, `Cannot run "${displayPath(path)}" alone: a command must follow`);
    const epilogue = formatExitCodes(command);
    if (epilogue !== "") parser.epilogue(epilogue);
    return parser;
  };
  const addSubcommand = (parser: Argv, command: Command, path: string): void => {
    parser.command(
      [formatSignature(command), ...(command.aliases ?? [])],
      command.summary,
      (inner) => {
        reached = path;
        inner.usage(formatUsage(displayPath(path), command));
        return configure(inner, command, path);
      },
      async (values) => {
        if (command.run) await execute(command, values);
      },
    );
  };
  const parser = yargs()
    .scriptName(displayName)
    .usage(formatUsage(displayName, root))
    .parserConfiguration({
      "boolean-negation": false,
      "camel-case-expansion": false,
      "parse-numbers": false,
      "parse-positional-numbers": false,
    })
    .locale("en")
    .version(false)
    .help("help")
    .alias("h", "help")
    .exitProcess(false)
    .showHelpOnFail(false)
    .strict()
    .recommendCommands()
    .wrap(columns)
    .fail((message, error) => {
      if (error && error.name !== parserErrorName) throw error;
      throw new UsageError(explainFailure(message ?? error?.message, findCommand(root, reached)), displayPath(reached));
    });
  if (root.run && (root.positionals?.length ?? 0) > 0) {
    parser.command(
      ["$0", formatSignature(root).slice(root.name.length)].join(""),
      root.summary,
      (inner) => configure(inner, root, root.name),
      async (values) => execute(root, values),
    );
  } else configure(parser, root, root.name);

  return {
    run: async (args) => {
      let printed: string | undefined;
      const values = await parser.parseAsync(joinLoneDashes(root, args), {}, (_error, _values, output) => {
        if (output !== "") printed = output;
      });
      if (printed !== undefined) return `${printed}\n`;
      const isRootCall = root.run !== undefined && (root.positionals?.length ?? 0) === 0 && values._.length === 0;
      if (isRootCall) await execute(root, values);
      return undefined;
    },
  };
}

/** `--files -` → `--files=-`: the parser would take a lone dash for an option and not for a value. */
function joinLoneDashes(root: Command, args: readonly string[]): string[] {
  const takesValue = valueOptions(root);
  const joined: string[] = [];
  for (const word of args) {
    const before = joined.at(-1);
    if (word === "-" && before !== undefined && takesValue.has(before)) joined[joined.length - 1] = `${before}=-`;
    else joined.push(word);
  }
  return joined;
}

function valueOptions(command: Command): Set<string> {
  const names = new Set<string>();
  for (const [name, { kind, alias }] of Object.entries(command.options ?? {})) {
    if (kind === "boolean") continue;
    names.add(`--${name}`);
    if (alias !== undefined) names.add(alias.length === 1 ? `-${alias}` : `--${alias}`);
  }
  for (const subcommand of command.subcommands ?? []) for (const name of valueOptions(subcommand)) names.add(name);
  return names;
}

function findCommand(root: Command, path: string): Command {
  let command = root;
  for (const word of path.split(" ").slice(1)) {
    command = command.subcommands?.find((candidate) => candidate.name === word) ?? command;
  }
  return command;
}

/** The parser's own words, made to say what would be right. */
function explainFailure(message: string, command: Command): string {
  const unknown = message.match(/^Unknown arguments?: (.*)$/)?.[1]?.split(", ");
  if (unknown !== undefined) {
    const names = Object.keys(command.options ?? {});
    return unknown.map((word) => explainUnknown(word, names)).join("; ");
  }
  if (message.startsWith("Not enough non-option arguments")) {
    const needed = (command.positionals ?? []).filter((positional) => positional.isRequired);
    return `Cannot run without ${needed.map((positional) => `<${positional.name}> (${positional.description})`).join(", ")}`;
  }
  const lone = message.match(/^Not enough arguments following: (.*)$/)?.[1];
  if (lone !== undefined) return `Cannot use --${lone} alone: a value must follow`;
  const suggestion = message.match(/^Did you mean (.*)\?$/)?.[1];
  return suggestion === undefined ? message : `no such command: did you mean "${suggestion}"`;
}

function explainUnknown(word: string, optionNames: readonly string[]): string {
  const nearest = optionNames.length === 0 ? undefined : closest(word, [...optionNames]);
  const isNear = nearest !== undefined && distance(word, nearest) <= Math.max(2, nearest.length / 3);
  return `"${word}" is no option or argument here${isNear ? `: did you mean --${nearest}` : ""}`;
}

function formatSignature(command: Command): string {
  const positionals = (command.positionals ?? []).map((positional) => {
    const name = positional.isVariadic ? `${positional.name}..` : positional.name;
    return positional.isRequired ? `<${name}>` : `[${name}]`;
  });
  return [command.name, ...positionals].join(" ");
}

function formatUsage(path: string, command: Command): string {
  const words = [path, formatSignature(command).slice(command.name.length).trim()];
  if (command.subcommands && command.run === undefined) words.push("<command>");
  words.push("[options]");
  const head = `Usage: ${words.filter((word) => word !== "").join(" ")}\n\n${command.summary}`;
  return command.description === undefined ? head : `${head}\n\n${command.description}`;
}

function formatExitCodes(command: Command): string {
  const rows = Object.entries(command.exitCodes ?? {}).map(([code, meaning]) => `  ${code}  ${meaning}`);
  return rows.length === 0 ? "" : `Exit codes:\n${rows.join("\n")}`;
}

function toYargsOption(name: string, spec: OptionSpec): Options {
  const valueName = spec.kind === "boolean" ? "" : (spec.valueName ?? "");
  return {
    type: spec.kind === "boolean" ? "boolean" : "string",
    description: valueName === "" ? spec.description : `${valueName}: ${spec.description}`,
    requiresArg: spec.kind !== "boolean",
    ...(spec.alias === undefined ? {} : { alias: spec.alias }),
    ...(spec.isRepeatable ? { array: true, nargs: 1 } : {}),
    ...(spec.isRequired ? { demandOption: `Cannot run without --${name}: ${spec.description}` } : {}),
    ...(spec.choices === undefined ? {} : { choices: [...spec.choices] }),
    ...(spec.default === undefined ? {} : { default: spec.default }),
    ...(spec.isHidden ? { hidden: true } : {}),
    ...(spec.conflictsWith === undefined ? {} : { conflicts: [...spec.conflictsWith] }),
    ...(spec.isRepeatable ? {} : { coerce: (value: unknown) => coerceValue(name, spec, value) }),
  };
}

function coerceValue(name: string, spec: OptionSpec, value: unknown): unknown {
  if (value === undefined) return undefined;
  if (Array.isArray(value)) throw new Error(`Cannot use --${name} more than once: it takes one value`);
  if (spec.kind !== "integer") return value;
  const number = Number(value);
  if (!/^-?\d+$/.test(String(value)) || !Number.isSafeInteger(number)) {
    throw new Error(`Cannot use --${name} "${value}": it takes a whole number`);
  }
  return number;
}

function toYargsPositional(spec: PositionalSpec): PositionalOptions {
  return {
    type: "string",
    description: spec.description,
    ...(spec.isVariadic ? { array: true } : {}),
    ...(spec.choices === undefined ? {} : { choices: [...spec.choices] }),
  };
}
