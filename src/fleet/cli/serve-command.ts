import { readFileSync } from "node:fs";
import type { Command, CommandContext, ParsedArguments } from "../../platform/cli/command.ts";
import { describeConfig, optionsOf } from "../../platform/config/describe-config.ts";
import { type ConfigSources, loadConfig } from "../../platform/config/load-config.ts";
import { untilAborted } from "../../platform/lifecycle/stop-signal.ts";
import { createLogger } from "../../platform/log/logger.ts";
import { createTracing } from "../../platform/tracing/create-tracing.ts";
import { findHubConflicts, type HubConfig, hubConfigSchema, otherHubVariables } from "../config.ts";
import type { Hub, HubDependencies } from "../start-hub.ts";

export type StartHub = (config: HubConfig, dependencies: HubDependencies) => Promise<Hub>;

/** @throws ConfigError with every problem */
export function loadHubConfig(sources: ConfigSources): HubConfig {
  return loadConfig(
    {
      schema: hubConfigSchema,
      prefixes: ["FLEETSCOPE_"],
      otherKnownVariables: otherHubVariables,
      crossChecks: findHubConflicts,
    },
    sources,
  );
}

export function createServeCommand(startHub: StartHub): Command {
  return {
    name: "serve",
    summary: "Judge manifests over HTTP: the gate, the facts, a page to paste into",
    options: optionsOf(hubConfigSchema),
    examples: [
      { command: "fleetscope serve", description: "On 127.0.0.1:8080, open to this machine" },
      {
        command: "fleetscope serve --listen :8080 --read-token-file /run/secrets/read-token",
        description: "Reachable from a pipeline",
      },
      {
        command: "curl --data-binary @all.yaml 'http://127.0.0.1:8080/api/v1/gate?target=1.36&format=sarif'",
        description: "The gate of a pipeline",
      },
    ],
    exitCodes: { 2: "the configuration has problems; all of them are listed" },
    effectiveConfig: (flags, context) => {
      const sources = sourcesOf(flags, context);
      return describeConfig(hubConfigSchema, loadHubConfig(sources), sources);
    },
    run: (args, context) => serve(args, context, startHub),
  };
}

async function serve(args: ParsedArguments, context: CommandContext, startHub: StartHub): Promise<number> {
  const config = loadHubConfig(sourcesOf(flagsOf(args), context));
  const logger = createLogger({
    name: "fleetscope",
    level: "info",
    format: "auto",
    isTty: context.terminal.isErrorTty,
  });
  const tracing = await createTracing({
    environment: context.env,
    serviceName: "fleetscope",
    version: context.version,
    logger,
  });
  await using hub = await startHub(config, {
    logger,
    version: context.version,
    cwd: context.cwd,
    tracer: tracing?.tracer,
  });
  logger.info({ url: hub.url }, "serving");
  await untilAborted(context.signal);
  logger.info({}, "stopping");
  await tracing?.[Symbol.asyncDispose]();
  return 0;
}

function sourcesOf(flags: Readonly<Record<string, unknown>>, context: CommandContext): ConfigSources {
  return { environment: context.env, flags, readFile: (path) => readFileSync(path, "utf8") };
}

function flagsOf(args: ParsedArguments): Readonly<Record<string, unknown>> {
  const flags: Record<string, unknown> = {};
  for (const field of Object.values(hubConfigSchema)) {
    const name = field.flag;
    if (name === undefined) continue;
    const values = args.strings(name);
    if (values.length > 0) flags[name] = values;
  }
  return flags;
}
