import type { Registry } from "../../../src/branching/service/ports.ts";
import type { FakeWorld } from "./fake-world.ts";

/** What is wrong with the world at rest, after gc had its turn; empty when all is well. */
export async function findProblems(world: FakeWorld): Promise<readonly string[]> {
  const problems: string[] = [];
  const branches = await world.registry.branches.listLiveBranches();
  const layers = await world.registry.layers.listLayers();
  const generations = await world.registry.sources.listGenerations();
  const plan = await world.engine.planReconcile();
  for (const action of plan) problems.push(`the plan is not empty: ${action.kind} ${action.target} (${action.reason})`);
  const ownedInstances = new Set(branches.flatMap((branch) => branch.instanceId ?? []));
  for (const [id, instance] of world.runtime.instances) {
    if (!ownedInstances.has(id)) problems.push(`container ${instance.spec.name} has no owner`);
  }
  const ownedVolumes = new Set([
    ...branches.flatMap((branch) => [branch.volume ?? [], branch.pendingVolume ?? []].flat()),
    ...layers.map((layer) => layer.volume),
    ...generations.map((generation) => generation.volume),
  ]);
  for (const name of world.runtime.volumes.keys()) {
    if (!ownedVolumes.has(name)) problems.push(`volume ${name} has no owner`);
  }
  for (const layer of layers) {
    if (!world.runtime.volumes.has(layer.volume)) problems.push(`layer ${layer.id} has lost its volume`);
  }
  for (const branch of branches) {
    if (branch.state !== "ready" && branch.state !== "failed")
      problems.push(`branch ${branch.name} is ${branch.state}`);
    if (branch.state !== "ready") continue;
    if (branch.volume === undefined || !world.runtime.volumes.has(branch.volume)) {
      problems.push(`branch ${branch.name} is ready without its volume`);
    }
    if (branch.instanceId === undefined || !world.runtime.instances.has(branch.instanceId)) {
      problems.push(`branch ${branch.name} is ready without a container`);
    } else if (!world.runtime.admits(branch.instanceId))
      problems.push(`branch ${branch.name} is ready and lets nobody in`);
  }
  for (const branch of branches) problems.push(...(await checkJournal(world, branch.name)));
  return problems;
}

/** Each entry begins where the one before ended, within one life of the name. */
export async function checkJournal(
  world: { readonly registry: Pick<Registry, "branches"> },
  name: string,
): Promise<readonly string[]> {
  const history = (await world.registry.branches.findHistory(name)) ?? [];
  return history.flatMap((entry, index) => {
    const before = history[index - 1]?.toState;
    const expected = before === "destroyed" ? undefined : before;
    return entry.fromState === expected ? [] : [`journal of ${name}: ${entry.fromState} follows ${before}`];
  });
}
