// npm run build [-- --arch arm64]: dist/slipway, offline, from what npm installed. Bundle with esbuild, cut the debug
// information off the base Node, pack with pkg's single-executable packer. Every file under src that is no code
// travels inside as an asset.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { extname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { inputHash } from "./build/input-hash.ts";
import { kubernetesCredentials } from "./build/kubernetes-credentials.ts";
import { packExecutable } from "./build/pack-executable.ts";
import { withoutDebugInformation } from "./build/strip-elf.ts";

const root = resolve(import.meta.dirname, "..");
process.chdir(root);
const { values } = parseArgs({
  options: { arch: { type: "string", default: process.arch }, force: { type: "boolean" } },
});
const arch = values.arch === "arm64" ? "arm64" : "x64";
const isNative = arch === process.arch;
const output = resolve(isNative ? "dist/slipway" : `dist/slipway-linux-${arch}`);
const stampPath = `${output}.inputs`;
const hash = inputHash(["src", "scripts/build.ts", "scripts/build", "package.json", "package-lock.json"], arch);

if (!values.force && existsSync(output) && existsSync(stampPath) && readFileSync(stampPath, "utf8") === hash) {
  console.error(`build: ${output} is up to date`);
} else {
  await makeExecutable();
}

async function makeExecutable(): Promise<void> {
  const startMs = performance.now();
  mkdirSync("dist", { recursive: true });
  rmSync(stampPath, { force: true });
  await bundle("src/main.ts", "dist/main.cjs");
  const basePath = resolve(`dist/node-base-${arch}`);
  writeFileSync(basePath, withoutDebugInformation(readFileSync(findBaseNode())));
  chmodSync(basePath, 0o755);
  await packExecutable({
    mainPath: resolve("dist/main.cjs"),
    basePath,
    output: `${output}.new`,
    arch,
    nodeVersion: process.versions.node,
    useCodeCache: isNative,
    assets: collectAssets(),
  });
  chmodSync(`${output}.new`, 0o755);
  // One that runs keeps its file; whoever starts it next gets the new one.
  renameSync(`${output}.new`, output);
  writeFileSync(stampPath, hash);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.error(`build: ${output}, ${(statSync(output).size / 1e6).toFixed(1)} MB, in ${seconds} s`);
}

async function bundle(entry: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    minify: true,
    keepNames: true,
    legalComments: "linked",
    charset: "ascii",
    logLevel: "warning",
    plugins: [kubernetesCredentials],
    define: { "import.meta.url": "__moduleUrl", "import.meta.dirname": "__dirname" },
    banner: {
      js: 'var __moduleUrl=require("node:url").pathToFileURL(typeof __filename==="string"&&__filename||process.execPath).href;',
    },
  });
}

/** The pinned Node for the wanted architecture: npm installs only this machine's own, the other is fetched by name. */
function findBaseNode(): string {
  const installed = `node_modules/node-linux-${arch}/bin/node`;
  if (existsSync(installed)) return installed;
  const name = `node-linux-${arch}@${process.versions.node}`;
  const folder = `dist/${name}`;
  const fetched = `${folder}/package/bin/node`;
  if (existsSync(fetched)) return fetched;
  console.error(`build: fetching ${name} with npm`);
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder, name], { encoding: "utf8" });
  execFileSync("tar", ["xzf", `${folder}/${archive.trim()}`, "-C", folder]);
  return fetched;
}

function collectAssets(): Readonly<Record<string, string>> {
  const isCode = (path: string): boolean => [".ts", ".md", ".json"].includes(extname(path));
  const assets: Record<string, string> = {};
  for (const path of globSync("src/**/*")) {
    if (statSync(path).isFile() && !isCode(path)) assets[path.slice("src/".length)] = resolve(path);
  }
  for (const path of globSync("src/**/*.asset.json")) assets[path.slice("src/".length)] = resolve(path);
  return assets;
}
