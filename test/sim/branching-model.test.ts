/**
 * Random sequences of operations, failures, deaths and lost containers against a small model: which words each branch
 * must hold, and which operations the state table admits. One line of the failure output is the seed to run again.
 */
import t from "tap";
import { type BranchState, branchStates, nextBranchState } from "../../src/branching/model/branch-state.ts";
import type { BranchingEngine } from "../../src/branching/service/engine.ts";
import { createSeededRandom, type Random } from "../../src/platform/random/random.ts";
import { FakeWorld, stuckTimeoutMs } from "../support/branching/fake-world.ts";
import { checkJournal, findProblems } from "../support/branching/world-checks.ts";

const sequenceCount = Number(process.env["BRANCHING_SEQUENCES"] ?? 1500);
const stepsPerSequence = 14;
const names = ["a", "b", "c", "d"] as const;

/** What a branch must hold, and what a reset returns to. */
interface Expected {
  words: Set<string>;
  readonly base: ReadonlySet<string>;
}

interface Run {
  readonly world: FakeWorld;
  readonly random: Random;
  readonly expected: Map<string, Expected>;
  wordCount: number;
}

function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[Math.floor(random.fraction() * items.length)];
  if (item === undefined) throw new Error("there is nothing to pick from");
  return item;
}

async function stateOf(run: Run, name: string): Promise<BranchState | undefined> {
  return (await run.world.registry.branches.findLiveBranch(name))?.state;
}

/** Runs an operation that may fail or die; true when it succeeded. */
async function act(run: Run, work: (engine: BranchingEngine) => Promise<unknown>): Promise<boolean> {
  const { world, random } = run;
  const fate = random.fraction();
  if (fate < 0.1) {
    let left = Math.floor(random.fraction() * 12);
    world.diesAt = () => left-- <= 0;
  } else if (fate < 0.25) {
    const failing = world.runtime.callCount + Math.floor(random.fraction() * 12);
    world.onCall = (call) => {
      if (call.index === failing) throw new Error(`call ${call.name} failed`);
    };
  }
  let isDone = false;
  try {
    isDone = await world.attempt(work);
    if (!isDone) world.restart();
  } catch {
    isDone = false;
  }
  world.diesAt = () => false;
  world.onCall = () => {};
  return isDone;
}

const operations: Readonly<Record<string, (run: Run) => Promise<void>>> = {
  create: async (run) => {
    const name = pick(run.random, names);
    const before = await stateOf(run, name);
    const isDone = await act(run, (engine) => engine.createBranch({ name, source: "shop" }, run.world.caller));
    if (isDone && before !== undefined) throw new Error(`${name} was created over one that is ${before}`);
    if (before === undefined) run.expected.set(name, { words: new Set(), base: new Set() });
  },
  fork: async (run) => {
    const [name, parent] = [pick(run.random, names), pick(run.random, names)];
    const [before, parentBefore] = [await stateOf(run, name), await stateOf(run, parent)];
    const isDone = await act(run, (engine) => engine.createBranch({ name, parent }, run.world.caller));
    if (isDone && (before !== undefined || parentBefore !== "ready")) {
      throw new Error(`${name} (${before}) was created from ${parent} (${parentBefore})`);
    }
    const words = run.expected.get(parent)?.words;
    if (before === undefined && name !== parent && words) {
      run.expected.set(name, { words: new Set(words), base: new Set(words) });
    }
  },
  write: async (run) => {
    const name = pick(run.random, names);
    const branch = await run.world.registry.branches.findLiveBranch(name);
    const instance = run.world.runtime.instances.get(branch?.instanceId ?? "");
    if (branch?.state !== "ready" || instance?.status !== "running") return;
    const word = `w${run.wordCount++}`;
    run.world.runtime.write(instance.id, word);
    run.expected.get(name)?.words.add(word);
  },
  reset: async (run) => {
    const name = pick(run.random, names);
    const before = await stateOf(run, name);
    const isDone = await act(run, (engine) => engine.resetBranch(name, run.world.caller));
    if (isDone && before !== "ready" && before !== "failed") throw new Error(`${name} was reset while ${before}`);
    const after = await run.world.registry.branches.findLiveBranch(name);
    const expected = run.expected.get(name);
    if (expected && (isDone || after?.state === "ready")) {
      // A reset that was cut off after its commit counts as done, one before it as never begun.
      const isReset = isDone || !holds(run, after?.instanceId, expected.words);
      if (isReset) expected.words = new Set(expected.base);
    }
  },
  recover: async (run) => {
    const name = pick(run.random, names);
    const before = await stateOf(run, name);
    const isDone = await act(run, (engine) => engine.recoverBranch(name, run.world.caller));
    if (isDone && before !== "failed") throw new Error(`${name} was recovered while ${before}`);
  },
  destroy: async (run) => {
    const name = pick(run.random, names);
    const before = await stateOf(run, name);
    const isDone = await act(run, (engine) => engine.destroyBranch(name, run.world.caller));
    if (isDone && before === undefined) throw new Error(`${name} was destroyed, but was not there`);
  },
  diff: async (run) => {
    await act(run, (engine) => engine.diffBranch(pick(run.random, names), 0, run.world.caller));
  },
  refresh: async (run) => {
    await act(run, (engine) => engine.refreshSource("shop", "", run.world.caller));
  },
  kill: async (run) => {
    const ids = [...run.world.runtime.instances.values()].filter((item) => item.spec.labels.kind === "branch");
    if (ids.length > 0) pick(run.random, ids).status = pick(run.random, ["exited", "paused"] as const);
  },
  lose: async (run) => {
    const ids = [...run.world.runtime.instances.keys()];
    if (ids.length > 0) run.world.runtime.instances.delete(pick(run.random, ids));
  },
  reconcile: async (run) => {
    run.world.nowMs += run.random.fraction() < 0.5 ? 1000 : stuckTimeoutMs + 1000;
    await act(run, (engine) => engine.reconcile(run.world.caller));
  },
};

