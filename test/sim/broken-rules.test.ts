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
  ackBeforeSync: { seedsMax: 200, kinds: ["lost-write"] },
  applyUncommitted: { seedsMax: 20, kinds: ["diverged", "inconsistent-offsets"] },
  repeatOnRetry: { seedsMax: 50, kinds: ["duplicate"] },
  wipedNodeVotes: { seedsMax: 300, kinds: ["lost-write"] },
  forgetVote: {
    seedsMax: 300,
    kinds: ["two-leaders"],
    adjust: (config) => ({
      ...restless(config),
      faults: ["kill", "partition"],
      network: { ...config.network, delayMsMax: 30 },
    }),
  },
  voteBeforeSync: {
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
  const { seedsMax, kinds, adjust } = cases[rule];
  t.test(`${rule} shows as ${kinds.join(" or ")}`, async (t) => {
    const caught = await findSeed(rule, seedsMax, kinds, adjust);
    t.not(caught, undefined, `some seed up to ${seedsMax} shows it`);
    if (caught === undefined) return;
    const kept = await simulate(caught, adjust === undefined ? {} : { adjust });
    t.strictSame(kept.anomalies, [], "nothing is wrong when the rule is kept");
  });
}

async function findSeed(
  brokenRule: BrokenRule,
  seedsMax: number,
  kinds: readonly AnomalyKind[],
  adjust: BrokenCase["adjust"],
): Promise<number | undefined> {
  for (let seed = 1; seed <= seedsMax; seed += 1) {
    const { anomalies } = await simulate(seed, adjust === undefined ? { brokenRule } : { brokenRule, adjust });
    if (anomalies.some(({ kind }) => kinds.includes(kind))) return seed;
  }
  return undefined;
}
