import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { executablePath } from "./executable.ts";

export function docker(...args: readonly string[]): string {
  return execFileSync("docker", [...args], { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 }).trim();
}

export function tryDocker(...args: readonly string[]): { readonly exitCode: number | null; readonly output: string } {
  const result = spawnSync("docker", [...args], { encoding: "utf8" });
  return { exitCode: result.status, output: `${result.stdout}${result.stderr}` };
}

/**
 * The image of the Dockerfile without a registry: an empty root, the C libraries that the executable is linked to (what
 * distroless `cc` has), the executable, UID and GID 65532. Returns the image's id.
 */
export function buildEmptyRootImage(): string {
  const context = mkdtempSync(join(tmpdir(), "slipway-image-"));
  try {
    const libraries = execFileSync("ldd", [executablePath], { encoding: "utf8" })
      .split("\n")
      .map((line) => line.match(/(\/\S+) \(0x/)?.[1])
      .filter((path) => path !== undefined);
    for (const path of libraries) {
      const target = join(context, "root", path);
      mkdirSync(dirname(target), { recursive: true });
      copyFileSync(realpathSync(path), target);
    }
    mkdirSync(join(context, "root/home/nonroot"), { recursive: true });
    copyFileSync(executablePath, join(context, "root/slipway"));
    writeFileSync(
      join(context, "Dockerfile"),
      [
        "FROM scratch",
        "COPY root/ /",
        "COPY --chown=65532:65532 root/home/nonroot /home/nonroot",
        "USER 65532:65532",
        "WORKDIR /home/nonroot",
        "STOPSIGNAL SIGTERM",
        'ENTRYPOINT ["/slipway"]',
      ].join("\n"),
    );
    const output = execFileSync("docker", ["build", "-q", context], {
      encoding: "utf8",
      env: { ...process.env, DOCKER_BUILDKIT: "0" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    return output.trim();
  } finally {
    rmSync(context, { recursive: true });
  }
}
