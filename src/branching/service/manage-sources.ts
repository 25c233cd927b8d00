/** Registering, refreshing and removing sources, and their mask scripts. */
import { branchingError } from "../errors.ts";
import type { Generation, MaskScript, Source } from "../model/records.ts";
import { type CreateSourceRequest, checkMaskScripts, checkSource, type SourceSettings } from "../model/requests.ts";
import { volumeName } from "../model/resource-names.ts";
import { sourceNotFound, sourceNotReady } from "./branch-errors.ts";
import { type Caller, type EngineContext, newId, randomSuffix } from "./engine-context.ts";
import { runOperation } from "./operation.ts";
import { chooseLayout, probeLayout } from "./probe-layout.ts";
import { runSaga, type Step } from "./saga.ts";
import type { SeedProgress } from "./seed-helper.ts";
import { emptyFacts, listSeedSteps } from "./seed-source.ts";
import { removeUnusedGenerations } from "./unused-data.ts";

export type SeedReport = (progress: SeedProgress) => void;

/** Registers a source and seeds its first generation; returns when the seed is done. */
export async function addSource(
  context: EngineContext,
  request: CreateSourceRequest,
  caller: Caller,
  report: SeedReport,
): Promise<Source> {
  const settings = checkSource(request);
  const source = newSource(context, settings);
  const { holder } = await context.registry.sources.insertSource(source);
  if (holder !== undefined) {
    throw branchingError(
      "name_taken",
      `Cannot add source "${source.name}": the name is taken by a source that is ${holder.state}`,
    );
  }
  try {
    await seedGeneration(context, source, { operation: "seed", password: request.password ?? "", caller, report });
  } catch (error) {
    await context.registry.sources.setSourceState(source.id, "seeding", "failed", context.clock.nowMs());
    throw error;
  }
  return getSource(context, source.name);
}

function newSource(context: EngineContext, settings: SourceSettings): Source {
  const nowMs = context.clock.nowMs();
  return {
    id: newId(context),
    ...settings,
    state: "seeding",
    generation: 0,
    isRefreshing: false,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}

/** Seeds a new generation beside the old one, which new branches use until the very end. */
export async function refreshSource(
  context: EngineContext,
  name: string,
  password: string,
  caller: Caller,
  report: SeedReport,
): Promise<Source> {
  const source = await getSource(context, name);
  if (source.state !== "ready") throw sourceNotReady("refresh", source);
  const { sources } = context.registry;
  const nowMs = context.clock.nowMs();
  const isClaimed = await sources.claimRefresh(source.id, nowMs, nowMs - context.settings.stuckTimeoutMs);
  if (!isClaimed)
    throw branchingError("source_busy", `Cannot refresh source "${name}": another refresh of it is running`);
  try {
    await seedGeneration(context, source, { operation: "refresh", password, caller, report });
  } catch (error) {
    await sources.releaseRefresh(source.id, context.clock.nowMs());
    throw error;
  }
  await removeUnusedGenerations(context, source.id);
  return getSource(context, name);
}

interface SeedRun {
  readonly operation: "seed" | "refresh";
  readonly password: string;
  readonly caller: Caller;
  readonly report: SeedReport;
}

async function seedGeneration(context: EngineContext, source: Source, run: SeedRun): Promise<void> {
  const { sources } = context.registry;
  const generationId = newId(context);
  const spec = {
    name: run.operation,
    subject: `source "${source.name}"`,
    limitMs: undefined,
    heartbeat: async (atMs: number) => {
      await sources.touchSource(source.id, atMs);
      await sources.touchGeneration(generationId, atMs);
    },
  };
  await runOperation(context, spec, run.caller, async (signal) => {
    const reference = source.image ?? `postgres:${source.pgVersion}`;
    const image = await context.runtime.ensureImage(reference, (phase) => run.report({ phase }), signal);
    const probe = await probeLayout(context, image.id, signal);
    const generation = newGeneration(context, source, {
      id: generationId,
      imageId: image.id,
      layout: chooseLayout(context.settings.layout, probe),
      clonesExtents: probe.canClone,
    });
    await sources.insertGeneration(generation);
    const facts = emptyFacts();
    const input = {
      source,
      volume: generation.volume,
      imageId: image.id,
      password: run.password,
      onProgress: run.report,
    };
    const activate: Step = {
      name: "commit",
      isCommit: true,
      run: async () => {
        const isDone = await sources.activateGeneration({ ...generation, ...facts }, context.clock.nowMs());
        if (!isDone)
          throw branchingError("wrong_state", `Cannot seed source "${source.name}": it was removed meanwhile`);
      },
    };
    try {
      await runSaga([...listSeedSteps(context, input, facts), activate], {
        operation: run.operation,
        signal,
        logger: context.logger,
        hooks: context.hooks,
      });
    } catch (error) {
      await sources.deleteUnusedGeneration(generationId);
      throw error;
    }
  });
}

type GenerationSeed = Pick<Generation, "id" | "imageId" | "layout" | "clonesExtents">;

function newGeneration(context: EngineContext, source: Source, seed: GenerationSeed): Generation {
  const nowMs = context.clock.nowMs();
  return {
    ...seed,
    ...emptyFacts(),
    sourceId: source.id,
    sourceName: source.name,
    number: source.generation + 1,
    state: "seeding",
    volume: volumeName(context.registry.instanceId, "source", source.name, randomSuffix(context)),
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}

export async function getSource(context: EngineContext, name: string): Promise<Source> {
  const source = await context.registry.sources.findSource(name);
  if (source === undefined) throw sourceNotFound(name);
  return source;
}

/** Refused while live branches stand on it; their history stays. */
export async function removeSource(context: EngineContext, name: string): Promise<void> {
  const source = await getSource(context, name);
  const { liveBranchCount } = await context.registry.sources.deleteSource(source.id);
  if (liveBranchCount > 0) {
    const count = liveBranchCount === 1 ? "1 live branch" : `${liveBranchCount} live branches`;
    throw branchingError("source_has_branches", `Cannot remove source "${name}": it has ${count}; destroy them first`);
  }
  await removeUnusedGenerations(context, source.id);
}

export async function setMasks(
  context: EngineContext,
  name: string,
  masks: readonly MaskScript[],
): Promise<readonly MaskScript[]> {
  await getSource(context, name);
  checkMaskScripts(masks);
  await context.registry.sources.setMasks(name, masks);
  return context.registry.sources.listMasks(name);
}

export async function listMasks(context: EngineContext, name: string): Promise<readonly MaskScript[]> {
  await getSource(context, name);
  return context.registry.sources.listMasks(name);
}
