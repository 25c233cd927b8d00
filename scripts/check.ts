// npm run check [-- --no-tests]: format, lint, types, boundaries, bans, dead code and the tests that need no server.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { findBannedUses } from "./check/bans.ts";
import { run, runQuietly, type StepResult, step } from "./check/run.ts";
import { testGroups } from "./check/test-groups.ts";

process.chdir(resolve(import.meta.dirname, ".."));
const { values } = parseArgs({ options: { "no-tests": { type: "boolean" } } });

function quietStep(name: string, command: string, args: readonly string[]): Promise<StepResult> {
  return step(name, async () => {
    const { code, output } = await runQuietly(command, args);
    if (code !== 0) process.stderr.write(output);
    return code;
  });
}

const results = [
  await quietStep("format and lint", "biome", ["check", "--config-path", "scripts/config", "--error-on-warnings", "."]),
  await quietStep("types", process.execPath, ["node_modules/typescript-native/bin/tsc", "-p", "."]),
  await quietStep("boundaries", "depcruise", [
    "--config",
    "scripts/config/dependency-cruiser.cjs",
    "--output-type",
    "err-long",
    "src",
  ]),
  await step("bans", async () => {
    const problems = findBannedUses();
    for (const problem of problems) console.error(problem);
    return problems.length === 0 ? 0 : 1;
  }),
  await quietStep("dead code", "knip", ["--config", "scripts/config/knip.json", "--no-progress"]),
];
if (!values["no-tests"]) results.push(await step("tests", () => run("tap", ["run", ...testGroups.quick()])));
process.exitCode = results.every((result) => result.isOk) ? 0 : 1;
