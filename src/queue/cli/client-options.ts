import { readFileSync } from "node:fs";
import type { CommandContext, OptionSpec, ParsedArguments } from "../../platform/cli/command.ts";
import { customField, optionalField, parseHttpUrl, parseText } from "../../platform/config/field.ts";
import { loadConfig } from "../../platform/config/load-config.ts";
import { QueueClient } from "../client/queue-client.ts";

/** Where the commands find the broker: QUEUE_SERVER and QUEUE_API_KEY, or `--server`. */
const clientSchema = {
  server: customField(parseHttpUrl, {
    environment: "QUEUE_SERVER",
    flag: "server",
    description: "The broker's REST address",
    defaultValue: "http://127.0.0.1:8080",
  }),
  apiKey: optionalField(parseText, {
    environment: "QUEUE_API_KEY",
    description: "API key that is sent along",
    isSecret: true,
  }),
} as const;

export const clientOptions: Readonly<Record<string, OptionSpec>> = {
  server: { kind: "string", valueName: "URL", description: "the broker, instead of $QUEUE_SERVER" },
  json: { kind: "boolean", description: "print JSON" },
};

export function createClient(args: ParsedArguments, context: CommandContext): QueueClient {
  const server = args.string("server");
  const { server: baseUrl, apiKey } = loadConfig(
    { schema: clientSchema, prefixes: [] },
    {
      environment: context.env,
      flags: server === undefined ? {} : { server },
      readFile: (path) => readFileSync(path, "utf8"),
    },
  );
  return new QueueClient({ baseUrl, apiKey, signal: context.signal });
}

export async function printJson(context: CommandContext, value: unknown): Promise<void> {
  await context.terminal.write(`${JSON.stringify(value, null, 2)}\n`);
}
