/**
 * The keeper: one small container per registry that has the volume root mounted and waits. It makes and removes folders
 * there, and while it runs the pool's filesystem stays mounted on the host. It is found by its name and started again
 * when it is gone; the pool's image file is the only thing that must not be lost.
 */
import type Docker from "dockerode";
import { branchingError } from "../../errors.ts";
import type { DockerCalls } from "./docker-calls.ts";
import { runExec } from "./docker-exec.ts";
import { formatLabels, labelPrefix } from "./volume-backend.ts";

export interface KeeperTools {
  readonly docker: Docker;
  readonly calls: DockerCalls;
  readonly instanceId: string;
}

const execTimeoutMs = 10 * 60_000;
export const keeperRoot = "/pool";

export function keeperName(instanceId: string): string {
  return `${labelPrefix}-${instanceId}-keeper`;
}

const keeperScript = [
  "trap 'exit 0' TERM INT",
  `mkdir -p ${keeperRoot}/.trash; rm -rf ${keeperRoot}/.trash/*`,
  "while :; do sleep 3600 & wait $!; done",
].join("\n");

/** True when the keeper runs. */
export async function isKeeperRunning(tools: KeeperTools): Promise<boolean> {
  const name = keeperName(tools.instanceId);
  const found = await tools.calls.optional(`inspect "${name}"`, () => tools.docker.getContainer(name).inspect());
  return found?.State.Running === true;
}

export async function startKeeper(tools: KeeperTools, imageId: string, mount: Docker.MountSettings): Promise<void> {
  const name = keeperName(tools.instanceId);
  await tools.calls.call(
    `remove "${name}"`,
    () => tools.docker.getContainer(name).remove({ force: true, v: true }),
    [404],
  );
  const container = await tools.calls.call(`create container "${name}"`, () =>
    tools.docker.createContainer({
      name,
      Image: imageId,
      Entrypoint: ["/bin/sh", "-c"],
      Cmd: [keeperScript],
      User: "0:0",
      Labels: formatLabels(tools.instanceId, { kind: "pool", name: "keeper" }),
      Healthcheck: { Test: ["NONE"] },
      HostConfig: {
        NetworkMode: "none",
        Mounts: [mount],
        SecurityOpt: ["no-new-privileges:true"],
        RestartPolicy: { Name: "unless-stopped" },
      },
    }),
  );
  await tools.calls.call(`start container "${name}"`, () => container.start(), [304]);
}

/** Runs shell in the keeper; its output. */
export async function runInKeeper(tools: KeeperTools, script: string, words: readonly string[] = []): Promise<string> {
  const container = tools.docker.getContainer(keeperName(tools.instanceId));
  const argv = ["sh", "-euc", script, "keeper", ...words];
  const result = await runExec(container, { argv, timeoutMs: execTimeoutMs }, new AbortController().signal);
  if (result.exitCode === 0) return result.stdout.toString("utf8");
  throw branchingError("runtime_failed", `Cannot work on the volume root: ${result.stderr.trim()}`);
}
