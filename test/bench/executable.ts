// Start-up and size of the executable, beside the Node inside it doing nothing.
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { type BenchTable, createTable, interleave, spreadOf } from "../support/bench.ts";
import { cleanEnvironment, executablePath } from "../support/e2e/executable.ts";

function timeMs(command: string, args: readonly string[]): () => Promise<number> {
  return async () => {
    const start = performance.now();
    spawnSync(command, [...args], { stdio: "ignore", env: cleanEnvironment() });
    return performance.now() - start;
  };
}

export async function run(rounds: number): Promise<BenchTable> {
  const spreads = await interleave(Math.max(rounds, 15), {
    empty: timeMs(process.execPath, ["-e", "0"]),
    version: timeMs(executablePath, ["--version"]),
    overview: timeMs(executablePath, ["--help"]),
    queueHelp: timeMs(executablePath, ["queue", "--help"]),
    branchHelp: timeMs(executablePath, ["bsctl", "branch", "create", "--help"]),
    scanHelp: timeMs(executablePath, ["fleetscope", "scan", "--help"]),
  });
  const { empty } = spreads;
  if (empty === undefined) throw new Error("nothing was measured");
  const startRow = (name: string, key: string, limit: number) => {
    const ours = spreads[key] ?? empty;
    return {
      name,
      unit: "ms",
      ours,
      peerName: "node -e 0",
      peer: empty,
      goal: `≤ ${limit} ×`,
      isReached: ours.median <= limit * empty.median,
    };
  };
  const megabytes = statSync(executablePath).size / 1e6;
  return createTable("executable", [
    startRow("slipway --version", "version", 1.3),
    startRow("slipway --help", "overview", 1.6),
    startRow("slipway queue --help", "queueHelp", 1.6),
    startRow("slipway bsctl branch create --help", "branchHelp", 1.6),
    startRow("slipway fleetscope scan --help", "scanHelp", 1.6),
    { name: "size", unit: "MB", ours: spreadOf([megabytes]), goal: "≤ 130", isReached: megabytes <= 130 },
  ]);
}
