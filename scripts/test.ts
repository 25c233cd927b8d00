// npm test: everything there is to show, in order of speed: checks, quick tests, the executable, simulation, end to end.
// Installs what it needs (npm packages came from the bootstrap before it), says what it does, and ends with one line
// "N passed, N failed".
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { run, type StepResult, step } from "./check/run.ts";
import { testGroups } from "./check/test-groups.ts";
import { ensureDockerEngine, ensureNeeds, needs } from "./setup/system.ts";

process.chdir(resolve(import.meta.dirname, ".."));
const folder = mkdtempSync(join(tmpdir(), "slipway-test-"));
const totalsPath = join(folder, "totals");
writeFileSync(totalsPath, "");
const binary = resolve("dist/slipway");

function tap(files: readonly string[], jobs: number, timeoutSeconds: number): Promise<number> {
  if (files.length === 0) return Promise.resolve(0);
  return run("tap", ["run", `--jobs=${jobs}`, `--timeout=${timeoutSeconds}`, ...files], {
    SLIPWAY_TEST_TOTALS: totalsPath,
    SLIPWAY_BINARY: binary,
  });
}

let startedEngine: number | undefined;
const results: StepResult[] = [];
try {
  results.push(
    await step("set-up", async () => {
      ensureNeeds(Object.values(needs));
      startedEngine = ensureDockerEngine();
      return run(process.execPath, ["scripts/test-images/build-test-images.ts"]);
    }),
  );
  results.push(await step("check", () => run(process.execPath, ["scripts/check.ts", "--no-tests"])));
  results.push(await step("build", () => run(process.execPath, ["scripts/build.ts"])));
  results.push(await step("quick tests", () => tap(testGroups.quick(), 2, 120)));
  results.push(await step("simulation", () => tap(testGroups.simulation(), 2, 600)));
  // Two at a time: they wait for containers and clocks more than they compute.
  results.push(await step("end to end", () => tap(testGroups.endToEnd(), 2, 900)));
} catch (error) {
  console.error(`FAIL ${error instanceof Error ? error.message : String(error)}`);
  results.push({ name: "set-up", isOk: false, seconds: 0 });
} finally {
  if (startedEngine !== undefined) process.kill(startedEngine, "SIGTERM");
}

const totals = readFileSync(totalsPath, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as { pass: number; fail: number });
const passedCount = totals.reduce((sum, total) => sum + total.pass, 0) + results.filter((result) => result.isOk).length;
const failedCount =
  totals.reduce((sum, total) => sum + total.fail, 0) + results.filter((result) => !result.isOk).length;
for (const result of results)
  console.error(`${result.isOk ? "ok  " : "FAIL"} ${result.name} ${result.seconds.toFixed(1)} s`);
rmSync(folder, { recursive: true });
process.exitCode = failedCount === 0 ? 0 : 1;
process.stderr.write("", () => process.stdout.write(`${passedCount} passed, ${failedCount} failed\n`));
