import { readFileSync } from "node:fs";
import { type SimulationOptions, type SimulationResult, simulate } from "./simulate.ts";

/** Runs seeds one after the other and adds up what they did. */
export interface SeedsSummary {
  readonly seedCount: number;
  readonly failures: readonly SimulationResult[];
  readonly acknowledgedCount: number;
  readonly eventCount: number;
  readonly simulatedMs: number;
}

export const seedsPath = new URL("./seeds.txt", import.meta.url);

export async function runSeeds(
  seeds: Iterable<number>,
  options: SimulationOptions = {},
  onResult: (result: SimulationResult) => void = () => undefined,
): Promise<SeedsSummary> {
  const failures: SimulationResult[] = [];
  let seedCount = 0;
  let acknowledgedCount = 0;
  let eventCount = 0;
  let simulatedMs = 0;
  for (const seed of seeds) {
    const result = await simulate(seed, options);
    seedCount += 1;
    acknowledgedCount += result.acknowledgedCount;
    eventCount += result.eventCount;
    simulatedMs += result.simulatedMs;
    if (result.anomalies.length > 0) failures.push(result);
    onResult(result);
  }
  return { seedCount, failures, acknowledgedCount, eventCount, simulatedMs };
}

/** Seeds that failed once: one number per line, `#` begins a comment. */
export function readKeptSeeds(): readonly number[] {
  const lines = readFileSync(seedsPath, "utf8").split("\n");
  return lines.filter((line) => /^\d+$/.test(line.trim())).map(Number);
}

/** What a failed seed did and what was wrong, for a person to read. */
export function describeFailure(result: SimulationResult): string {
  const { config } = result;
  const lines = [
    `seed ${result.seed}: ${config.nodeCount} nodes, faults: ${config.faults.join(" ") || "none"}`,
    ...result.log.map((line) => `  ${line}`),
    ...result.anomalies.map(({ kind, text }) => `  ${kind}: ${text}`),
  ];
  return lines.join("\n");
}
