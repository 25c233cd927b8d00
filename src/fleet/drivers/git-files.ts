/**
 * Manifests as they were at a commit, read through `git` without touching the working tree: one call lists the files,
 * one streams them. The reference is resolved first, so nothing that looks like an option reaches git as one.
 */
import { spawn } from "node:child_process";
import { relative, resolve, sep } from "node:path";
import { fleetError } from "../errors.ts";
import type { ManifestSource, ManifestStream } from "../service/manifest-source.ts";
import { createPathFilter, maxManifestFiles, showPath } from "./manifest-files.ts";

export interface GitFilesOptions {
  readonly cwd: string;
  readonly reference: string;
  readonly paths: readonly string[];
  readonly includes: readonly string[];
  readonly excludes: readonly string[];
}

const maxFileSizeBytes = 256 * 1024 * 1024;
const maxListingSizeBytes = 64 * 1024 * 1024;
const maxErrorLength = 500;

export function createGitFiles(options: GitFilesOptions): ManifestSource {
  return { list: () => listAtCommit(options) };
}

async function listAtCommit(options: GitFilesOptions): Promise<ManifestStream[]> {
  const { cwd, reference, paths } = options;
  if (reference.startsWith("-")) throw unreadable(reference, "it is no folder and no git reference");
  const commit = (
    await runGit(options, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${reference}^{commit}`])
  )
    .toString("utf8")
    .trim();
  const isWanted = createPathFilter(options.includes, options.excludes);
  const streams: ManifestStream[] = [];
  for (const path of paths.filter((candidate) => candidate !== "-")) {
    const root = relative(cwd, resolve(cwd, path)).split(sep).join("/");
    const listing = await runGit(options, [
      "ls-tree",
      "-r",
      "-z",
      "--name-only",
      commit,
      "--",
      root === "" ? "." : root,
    ]);
    for (const name of listing.toString("utf8").split("\0")) {
      if (name === "") continue;
      const below = name === root ? undefined : name.slice(root === "" ? 0 : root.length + 1);
      if (below !== undefined && !isWanted(below)) continue;
      if (streams.length >= maxManifestFiles) throw unreadable(reference, `it has more than ${maxManifestFiles} files`);
      streams.push({
        file: showPath(below === undefined ? path : `${path}/${below}`),
        read: async (onChunk) =>
          onChunk(await runGit({ cwd, reference }, ["cat-file", "blob", `${commit}:./${name}`], maxFileSizeBytes)),
      });
    }
  }
  return streams;
}

function runGit(
  { cwd, reference }: Pick<GitFilesOptions, "cwd" | "reference">,
  args: readonly string[],
  maxSizeBytes: number = maxListingSizeBytes,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn("git", args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    let errorText = "";
    child.stdout.on("data", (chunk: Buffer) => {
      sizeBytes += chunk.length;
      if (sizeBytes > maxSizeBytes) child.kill();
      else chunks.push(chunk);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      errorText = (errorText + chunk.toString("utf8")).slice(0, maxErrorLength);
    });
    child.on("error", (error) => reject(unreadable(reference, "git is not installed", error)));
    child.on("close", (code) => {
      if (sizeBytes > maxSizeBytes) reject(unreadable(reference, `a file of it is larger than ${maxSizeBytes} bytes`));
      else if (code === 0) resolve(Buffer.concat(chunks));
      else
        reject(
          unreadable(reference, errorText.trim() === "" ? "it is no folder and no git reference" : errorText.trim()),
        );
    });
  });
}

function unreadable(reference: string, state: string, cause?: unknown): Error {
  return fleetError(
    "baseline_unreadable",
    `Cannot compare with "${reference}": ${state}`,
    cause === undefined ? {} : { cause },
  );
}
