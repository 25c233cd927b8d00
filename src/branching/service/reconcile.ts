/**
 * Compares the registry with the runtime and repairs the difference. Each action is judged again on fresh rows and a
 * fresh look at the runtime right before it is done: between plan and deed an operation may have begun.
 */
import { unreachable } from "../../platform/errors/assert.ts";
import { type DesiredState, planReconcile, type ReconcileAction } from "../model/reconcile-plan.ts";
import type { Branch } from "../model/records.ts";
import { describeFailure } from "./branch-errors.ts";
import { bringUp, removeInstancesOf } from "./bring-up.ts";
import { destroyBranch } from "./destroy-branch.ts";
import type { Caller, EngineContext } from "./engine-context.ts";
import { removeUnusedLayers } from "./unused-data.ts";

export async function planActions(context: EngineContext): Promise<readonly ReconcileAction[]> {
  const { registry, runtime } = context;
  // Observed first: what appears between the two looks has a row by then, never the other way round.
  const [instances, volumes] = await Promise.all([runtime.listInstances(), runtime.listVolumes()]);
  const desired: DesiredState = {
    sources: await registry.sources.listSources(),
    generations: await registry.sources.listGenerations(),
    layers: await registry.layers.listLayers(),
    branches: await registry.branches.listLiveBranches(),
    busyBranches: new Set(context.locks.listKeys("branch/")),
  };
  const clock = { nowMs: context.clock.nowMs(), stuckTimeoutMs: context.settings.stuckTimeoutMs };
  return planReconcile(desired, { instances, volumes }, clock);
}

export interface ReconcileOutcome {
  readonly done: readonly ReconcileAction[];
  readonly failed: readonly { readonly action: ReconcileAction; readonly error: unknown }[];
}

/** Applies the plan; one action that fails does not stop the others. */
export async function reconcile(context: EngineContext, caller: Caller): Promise<ReconcileOutcome> {
  const done: ReconcileAction[] = [];
  const failed: { action: ReconcileAction; error: unknown }[] = [];
  for (const action of await planActions(context)) {
    caller.signal.throwIfAborted();
    try {
      if (await applyAction(context, action, caller)) done.push(action);
    } catch (error) {
      failed.push({ action, error });
      context.logger.error({ err: error, action }, "a reconcile action failed");
    }
  }
  return { done, failed };
}

async function applyAction(context: EngineContext, action: ReconcileAction, caller: Caller): Promise<boolean> {
  context.hooks.onStep?.(`reconcile.${action.kind}.before`);
  const fresh = await planActions(context);
  if (!fresh.some((item) => item.kind === action.kind && item.target === action.target)) return false;
  const { runtime } = context;
  switch (action.kind) {
    case "reap":
    case "retry_destroy":
      await destroyBranch(
        context,
        action.target,
        caller,
        action.kind === "reap" ? "time to live has passed" : "retry destroy",
      );
      return true;
    case "fail_stuck":
      return failStuck(context, action.target, caller);
    case "fail_stuck_source":
      return failStuckSource(context, action.target);
    case "restart_branch":
      return restartBranch(context, action.target, caller);
    case "update_endpoint":
      return updateEndpoint(context, action.target, caller);
    case "remove_orphan_container":
    case "remove_orphan_helper":
      await runtime.removeInstance(action.target);
      return true;
    case "gc_layer":
      return collectLayer(context, action.target);
    case "gc_volume":
      return collectVolume(context, action.target);
    default:
      return unreachable(action.kind);
  }
}

/** The row goes to failed first: that fences the operation, should it still be alive. */
async function failStuck(context: EngineContext, name: string, caller: Caller): Promise<boolean> {
  const branch = await context.registry.branches.findLiveBranch(name);
  if (branch === undefined || (branch.state !== "creating" && branch.state !== "resetting")) return false;
  const isCreating = branch.state === "creating";
  const isMoved = await context.registry.branches.transition({
    branchId: branch.id,
    from: branch.state,
    trigger: "failed",
    reason: `${branch.state} made no progress for ${context.settings.stuckTimeoutMs / 1000} s`,
    actor: caller.actor,
    atMs: context.clock.nowMs(),
    patch: {
      instanceId: undefined,
      pendingVolume: undefined,
      ...(isCreating ? { volume: undefined, topLayerId: undefined, baseLayerId: branch.baseLayerId } : {}),
    },
  });
  if (!isMoved) return false;
  await removeInstancesOf(context, name);
  const isLayer = new Set((await context.registry.layers.listLayers()).map((layer) => layer.volume));
  const leftovers = isCreating ? [branch.volume, branch.pendingVolume] : [branch.pendingVolume];
  for (const volume of leftovers) {
    if (volume !== undefined && !isLayer.has(volume)) await context.runtime.removeVolume(volume);
  }
  return true;
}

