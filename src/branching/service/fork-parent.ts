/**
 * Makes the state of a running branch into a layer that a child can stand on. Returns the layer's id, already recorded
 * as the child's base.
 *
 * - reflink: a helper waits with its hand on the copy; the parent is paused (not stopped), its data directory cloned,
 *   and it goes on. The clone is what a crash would have left, so the child starts with a short recovery. Pausing is a
 *   must: files copied one by one under a running server do not fit together.
 * - overlay: the parent is stopped cleanly, its writable layer becomes read-only for good, and it goes on with a new one
 *   on top. The old writable layer is never mounted for writing again, or two branches would change one filesystem.
 */
import { assert } from "../../platform/errors/assert.ts";
import { isDomainError } from "../../platform/errors/domain-error.ts";
import { branchingError } from "../errors.ts";
import type { Branch, Layer } from "../model/records.ts";
import { instanceName, volumeName } from "../model/resource-names.ts";
import { describeFailure, wrongState } from "./branch-errors.ts";
import { type BranchBase, buildBranchInstance, loadBase } from "./branch-instance.ts";
import { type Caller, type EngineContext, newId, randomSuffix } from "./engine-context.ts";
import type { ExecSession } from "./ports.ts";
import { type Provisioned, type StartInput, startInstance, untilAnswering } from "./provision.ts";
import { runSql } from "./run-sql.ts";
import { runSaga, type Step } from "./saga.ts";

export interface ForkInput {
  /** The child; its base is set once the layer is there. */
  readonly child: Pick<Branch, "id" | "name">;
  readonly childState: "creating" | "resetting";
  readonly parent: Branch;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

const checkpointTimeoutMs = 5 * 60_000;
const stopGraceMs = 60_000;
const unpauseAttempts = 5;

export async function forkParent(context: EngineContext, input: ForkInput): Promise<string> {
  const base = await loadBase(context, input.parent.generationId, input.parent.topLayerId);
  await checkpointParent(context, input, base);
  const layer =
    base.generation.layout === "reflink" ? await cloneParent(context, input) : await freezeParent(context, input, base);
  const atMs = context.clock.nowMs();
  const patch = { baseLayerId: layer.id, topLayerId: layer.id };
  const isPatched = await context.registry.branches.patchBranch(input.child.id, input.childState, patch, atMs);
  if (!isPatched)
    throw branchingError("wrong_state", `Cannot create branch "${input.child.name}": it was destroyed meanwhile`);
  return layer.id;
}

/** Shortens what follows: little is left to write at the stop, little to replay in the child. */
async function checkpointParent(context: EngineContext, input: ForkInput, base: BranchBase): Promise<void> {
  const { parent } = input;
  assert(parent.instanceId, "a ready branch has an instance");
  const outcome = await runSql(context.runtime, {
    instanceId: parent.instanceId,
    user: base.generation.superuser,
    database: "template1",
    sql: "CHECKPOINT;",
    timeoutMs: checkpointTimeoutMs,
    signal: input.signal,
  });
  if (outcome.exitCode !== 0) {
    throw branchingError("start_failed", `Cannot checkpoint branch "${parent.name}"`, {
      details: { output: outcome.stderr },
    });
  }
}

async function cloneParent(context: EngineContext, input: ForkInput): Promise<Layer> {
  const { parent } = input;
  assert(parent.volume && parent.instanceId, "a ready branch has a volume and an instance");
  const { volume: parentVolume, instanceId: parentInstance } = parent;
  const layer: Layer = {
    id: newId(context),
    volume: volumeName(context.registry.instanceId, "layer", parent.name, randomSuffix(context)),
    generationId: parent.generationId,
    parentId: undefined,
    layout: "reflink",
    createdAtMs: context.clock.nowMs(),
  };
  const generation = await context.registry.sources.getGeneration(parent.generationId);
  const helper: { id: string | undefined } = { id: undefined };
  const steps: readonly Step[] = [
    {
      name: "layer",
      run: () => context.runtime.createVolume(layer.volume, { kind: "layer", name: parent.name }),
      undo: () => context.runtime.removeVolume(layer.volume),
    },
    {
      name: "copy",
      run: async (signal) => {
        helper.id = await createCloneHelper(context, {
          imageId: generation.imageId,
          parentVolume,
          layerVolume: layer.volume,
          name: parent.name,
        });
        await context.runtime.startInstance(helper.id);
        await copyPaused(context, { helperId: helper.id, parentInstance, signal });
        await context.runtime.removeInstance(helper.id);
      },
      undo: async () => {
        if (helper.id !== undefined) await context.runtime.removeInstance(helper.id);
      },
    },
    { name: "record", run: () => context.registry.layers.insertLayer(layer) },
  ];
  await runSaga(steps, { operation: "fork", signal: input.signal, logger: context.logger, hooks: context.hooks });
  return layer;
}

interface CloneHelper {
  readonly imageId: string;
  readonly parentVolume: string;
  readonly layerVolume: string;
  readonly name: string;
}

function createCloneHelper(context: EngineContext, input: CloneHelper): Promise<string> {
  return context.runtime.createInstance({
    name: instanceName(context.registry.instanceId, "helper", input.name, randomSuffix(context)),
    labels: { kind: "helper", name: input.name },
    imageId: input.imageId,
    script: "trap 'exit 0' TERM INT; sleep 3600 & wait",
    environment: {},
    mounts: [
      { volume: input.parentVolume, target: "/p", isReadOnly: true },
      { volume: input.layerVolume, target: "/l", isReadOnly: false },
    ],
    mayMount: false,
    memoryBytes: context.settings.branchMemoryBytes,
    sharedMemoryBytes: context.settings.branchSharedMemoryBytes,
    network: { kind: "none" },
    publishedPort: undefined,
    restarts: false,
  });
}

interface PausedCopy {
  readonly helperId: string;
  readonly parentInstance: string;
  readonly signal: AbortSignal;
}

const copyScript = [
  "chmod 0700 /l && echo waiting && read -r go",
  "cp -a --reflink=always /p/data /l/data && echo copied",
  "rm -f /l/data/postmaster.pid && sync -f /l 2>/dev/null; echo done",
].join("\n");

async function copyPaused(context: EngineContext, input: PausedCopy): Promise<void> {
  const session = await context.runtime.openSession(input.helperId, ["sh", "-euc", copyScript], input.signal);
  try {
    await expectLine(session, "waiting");
    await context.runtime.pauseInstance(input.parentInstance);
    context.hooks.onStep?.("fork.paused");
    try {
      session.send("go\n");
      await expectLine(session, "copied");
    } finally {
      await unpauseSurely(context, input.parentInstance);
    }
    await expectLine(session, "done");
  } finally {
    session.close();
  }
}

/** A parent that stays paused hangs all its clients: one failed call must not do that. */
async function unpauseSurely(context: EngineContext, instanceId: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await context.runtime.unpauseInstance(instanceId);
      return;
    } catch (error) {
      if (attempt === unpauseAttempts) throw error;
    }
  }
}

