import { basename } from "node:path";
import { version } from "./platform/version.ts";

/** argv → command → exit code. `--version` answers before the parser of the command line is even loaded. */
async function main(calledAs: string, args: readonly string[]): Promise<number> {
  const isOwnName = ["slipway", "node"].includes(basename(calledAs));
  if (isOwnName && args.length === 1 && (args[0] === "--version" || args[0] === "-V")) {
    process.stdout.write(`slipway ${version}\n`);
    return 0;
  }
  const [
    { expandCallName, runCli },
    { cliOptions },
    { createProcessContext, endQuietlyOnClosedPipe },
    { createStopSignal },
  ] = await Promise.all([
    import("./platform/cli/run-cli.ts"),
    import("./commands.ts"),
    import("./platform/cli/terminal.ts"),
    import("./platform/lifecycle/stop-signal.ts"),
  ]);
  endQuietlyOnClosedPipe();
  const context = createProcessContext(createStopSignal(), version);
  return runCli(cliOptions, expandCallName(cliOptions.table, calledAs, args), context);
}

main(process.argv0, process.argv.slice(2)).then(
  (exitCode) => {
    process.exitCode = exitCode;
  },
  (error: unknown) => {
    process.stderr.write(`slipway: ${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 70;
  },
);
