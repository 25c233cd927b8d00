import t from "tap";
import type { AnomalyKind } from "./checker.ts";
import { type BrokenRule, brokenRules } from "./rules.ts";
import { simulate } from "./simulate.ts";
import type { SwarmConfig } from "./swarm.ts";

/**
 * The checker can fail: each rule that the broker keeps is broken on purpose, and within the given number of seeds an
 * anomaly of one of the given kinds shows. The same seeds with the rule kept show none.
 */
interface BrokenCase {
  /** Where to begin: near a seed that shows it, to save time. */
  readonly fromSeed: number;
  readonly seedsMax: number;
  readonly kinds: readonly AnomalyKind[];
  /** The mix of faults under which the rule matters. */
  readonly adjust?: (config: SwarmConfig) => SwarmConfig;
}

/** Many short lives, many elections. */
function restless(config: SwarmConfig): SwarmConfig {
  const raft = config.limits.raft;
  return {
    ...config,
    nodeCount: 5,
    spareCount: 0,
    faultyMs: 3_000,
    restartMsMax: 15,
    faultGapMsMax: 50,
    limits: raft === undefined ? config.limits : { ...config.limits, raft: { ...raft, electionTicks: 3 } },
  };
}

const cases: Readonly<Record<BrokenRule, BrokenCase>> = {
  ackBeforeSync: { fromSeed: 30, seedsMax: 200, kinds: ["lost-write"] },
  applyUncommitted: { fromSeed: 1, seedsMax: 20, kinds: ["diverged", "inconsistent-offsets"] },
  repeatOnRetry: { fromSeed: 1, seedsMax: 50, kinds: ["duplicate"] },
  wipedNodeVotes: { fromSeed: 1, seedsMax: 300, kinds: ["lost-write"] },
  forgetVote: {
    fromSeed: 72,
    seedsMax: 300,
    kinds: ["two-leaders"],
    adjust: (config) => ({
      ...restless(config),
      faults: ["kill", "partition"],
      network: { ...config.network, delayMsMax: 30 },
    }),
  },
  voteBeforeSync: {
    fromSeed: 10,
    seedsMax: 150,
    kinds: ["two-leaders"],
    adjust: (config) => ({
      ...restless(config),
      faults: ["crash"],
      faultGapMsMax: 25,
      diskLatencyMsMax: 40,
      network: { ...config.network, delayMsMax: 30 },
    }),
  },
  readWithoutMajority: {
    fromSeed: 15,
    seedsMax: 150,
    kinds: ["stale-read"],
    adjust: (config) => ({
      ...restless(config),
      nodeCount: 3,
      faults: ["partition", "oneWayCut", "pause"],
      faultGapMsMax: 400,
    }),
  },
};

for (const rule of brokenRules) {
  const { kinds, adjust } = cases[rule];
  t.test(`${rule} shows as ${kinds.join(" or ")}`, async (t) => {
    const caught = await findSeed(rule, cases[rule]);
    t.not(caught, undefined, "some seed shows it");
    if (caught === undefined) return;
    t.comment(`seed ${caught}`);
    const kept = await simulate(caught, adjust === undefined ? {} : { adjust });
    t.strictSame(kept.anomalies, [], "nothing is wrong when the rule is kept");
  });
}

async function findSeed(brokenRule: BrokenRule, broken: BrokenCase): Promise<number | undefined> {
  const { fromSeed, seedsMax, kinds, adjust } = broken;
  for (let seed = fromSeed; seed < fromSeed + seedsMax; seed += 1) {
    const { anomalies } = await simulate(seed, adjust === undefined ? { brokenRule } : { brokenRule, adjust });
    if (anomalies.some(({ kind }) => kinds.includes(kind))) return seed;
  }
  return undefined;
}
