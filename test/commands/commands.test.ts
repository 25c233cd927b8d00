import t from "tap";
import { cliOptions } from "../../src/commands.ts";
import type { Command } from "../../src/platform/cli/command.ts";

interface Placed {
  readonly path: string;
  readonly command: Command;
}

function walk(command: Command, path: string): readonly Placed[] {
  const below = (command.subcommands ?? []).flatMap((subcommand) => walk(subcommand, `${path} ${subcommand.name}`));
  return [{ path, command }, ...below];
}

t.test("every command says what it does, by words and by example", async (t) => {
  const placed = (
    await Promise.all(cliOptions.table.map(async (entry) => walk(await entry.load(), entry.name)))
  ).flat();
  t.ok(placed.length > 40, `${placed.length} commands`);
  for (const { path, command } of placed) {
    t.match(command.summary, /^[A-Z].{8,90}[^.]$/, `${path}: a summary is one sentence without a stop`);
    t.ok((command.examples ?? []).length > 0, `${path} has an example`);
    t.ok(command.run !== undefined || (command.subcommands ?? []).length > 0, `${path} does something`);
    for (const [name, option] of Object.entries(command.options ?? {})) {
      t.match(name, /^[a-z][a-z0-9-]*$/, `${path} --${name}`);
      t.ok(option.description.length > 3, `${path} --${name} is described`);
    }
    for (const positional of command.positionals ?? []) {
      t.ok(positional.description.length > 3, `${path} <${positional.name}> is described`);
    }
  }
});

t.test("the table of commands agrees with the commands", async (t) => {
  for (const entry of cliOptions.table) {
    const command = await entry.load();
    t.equal(command.name, entry.name);
    t.ok(entry.summary.length > 10);
  }
});