function holds(run: Run, instanceId: string | undefined, words: ReadonlySet<string>): boolean {
  if (instanceId === undefined || !run.world.runtime.instances.has(instanceId)) return false;
  const found = new Set(run.world.runtime.readWords(instanceId));
  return found.size === words.size && [...words].every((word) => found.has(word));
}

async function settle(run: Run): Promise<void> {
  for (let round = 0; round < 4; round++) {
    run.world.nowMs += stuckTimeoutMs + 1000;
    const { failed } = await run.world.engine.reconcile(run.world.caller);
    if (failed.length > 0) throw failed[0]?.error;
  }
}

async function checkWords(run: Run): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const name of names) {
    const branch = await run.world.registry.branches.findLiveBranch(name);
    if (branch?.state !== "ready") continue;
    const expected = run.expected.get(name);
    if (
      !expected ||
      (!holds(run, branch.instanceId, expected.words) && !holds(run, branch.instanceId, expected.base))
    ) {
      const found = run.world.runtime.readWords(branch.instanceId ?? "");
      problems.push(`${name} holds ${found.join(" ")}, expected ${[...(expected?.words ?? [])].join(" ")}`);
    }
  }
  return problems;
}

async function runSequence(seed: number): Promise<readonly string[]> {
  const random = createSeededRandom(seed);
  const layout = pick(random, ["overlay", "reflink"] as const);
  const world = await FakeWorld.create({ seed, layout });
  await world.addSource();
  const run: Run = { world, random, expected: new Map(), wordCount: 1 };
  const done: string[] = [];
  try {
    for (let step = 0; step < stepsPerSequence; step++) {
      const name = pick(random, Object.keys(operations));
      done.push(name);
      await operations[name]?.(run);
    }
    await settle(run);
    const problems = [...(await findProblems(world)), ...(await checkWords(run))];
    for (const name of names) problems.push(...(await checkJournal(world, name)));
    return problems.map((problem) => `seed ${seed} (${layout}): ${problem} after ${done.join(" ")}`);
  } catch (error) {
    return [
      `seed ${seed} (${layout}): ${error instanceof Error ? error.stack : String(error)} after ${done.join(" ")}`,
    ];
  } finally {
    await world.registry.close();
  }
}

t.test("random sequences leave every branch with its own data and nothing without an owner", async (t) => {
  for (let seed = 1; seed <= sequenceCount; seed++) {
    const problems = await runSequence(seed);
    if (problems.length > 0) t.strictSame(problems, [], `seed ${seed}`);
  }
  t.pass(`${sequenceCount} sequences of ${stepsPerSequence} steps`);
});

t.test("the state table admits exactly what the contract lists", async (t) => {
  const admitted = branchStates.flatMap((from) =>
    (["reset", "recover", "destroy"] as const).flatMap((trigger) => {
      const to = nextBranchState(from, trigger);
      return to === undefined ? [] : [`${from} ${trigger} ${to}`];
    }),
  );
  t.strictSame(admitted, [
    "creating destroy destroying",
    "ready reset resetting",
    "ready destroy destroying",
    "resetting destroy destroying",
    "failed reset resetting",
    "failed recover ready",
    "failed destroy destroying",
  ]);
});
