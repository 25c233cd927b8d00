import t from "tap";
import { describeFailure, readKeptSeeds, runSeeds } from "./run-seeds.ts";
import { simulate } from "./simulate.ts";

const seedCount = 1_000;

t.test("seeds that failed once stay good", async (t) => {
  const seeds = readKeptSeeds();
  t.ok(seeds.length > 0, "there are kept seeds");
  const { failures } = await runSeeds(seeds);
  t.strictSame(failures.map(describeFailure), []);
});

t.test(`clusters under faults keep their promises (${seedCount} seeds)`, async (t) => {
  const seeds = Array.from({ length: seedCount }, (_, index) => index + 1);
  const { failures, acknowledgedCount, simulatedMs } = await runSeeds(seeds);
  t.strictSame(failures.slice(0, 3).map(describeFailure), []);
  t.equal(failures.length, 0);
  t.ok(acknowledgedCount > 50 * seedCount, `${acknowledgedCount} appends were acknowledged`);
  t.ok(simulatedMs > 1_000 * seedCount, `${Math.round(simulatedMs / 1_000)} simulated seconds`);
});

t.test("a seed replays to the letter", async (t) => {
  for (const seed of [3, 14, 15]) {
    const first = await simulate(seed);
    const second = await simulate(seed);
    t.strictSame(second, first);
  }
});