async function expectLine(session: ExecSession, wanted: string): Promise<void> {
  const line = await session.nextLine();
  if (line.trim() !== wanted)
    throw branchingError("runtime_failed", `Cannot clone the parent: the helper said "${line}"`);
}

async function freezeParent(context: EngineContext, input: ForkInput, base: BranchBase): Promise<Layer> {
  const { parent, caller } = input;
  assert(
    parent.volume && parent.instanceId && parent.port !== undefined,
    "a ready branch has volume, instance and port",
  );
  const layer: Layer = {
    id: newId(context),
    volume: parent.volume,
    generationId: parent.generationId,
    parentId: parent.topLayerId,
    layout: "overlay",
    createdAtMs: context.clock.nowMs(),
  };
  const newVolume = volumeName(context.registry.instanceId, "branch", parent.name, randomSuffix(context));
  const oldInstance = parent.instanceId;
  const fresh: Provisioned = { instanceId: undefined, port: parent.port, sealedPassword: undefined };
  const parentPort = parent.port;
  const stacked = { generation: base.generation, chain: [...base.chain, layer] };
  const start = { branchName: parent.name, base: stacked, volume: newVolume, isReleased: true };
  const reason = `freeze for branch ${input.child.name}`;
  let isClaimed = false;
  const steps: readonly Step[] = [
    {
      name: "claim",
      run: async () => {
        await claimFreeze(context, parent, { newVolume, reason, actor: caller.actor });
        isClaimed = true;
      },
      undo: async () => {
        if (isClaimed) await restoreParent(context, parent, base, caller);
      },
    },
    {
      name: "volume",
      run: () => context.runtime.createVolume(newVolume, { kind: "branch", name: parent.name }),
      undo: () => context.runtime.removeVolume(newVolume),
    },
    {
      // Made before the old one stops: the parent is away for a stop and a start, no longer.
      name: "instance",
      run: async () => {
        fresh.instanceId = await context.runtime.createInstance(
          buildBranchInstance(context, { ...start, port: parentPort }),
        );
      },
      undo: async () => {
        if (fresh.instanceId !== undefined) await context.runtime.removeInstance(fresh.instanceId);
      },
    },
    { name: "stop", run: () => context.runtime.stopInstance(oldInstance, stopGraceMs) },
    {
      name: "restart",
      run: async (signal) => {
        await startFrozen(context, start, fresh, signal);
        await untilAnswering(context, fresh, "admission", signal);
      },
    },
    {
      name: "commit",
      isCommit: true,
      run: async () => {
        const isMoved = await context.registry.branches.transition({
          branchId: parent.id,
          from: "resetting",
          trigger: "provisioned",
          reason: "frozen",
          actor: caller.actor,
          atMs: context.clock.nowMs(),
          newLayer: layer,
          patch: {
            volume: newVolume,
            pendingVolume: undefined,
            topLayerId: layer.id,
            instanceId: fresh.instanceId,
            port: fresh.port,
          },
        });
        if (!isMoved)
          throw branchingError("wrong_state", `Cannot freeze branch "${parent.name}": it changed meanwhile`);
      },
    },
    { name: "remove", run: () => removeStopped(context, oldInstance) },
  ];
  const beat = context.timers.every(
    Math.min(context.settings.stuckTimeoutMs / 4, 30_000),
    () => void context.registry.branches.touchBranch(parent.id, context.clock.nowMs()).catch(() => {}),
    { isBackground: true },
  );
  try {
    await runSaga(steps, { operation: "freeze", signal: input.signal, logger: context.logger, hooks: context.hooks });
  } finally {
    beat.cancel();
  }
  return layer;
}

