import { join } from "node:path";
import type { Command, CommandContext } from "../platform/cli/command.ts";
import { createStyle } from "../platform/cli/style.ts";
import { formatTable } from "../platform/cli/table.ts";
import { untilAborted } from "../platform/lifecycle/stop-signal.ts";
import type { RunningService, SkippedService, UpService } from "../platform/lifecycle/up-service.ts";
import { createLogger, type LogLevel, logLevels } from "../platform/log/logger.ts";

/**
 * `slipway up`: every server in one process, on loopback, with embedded defaults. A feature that cannot run here says
 * why and the others go on; one that fails to start stops those that run and fails the whole.
 */
export type ServiceTable = Readonly<Record<string, () => Promise<UpService>>>;

interface StartedService {
  readonly name: string;
  readonly service: RunningService | SkippedService;
}

export function createUpCommand(services: ServiceTable): Command {
  return {
    name: "up",
    summary: "Start every server on loopback with embedded defaults",
    description:
      "Data goes to --data. Ctrl-C stops everything cleanly; with --demo sample input runs through each server first, and --once ends after it.",
    options: {
      data: { kind: "string", valueName: "DIR", description: "where the servers keep their data", default: "./data" },
      demo: { kind: "boolean", description: "feed real sample input through each server and show the results" },
      "free-ports": { kind: "boolean", description: "listen on any free ports instead of the usual ones" },
      once: { kind: "boolean", description: "stop when the demo is over" },
      "log-level": { kind: "string", description: "what the servers log", choices: [...logLevels], default: "warn" },
    },
    examples: [
      { command: "slipway up", description: "Start the broker, the branching daemon and the fleet hub" },
      { command: "slipway up --demo", description: "The same, with sample input to look at" },
    ],
    run: async (args, context) => {
      const logger = createLogger({
        name: "up",
        level: args.requiredString("log-level") as LogLevel,
        format: "auto",
        isTty: context.terminal.isErrorTty,
      });
      const started: StartedService[] = [];
      try {
        for (const [name, load] of Object.entries(services)) {
          if (context.signal.aborted) return 0;
          const dataDir = join(context.cwd, args.requiredString("data"), name);
          const upService = await load();
          const addressFor = (port: number): string => `127.0.0.1:${args.boolean("free-ports") ? 0 : port}`;
          const service = await upService.start({
            context,
            dataDir,
            addressFor,
            logger: logger.child({ service: name }),
          });
          started.push({ name, service });
        }
        context.terminal.write(formatStatus(context, started));
        if (args.boolean("demo")) await runDemos(context, started);
        if (!args.boolean("once")) {
          context.terminal.writeError("Running. Ctrl-C stops everything.\n");
          await untilAborted(context.signal);
        }
        return 0;
      } finally {
        await stopAll(context, started);
      }
    },
  };
}

function formatStatus(context: CommandContext, started: readonly StartedService[]): string {
  const style = createStyle(context.terminal.hasColor);
  const rows = started.flatMap(({ name, service }) =>
    service.kind === "skipped"
      ? [[name, style("yellow", "skipped"), "", service.reason]]
      : service.endpoints.map((endpoint) => [name, style("green", "running"), endpoint.label, endpoint.address]),
  );
  const commands = started.flatMap(({ service }) => (service.kind === "running" ? service.firstCommands : []));
  const table = formatTable(
    context.terminal,
    [{ title: "SERVICE" }, { title: "STATE" }, { title: "WHAT" }, { title: "WHERE" }],
    rows,
  );
  return `${table}\n${style("bold", "Try:")}\n${commands.map((command) => `  ${command}`).join("\n")}\n\n`;
}

async function runDemos(context: CommandContext, started: readonly StartedService[]): Promise<void> {
  const style = createStyle(context.terminal.hasColor);
  for (const { name, service } of started) {
    if (service.kind === "skipped" || service.demo === undefined) continue;
    context.terminal.write(`${style("bold", `${name} demo`)}\n`);
    await service.demo((line) => void context.terminal.write(`  ${line}\n`));
    context.terminal.write("\n");
  }
}

async function stopAll(context: CommandContext, started: readonly StartedService[]): Promise<void> {
  for (const { name, service } of [...started].reverse()) {
    if (service.kind === "skipped") continue;
    await service.close();
    context.terminal.writeError(`${name} stopped\n`);
  }
}