async function failStuckSource(context: EngineContext, name: string): Promise<boolean> {
  const { sources } = context.registry;
  const source = await sources.findSource(name);
  if (source === undefined) return false;
  const nowMs = context.clock.nowMs();
  if (source.state === "seeding") {
    if (!(await sources.setSourceState(source.id, "seeding", "failed", nowMs))) return false;
  } else {
    await sources.releaseRefresh(source.id, nowMs);
  }
  await forgetDeadSeeds(context, source.id);
  return true;
}

/** Without its row a seed that is slow rather than dead cannot be activated; its volume has no owner any more. */
async function forgetDeadSeeds(context: EngineContext, sourceId: string): Promise<void> {
  const { sources } = context.registry;
  for (const generation of await sources.listGenerations()) {
    if (generation.sourceId === sourceId && generation.state === "seeding") {
      await sources.deleteUnusedGeneration(generation.id);
    }
  }
}

async function restartBranch(context: EngineContext, name: string, caller: Caller): Promise<boolean> {
  return context.locks.run(`branch/${name}`, async () => {
    const branch = await context.registry.branches.findLiveBranch(name);
    if (branch === undefined || branch.state !== "ready") return false;
    try {
      const moved = await restart(context, branch, caller.signal);
      return await repair(context, branch, caller, { ...moved, reason: "container was restarted" });
    } catch (error) {
      await context.registry.branches.transition({
        branchId: branch.id,
        from: "ready",
        trigger: "failed",
        reason: `container could not be restarted: ${describeFailure(error)}`,
        actor: caller.actor,
        atMs: context.clock.nowMs(),
        patch: { instanceId: undefined },
      });
      throw error;
    }
  });
}

/** The container as it is, if it can be started or continued; else a new one on the same data. */
async function restart(
  context: EngineContext,
  branch: Branch,
  signal: AbortSignal,
): Promise<{ readonly instanceId: string | undefined; readonly port: number | undefined }> {
  const { runtime } = context;
  const found = branch.instanceId === undefined ? undefined : await runtime.findInstance(branch.instanceId);
  if (found?.status === "paused") await runtime.unpauseInstance(found.id);
  if (found?.status === "paused" && found.endpoint !== undefined) {
    await runtime.waitUntilAnswering(
      found.id,
      found.endpoint,
      { timeoutMs: context.settings.readyTimeoutMs, wanted: "admission" },
      signal,
    );
    return { instanceId: found.id, port: found.endpoint.port };
  }
  return bringUp(context, branch, signal);
}

async function updateEndpoint(context: EngineContext, name: string, caller: Caller): Promise<boolean> {
  const branch = await context.registry.branches.findLiveBranch(name);
  if (branch?.instanceId === undefined || branch.state !== "ready") return false;
  const found = await context.runtime.findInstance(branch.instanceId);
  if (found?.endpoint === undefined) return false;
  return repair(context, branch, caller, {
    ...found.endpoint,
    instanceId: branch.instanceId,
    reason: "endpoint moved",
  });
}

interface Repair {
  readonly instanceId: string | undefined;
  readonly host?: string;
  readonly port: number | undefined;
  readonly reason: string;
}

function repair(context: EngineContext, branch: Branch, caller: Caller, change: Repair): Promise<boolean> {
  return context.registry.branches.transition({
    branchId: branch.id,
    from: "ready",
    trigger: "repaired",
    reason: change.reason,
    actor: caller.actor,
    atMs: context.clock.nowMs(),
    patch: { instanceId: change.instanceId, port: change.port, host: change.host ?? "127.0.0.1" },
  });
}

async function collectLayer(context: EngineContext, volume: string): Promise<boolean> {
  const layer = (await context.registry.layers.listLayers()).find((candidate) => candidate.volume === volume);
  if (layer === undefined) return false;
  await removeUnusedLayers(context, [layer.id]);
  return true;
}

async function collectVolume(context: EngineContext, volume: string): Promise<boolean> {
  const generations = await context.registry.sources.listGenerations();
  const generation = generations.find((candidate) => candidate.volume === volume);
  if (generation !== undefined && !(await context.registry.sources.deleteUnusedGeneration(generation.id))) return false;
  await context.runtime.removeVolume(volume);
  return true;
}
