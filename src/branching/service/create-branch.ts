import { assert } from "../../platform/errors/assert.ts";
import { type DomainError, isDomainError } from "../../platform/errors/domain-error.ts";
import { branchingError } from "../errors.ts";
import type { Branch, Generation, Source } from "../model/records.ts";
import { type CreateBranchRequest, checkBranch, expiryOf } from "../model/requests.ts";
import { volumeName } from "../model/resource-names.ts";
import {
  branchNotFound,
  describeFailure,
  sourceNotFound,
  sourceNotReady,
  withToolOutput,
  wrongState,
} from "./branch-errors.ts";
import { loadBase } from "./branch-instance.ts";
import { type Caller, type EngineContext, newId, randomSuffix } from "./engine-context.ts";
import { forkParent } from "./fork-parent.ts";
import { runOperation } from "./operation.ts";
import type { InsertOutcome, NewBranch } from "./ports.ts";
import { listProvisionSteps, type Provisioned } from "./provision.ts";
import { runSaga, type Step } from "./saga.ts";

/** Creates a branch from a source or from another branch; returns once it is ready. */
export async function createBranch(
  context: EngineContext,
  request: CreateBranchRequest,
  caller: Caller,
): Promise<Branch> {
  checkBranch(request);
  if (request.parent !== undefined) return createFromParent(context, request, request.parent, caller);
  assert(request.source !== undefined, "a checked request names a source or a parent");
  const source = await context.registry.sources.findSource(request.source);
  if (source === undefined) throw sourceNotFound(request.source);
  if (source.state !== "ready") throw sourceNotReady("create a branch from", source);
  const generation = await findCurrentGeneration(context, source);
  const row = newRow(context, request, { source, generationId: generation });
  await insertRow(context, row, caller);
  return context.locks.run(`branch/${row.name}`, () => provision(context, row, caller, "create"));
}

async function findCurrentGeneration(context: EngineContext, source: Source): Promise<string> {
  const generations = await context.registry.sources.listGenerations();
  const isCurrent = ({ sourceId, number, state }: Generation): boolean =>
    sourceId === source.id && number === source.generation && state === "ready";
  const current = generations.find(isCurrent);
  assert(current, `source ${source.name} is ready, so its generation ${source.generation} exists`);
  return current.id;
}

async function createFromParent(
  context: EngineContext,
  request: CreateBranchRequest,
  parentName: string,
  caller: Caller,
): Promise<Branch> {
  return context.locks.run(`branch/${parentName}`, async () => {
    const parent = await context.registry.branches.findLiveBranch(parentName);
    if (parent === undefined) throw branchNotFound(parentName);
    if (parent.state !== "ready") throw wrongState("create a branch from", parent, "ready");
    await checkDepth(context, parent);
    const row = newRow(context, request, { parent });
    await insertRow(context, row, caller);
    return provision(context, row, caller, "from_branch", parent);
  });
}

/** Only the overlay stacks layers; a reflink base is one full copy, whatever it was copied from. */
async function checkDepth(context: EngineContext, parent: Branch): Promise<void> {
  const base = await loadBase(context, parent.generationId, parent.topLayerId);
  const { maxLayerDepth } = context.settings;
  if (base.generation.layout !== "overlay" || base.chain.length < maxLayerDepth) return;
  throw branchingError(
    "layer_depth_reached",
    `Cannot create a branch from branch "${parent.name}": its layer chain has ${base.chain.length} layers, the limit is ${maxLayerDepth}; reset it or branch from the source`,
  );
}

interface Origin {
  readonly source?: Source;
  readonly generationId?: string;
  readonly parent?: Branch;
}

function newRow(context: EngineContext, request: CreateBranchRequest, origin: Origin): NewBranch {
  const nowMs = context.clock.nowMs();
  const { source, parent } = origin;
  const home = parent ?? source;
  const generationId = parent?.generationId ?? origin.generationId;
  const sourceName = parent?.sourceName ?? source?.name;
  assert(home && generationId && sourceName, "a branch has an origin");
  return {
    id: newId(context),
    name: request.name,
    sourceName,
    generationId,
    parentName: parent?.name,
    parentId: parent?.id,
    baseLayerId: undefined,
    topLayerId: undefined,
    volume: volumeName(context.registry.instanceId, "branch", request.name, randomSuffix(context)),
    pendingVolume: undefined,
    instanceId: undefined,
    host: undefined,
    port: undefined,
    user: home.user,
    database: home.database,
    sealedPassword: undefined,
    isThrowaway: false,
    expiresAtMs: expiryOf(nowMs, request.ttlSeconds, context.settings.ttl),
    nowMs,
  };
}

