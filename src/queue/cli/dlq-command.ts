import type { Command } from "../../platform/cli/command.ts";
import { formatTable } from "../../platform/cli/table.ts";
import { UsageError } from "../../platform/cli/usage-error.ts";
import type { ReceivedMessage } from "../client/queue-client.ts";
import { clientOptions, createClient, printJson } from "./client-options.ts";

interface DeadLetterBody extends ReceivedMessage {
  readonly reason: string;
  readonly original_partition: number;
  readonly original_offset: number;
}

const topicPositional = {
  name: "topic",
  description: "the topic that the messages failed in",
  isRequired: true,
} as const;
const valueLengthShown = 60;

const list: Command = {
  name: "list",
  aliases: ["ls"],
  summary: "Look at dead letters without taking them",
  positionals: [topicPositional],
  options: {
    ...clientOptions,
    reason: { kind: "string", description: "only these, for example rejected" },
    max: { kind: "integer", alias: "n", description: "at most this many", default: 50 },
  },
  examples: [{ command: "slipway queue dlq list orders --reason rejected", description: "What was rejected" }],
  async run(args, context) {
    const body = await createClient(args, context).get<{
      readonly dlq_topic: string;
      readonly data: readonly DeadLetterBody[];
      readonly total: number;
    }>(`/topics/${encodeURIComponent(args.requiredString("topic"))}/dlq`, {
      reason: args.string("reason"),
      limit: args.integer("max"),
    });
    if (args.boolean("json")) {
      await printJson(context, body.data);
      return 0;
    }
    const rows = body.data.map((letter) => [
      `${letter.partition}@${letter.offset}`,
      letter.reason,
      `${letter.original_partition}@${letter.original_offset}`,
      letter.headers["x-queue-delivery-attempts"] ?? "",
      letter.timestamp,
      shorten(letter.value ?? letter.value_base64 ?? ""),
    ]);
    const columns = ["AT", "REASON", "ORIGINAL", "ATTEMPTS", "SINCE", "VALUE"].map((title) => ({ title }));
    await context.terminal.write(formatTable(context.terminal, columns, rows));
    context.terminal.writeError(`${body.data.length} of ${body.total} in ${body.dlq_topic}\n`);
    return 0;
  },
};

const redrive: Command = {
  name: "redrive",
  summary: "Publish dead letters again, each at most once",
  positionals: [topicPositional],
  options: {
    ...clientOptions,
    reason: { kind: "string", description: "only these" },
    max: { kind: "integer", alias: "n", description: "at most this many" },
    target: { kind: "string", valueName: "TOPIC", description: "instead of the original topic" },
    rate: { kind: "integer", valueName: "N", description: "at most this many a second" },
    at: { kind: "string", isRepeatable: true, valueName: "PARTITION@OFFSET", description: "only this dead letter" },
  },
  examples: [
    { command: "slipway queue dlq redrive orders", description: "All of them" },
    { command: "slipway queue dlq redrive orders --at 0@17", description: "One of them" },
  ],
  async run(args, context) {
    const messages = args.strings("at").map((text) => {
      const match = /^(\d+)@(\d+)$/.exec(text);
      if (match !== null) return { partition: Number(match[1]), offset: Number(match[2]) };
      throw new UsageError(`Cannot read --at "${text}": it is PARTITION@OFFSET`, "slipway queue dlq redrive");
    });
    const path = `/topics/${encodeURIComponent(args.requiredString("topic"))}/dlq/redrive`;
    const body = await createClient(args, context).post<{ redriven: number; dlq_topic: string }>(path, {
      messages: messages.length === 0 ? undefined : messages,
      reason: args.string("reason"),
      max: args.integer("max"),
      target_topic: args.string("target"),
      rate_per_second: args.integer("rate"),
    });
    if (args.boolean("json")) await printJson(context, body);
    else await context.terminal.write(`redrove ${body.redriven} from ${body.dlq_topic}\n`);
    return 0;
  },
};

const purge: Command = {
  name: "purge",
  summary: "Delete all dead letters of a topic",
  positionals: [topicPositional],
  options: clientOptions,
  examples: [{ command: "slipway queue dlq purge orders", description: "They are gone" }],
  async run(args, context) {
    const path = `/topics/${encodeURIComponent(args.requiredString("topic"))}/dlq`;
    const body = await createClient(args, context).delete<{ count: number; dlq_topic: string }>(path);
    if (args.boolean("json")) await printJson(context, body);
    else await context.terminal.write(`purged ${body.count} from ${body.dlq_topic}\n`);
    return 0;
  },
};

export const dlqCommand: Command = {
  name: "dlq",
  summary: "Look at, redrive and purge dead letters",
  examples: [{ command: "slipway queue dlq list orders", description: "What failed and why" }],
  subcommands: [list, redrive, purge],
};

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= valueLengthShown ? line : `${line.slice(0, valueLengthShown - 1)}…`;
}
