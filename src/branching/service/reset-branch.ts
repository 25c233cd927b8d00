/**
 * Discards what a branch wrote: a new writable layer and a new container on the branch's own base, masked and rotated as
 * at creation, take the place of the old ones in one commit. The old data is kept until then, so that a reset that fails
 * leaves something to recover.
 */
import { branchingError } from "../errors.ts";
import type { Branch } from "../model/records.ts";
import { volumeName } from "../model/resource-names.ts";
import { branchNotFound, describeFailure, withToolOutput, wrongState } from "./branch-errors.ts";
import { loadBase } from "./branch-instance.ts";
import { removeInstancesOf } from "./bring-up.ts";
import { type Caller, type EngineContext, randomSuffix } from "./engine-context.ts";
import { forkParent } from "./fork-parent.ts";
import { runOperation } from "./operation.ts";
import { listProvisionSteps, type Provisioned } from "./provision.ts";
import { runSaga, type Step } from "./saga.ts";
import { removeUnusedLayers } from "./unused-data.ts";

export async function resetBranch(context: EngineContext, name: string, caller: Caller): Promise<Branch> {
  return context.locks.run(`branch/${name}`, async () => {
    const branch = await context.registry.branches.findLiveBranch(name);
    if (branch === undefined) throw branchNotFound(name);
    const volume = volumeName(context.registry.instanceId, "branch", name, randomSuffix(context));
    await claimReset(context, branch, volume, caller);
    const spec = {
      name: "reset",
      subject: `branch "${name}"`,
      limitMs: context.settings.stuckTimeoutMs,
      heartbeat: (atMs: number) => context.registry.branches.touchBranch(branch.id, atMs),
    };
    try {
      await runOperation(context, spec, caller, (signal) => rebuild(context, branch, volume, caller, signal));
    } catch (error) {
      await markFailed(context, branch, caller, error);
      throw withToolOutput(error);
    }
    await removeOldData(context, branch);
    return context.registry.branches.getBranch(branch.id);
  });
}

async function claimReset(context: EngineContext, branch: Branch, volume: string, caller: Caller): Promise<void> {
  const { state } = branch;
  if (state !== "ready" && state !== "failed") throw wrongState("reset", branch, "ready or failed");
  const isMoved = await context.registry.branches.transition({
    branchId: branch.id,
    from: state,
    trigger: "reset",
    reason: "reset",
    actor: caller.actor,
    atMs: context.clock.nowMs(),
    patch: { pendingVolume: volume },
    isRefusedWhileForking: true,
  });
  if (isMoved) return;
  const now = await context.registry.branches.getBranch(branch.id);
  if (now.state !== state) throw wrongState("reset", now, "ready or failed");
  throw branchingError(
    "branch_in_use",
    `Cannot reset branch "${branch.name}": another branch is being created from it`,
  );
}

async function rebuild(
  context: EngineContext,
  branch: Branch,
  volume: string,
  caller: Caller,
  signal: AbortSignal,
): Promise<void> {
  const baseLayerId = await ensureBase(context, branch, caller, signal);
  const base = await loadBase(context, branch.generationId, baseLayerId);
  const masks = await context.registry.sources.listMasks(branch.sourceName);
  const result: Provisioned = { instanceId: undefined, port: undefined, sealedPassword: undefined };
  const input = {
    branchName: branch.name,
    base,
    volume,
    user: branch.user,
    database: branch.database,
    masks,
    rotates: context.settings.rotatesCredentials,
    opensGate: true,
  };
  // The old container goes while the new one comes: nobody may use either, and they share nothing.
  let stopping = Promise.resolve();
  const stopOld: Step = {
    name: "stop",
    run: async () => {
      stopping = stopOldInstance(context, branch);
      stopping.catch(() => {});
    },
    undo: () => stopping,
  };
  const commit: Step = {
    name: "commit",
    isCommit: true,
    run: async () => {
      await stopping;
      const isMoved = await context.registry.branches.transition({
        branchId: branch.id,
        from: "resetting",
        trigger: "provisioned",
        reason: "reset done",
        actor: caller.actor,
        atMs: context.clock.nowMs(),
        patch: {
          volume,
          pendingVolume: undefined,
          topLayerId: baseLayerId,
          instanceId: result.instanceId,
          host: "127.0.0.1",
          port: result.port,
          sealedPassword: result.sealedPassword,
          isReleased: true,
        },
      });
      if (!isMoved)
        throw branchingError("wrong_state", `Cannot reset branch "${branch.name}": it was destroyed meanwhile`);
    },
  };
  await runSaga([stopOld, ...listProvisionSteps(context, input, result), commit], {
    operation: "reset",
    signal,
    logger: context.logger,
    hooks: context.hooks,
  });
}

/** A child whose creation failed before its parent was forked has no base of its own yet. */
async function ensureBase(
  context: EngineContext,
  branch: Branch,
  caller: Caller,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { parentName, parentId, baseLayerId } = branch;
  if (parentName === undefined || baseLayerId !== undefined) return baseLayerId;
  return context.locks.run(`branch/${parentName}`, async () => {
    const parent = await context.registry.branches.findLiveBranch(parentName);
    if (parent === undefined || parent.id !== parentId) {
      throw branchingError("wrong_state", `Cannot reset branch "${branch.name}": its parent "${parentName}" is gone`);
    }
    if (parent.state !== "ready") throw wrongState("branch from", parent, "ready");
    return forkParent(context, { child: branch, childState: "resetting", parent, caller, signal });
  });
}

async function stopOldInstance(context: EngineContext, branch: Branch): Promise<void> {
  if (branch.instanceId !== undefined) await context.runtime.removeInstance(branch.instanceId);
  else await removeInstancesOf(context, branch.name);
}

async function removeOldData(context: EngineContext, branch: Branch): Promise<void> {
  try {
    if (branch.volume !== undefined) await context.runtime.removeVolume(branch.volume);
  } catch (error) {
    context.logger.warn({ err: error, branch: branch.name }, "the old data of a reset branch is left to gc");
  }
  if (branch.topLayerId !== branch.baseLayerId) await removeUnusedLayers(context, [branch.topLayerId]);
}

async function markFailed(context: EngineContext, branch: Branch, caller: Caller, error: unknown): Promise<void> {
  context.logger.warn({ err: error, branch: branch.name }, "a branch could not be reset");
  await context.registry.branches.transition({
    branchId: branch.id,
    from: "resetting",
    trigger: "failed",
    reason: describeFailure(error),
    actor: caller.actor,
    atMs: context.clock.nowMs(),
    patch: { pendingVolume: undefined, instanceId: undefined },
  });
}
