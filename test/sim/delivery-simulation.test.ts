import t from "tap";
import { simulateDelivery } from "./delivery-simulation.ts";

/** Each of these once found a fault. */
const keptSeeds = [4, 11, 18, 101, 105];
const first = Number(process.env["DELIVERY_SEED"] ?? 1);
const count = Number(process.env["DELIVERY_SEEDS"] ?? 8);

t.test("deliveries stay legal through crashes, cuts and changes of leaders", async (t) => {
  const seeds = [...keptSeeds, ...Array.from({ length: count }, (_, index) => first + index)];
  let delivered = 0;
  let leaders = 0;
  for (const seed of seeds) {
    const result = await simulateDelivery(seed);
    delivered += result.deliveredCount;
    leaders += result.leaderCount;
    if (result.anomalies.length === 0) continue;
    const found = result.anomalies.slice(0, 10).map(({ kind, text }) => `${kind}: ${text}`);
    t.fail(`seed ${seed}: ${found[0]}`, { found, log: result.log });
  }
  t.ok(delivered > 50 * seeds.length, `${delivered} deliveries`);
  t.ok(leaders > 2 * seeds.length, `${leaders} leaders`);
});

t.test("a seed repeats to the letter", async (t) => {
  t.strictSame(await simulateDelivery(7), await simulateDelivery(7));
});
