// Makes node_modules match package-lock.json. Plain JavaScript: it runs under whatever Node (20 or later) the machine
// has, before the pinned Node of the project is there. Silent and quick when there is nothing to do.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const stampPath = "node_modules/.slipway-lock";
const wanted = createHash("sha256").update(readFileSync("package-lock.json")).update(process.arch).digest("hex");

if (!existsSync(stampPath) || readFileSync(stampPath, "utf8") !== wanted) {
  process.stderr.write("set-up: installing the locked packages with npm ci (about half a minute)\n");
  const env = { ...process.env, PATH: `${process.cwd()}/node_modules/.bin:${process.env.PATH}` };
  for (const [command, args] of [
    ["npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]],
    ["node_modules/.bin/tap", ["build"]],
  ]) {
    const result = spawnSync(command, args, { stdio: ["ignore", 2, 2], env });
    if (result.status !== 0) {
      process.stderr.write(`set-up: "${command} ${args.join(" ")}" failed with exit code ${result.status}\n`);
      process.exit(result.status ?? 1);
    }
  }
  writeFileSync(stampPath, wanted);
}
