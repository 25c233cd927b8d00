/** Starts the existing data of a branch again: for `recover`, and for branches whose container went away. */
import { assert } from "../../platform/errors/assert.ts";
import type { Branch } from "../model/records.ts";
import { loadBase } from "./branch-instance.ts";
import type { EngineContext } from "./engine-context.ts";
import { type Provisioned, startInstance, untilAnswering } from "./provision.ts";

/** A new container on the branch's volume, with its old port when that is free. Leaves nothing when it fails. */
export async function bringUp(context: EngineContext, branch: Branch, signal: AbortSignal): Promise<Provisioned> {
  assert(branch.volume, "there is data to start");
  await removeInstancesOf(context, branch.name);
  const base = await loadBase(context, branch.generationId, branch.topLayerId);
  const result: Provisioned = { instanceId: undefined, port: branch.port, sealedPassword: undefined };
  const start = { branchName: branch.name, base, volume: branch.volume, isReleased: branch.isReleased };
  try {
    await startInstance(context, start, result, signal);
    await untilAnswering(context, result, "admission", signal);
    return result;
  } catch (error) {
    if (result.instanceId !== undefined) await context.runtime.removeInstance(result.instanceId);
    throw error;
  }
}

export async function removeInstancesOf(context: EngineContext, branchName: string): Promise<void> {
  const instances = await context.runtime.listInstances();
  const own = instances.filter((item) => item.labels.kind === "branch" && item.labels.name === branchName);
  await Promise.all(own.map((item) => context.runtime.removeInstance(item.id)));
}