/** The port was free a moment ago; should somebody have taken it, the parent moves. */
async function startFrozen(
  context: EngineContext,
  start: StartInput,
  fresh: Provisioned,
  signal: AbortSignal,
): Promise<void> {
  assert(fresh.instanceId, "the container was made before");
  try {
    await context.runtime.startInstance(fresh.instanceId);
  } catch (error) {
    if (!isDomainError(error) || error.code !== "port_taken") throw error;
    await context.runtime.removeInstance(fresh.instanceId);
    fresh.port = undefined;
    await startInstance(context, start, fresh, signal);
  }
}

/** After the commit nothing may fail the fork any more: what stays is an orphan for gc. */
async function removeStopped(context: EngineContext, instanceId: string): Promise<void> {
  try {
    await context.runtime.removeInstance(instanceId);
  } catch (error) {
    context.logger.warn({ err: error, instanceId }, "the old container of a frozen parent is left to gc");
  }
}

interface FreezeClaim {
  readonly newVolume: string;
  readonly reason: string;
  readonly actor: string;
}

async function claimFreeze(context: EngineContext, parent: Branch, claim: FreezeClaim): Promise<void> {
  const isMoved = await context.registry.branches.transition({
    branchId: parent.id,
    from: "ready",
    trigger: "freeze",
    reason: claim.reason,
    actor: claim.actor,
    atMs: context.clock.nowMs(),
    patch: { pendingVolume: claim.newVolume },
  });
  if (!isMoved) throw wrongState("freeze", await context.registry.branches.getBranch(parent.id), "ready");
}

/** The parent goes on with the writable layer it had; when even that fails it is failed, and `recover` brings it back. */
async function restoreParent(context: EngineContext, parent: Branch, base: BranchBase, caller: Caller): Promise<void> {
  const { branches } = context.registry;
  const current = await branches.getBranch(parent.id);
  if (current.state !== "resetting") return;
  assert(parent.volume && parent.instanceId && parent.port !== undefined, "the parent was ready");
  const never = new AbortController().signal;
  const moved = { branchId: parent.id, from: "resetting", actor: caller.actor } as const;
  const found = await context.runtime.findInstance(parent.instanceId).catch(() => undefined);
  const result: Provisioned = { instanceId: undefined, port: parent.port, sealedPassword: undefined };
  try {
    if (found === undefined) {
      const start = { branchName: parent.name, base, volume: parent.volume, isReleased: true };
      await startInstance(context, start, result, never);
    } else {
      if (found.status !== "running") await context.runtime.startInstance(found.id);
      result.instanceId = found.id;
    }
    await untilAnswering(context, result, "admission", never);
    await branches.transition({
      ...moved,
      trigger: "provisioned",
      reason: "freeze was rolled back",
      atMs: context.clock.nowMs(),
      patch: { pendingVolume: undefined, instanceId: result.instanceId, port: result.port },
    });
  } catch (error) {
    await branches.transition({
      ...moved,
      trigger: "failed",
      reason: `freeze could not be rolled back: ${describeFailure(error)}`,
      atMs: context.clock.nowMs(),
      patch: { pendingVolume: undefined, instanceId: result.instanceId },
    });
    throw error;
  }
}
