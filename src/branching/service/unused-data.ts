/**
 * Removal of frozen data that nobody stands on any more. The row goes first, under the condition that nothing points to
 * it; then the volume. A volume that stays behind has no owner, and the reconcile loop takes it.
 */
import type { EngineContext } from "./engine-context.ts";

/** Walks down from the given layers while they are unused. Failures are left to the reconcile loop. */
export async function removeUnusedLayers(
  context: EngineContext,
  layerIds: readonly (string | undefined)[],
): Promise<void> {
  const { layers } = context.registry;
  for (const start of layerIds) {
    for (let id = start; id !== undefined; ) {
      const current = (await layers.listLayers()).find((layer) => layer.id === id);
      if (current === undefined || !(await layers.deleteUnusedLayer(current.id))) break;
      await removeVolumeQuietly(context, current.volume);
      id = current.parentId;
    }
  }
}

/** Generations that are neither current nor under a live branch. */
export async function removeUnusedGenerations(context: EngineContext, sourceId: string): Promise<void> {
  const { sources } = context.registry;
  for (const generation of await sources.listGenerations()) {
    if (generation.sourceId !== sourceId || generation.state === "seeding") continue;
    if (await sources.deleteUnusedGeneration(generation.id)) await removeVolumeQuietly(context, generation.volume);
  }
}

async function removeVolumeQuietly(context: EngineContext, volume: string): Promise<void> {
  try {
    await context.runtime.removeVolume(volume);
  } catch (error) {
    context.logger.warn({ err: error, volume }, "an unused volume could not be removed; the next gc takes it");
  }
}
