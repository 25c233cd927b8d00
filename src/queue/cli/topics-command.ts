import type { Command, CommandContext, OptionSpec, ParsedArguments } from "../../platform/cli/command.ts";
import { formatBytes } from "../../platform/cli/progress.ts";
import { formatTable } from "../../platform/cli/table.ts";
import { UsageError } from "../../platform/cli/usage-error.ts";
import type { QueueClient, TopicBody } from "../client/queue-client.ts";
import { clientOptions, createClient, printJson } from "./client-options.ts";

const topicPositional = { name: "topic", description: "name of the topic", isRequired: true } as const;

const settingOptions: Readonly<Record<string, OptionSpec>> = {
  partitions: { kind: "integer", description: "number of partitions; it can only grow" },
  "retention-hours": { kind: "integer", description: "how long messages are kept; 0 is for ever" },
  set: {
    kind: "string",
    isRepeatable: true,
    valueName: "NAME=VALUE",
    description: "any other property, for example max_deliveries=5",
  },
};

const list: Command = {
  name: "list",
  aliases: ["ls"],
  summary: "List topics",
  options: clientOptions,
  examples: [{ command: "slipway queue topics list", description: "Topics with partitions, messages and size" }],
  run: listTopics,
};

const create: Command = {
  name: "create",
  summary: "Create a topic",
  positionals: [topicPositional],
  options: { ...clientOptions, ...settingOptions },
  examples: [
    { command: "slipway queue topics create orders --partitions 6", description: "A topic with six partitions" },
    { command: "slipway queue topics create audit --set cleanup_policy=compact", description: "Keep the last per key" },
  ],
  async run(args, context) {
    const client = createClient(args, context);
    const name = args.requiredString("topic");
    const topic = await client.post<TopicBody>("/topics", { name, ...readSettings(args, "create") });
    return await printTopic(args, context, topic);
  },
};

const get: Command = {
  name: "get",
  summary: "Describe a topic",
  positionals: [topicPositional],
  options: clientOptions,
  examples: [{ command: "slipway queue topics get orders", description: "Partitions, offsets and settings" }],
  async run(args, context) {
    return await printTopic(args, context, await createClient(args, context).get<TopicBody>(pathOf(args)));
  },
};

const set: Command = {
  name: "set",
  summary: "Change a topic",
  positionals: [topicPositional],
  options: { ...clientOptions, ...settingOptions },
  examples: [{ command: "slipway queue topics set orders --partitions 12", description: "Add partitions" }],
  async run(args, context) {
    const topic = await createClient(args, context).patch<TopicBody>(pathOf(args), readSettings(args, "set"));
    return await printTopic(args, context, topic);
  },
};

const remove: Command = {
  name: "delete",
  aliases: ["rm"],
  summary: "Delete a topic with its messages",
  positionals: [topicPositional],
  options: clientOptions,
  examples: [{ command: "slipway queue topics delete orders", description: "Messages and offsets are gone" }],
  async run(args, context) {
    const result = await createClient(args, context).delete(pathOf(args));
    if (args.boolean("json")) await printJson(context, result);
    else await context.terminal.write(`deleted ${args.requiredString("topic")}\n`);
    return 0;
  },
};

export const topicsCommand: Command = {
  name: "topics",
  summary: "List, create, change and delete topics",
  options: clientOptions,
  subcommands: [list, create, get, set, remove],
  examples: [{ command: "slipway queue topics", description: "List topics" }],
  run: listTopics,
};

async function listTopics(args: ParsedArguments, context: CommandContext): Promise<number> {
  const topics = await collect(createClient(args, context));
  if (args.boolean("json")) {
    await printJson(context, topics);
    return 0;
  }
  const rows = topics.map((topic) => [
    topic.name,
    String(topic.partitions),
    String(topic.total_messages),
    formatBytes(topic.total_size_bytes),
    topic.retention_hours === 0 ? "for ever" : `${topic.retention_hours} h`,
  ]);
  const columns = [
    { title: "TOPIC" },
    { title: "PARTITIONS", isRightAligned: true },
    { title: "MESSAGES", isRightAligned: true },
    { title: "SIZE", isRightAligned: true },
    { title: "KEPT", isRightAligned: true },
  ];
  await context.terminal.write(formatTable(context.terminal, columns, rows));
  return 0;
}

async function collect(client: QueueClient): Promise<readonly TopicBody[]> {
  const topics: TopicBody[] = [];
  for await (const topic of client.list<TopicBody>("/topics")) topics.push(topic);
  return topics;
}

async function printTopic(args: ParsedArguments, context: CommandContext, topic: TopicBody): Promise<number> {
  if (args.boolean("json")) {
    await printJson(context, topic);
    return 0;
  }
  const { partition_offsets: offsets, partition_details: details, priority_weights: weights, ...settings } = topic;
  const lines = Object.entries({ ...settings, priority_weights: String(weights) }).map(([name, value]) => [
    name,
    String(value),
  ]);
  const partitions = Object.entries(offsets).map(([partition, { earliest, latest }]) => [
    partition,
    String(earliest),
    String(latest),
    formatBytes(sizeOf(details, Number(partition))),
  ]);
  const columns = ["PARTITION", "EARLIEST", "LATEST", "SIZE"].map((title) => ({ title, isRightAligned: true }));
  await context.terminal.write(
    `${formatTable(context.terminal, [{ title: "SETTING" }, { title: "VALUE" }], lines)}\n` +
      formatTable(context.terminal, columns, partitions),
  );
  return 0;
}

function sizeOf(details: unknown, partition: number): number {
  const list = Array.isArray(details) ? (details as { partition: number; size_bytes: number }[]) : [];
  return list.find((detail) => detail.partition === partition)?.size_bytes ?? 0;
}

function pathOf(args: ParsedArguments): string {
  return `/topics/${encodeURIComponent(args.requiredString("topic"))}`;
}

/** `--set` values that read as JSON are sent as such, others as text. */
function readSettings(args: ParsedArguments, command: string): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const assignment of args.strings("set")) {
    const at = assignment.indexOf("=");
    if (at < 1) {
      throw new UsageError(`Cannot read --set "${assignment}": it is NAME=VALUE`, `slipway queue topics ${command}`);
    }
    settings[assignment.slice(0, at)] = parseValue(assignment.slice(at + 1));
  }
  const partitions = args.integer("partitions");
  const hours = args.integer("retention-hours");
  if (partitions !== undefined) settings["partitions"] = partitions;
  if (hours !== undefined) settings["retention_hours"] = hours;
  return settings;
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
