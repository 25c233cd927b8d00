// Adds lock entries for optional platform packages that a registry mirror may not carry, so that `npm ci` accepts the
// lock everywhere. They are never installed on Linux x64 or arm64 with glibc. Run after each change of dependencies.
import { readFileSync, writeFileSync } from "node:fs";

const lockPath = "package-lock.json";
const lock = JSON.parse(readFileSync(lockPath, "utf8"));
const packages = lock.packages;
const platformPattern =
  /(android|darwin|win32|freebsd|openharmony|linux)-(armv7|arm-eabi|arm-gnueabihf|arm-musleabihf|arm64|arm|x64|ia32|ppc64|riscv64|s390x)/;

function isLocked(fromPath, name) {
  for (let base = fromPath; ; ) {
    if (packages[`${base === "" ? "" : `${base}/`}node_modules/${name}`] !== undefined) return true;
    if (base === "") return false;
    const parent = base.lastIndexOf("/node_modules/");
    base = parent < 0 ? "" : base.slice(0, parent);
  }
}

let addedCount = 0;
for (const [path, entry] of Object.entries(packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(path, name)) continue;
    const match = name.match(platformPattern);
    const cpu = (match?.[2] ?? "none").replace(/^(armv7|arm-.*)$/, "arm");
    const added = { version: range.replace(/^[\^~]/, ""), cpu: [cpu], os: [match?.[1] ?? "none"], optional: true };
    if (entry.dev) added.dev = true;
    if (/musl/.test(name)) added.libc = ["musl"];
    packages[`node_modules/${name}`] = added;
    addedCount++;
  }
}
lock.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(lockPath, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${addedCount} entries added`);
