// node scripts/generate-proto.ts [--check]: static codecs for everything under proto/, into src/queue/gen. The output
// depends on the proto files and the pinned generator alone; it is committed, and a test fails when it is stale.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const sources = ["queue/v1/queue.proto"];
const outputFolder = join(root, "src/queue/gen");
const codecName = "queue.js";
const typesName = "queue.d.ts";

const generatorOptions = [
  ...["--target", "static-module", "--wrap", "esm", "--root", "slipway-queue", "--dts", "--force-number"],
  ...["--no-verify", "--no-convert", "--no-delimited", "--no-typeurl", "--no-service"],
];

/** File name → text, as it should be. */
export function generateProto(): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "generate-proto-"));
  try {
    // NOTE: the types are made from the comments of the code, so that code without comments takes a second run.
    runGenerator(generatorOptions, join(folder, codecName));
    const types = readFileSync(join(folder, typesName), "utf8");
    runGenerator([...generatorOptions, "--no-comments"], join(folder, codecName));
    const code = readFileSync(join(folder, codecName), "utf8");
    return new Map([
      [codecName, withPlainNumbers(code)],
      [typesName, types.replace('import Long = require("long");\n', "")],
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function runGenerator(options: readonly string[], output: string): void {
  const result = spawnSync(
    process.execPath,
    [
      "node_modules/protobufjs-cli/bin/pbjs",
      ...options,
      ...["--path", "proto", "--out", output],
      ...sources.map((source) => `proto/${source}`),
    ],
    { cwd: root, encoding: "utf8" },
  );
  if (result.status !== 0) throw new Error(`pbjs failed: ${result.stderr}`);
}

/** The reader would give objects for 64-bit fields whenever a library for them is installed anywhere in the tree. */
function withPlainNumbers(code: string): string {
  return code
    .replace(/^(import \$protobuf .*\n)/m, '$1import { readInt53, readUint53 } from "../grpc/int53.ts";\n')
    .replaceAll("reader.uint64()", "readUint53(reader)")
    .replaceAll("reader.int64()", "readInt53(reader)")
    .replaceAll(/\$util\.Long \? \$util\.Long\.fromBits\(0, ?0, ?(?:true|false)\) : 0/g, "0");
}

/** Names of the generated files that differ from what the proto files give. */
export function findStaleFiles(): readonly string[] {
  const files = [...generateProto()];
  return files.filter(([name, text]) => readIfPresent(join(outputFolder, name)) !== text).map(([name]) => name);
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
