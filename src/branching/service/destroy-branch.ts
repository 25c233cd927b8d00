import { type DomainError, isDomainError } from "../../platform/errors/domain-error.ts";
import { branchingError } from "../errors.ts";
import type { Branch } from "../model/records.ts";
import { branchNotFound, describeFailure } from "./branch-errors.ts";
import type { Caller, EngineContext } from "./engine-context.ts";
import { runOperation } from "./operation.ts";
import { removeUnusedLayers } from "./unused-data.ts";

/**
 * Destroys a live branch in any state; what a failed attempt left is taken up by the next. The teardown does not stop
 * when the caller goes away: half a teardown helps nobody.
 */
export async function destroyBranch(
  context: EngineContext,
  name: string,
  caller: Caller,
  reason = "destroy",
): Promise<void> {
  const branch = await context.registry.branches.findLiveBranch(name);
  if (branch === undefined) throw branchNotFound(name);
  await context.locks.run(`destroy/${name}`, async () => {
    const current = await context.registry.branches.getBranch(branch.id);
    if (current.state === "destroyed") return;
    const claimed = await claimDestroy(context, current, caller, reason);
    await tearDown(context, claimed, caller);
  });
}

async function claimDestroy(context: EngineContext, branch: Branch, caller: Caller, reason: string): Promise<Branch> {
  const { branches } = context.registry;
  for (let current = branch; current.state !== "destroying"; current = await branches.getBranch(branch.id)) {
    if (current.state === "destroyed") throw branchNotFound(branch.name);
    const isMoved = await branches.transition({
      branchId: branch.id,
      from: current.state,
      trigger: "destroy",
      reason,
      actor: caller.actor,
      atMs: context.clock.nowMs(),
      isRefusedWhileForking: true,
    });
    if (isMoved) break;
    const now = await branches.getBranch(branch.id);
    if (now.state === current.state) {
      throw branchingError(
        "branch_in_use",
        `Cannot destroy branch "${branch.name}": another branch is being created from it`,
      );
    }
  }
  return branches.getBranch(branch.id);
}

async function tearDown(context: EngineContext, branch: Branch, caller: Caller): Promise<void> {
  const { branches } = context.registry;
  const spec = {
    name: "destroy",
    subject: `branch "${branch.name}"`,
    limitMs: undefined,
    heartbeat: (atMs: number) => branches.touchBranch(branch.id, atMs),
  };
  try {
    await runOperation(context, spec, { ...caller, signal: new AbortController().signal }, async () => {
      context.hooks.onStep?.("destroy.claimed");
      await removeInstances(context, branch);
      context.hooks.onStep?.("destroy.instance");
      for (const volume of [branch.volume, branch.pendingVolume]) {
        if (volume !== undefined) await context.runtime.removeVolume(volume);
      }
      context.hooks.onStep?.("destroy.volume");
    });
  } catch (error) {
    throw await recordFailure(context, branch, caller, error);
  }
  await branches.transition({
    branchId: branch.id,
    from: "destroying",
    trigger: "destroyed",
    reason: "destroyed",
    actor: caller.actor,
    atMs: context.clock.nowMs(),
    patch: { sealedPassword: undefined, instanceId: undefined, volume: undefined, pendingVolume: undefined },
  });
  context.hooks.onStep?.("destroy.recorded");
  await removeUnusedLayers(context, [branch.topLayerId, branch.baseLayerId]);
}

/** The known container needs no search; without one a create may have been cut off between making and recording it. */
async function removeInstances(context: EngineContext, branch: Branch): Promise<void> {
  if (branch.instanceId !== undefined) {
    await context.runtime.removeInstance(branch.instanceId);
    if (branch.pendingVolume === undefined) return;
  }
  const instances = await context.runtime.listInstances();
  const own = instances.filter((item) => item.labels.kind === "branch" && item.labels.name === branch.name);
  await Promise.all(own.map((item) => context.runtime.removeInstance(item.id)));
}

async function recordFailure(
  context: EngineContext,
  branch: Branch,
  caller: Caller,
  error: unknown,
): Promise<DomainError> {
  context.logger.error({ err: error, branch: branch.name }, "a branch could not be destroyed");
  await context.registry.branches.transition({
    branchId: branch.id,
    from: "destroying",
    trigger: "destroy-failed",
    reason: describeFailure(error),
    actor: caller.actor,
    atMs: context.clock.nowMs(),
  });
  const text = `Cannot destroy branch "${branch.name}": ${describeFailure(error)}`;
  const code = isDomainError(error) ? error.code : "";
  if (code === "held_by_runtime") return branchingError("held_by_runtime", text, { cause: error });
  if (code === "runtime_unreachable") return branchingError("runtime_unreachable", text, { cause: error });
  return branchingError("destroy_failed", text, { cause: error });
}
