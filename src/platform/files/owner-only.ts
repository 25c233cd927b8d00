import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { systemRandom } from "../random/random.ts";

/**
 * Files and folders that only their owner may touch, and replacement of a whole file that is either done or not:
 * readers see the old content or the new one, also after a power failure.
 */
export const ownerOnlyFileMode = 0o600;
export const ownerOnlyFolderMode = 0o700;

/** Makes the folder and those above it. An existing folder keeps its mode: it may be shared on purpose. */
export function ensureOwnerOnlyFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: ownerOnlyFolderMode });
}

/** Writes, syncs and renames a file of mode 0600 into place, and makes the rename durable. */
export function writeFileAtomically(path: string, content: string | Uint8Array): void {
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.${Buffer.from(systemRandom.bytes(6)).toString("hex")}.tmp`);
  try {
    writeAndSync(temporary, typeof content === "string" ? Buffer.from(content) : content);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(folder);
}

function writeAndSync(path: string, content: Uint8Array): void {
  const file = openSync(path, "wx", ownerOnlyFileMode);
  try {
    for (let position = 0; position < content.length; ) position += writeSync(file, content, position);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Creations, renames and removals in the folder survive a power failure when this returns. */
export function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Takes away every right of group and others from an existing file. */
export function restrictToOwner(path: string): void {
  chmodSync(path, ownerOnlyFileMode);
}
