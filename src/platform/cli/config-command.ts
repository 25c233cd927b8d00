import type { Command } from "./command.ts";
import type { CommandEntry } from "./run-cli.ts";
import { formatTable } from "./table.ts";
import { UsageError } from "./usage-error.ts";

const problemExitCode = 2;

/** `slipway config check queue serve`: the effective configuration without secrets, or every problem with it. */
export function createConfigCommand(table: () => readonly CommandEntry[]): Command {
  const check: Command = {
    name: "check",
    summary: "Print the effective configuration of a command, without secrets",
    positionals: [
      {
        name: "command",
        description: "Words of the command, for example: queue serve",
        isRequired: true,
        isVariadic: true,
      },
    ],
    options: { json: { kind: "boolean", description: "Print JSON" } },
    examples: [
      { command: "slipway config check queue serve", description: "What the broker would run with" },
      { command: "slipway config check bsd --json", description: "The same for the branching daemon, for scripts" },
    ],
    exitCodes: { 0: "the configuration is valid", 2: "it has problems; all of them are listed" },
    async run(args, context) {
      const words = args.strings("command");
      const command = await findConfiguredCommand(table(), words);
      const rows = command.effectiveConfig?.({}, context) ?? [];
      if (args.boolean("json")) {
        const values = Object.fromEntries(rows.map((row) => [row.name, { value: row.value, source: row.source }]));
        await context.terminal.write(`${JSON.stringify(values, null, 2)}\n`);
        return 0;
      }
      const cells = rows.map((row) => [row.name, row.value, row.source]);
      await context.terminal.write(
        formatTable(context.terminal, [{ title: "SETTING" }, { title: "VALUE" }, { title: "FROM" }], cells),
      );
      return 0;
    },
  };
  return {
    name: "config",
    summary: "Check the configuration of a command",
    examples: [{ command: "slipway config check queue serve", description: "What the broker would run with" }],
    failureExitCode: problemExitCode,
    subcommands: [check],
  };
}

async function findConfiguredCommand(table: readonly CommandEntry[], words: readonly string[]): Promise<Command> {
  const entry = table.find((candidate) => candidate.name === words[0]);
  let command = entry === undefined ? undefined : await entry.load();
  for (const word of words.slice(1)) command = command?.subcommands?.find((candidate) => candidate.name === word);
  if (command?.effectiveConfig === undefined) {
    throw new UsageError(
      `Cannot check "${words.join(" ")}": no command of that name reads a configuration; try "queue serve"`,
      "slipway config check",
    );
  }
  return command;
}
