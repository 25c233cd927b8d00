import { branchingError } from "../errors.ts";
import type { Branch } from "../model/records.ts";
import { branchNotFound, withToolOutput } from "./branch-errors.ts";
import { bringUp } from "./bring-up.ts";
import type { Caller, EngineContext } from "./engine-context.ts";
import { runOperation } from "./operation.ts";

/** Restarts a failed branch on the data it has: no new clone, no masks, no new password. */
export async function recoverBranch(context: EngineContext, name: string, caller: Caller): Promise<Branch> {
  return context.locks.run(`branch/${name}`, async () => {
    const branch = await context.registry.branches.findLiveBranch(name);
    if (branch === undefined) throw branchNotFound(name);
    await checkRecoverable(context, branch);
    const spec = {
      name: "recover",
      subject: `branch "${name}"`,
      limitMs: context.settings.stuckTimeoutMs,
      heartbeat: (atMs: number) => context.registry.branches.touchBranch(branch.id, atMs),
    };
    try {
      await runOperation(context, spec, caller, (signal) => recover(context, branch, caller, signal));
    } catch (error) {
      throw withToolOutput(error);
    }
    return context.registry.branches.getBranch(branch.id);
  });
}

async function checkRecoverable(context: EngineContext, branch: Branch): Promise<void> {
  const refuse = (why: string): Error =>
    branchingError("nothing_to_recover", `Cannot recover branch "${branch.name}": ${why}`);
  if (branch.state !== "failed") throw refuse(`it is ${branch.state}, but must be failed`);
  if (branch.volume === undefined || !(await context.runtime.hasVolume(branch.volume))) {
    throw refuse("it has no data left; reset it");
  }
  if (!branch.isReleased) throw refuse("its data was never masked; reset it");
}

async function recover(context: EngineContext, branch: Branch, caller: Caller, signal: AbortSignal): Promise<void> {
  context.hooks.onStep?.("recover.start.before");
  const result = await bringUp(context, branch, signal);
  context.hooks.onStep?.("recover.start");
  const isMoved = await context.registry.branches.transition({
    branchId: branch.id,
    from: "failed",
    trigger: "recover",
    reason: "recover",
    actor: caller.actor,
    atMs: context.clock.nowMs(),
    patch: { instanceId: result.instanceId, host: "127.0.0.1", port: result.port },
  });
  if (isMoved) return;
  if (result.instanceId !== undefined) await context.runtime.removeInstance(result.instanceId);
  throw branchingError("wrong_state", `Cannot recover branch "${branch.name}": its state changed meanwhile`);
}