async function insertRow(context: EngineContext, row: NewBranch, caller: Caller): Promise<void> {
  const { maxBranches } = context.settings;
  const outcome = await context.registry.branches.insertBranch(row, { maxBranches }, caller.actor);
  const refusal = toRefusal(outcome, row, maxBranches);
  if (refusal !== undefined) throw refusal;
}

function toRefusal(outcome: InsertOutcome, row: NewBranch, maxBranches: number): DomainError | undefined {
  const verb = `Cannot create branch "${row.name}"`;
  switch (outcome.kind) {
    case "inserted":
      return undefined;
    case "name-taken":
      return branchingError("name_taken", `${verb}: the name is taken by a branch that is ${outcome.state}`);
    case "quota-reached":
      return branchingError("quota_reached", `${verb}: ${outcome.count} branches exist, the limit is ${maxBranches}`);
    case "parent-changed":
      return branchingError("wrong_state", `${verb}: its parent "${row.parentName}" is not ready any more`);
    case "source-changed":
      return branchingError("wrong_state", `${verb}: its source "${row.sourceName}" is not ready any more`);
  }
}

async function provision(
  context: EngineContext,
  row: NewBranch,
  caller: Caller,
  operation: "create" | "from_branch",
  parent?: Branch,
): Promise<Branch> {
  const { branches } = context.registry;
  const spec = {
    name: operation,
    subject: `branch "${row.name}"`,
    limitMs: context.settings.stuckTimeoutMs,
    heartbeat: (atMs: number) => branches.touchBranch(row.id, atMs),
  };
  try {
    await runOperation(context, spec, caller, async (signal) => {
      const topLayerId =
        parent === undefined
          ? undefined
          : await forkParent(context, { child: row, childState: "creating", parent, caller, signal });
      const inherited = parent?.sealedPassword;
      await provisionRow(context, row, { operation, topLayerId, inherited, caller, signal });
    });
  } catch (error) {
    await markFailed(context, row, caller, error);
    throw withToolOutput(error);
  }
  return branches.getBranch(row.id);
}

interface ProvisionRun {
  readonly operation: string;
  readonly topLayerId: string | undefined;
  /** The parent's own password: the child's data holds it, too, until it is rotated. */
  readonly inherited: string | undefined;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

async function provisionRow(context: EngineContext, row: NewBranch, run: ProvisionRun): Promise<void> {
  assert(row.volume, "a new row names its volume");
  const base = await loadBase(context, row.generationId, run.topLayerId);
  const masks = await context.registry.sources.listMasks(row.sourceName);
  const result: Provisioned = { instanceId: undefined, port: undefined, sealedPassword: run.inherited };
  const input = {
    branchName: row.name,
    base,
    volume: row.volume,
    user: row.user,
    database: row.database,
    masks,
    rotates: context.settings.rotatesCredentials,
    opensGate: true,
  };
  const commit: Step = {
    name: "commit",
    isCommit: true,
    run: async () => {
      const isMoved = await context.registry.branches.transition({
        branchId: row.id,
        from: "creating",
        trigger: "provisioned",
        reason: "provisioned",
        actor: run.caller.actor,
        atMs: context.clock.nowMs(),
        patch: {
          instanceId: result.instanceId,
          host: "127.0.0.1",
          port: result.port,
          sealedPassword: result.sealedPassword,
          isReleased: true,
        },
      });
      if (!isMoved)
        throw branchingError("wrong_state", `Cannot create branch "${row.name}": it was destroyed meanwhile`);
    },
  };
  await runSaga([...listProvisionSteps(context, input, result), commit], {
    operation: run.operation,
    signal: run.signal,
    logger: context.logger,
    hooks: context.hooks,
  });
}

async function markFailed(context: EngineContext, row: NewBranch, caller: Caller, error: unknown): Promise<void> {
  context.logger.warn({ err: error, branch: row.name }, "a branch could not be created");
  try {
    await context.registry.branches.transition({
      branchId: row.id,
      from: "creating",
      trigger: "failed",
      reason: describeFailure(error),
      actor: caller.actor,
      atMs: context.clock.nowMs(),
      patch: { volume: undefined, instanceId: undefined, port: undefined },
    });
  } catch (cause) {
    if (isDomainError(cause)) context.logger.error({ err: cause, branch: row.name }, "a failure could not be recorded");
    else throw cause;
  }
}
