import { readFileSync } from "node:fs";
import type { Command, CommandContext, ParsedArguments } from "../../platform/cli/command.ts";
import { describeConfig, optionsOf } from "../../platform/config/describe-config.ts";
import type { ConfigSources } from "../../platform/config/load-config.ts";
import { untilAborted } from "../../platform/lifecycle/stop-signal.ts";
import { createLogger } from "../../platform/log/logger.ts";
import { createTracing } from "../../platform/tracing/create-tracing.ts";
import { daemonSchema, loadDaemonConfig } from "../daemon-config.ts";

export const bsdCommand: Command = {
  name: "bsd",
  summary: "Run the branching daemon: API, connection router, reconcile loop, web page",
  description:
    "Works on the engine of DOCKER_HOST or the current Docker context. The API needs the bearer token of BRANCHSVC_TOKEN; clients connect to the router with the database name <database>@<branch>.",
  options: optionsOf(daemonSchema),
  examples: [
    { command: "BRANCHSVC_TOKEN=$(openssl rand -hex 16) bsd", description: "API on :7070, router on :6432" },
    {
      command: "bsd --api-addr 127.0.0.1:7070 --pg-addr 127.0.0.1:6432 --max-ttl 72h",
      description: "For this machine only, branches end after three days at the latest",
    },
    { command: "psql 'host=127.0.0.1 port=6432 user=app dbname=app@pr-7'", description: "Connect to a branch" },
  ],
  exitCodes: { 2: "the configuration has problems; all of them are listed" },
  effectiveConfig: (flags, context) => {
    const sources = sourcesOf(flags, context);
    return describeConfig(daemonSchema, loadDaemonConfig(sources), sources);
  },
  run: serve,
};

async function serve(args: ParsedArguments, context: CommandContext): Promise<number> {
  const config = loadDaemonConfig(sourcesOf(flagsOf(args), context));
  const logger = createLogger({ name: "bsd", level: "info", format: "auto", isTty: context.terminal.isErrorTty });
  const { env: environment, version, homeDir: userHome } = context;
  const tracing = await createTracing({ environment, serviceName: "bsd", version, logger });
  const { startDaemon } = await import("../start-daemon.ts");
  const daemon = await startDaemon(config, { logger, version, environment, userHome, tracer: tracing?.tracer });
  logger.info({ api: daemon.apiUrl, router: daemon.routerAddress }, "serving");
  await untilAborted(context.signal);
  logger.info({}, "stopping");
  await daemon.close();
  await tracing?.close();
  logger.info({}, "stopped");
  return 0;
}

function sourcesOf(flags: Readonly<Record<string, unknown>>, context: CommandContext): ConfigSources {
  return { environment: context.env, flags, readFile: (path) => readFileSync(path, "utf8") };
}

function flagsOf(args: ParsedArguments): Readonly<Record<string, unknown>> {
  const names = Object.values(daemonSchema).flatMap((field) => (field.flag === undefined ? [] : [field.flag]));
  return Object.fromEntries(
    names.flatMap((name) => {
      const values = args.strings(name);
      return values.length === 0 ? [] : [[name, values]];
    }),
  );
}
