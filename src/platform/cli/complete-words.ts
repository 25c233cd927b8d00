import type { Command, OptionSpec } from "./command.ts";

/**
 * Candidates for the last word of a command line, from the command data alone.
 *
 * @param words words behind the root command; the last one is unfinished and may be empty
 */
export function completeWords(root: Command, words: readonly string[]): readonly string[] {
  const last = words.at(-1) ?? "";
  const typed = words.slice(0, -1);
  let command = root;
  let positionalCount = 0;
  let pendingOption: OptionSpec | undefined;
  for (const word of typed) {
    if (pendingOption !== undefined) {
      pendingOption = undefined;
      continue;
    }
    if (word.startsWith("-")) {
      pendingOption = optionThatNeedsValue(command, word);
      continue;
    }
    const subcommand = command.subcommands?.find((candidate) => candidate.name === word);
    if (subcommand === undefined) positionalCount++;
    else command = subcommand;
  }
  return candidatesFor(command, pendingOption, last, positionalCount).filter((candidate) => candidate.startsWith(last));
}

function optionThatNeedsValue(command: Command, word: string): OptionSpec | undefined {
  if (word.includes("=")) return undefined;
  const option = command.options?.[word.replace(/^--?/, "")];
  return option === undefined || option.kind === "boolean" ? undefined : option;
}

function candidatesFor(
  command: Command,
  pendingOption: OptionSpec | undefined,
  last: string,
  positionalCount: number,
): readonly string[] {
  if (pendingOption !== undefined) return pendingOption.choices ?? [];
  const optionNames = Object.entries(command.options ?? {})
    .filter(([, spec]) => !spec.isHidden)
    .map(([name]) => `--${name}`);
  if (last.startsWith("-")) return [...optionNames, "--help"];
  const subcommandNames = (command.subcommands ?? []).map((subcommand) => subcommand.name);
  return [...subcommandNames, ...(command.positionals?.[positionalCount]?.choices ?? [])];
}
