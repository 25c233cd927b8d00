import { readFileSync } from "node:fs";
import type { Command, CommandContext } from "../platform/cli/command.ts";
import { isLoopbackHost } from "../platform/config/field.ts";
import { untilAborted } from "../platform/lifecycle/stop-signal.ts";
import { createLogger, type Logger } from "../platform/log/logger.ts";
import { createTracing } from "../platform/tracing/create-tracing.ts";
import { consumeCommand } from "./cli/consume-command.ts";
import { delayedCommand } from "./cli/delayed-command.ts";
import { dlqCommand } from "./cli/dlq-command.ts";
import { groupsCommand, lagCommand } from "./cli/groups-command.ts";
import { publishCommand } from "./cli/publish-command.ts";
import { topicsCommand } from "./cli/topics-command.ts";
import { describeQueueConfig, loadQueueConfig, type QueueConfig } from "./config.ts";

export { queueUpService } from "./up-service.ts";

const readFile = (path: string): string => readFileSync(path, "utf8");

const serveCommand: Command = {
  name: "serve",
  summary: "Run the message broker",
  description: "Configured by QUEUE_ variables alone; `slipway config check queue serve` prints what would hold.",
  examples: [
    { command: "slipway queue serve", description: "REST on 127.0.0.1:8080, gRPC on 127.0.0.1:9000, data in ./data" },
    {
      command: "QUEUE_BROKER_DATADIR=/var/lib/queue QUEUE_LISTENERS_HTTP=:8080 slipway queue serve",
      description: "Reachable from other machines",
    },
  ],
  exitCodes: { 2: "the configuration has problems; all of them are listed" },
  effectiveConfig: (_flags, context) => describeQueueConfig(context, readFile),
  run: (_args, context) => serve(context),
};

export const queueCommand: Command = {
  name: "queue",
  summary: "Run the message broker and talk to it",
  examples: [
    { command: "slipway queue serve", description: "Run the broker" },
    { command: "slipway queue publish orders hello", description: "Publish a message" },
  ],
  description: "The commands beside serve talk to the broker at $QUEUE_SERVER (http://127.0.0.1:8080).",
  subcommands: [
    serveCommand,
    topicsCommand,
    publishCommand,
    consumeCommand,
    groupsCommand,
    lagCommand,
    dlqCommand,
    delayedCommand,
  ],
};

async function serve(context: CommandContext): Promise<number> {
  const config = loadQueueConfig({ environment: context.env, readFile });
  const logger = createLogger({
    name: "queue",
    level: config.logLevel,
    format: config.logFormat,
    isTty: context.terminal.isErrorTty,
  });
  warnOfOpenListeners(config, logger);
  const { version } = context;
  const tracing = await createTracing({ serviceName: "queue", version, environment: context.env, logger });
  try {
    // Loaded here and not above: the client commands need none of it.
    const { startQueueServer } = await import("./start-queue-server.ts");
    await using server = await startQueueServer(config, { logger, version, tracer: tracing?.tracer });
    await untilAborted(context.signal);
    await server.close();
  } finally {
    await tracing?.close();
  }
  return 0;
}

function warnOfOpenListeners(config: QueueConfig, logger: Logger): void {
  const isOpen = [config.listenHttp, config.listenGrpc].some((address) => !isLoopbackHost(address.host));
  if (isOpen) logger.warn({}, "authentication is off and a listener is reachable from other machines");
}
