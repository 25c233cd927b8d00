// npm run sim -- --seeds N [--from S] | --seed S: simulated clusters under faults. Without arguments 1,000 seeds from 1.
// Seeds that fail are printed with what happened and added to test/sim/seeds.txt, so that every later run repeats them.
import { appendFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { describeFailure, readKeptSeeds, runSeeds, seedsPath } from "../test/sim/run-seeds.ts";

process.chdir(resolve(import.meta.dirname, ".."));
const { values } = parseArgs({
  options: { seeds: { type: "string" }, seed: { type: "string" }, from: { type: "string" } },
});

function wholeNumber(name: "seeds" | "seed" | "from", fallback: number): number {
  const text = values[name];
  if (text === undefined) return fallback;
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new Error(`Cannot run simulations: --${name} '${text}' is not a whole number above 0`);
  return Number(text);
}

function* seedsFrom(first: number, count: number): Iterable<number> {
  for (let seed = first; seed < first + count; seed += 1) yield seed;
}

const isOne = values.seed !== undefined;
const count = isOne ? 1 : wholeNumber("seeds", 1_000);
const first = isOne ? wholeNumber("seed", 1) : wholeNumber("from", 1);
const kept = new Set(readKeptSeeds());
const startMs = performance.now();
let doneCount = 0;
let failedCount = 0;

const summary = await runSeeds(seedsFrom(first, count), {}, (result) => {
  doneCount += 1;
  if (result.anomalies.length > 0) {
    failedCount += 1;
    process.stdout.write(`${process.stdout.isTTY ? "\r\u001b[K" : ""}${describeFailure(result)}\n`);
    if (!kept.has(result.seed)) appendFileSync(seedsPath, `${result.seed}\n`);
  } else if (isOne) process.stdout.write(`${result.log.join("\n")}\n`);
  if (!process.stdout.isTTY || isOne) return;
  const leftSeconds = ((performance.now() - startMs) / doneCount / 1_000) * (count - doneCount);
  process.stdout.write(
    `\r\u001b[K${doneCount}/${count} seeds, ${failedCount} failed, ${Math.ceil(leftSeconds)} s left`,
  );
});

const seconds = (performance.now() - startMs) / 1_000;
const lines = [
  `${summary.seedCount} seeds, ${summary.failures.length} failed`,
  `${summary.acknowledgedCount} appends acknowledged, ${summary.eventCount} events`,
  `${Math.round(summary.simulatedMs / 1_000)} s simulated in ${seconds.toFixed(1)} s`,
];
process.stdout.write(`${process.stdout.isTTY && !isOne ? "\r\u001b[K" : ""}${lines.join("; ")}\n`);
process.exitCode = summary.failures.length === 0 ? 0 : 1;
