import type { EngineContext } from "./engine-context.ts";

export interface ResealOutcome {
  readonly resealedCount: number;
  /** Branches whose password no configured key opens: they are left as they are. */
  readonly unavailable: readonly string[];
}

/** After a change of the primary key. A password that cannot be opened is never an error: the branch can be reset. */
export async function resealPasswords(context: EngineContext): Promise<ResealOutcome> {
  const { secrets, registry } = context;
  const unavailable: string[] = [];
  let resealedCount = 0;
  for (const branch of await registry.branches.listLiveBranches()) {
    if (branch.sealedPassword === undefined || secrets?.isStale(branch.sealedPassword) === false) continue;
    const password = secrets?.open(branch.sealedPassword);
    if (secrets === undefined || password === undefined) {
      unavailable.push(branch.name);
      continue;
    }
    const patch = { sealedPassword: secrets.seal(password) };
    if (await registry.branches.patchBranch(branch.id, branch.state, patch, branch.updatedAtMs)) resealedCount++;
  }
  return { resealedCount, unavailable };
}
