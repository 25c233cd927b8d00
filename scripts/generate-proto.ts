// node scripts/generate-proto.ts [--check]: static codecs for everything under proto/, into src/queue/gen. The output
// depends on the proto files and the pinned generator alone; it is committed, and a test fails when it is stale.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const sources = ["queue/v1/queue.proto", "grpc/health/v1/health.proto"];
const outputFolder = join(root, "src/queue/gen");
const names = ["queue.js", "queue.d.ts"] as const;

/** 64-bit numbers are plain numbers: offsets stay below 2^53, and the reader refuses what does not fit. */
const generatorOptions = [
  ...["--target", "static-module", "--wrap", "esm", "--root", "slipway-queue", "--dts", "--force-number"],
  ...["--no-verify", "--no-convert", "--no-delimited", "--no-typeurl", "--no-service", "--no-comments"],
];

/** File name → text, as it should be. */
export function generateProto(): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "generate-proto-"));
  try {
    const args = [...generatorOptions, "--path", "proto", "--out", join(folder, "queue.js")];
    const result = spawnSync(
      process.execPath,
      ["node_modules/protobufjs-cli/bin/pbjs", ...args, ...sources.map((source) => `proto/${source}`)],
      { cwd: root, encoding: "utf8" },
    );
    if (result.status !== 0) throw new Error(`pbjs failed: ${result.stderr}`);
    return new Map(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Names of the generated files that differ from what the proto files give. */
export function findStaleFiles(): readonly string[] {
  return [...generateProto()]
    .filter(([name, text]) => readIfPresent(join(outputFolder, name)) !== text)
    .map(([name]) => name);
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

if (import.meta.main) {
  if (process.argv.includes("--check")) {
    const stale = findStaleFiles();
    if (stale.length > 0) console.error(`stale: ${stale.join(", ")}; run node scripts/generate-proto.ts`);
    process.exitCode = stale.length > 0 ? 1 : 0;
  } else {
    mkdirSync(outputFolder, { recursive: true });
    for (const [name, text] of generateProto()) writeFileSync(join(outputFolder, name), text);
  }
}
