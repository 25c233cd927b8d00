import { readFileSync } from "node:fs";
import type { Command, CommandContext, ConfigRow } from "../../platform/cli/command.ts";
import { describeConfig } from "../../platform/config/describe-config.ts";
import type { ConfigSources } from "../../platform/config/load-config.ts";
import { untilAborted } from "../../platform/lifecycle/stop-signal.ts";
import { createLogger } from "../../platform/log/logger.ts";
import { createTracing } from "../../platform/tracing/create-tracing.ts";
import { catalogConfigSchema, loadCatalogConfig } from "../config.ts";
import { startCatalog } from "../start-catalog.ts";

export const catalogCommand: Command = {
  name: "catalog",
  summary: "Serve a small sample catalog of books over HTTP",
  description:
    "A sample service to deploy and to depend on: GET /books, /healthz, /readyz and /metrics on every interface. " +
    "Set up by PORT (8080), DB_DSN (Postgres) and REDIS_ADDR; without them the books are kept in memory.",
  examples: [
    { command: "slipway catalog", description: "Serve the sample books on port 8080" },
    { command: "PORT=9090 DB_DSN=postgres://app@db/shop slipway catalog", description: "Serve the table books" },
  ],
  effectiveConfig: (_flags, context) => describe(context),
  run: async (_args, context) => {
    await serve(context);
    return 0;
  },
};

function sourcesOf(context: CommandContext): ConfigSources {
  return { environment: context.env, readFile: (path) => readFileSync(path, "utf8") };
}

function describe(context: CommandContext): readonly ConfigRow[] {
  const sources = sourcesOf(context);
  return describeConfig(catalogConfigSchema, loadCatalogConfig(sources), sources);
}

async function serve(context: CommandContext): Promise<void> {
  const config = loadCatalogConfig(sourcesOf(context));
  const logger = createLogger({
    name: "catalog",
    level: "info",
    format: "auto",
    isTty: context.terminal.isErrorTty,
    destination: { write: (line) => context.terminal.writeError(line) },
  });
  const { env: environment, version } = context;
  const tracing = await createTracing({ serviceName: "catalog", version, environment, logger });
  const catalog = await startCatalog(config, { logger, tracer: tracing?.tracer });
  await untilAborted(context.signal);
  logger.info({}, "shutting down");
  await catalog[Symbol.asyncDispose]();
  await tracing?.close();
  logger.info({}, "shutdown complete");
}
