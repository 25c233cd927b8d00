// npm start [-- ARGS of slipway up]: set-up, build when something changed, then `slipway up --demo`. A Docker engine is
// started (and installed, as root) when none answers, so that the branch of the demo is a real one.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { run } from "./check/run.ts";
import { ensureDockerEngine, ensureNeeds, isDockerAnswering, needs } from "./setup/system.ts";

process.chdir(resolve(import.meta.dirname, ".."));
if ((await run(process.execPath, ["scripts/build.ts"])) !== 0) process.exit(1);
prepareDocker();
if (isDockerAnswering() && existsSync("scripts/test-images/build-test-images.ts")) {
  await run(process.execPath, ["scripts/test-images/build-test-images.ts", "17"]);
}
const child = spawn("dist/slipway", ["up", "--demo", ...process.argv.slice(2)], { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  process.exitCode = code ?? (signal === null ? 1 : 130);
});

function prepareDocker(): void {
  if (isDockerAnswering()) return;
  try {
    ensureNeeds([needs.dockerEngine, needs.imageTools]);
    ensureDockerEngine();
  } catch (error) {
    console.error(
      `set-up: no Docker engine, so no branch in the demo: ${error instanceof Error ? error.message : error}`,
    );
  }
}
