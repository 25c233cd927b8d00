import type { Command, CommandContext, ParsedArguments } from "../../platform/cli/command.ts";
import { UsageError } from "../../platform/cli/usage-error.ts";
import type { JsonBody, PublishedResult, QueueClient } from "../client/queue-client.ts";
import { clientOptions, createClient } from "./client-options.ts";
import { readLines } from "./read-lines.ts";

const batchCountMax = 500;
const batchBytesMax = 4 * 1024 * 1024;
const inputBytesMax = 16 * 1024 * 1024;

export const publishCommand: Command = {
  name: "publish",
  summary: "Publish messages: one from the command line, or from standard input",
  description:
    "Without VALUE the whole input is one message; with --lines each line is one, with --json-lines each line is a message object with value, key, headers, priority, delay and the other fields of the REST API.",
  positionals: [
    { name: "topic", description: "where to", isRequired: true },
    { name: "value", description: "the message; standard input when left out" },
  ],
  options: {
    ...clientOptions,
    key: { kind: "string", alias: "k", description: "key; messages of one key stay in order" },
    header: { kind: "string", alias: "H", isRepeatable: true, valueName: "NAME=VALUE", description: "a header" },
    partition: { kind: "integer", description: "instead of the one that the key gives" },
    priority: { kind: "string", choices: ["critical", "high", "normal", "low", "background"], description: "priority" },
    delay: { kind: "string", valueName: "DURATION", description: "deliver later, for example 30s or 2h" },
    acks: { kind: "string", choices: ["all", "leader", "none"], description: "when it counts as published" },
    lines: { kind: "boolean", alias: "l", description: "each line of the input is a message" },
    "json-lines": { kind: "boolean", description: "each line is a message object", conflictsWith: ["lines"] },
    quiet: { kind: "boolean", alias: "q", description: "print nothing when all went well" },
  },
  examples: [
    { command: 'slipway queue publish orders "hello" --key customer-7', description: "One message" },
    { command: "tail -f app.log | slipway queue publish logs --lines", description: "Each line as it comes" },
    { command: "slipway queue publish orders --json-lines < orders.jsonl", description: "Message objects" },
  ],
  async run(args, context) {
    const client = createClient(args, context);
    const topic = args.requiredString("topic");
    const print = createPrinter(args, context);
    for await (const batch of readBatches(args, context)) {
      await publishBatch({ client, topic, acks: args.string("acks"), print }, batch);
    }
    await print.finish();
    return print.failures === 0 ? 0 : 1;
  },
};

interface Printer {
  readonly failures: number;
  add(results: readonly PublishedResult[]): Promise<void>;
  finish(): Promise<void>;
}

interface Target {
  readonly client: QueueClient;
  readonly topic: string;
  readonly acks: string | undefined;
  readonly print: Printer;
}

async function publishBatch(target: Target, batch: readonly JsonBody[]): Promise<void> {
  await target.print.add(await target.client.publish(target.topic, batch, target.acks));
}

async function* readBatches(args: ParsedArguments, context: CommandContext): AsyncGenerator<readonly JsonBody[]> {
  const fields = readFields(args);
  const value = args.string("value");
  const isByLine = args.boolean("lines") || args.boolean("json-lines");
  if (value !== undefined) {
    if (isByLine) throw usage("Cannot publish both VALUE and lines of the input: give one of them");
    yield [{ value, ...fields }];
    return;
  }
  if (context.terminal.isInputTty) throw usage("Cannot publish nothing: give a VALUE, or pipe something in");
  if (!isByLine) {
    yield [{ ...toValue(await readAll(context)), ...fields }];
    return;
  }
  let batch: JsonBody[] = [];
  let sizeBytes = 0;
  for await (const { line, isLastWaiting } of readLines(context.terminal.readInput(), inputBytesMax)) {
    if (line.length > 0) {
      batch.push(
        args.boolean("json-lines") ? { ...fields, ...parseMessageLine(line) } : { ...toValue(line), ...fields },
      );
      sizeBytes += line.length;
    }
    // What has arrived is published at once when nothing more waits, so that `tail -f` does not lag.
    if (batch.length > 0 && (isLastWaiting || batch.length >= batchCountMax || sizeBytes >= batchBytesMax)) {
      yield batch;
      batch = [];
      sizeBytes = 0;
    }
  }
}

function readFields(args: ParsedArguments): JsonBody {
  const fields: Record<string, unknown> = {};
  for (const name of ["key", "priority", "delay"]) {
    const value = args.string(name);
    if (value !== undefined) fields[name] = value;
  }
  const partition = args.integer("partition");
  if (partition !== undefined) fields["partition"] = partition;
  const headers = args.strings("header").map((header): [string, string] => {
    const at = header.indexOf("=");
    if (at < 1) throw usage(`Cannot read --header "${header}": it is NAME=VALUE`);
    return [header.slice(0, at), header.slice(at + 1)];
  });
  if (headers.length > 0) fields["headers"] = Object.fromEntries(headers);
  return fields;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Bytes that are no text go in base64, so that any file can be published. */
function toValue(bytes: Uint8Array): JsonBody {
  try {
    return { value: decoder.decode(bytes) };
  } catch {
    return { value_base64: Buffer.from(bytes).toString("base64") };
  }
}

function parseMessageLine(line: Uint8Array): JsonBody {
  const text = Buffer.from(line).toString("utf8");
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonBody;
  } catch {
    // Reported below, as an object of the wrong kind is.
  }
  throw usage(`Cannot read the line "${text.slice(0, 60)}": each must be a JSON object such as {"value":"hello"}`);
}

async function readAll(context: CommandContext): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of context.terminal.readInput()) {
    sizeBytes += chunk.length;
    if (sizeBytes > inputBytesMax)
      throw usage(`Cannot publish the input: one message has at most ${inputBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function createPrinter(args: ParsedArguments, context: CommandContext): Printer {
  const isJson = args.boolean("json");
  let count = 0;
  let failures = 0;
  return {
    get failures() {
      return failures;
    },
    async add(results) {
      let text = "";
      for (const result of results) {
        if (result.error !== undefined) {
          failures += 1;
          context.terminal.writeError(`partition ${result.partition}: ${result.error.code}: ${result.error.message}\n`);
        } else count += 1;
        if (isJson) text += `${JSON.stringify(result)}\n`;
        else if (!args.boolean("quiet") && results.length === 1 && result.error === undefined) text += describe(result);
      }
      if (text !== "") await context.terminal.write(text);
    },
    async finish() {
      if (isJson || args.boolean("quiet") || count < 2) return;
      context.terminal.writeError(`published ${count} messages\n`);
    },
  };
}

function describe(result: PublishedResult): string {
  if (result.delayed_id !== undefined) return `${result.topic} delayed ${result.delayed_id}\n`;
  return `${result.topic}/${result.partition}@${result.offset}${result.duplicate ? " (duplicate)" : ""}\n`;
}

function usage(message: string): UsageError {
  return new UsageError(message, "slipway queue publish");
}
