import { createHash } from "node:crypto";
import { globSync, readFileSync, statSync } from "node:fs";

/** One hash over the content of files and folders, so that nothing is built twice from the same input. */
export function inputHash(paths: readonly string[], salt: string): string {
  const hash = createHash("sha256").update(salt).update(process.versions.node);
  for (const path of paths) {
    const files = statSync(path).isDirectory() ? globSync(`${path}/**/*`).sort() : [path];
    for (const file of files) {
      if (statSync(file).isFile()) hash.update(`${file}\0`).update(readFileSync(file)).update("\0");
    }
  }
  return hash.digest("hex");
}
