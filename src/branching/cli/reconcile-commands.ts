import type { Command, CommandContext } from "../../platform/cli/command.ts";
import { formatTable } from "../../platform/cli/table.ts";
import type { ReconcileAction } from "../model/reconcile-plan.ts";
import { engineOptions, withLocalEngine } from "./local-session.ts";
import { formatJson, jsonOption, toPlanJson } from "./output.ts";

const options = { ...engineOptions("stuckTimeoutMs"), ...jsonOption };

export const doctorCommand: Command = {
  name: "doctor",
  summary: "Show what gc would do, without doing it",
  examples: [{ command: "bsctl doctor || bsctl gc", description: "Repair only when there is something to repair" }],
  options,
  exitCodes: { 0: "nothing to do", 1: "something to do", 2: "the plan could not be made" },
  usageExitCode: 2,
  failureExitCode: 2,
  run: (args, context) =>
    withLocalEngine(args, context, "reads", async ({ engine }) => {
      const actions = await engine.planReconcile();
      const facts = await engine.describeRuntime();
      if (args.boolean("json")) await context.terminal.write(formatJson(toPlanJson(actions)));
      else {
        const generations = await engine.listLayouts();
        const layouts = generations.map(
          (item) => `source ${item.source}: layout ${item.layout}${item.clonesExtents ? ", clones extents" : ""}\n`,
        );
        context.terminal.writeError(
          `engine ${facts.version}, kernel ${facts.kernel}, storage ${facts.storage}\n${layouts.join("")}`,
        );
        await context.terminal.write(actions.length === 0 ? "nothing to do\n" : formatActions(context, actions));
      }
      return actions.length === 0 ? 0 : 1;
    }),
};

export const gcCommand: Command = {
  name: "gc",
  summary: "Reap expired branches, repair drift, remove what nobody owns",
  examples: [{ command: "bsctl gc", description: "From cron, where no daemon runs" }],
  options,
  run: (args, context) =>
    withLocalEngine(args, context, "writes", async ({ engine, caller }) => {
      const { done, failed } = await engine.reconcile(caller);
      if (args.boolean("json")) await context.terminal.write(formatJson(toPlanJson(done)));
      else await context.terminal.write(done.length === 0 ? "nothing was done\n" : formatActions(context, done));
      for (const { action, error } of failed) {
        const text = error instanceof Error ? error.message : String(error);
        context.terminal.writeError(`${action.kind} ${action.target} failed: ${text}\n`);
      }
      return failed.length === 0 ? 0 : 1;
    }),
};

function formatActions(context: CommandContext, actions: readonly ReconcileAction[]): string {
  const columns = ["ACTION", "TARGET", "REASON"].map((title) => ({ title }));
  return formatTable(
    context.terminal,
    columns,
    actions.map((action) => [action.kind, action.target, action.reason]),
  );
}
