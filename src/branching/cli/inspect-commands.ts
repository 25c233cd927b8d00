import type { Command } from "../../platform/cli/command.ts";
import { formatTable } from "../../platform/cli/table.ts";
import { formatInstantSeconds } from "../../platform/time/clock.ts";
import { branchingError } from "../errors.ts";
import type { Branch } from "../model/records.ts";
import { withLocalEngine } from "./local-session.ts";
import { formatJson, jsonOption, toTransitionJson } from "./output.ts";

const name = { name: "name", description: "Name of the branch", isRequired: true } as const;

export const connectCommand: Command = {
  name: "connect",
  summary: "Print the connection URL of a branch",
  description: "The URL holds no password: a branch takes the passwords of its source, unless credentials are rotated.",
  positionals: [name],
  run: (args, context) =>
    withLocalEngine(args, context, "reads", async ({ engine }) => {
      const branch = await engine.getBranch(args.requiredString("name"));
      await context.terminal.write(`${formatUrl(branch)}\n`);
      return 0;
    }),
};

export const historyCommand: Command = {
  name: "history",
  summary: "Print the transition journal of a branch, also of a destroyed one",
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
