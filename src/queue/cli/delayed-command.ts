import type { Command } from "../../platform/cli/command.ts";
import { formatTable } from "../../platform/cli/table.ts";
import { clientOptions, createClient, printJson } from "./client-options.ts";

interface DelayedBody {
  readonly delayed_id: string;
  readonly partition: number;
  readonly key: string | null;
  readonly priority: string;
  readonly deliver_at: string;
  readonly time_remaining: string;
}

const topicPositional = { name: "topic", description: "name of the topic", isRequired: true } as const;

const list: Command = {
  name: "list",
  aliases: ["ls"],
  summary: "Messages that wait for their time, soonest first",
  positionals: [topicPositional],
  options: { ...clientOptions, max: { kind: "integer", alias: "n", description: "at most this many", default: 50 } },
  examples: [{ command: "slipway queue delayed list orders", description: "What comes when" }],
  async run(args, context) {
    const path = `/topics/${encodeURIComponent(args.requiredString("topic"))}/delayed`;
    const body = await createClient(args, context).get<{
      readonly data: readonly DelayedBody[];
      readonly pagination: { readonly total: number };
    }>(path, { skip: 0, limit: args.integer("max") });
    if (args.boolean("json")) {
      await printJson(context, body.data);
      return 0;
    }
    const rows = body.data.map((item) => [
      item.delayed_id,
      item.deliver_at,
      item.time_remaining,
      item.priority,
      item.key ?? "",
    ]);
    const columns = ["ID", "DELIVER AT", "IN", "PRIORITY", "KEY"].map((title) => ({ title }));
    await context.terminal.write(formatTable(context.terminal, columns, rows));
    context.terminal.writeError(`${body.data.length} of ${body.pagination.total}\n`);
    return 0;
  },
};

const cancel: Command = {
  name: "cancel",
  summary: "Cancel a message that waits",
  positionals: [topicPositional, { name: "id", description: "delayed_id of the message", isRequired: true }],
  options: clientOptions,
  examples: [{ command: "slipway queue delayed cancel orders 0-17", description: "It is never delivered" }],
  async run(args, context) {
    const id = args.requiredString("id");
    const path = `/topics/${encodeURIComponent(args.requiredString("topic"))}/delayed/${encodeURIComponent(id)}`;
    const body = await createClient(args, context).delete(path);
    if (args.boolean("json")) await printJson(context, body);
    else await context.terminal.write(`cancelled ${id}\n`);
    return 0;
  },
};

export const delayedCommand: Command = {
  name: "delayed",
  summary: "List and cancel delayed messages",
  examples: [{ command: "slipway queue delayed list orders", description: "What is still to come" }],
  subcommands: [list, cancel],
};
