/**
 * Manifests on disk. A folder is walked in the order of names; links to folders are not followed, so a walk ends. Files
 * of a folder are chosen by globs, a file that is named itself is read whatever it is called.
 *
 * Reading is synchronous on purpose: a scan does nothing else meanwhile, and ten thousand small files cost a promise
 * each otherwise.
 */
import { closeSync, openSync, readdirSync, readSync, type Stats, statSync } from "node:fs";
import { join, normalize, relative, resolve, sep } from "node:path";
import picomatch from "picomatch";
import { fleetError } from "../errors.ts";
import type { ManifestSource, ManifestStream } from "../service/manifest-source.ts";

export const defaultIncludes: readonly string[] = ["**/*.yaml", "**/*.yml", "**/*.json"];
export const maxManifestFiles = 200_000;
const maxFolderDepth = 64;
const chunkSizeBytes = 1024 * 1024;
/** After a short read, which is nearly always the last. */
const smallChunkSizeBytes = 4096;
const ignoredFolders = new Set([".git", "node_modules"]);

export interface ManifestFilesOptions {
  /** Paths that findings show in place of `paths`, one for each; for a copy of a folder that lies elsewhere. */
  readonly shownPaths?: readonly string[];
  /** Files, folders, or `-` for standard input. */
  readonly paths: readonly string[];
  readonly cwd: string;
  /** Globs against the path below a folder; the usual endings without any. */
  readonly includes: readonly string[];
  readonly excludes: readonly string[];
  readonly readInput: () => AsyncIterable<Uint8Array>;
}

export function createManifestFiles(options: ManifestFilesOptions): ManifestSource {
  return {
    list: async () =>
      options.paths.flatMap((path, index) => listPath(path, options.shownPaths?.[index] ?? path, options)),
  };
}

/** Whether a path below a folder is wanted. */
export function createPathFilter(includes: readonly string[], excludes: readonly string[]): (path: string) => boolean {
  const isIncluded = picomatch([...(includes.length === 0 ? defaultIncludes : includes)], { dot: true });
  const isExcluded = excludes.length === 0 ? () => false : picomatch([...excludes], { dot: true });
  return (path) => isIncluded(path) && !isExcluded(path);
}

function listPath(path: string, shown: string, options: ManifestFilesOptions): ManifestStream[] {
  if (path === "-") return [inputStream(options)];
  const absolute = resolve(options.cwd, path);
  const stats = statOf(absolute, path);
  if (!stats.isDirectory()) return [fileStream(absolute, showPath(shown))];
  const isWanted = createPathFilter(options.includes, options.excludes);
  const found: ManifestStream[] = [];
  walk({ folder: absolute, shown: path, depth: 0 }, (file) => {
    const below = toSlashes(relative(absolute, file));
    if (!isWanted(below)) return;
    if (found.length >= maxManifestFiles) {
      throw fleetError("scan_input_invalid", `Cannot scan "${path}": it has more than ${maxManifestFiles} files`);
    }
    found.push(fileStream(file, showPath(join(shown, below))));
  });
  return found;
}

interface Walk {
  readonly folder: string;
  readonly shown: string;
  readonly depth: number;
}

function walk(place: Walk, onFile: (path: string) => void): void {
  if (place.depth > maxFolderDepth) {
    throw fleetError(
      "scan_input_invalid",
      `Cannot scan "${place.shown}": its folders nest deeper than ${maxFolderDepth}`,
    );
  }
  const entries = listFolder(place);
  for (const entry of entries.sort((left, right) => (left.name < right.name ? -1 : 1))) {
    const path = join(place.folder, entry.name);
    if (entry.isDirectory()) {
      if (!ignoredFolders.has(entry.name)) walk({ ...place, folder: path, depth: place.depth + 1 }, onFile);
    } else if (entry.isFile() || (entry.isSymbolicLink() && isFile(path))) {
      onFile(path);
    }
  }
}

function listFolder({ folder, shown }: Walk): ReturnType<typeof readFolder> {
  try {
    return readFolder(folder);
  } catch (error) {
    throw unreadable(shown, error);
  }
}

function readFolder(folder: string) {
  return readdirSync(folder, { withFileTypes: true });
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    // A link to nowhere is no manifest.
    return false;
  }
}

function statOf(path: string, shown: string): Stats {
  try {
    return statSync(path);
  } catch (error) {
    throw unreadable(shown, error);
  }
}

let sharedChunk: Buffer | undefined;

function fileStream(path: string, file: string): ManifestStream {
  return {
    file,
    read: (onChunk) => {
      let descriptor: number;
      try {
        descriptor = openSync(path, "r");
      } catch (error) {
        throw unreadable(file, error);
      }
      try {
        readAll(descriptor, onChunk);
      } finally {
        closeSync(descriptor);
      }
    },
  };
}

/** The first chunk of every file uses one buffer: a file is done with it before the next one begins. */
function readAll(descriptor: number, onChunk: (chunk: Uint8Array) => void): void {
  sharedChunk ??= Buffer.allocUnsafe(chunkSizeBytes);
  let chunk = sharedChunk;
  for (;;) {
    const size = readSync(descriptor, chunk, 0, chunk.length, null);
    if (size === 0) return;
    onChunk(chunk.subarray(0, size));
    chunk = Buffer.allocUnsafe(size < chunkSizeBytes ? smallChunkSizeBytes : chunkSizeBytes);
  }
}

function inputStream({ readInput }: ManifestFilesOptions): ManifestStream {
  return {
    file: "<stdin>",
    read: async (onChunk) => {
      for await (const chunk of readInput()) onChunk(chunk);
    },
  };
}

/** A path as findings show it. */
export function showPath(path: string): string {
  return normalize(toSlashes(path));
}

function toSlashes(path: string): string {
  return sep === "/" ? path : path.replaceAll(sep, "/");
}

function unreadable(path: string, error: unknown): Error {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
  const state =
    code === "ENOENT"
      ? "it does not exist"
      : code === "EACCES"
        ? "reading it is not allowed"
        : `it cannot be read (${code})`;
  return fleetError("scan_input_invalid", `Cannot scan "${path}": ${state}`, { cause: error });
}
