import type { Command, CommandContext, ParsedArguments } from "../../platform/cli/command.ts";
import { createStyle } from "../../platform/cli/style.ts";
import { UsageError } from "../../platform/cli/usage-error.ts";
import type { QueueClient, ReceivedMessage, TopicBody } from "../client/queue-client.ts";
import { clientOptions, createClient } from "./client-options.ts";

const fetchCountMax = 500;
const followWaitMs = 20_000;
const pollTimeout = "20s";
const memberPrefix = "slipway-cli";

export const consumeCommand: Command = {
  name: "consume",
  summary: "Print messages: as a log, or as a member of a group",
  description:
    "Without --group partitions are read from an offset and nothing changes in the broker. With --group messages are delivered to a member; with --ack each is acknowledged once it is printed, without it all go back when the command ends.",
  positionals: [{ name: "topic", description: "where from", isRequired: true }],
  options: {
    ...clientOptions,
    from: { kind: "string", valueName: "OFFSET", description: "earliest, latest or a number", default: "earliest" },
    partition: { kind: "integer", alias: "p", description: "only this one" },
    max: { kind: "integer", alias: "n", description: "stop after this many messages" },
    follow: { kind: "boolean", alias: "f", description: "wait for more; Ctrl-C ends" },
    group: { kind: "string", alias: "g", description: "be a member of this group" },
    ack: { kind: "boolean", description: "acknowledge what is printed" },
    "value-only": { kind: "boolean", description: "print values alone, a line each" },
  },
  examples: [
    { command: "slipway queue consume orders", description: "Everything that is kept, then stop" },
    { command: "slipway queue consume orders --from latest --follow", description: "What comes from now on" },
    { command: "slipway queue consume orders --group billing --ack --follow", description: "Work as a group member" },
  ],
  async run(args, context) {
    const printer = createPrinter(args, context);
    try {
      if (args.string("group") === undefined) await readLog(args, context, printer);
      else await readAsMember(args, context, printer);
    } catch (error) {
      if (!context.signal.aborted) throw error;
    }
    return 0;
  },
};

interface Printer {
  /** How many more may be printed. */
  readonly room: number;
  print(message: ReceivedMessage): Promise<void>;
}

interface Reader {
  readonly partition: number;
  offset: number | "earliest" | "latest";
}

interface FetchBody {
  readonly messages: readonly ReceivedMessage[];
  readonly next_offset: number;
  readonly high_watermark: number;
}

async function readLog(args: ParsedArguments, context: CommandContext, printer: Printer): Promise<void> {
  if (args.boolean("ack")) throw usage("Cannot acknowledge without a group: give --group NAME too");
  const client = createClient(args, context);
  const topic = args.requiredString("topic");
  const { partitions } = await client.get<TopicBody>(`/topics/${encodeURIComponent(topic)}`);
  const chosen = args.integer("partition");
  const numbers = chosen === undefined ? Array.from({ length: partitions }, (_, index) => index) : [chosen];
  const from = readFrom(args.requiredString("from"));
  const isFollowing = args.boolean("follow");
  const readers = numbers.map((partition): Reader => ({ partition, offset: from }));
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, context.signal]);
  const work = readers.map((reader) => readPartition({ client, topic, reader, isFollowing, signal, printer }));
  try {
    await Promise.race([Promise.all(work), ...work.map((item) => item.then(() => untilFull(printer)))]);
  } finally {
    stop.abort();
    await Promise.allSettled(work);
  }
}

/** Settles only when nothing more may be printed, so that other partitions are not waited for. */
function untilFull(printer: Printer): Promise<void> {
  return printer.room <= 0 ? Promise.resolve() : new Promise(() => {});
}

interface PartitionReading {
  readonly client: QueueClient;
  readonly topic: string;
  readonly reader: Reader;
  readonly isFollowing: boolean;
  readonly signal: AbortSignal;
  readonly printer: Printer;
}

async function readPartition({ client, topic, reader, isFollowing, signal, printer }: PartitionReading): Promise<void> {
  const path = `/topics/${encodeURIComponent(topic)}/partitions/${reader.partition}/messages`;
  while (printer.room > 0 && !signal.aborted) {
    const query = {
      offset: reader.offset,
      max: Math.min(printer.room, fetchCountMax),
      wait_ms: isFollowing ? followWaitMs : 0,
    };
    const body = await client.get<FetchBody>(path, query, signal);
    for (const message of body.messages) await printer.print(message);
    reader.offset = body.next_offset;
    if (!isFollowing && body.next_offset >= body.high_watermark) return;
  }
}

function readFrom(text: string): Reader["offset"] {
  if (text === "earliest" || text === "latest") return text;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw usage(`Cannot read from "${text}": it is earliest, latest or an offset`);
}

interface PollBody {
  readonly messages: readonly ReceivedMessage[];
}

async function readAsMember(args: ParsedArguments, context: CommandContext, printer: Printer): Promise<void> {
  if (args.integer("partition") !== undefined) {
    throw usage("Cannot choose a partition in a group: the broker assigns them");
  }
  const client = createClient(args, context);
  // Leaving must still work when Ctrl-C has ended everything else.
  const lastWords = createClient(args, { ...context, signal: new AbortController().signal });
  const path = `/groups/${encodeURIComponent(args.requiredString("group"))}`;
  const from = args.requiredString("from");
  const { member_id: memberId } = await client.post<{ member_id: string }>(`${path}/join`, {
    client_id: memberPrefix,
    topics: [args.requiredString("topic")],
    auto_offset_reset: from === "latest" ? "latest" : "earliest",
    auto_extend: true,
  });
  try {
    while (printer.room > 0 && !context.signal.aborted) {
      const isFollowing = args.boolean("follow");
      const { messages } = await client.get<PollBody>(`${path}/poll`, {
        member_id: memberId,
        timeout: isFollowing ? pollTimeout : "1s",
        max_messages: Math.min(printer.room, fetchCountMax),
      });
      for (const message of messages) await printer.print(message);
      if (args.boolean("ack") && messages.length > 0) await acknowledge(lastWords, messages);
      if (messages.length === 0 && !isFollowing) return;
    }
  } finally {
    await lastWords.post(`${path}/leave`, { member_id: memberId });
  }
}

async function acknowledge(client: QueueClient, messages: readonly ReceivedMessage[]): Promise<void> {
  await client.post("/messages/ack", {
    messages: messages.map(({ receipt_handle: handle }) => ({ receipt_handle: handle })),
  });
}

function createPrinter(args: ParsedArguments, context: CommandContext): Printer {
  const style = createStyle(context.terminal.hasColor);
  let room = args.integer("max") ?? Number.POSITIVE_INFINITY;
  const format = (message: ReceivedMessage): string => {
    if (args.boolean("json")) return JSON.stringify(message);
    const value = message.value ?? message.value_base64 ?? "";
    if (args.boolean("value-only")) return value;
    const key = message.key ?? message.key_base64;
    const place = style("dim", `${message.timestamp} ${message.partition}@${message.offset}`);
    return `${place} ${key === undefined ? "" : `${style("cyan", key)} `}${value}`;
  };
  return {
    get room() {
      return room;
    },
    async print(message) {
      if (room <= 0) return;
      room -= 1;
      await context.terminal.write(`${format(message)}\n`);
    },
  };
}

function usage(message: string): UsageError {
  return new UsageError(message, "slipway queue consume");
}
