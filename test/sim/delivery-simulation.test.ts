import t from "tap";
import { simulateDelivery } from "./delivery-simulation.ts";

t.test("deliveries stay legal through crashes, cuts and changes of leaders", async (t) => {
  const first = Number(process.env["DELIVERY_SEED"] ?? 1);
  const count = Number(process.env["DELIVERY_SEEDS"] ?? 12);
  let delivered = 0;
  let leaders = 0;
  for (let seed = first; seed < first + count; seed += 1) {
    const result = await simulateDelivery(seed);
    delivered += result.deliveredCount;
    leaders += result.leaderCount;
    if (result.anomalies.length === 0) continue;
    const found = result.anomalies.slice(0, 10).map(({ kind, text }) => `${kind}: ${text}`);
    t.fail(`seed ${seed}: ${found[0]}`, { found, log: result.log });
  }
  t.ok(delivered > 50 * count, `${delivered} deliveries`);
  t.ok(leaders > 2 * count, `${leaders} leaders`);
});
