import { assert } from "../../platform/errors/assert.ts";
import { branchingError } from "../errors.ts";
import { writableMount } from "../model/branch-script.ts";
import type { Branch } from "../model/records.ts";
import { instanceName } from "../model/resource-names.ts";
import { listUsageArgv } from "../model/usage-script.ts";
import { branchNotFound } from "./branch-errors.ts";
import { type EngineContext, randomSuffix } from "./engine-context.ts";

const usageTimeoutMs = 5 * 60_000;

/** Bytes of the branch's writable layer: asked inside its container, or in a helper when that does not run. */
export async function measureUsage(context: EngineContext, name: string, signal: AbortSignal): Promise<number> {
  const branch = await context.registry.branches.findLiveBranch(name);
  if (branch === undefined) throw branchNotFound(name);
  if (branch.volume === undefined || !(await context.runtime.hasVolume(branch.volume))) return 0;
  const found = branch.instanceId === undefined ? undefined : await context.runtime.findInstance(branch.instanceId);
  if (found?.status === "running") return measureIn(context, branch, found.id, signal);
  const helperId = await createUsageHelper(context, branch);
  try {
    await context.runtime.startInstance(helperId);
    return await measureIn(context, branch, helperId, signal);
  } finally {
    await context.runtime.removeInstance(helperId);
  }
}

async function measureIn(
  context: EngineContext,
  branch: Branch,
  instanceId: string,
  signal: AbortSignal,
): Promise<number> {
  const generation = await context.registry.sources.getGeneration(branch.generationId);
  const argv = listUsageArgv(generation.layout, generation.clonesExtents);
  const result = await context.runtime.exec(instanceId, { argv, timeoutMs: usageTimeoutMs }, signal);
  const bytes = Number(result.stdout.toString("utf8").trim());
  if (result.exitCode === 0 && Number.isSafeInteger(bytes)) return bytes;
  throw branchingError(
    "runtime_failed",
    `Cannot measure branch "${branch.name}": ${result.stderr.trim() || "no number came back"}`,
  );
}

async function createUsageHelper(context: EngineContext, branch: Branch): Promise<string> {
  assert(branch.volume, "a branch without a volume has no usage");
  const generation = await context.registry.sources.getGeneration(branch.generationId);
  return context.runtime.createInstance({
    name: instanceName(context.registry.instanceId, "helper", branch.name, randomSuffix(context)),
    labels: { kind: "helper", name: branch.name },
    imageId: generation.imageId,
    script: "trap 'exit 0' TERM INT; sleep 3600 & wait",
    environment: {},
    mounts: [{ volume: branch.volume, target: writableMount, isReadOnly: true }],
    mayMount: false,
    memoryBytes: context.settings.branchMemoryBytes,
    sharedMemoryBytes: context.settings.branchSharedMemoryBytes,
    network: { kind: "none" },
    publishedPort: undefined,
    restarts: false,
  });
}
