import { basename } from "node:path";
import { closest, distance } from "fastest-levenshtein";
import { ConfigError } from "../config/load-config.ts";
import { isDomainError } from "../errors/domain-error.ts";
import { statusByKind } from "../errors/status-map.ts";
import { type Command, type CommandContext, ParsedArguments } from "./command.ts";
import { completeWords } from "./complete-words.ts";
import { UsageError } from "./usage-error.ts";

/** Known before any feature is loaded, so that `--help` of the whole stays quick. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  /** True when the executable may be called by this name through a link. */
  readonly isCallName: boolean;
  load(): Promise<Command>;
}

export interface CliOptions {
  readonly programName: string;
  readonly table: readonly CommandEntry[];
  /** Shown above the table of commands. */
  readonly banner: string;
  readonly examples: readonly { readonly command: string; readonly description: string }[];
}

export interface CommandLine {
  readonly args: readonly string[];
  /** True when the first word came from the name of a link and not from the user. */
  readonly isLinked: boolean;
}

/** Asked by the completion scripts: the words typed so far follow, the last one unfinished. */
const completeFlag = "--complete";
const usageExitCode = 64;
const configExitCode = 2;

/** `bsctl branch ls` through a link named bsctl is `slipway bsctl branch ls`. */
export function expandCallName(table: readonly CommandEntry[], calledAs: string, args: readonly string[]): CommandLine {
  const name = basename(calledAs).replace(/\.exe$/, "");
  const isLinked = table.some((entry) => entry.isCallName && entry.name === name);
  return { isLinked, args: isLinked ? [name, ...args] : args };
}

/** Runs one command line; resolves to the exit code and never throws. */
export async function runCli(options: CliOptions, line: CommandLine, context: CommandContext): Promise<number> {
  const [first, ...rest] = line.args;
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    context.terminal.write(formatOverview(options));
    return first === undefined ? usageExitCode : 0;
  }
  if (first === "--version" || first === "-V" || first === "version") {
    context.terminal.write(`${options.programName} ${context.version}\n`);
    return 0;
  }
  if (first === completeFlag) {
    const candidates = await listCandidates(options, rest);
    await context.terminal.write(candidates.map((candidate) => `${candidate}\n`).join(""));
    return 0;
  }
  const entry = options.table.find((candidate) => candidate.name === first);
  if (entry === undefined) {
    context.terminal.writeError(formatUnknownCommand(options, first));
    return usageExitCode;
  }
  const root = await entry.load();
  return runCommand(line.isLinked ? root.name : `${options.programName} ${root.name}`, root, rest, context);
}

async function runCommand(
  displayName: string,
  root: Command,
  args: readonly string[],
  context: CommandContext,
): Promise<number> {
  let exitCode = 0;
  let running: Command = root;
  try {
    const { buildParser } = await import("./parser.ts");
    const parser = buildParser(displayName, root, context, async (command, values) => {
      running = command;
      if (command.run) exitCode = await command.run(new ParsedArguments(values), context);
    });
    const helpText = await parser.run(args);
    if (helpText !== undefined) await context.terminal.write(helpText);
    return exitCode;
  } catch (error) {
    return reportFailure(error, displayName, root, running, context);
  }
}

/** The command that a wrong command line was meant for: it need not have run. */
function commandOf(error: UsageError, displayName: string, root: Command): Command {
  let command = root;
  for (const word of error.commandPath.slice(displayName.length).trim().split(" ")) {
    command = command.subcommands?.find((candidate) => candidate.name === word) ?? command;
  }
  return command;
}

function reportFailure(
  error: unknown,
  displayName: string,
  root: Command,
  running: Command,
  context: CommandContext,
): number {
  const failureExitCode = running.failureExitCode ?? root.failureExitCode;
  const say = (text: string): void => context.terminal.writeError(`${displayName}: ${text}\n`);
  if (error instanceof UsageError) {
    say(`${error.message}\nRun "${error.commandPath} --help" for usage`);
    return (
      commandOf(error, displayName, root).usageExitCode ?? running.usageExitCode ?? root.usageExitCode ?? usageExitCode
    );
  }
  if (error instanceof ConfigError) {
    say(error.message);
    return failureExitCode ?? configExitCode;
  }
  if (isDomainError(error)) {
    say(error.message);
    return failureExitCode ?? statusByKind[error.kind].exit;
  }
  if (context.signal.aborted && error === context.signal.reason) {
    say("stopped");
    return failureExitCode ?? 130;
  }
  say(context.env["SLIPWAY_DEBUG"] ? stackOf(error) : messageOf(error));
  return failureExitCode ?? statusByKind.internal.exit;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function formatOverview(options: CliOptions): string {
  const width = Math.max(...options.table.map((entry) => entry.name.length)) + 2;
  const commands = options.table.map((entry) => `  ${entry.name.padEnd(width)}${entry.summary}`);
  const examples = options.examples.map((example) => `  ${example.command}\n      ${example.description}`);
  return [
    options.banner,
    "",
    `Usage: ${options.programName} <command> [options]`,
    "",
    "Commands:",
    ...commands,
    "",
    "Examples:",
    ...examples,
    "",
    `"${options.programName} <command> --help" tells more of a command; "${options.programName} --version" prints the version.`,
    "",
  ].join("\n");
}

function formatUnknownCommand(options: CliOptions, name: string): string {
  const names = options.table.map((entry) => entry.name);
  const nearest = closest(name, names);
  const hint = distance(name, nearest) <= Math.max(2, nearest.length / 3) ? `: did you mean "${nearest}"` : "";
  return `${options.programName}: "${name}" is no command${hint}\nCommands: ${names.join(", ")}\n`;
}

async function listCandidates(options: CliOptions, words: readonly string[]): Promise<readonly string[]> {
  const typed = words[0] === options.programName ? words.slice(1) : words;
  const [first = "", ...rest] = typed;
  if (rest.length === 0) return options.table.map((entry) => entry.name).filter((name) => name.startsWith(first));
  const entry = options.table.find((candidate) => candidate.name === first);
  return entry === undefined ? [] : completeWords(await entry.load(), rest);
}
