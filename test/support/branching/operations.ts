/** Every operation that changes something, as a command, as a call, and with what must be there before it. */
import type { BranchingEngine } from "../../../src/branching/service/engine.ts";
import type { Caller } from "../../../src/branching/service/engine-context.ts";
import { sourcePassword } from "./local-bench.ts";
import type { RealWorld } from "./real-world.ts";

export interface Operation {
  readonly name: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  prepare(engine: BranchingEngine, caller: Caller): Promise<void>;
  run(engine: BranchingEngine, caller: Caller): Promise<unknown>;
  /** What doctor may name after a death in the middle. */
  readonly kinds: readonly string[];
}

const mask = { name: "mask.sql", sql: "UPDATE kept SET note = 'masked'" };
const brokenMask = { name: "broken.sql", sql: "SELECT 1/0" };
const rotation = { BRANCHSVC_ROTATE_BRANCH_CREDENTIALS: "true", BRANCHSVC_SECRET_KEY: "ab".repeat(32) };
const unfinished = ["fail_stuck", "gc_volume", "remove_orphan_container"];
const unfinishedSeed = ["fail_stuck_source", "gc_volume", "remove_orphan_helper"];

const nothing = async (): Promise<void> => {};

async function createB(engine: BranchingEngine, caller: Caller): Promise<void> {
  await engine.createBranch({ name: "b", source: "shop" }, caller);
}

/** A reset that could not mask leaves a failed branch with the data it had. */
async function createFailedB(engine: BranchingEngine, caller: Caller): Promise<void> {
  await createB(engine, caller);
  await engine.setMasks("shop", [brokenMask]);
  await engine.resetBranch("b", caller).catch(() => {});
  const { state } = await engine.getBranch("b");
  if (state !== "failed") throw new Error(`the reset should have failed, but "b" is ${state}`);
}

export function listOperations(sourceHost: string): readonly Operation[] {
  return [
    {
      name: "seed",
      command: ["source", "add", "other", "--host", sourceHost],
      prepare: nothing,
      run: (engine, caller) => engine.addSource({ name: "other", host: sourceHost, password: sourcePassword }, caller),
      kinds: unfinishedSeed,
    },
    {
      name: "refresh",
      command: ["source", "refresh", "shop"],
      prepare: nothing,
      run: (engine, caller) => engine.refreshSource("shop", sourcePassword, caller),
      kinds: unfinishedSeed,
    },
    {
      name: "create",
      command: ["branch", "create", "b", "--from", "shop"],
      environment: rotation,
      prepare: async (engine) => {
        await engine.setMasks("shop", [mask]);
      },
      run: (engine, caller) => engine.createBranch({ name: "b", source: "shop" }, caller),
      kinds: unfinished,
    },
    {
      name: "create from a branch",
      command: ["branch", "create", "b", "--from-branch", "parent"],
      prepare: nothing,
      run: (engine, caller) => engine.createBranch({ name: "b", parent: "parent" }, caller),
      kinds: [...unfinished, "gc_layer", "remove_orphan_helper", "restart_branch"],
    },
    {
      name: "reset",
      command: ["branch", "reset", "b"],
      prepare: async (engine, caller) => {
        await engine.setMasks("shop", [mask]);
        await createB(engine, caller);
      },
      run: (engine, caller) => engine.resetBranch("b", caller),
      kinds: unfinished,
    },
    {
      name: "recover",
      command: ["branch", "recover", "b"],
      prepare: createFailedB,
      run: (engine, caller) => engine.recoverBranch("b", caller),
      kinds: unfinished,
    },
    {
      name: "diff",
      command: ["diff", "b"],
      prepare: createB,
      run: (engine, caller) => engine.diffBranch("b", 0, caller),
      kinds: [...unfinished, "retry_destroy"],
    },
    {
      name: "destroy",
      command: ["branch", "destroy", "b"],
      prepare: createB,
      run: (engine, caller) => engine.destroyBranch("b", caller),
      kinds: ["retry_destroy"],
    },
  ];
}

/** A parent with data of its own, no masks, no "b" and no second source: the same start for each case. */
export async function tidy(world: RealWorld): Promise<void> {
  await world.use(async (engine) => {
    const { caller } = world;
    await engine.setMasks("shop", []);
    for (const { name } of await engine.listBranches()) {
      if (name !== "parent") await engine.destroyBranch(name, caller);
    }
    for (const { name } of await engine.listSources()) if (name !== "shop") await engine.removeSource(name);
    const parent = (await engine.listBranches())[0];
    if (parent?.state === "failed") await engine.recoverBranch("parent", caller);
  });
}

export const checksum = "SELECT count(*)::int, md5(string_agg(kept::text, ',' ORDER BY id)) FROM kept";
