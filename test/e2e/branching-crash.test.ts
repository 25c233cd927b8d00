/**
 * The crash matrix on a real engine: bsctl is killed at each step of each operation, on both layouts. The steps are not
 * listed here but heard from one clean run, so that a new step is in the matrix at once. After each death doctor may name
 * only the kinds that belong there, gc clears them, nothing is left without an owner, the parent has its data, the journal
 * has no gap, and the name can be used again. BRANCHING_ALL_POINTS=1 also dies before each step, not only behind it;
 * BRANCHING_CRASH_REPORT=FILE writes the table.
 */
import { appendFileSync } from "node:fs";
import t, { type Test } from "tap";
import { sourcePassword, startSource } from "../support/branching/local-bench.ts";
import { checksum, listOperations, type Operation, tidy } from "../support/branching/operations.ts";
import { RealWorld } from "../support/branching/real-world.ts";

t.setTimeout(1_800_000);
t.jobs = 2;
const source = await startSource({ major: "17" });
source.sql("CREATE TABLE kept AS SELECT g AS id, md5(g::text) AS note FROM generate_series(1, 1000) g");
t.teardown(() => source[Symbol.dispose]());
const operations = listOperations(source.host);
const diesBeforeToo = process.env["BRANCHING_ALL_POINTS"] === "1";
const reportPath = process.env["BRANCHING_CRASH_REPORT"];

/** Seeds and what does not touch the layout are the same on both. */
const places = [
  { name: "overlay", environment: {}, operations: operations.map(({ name }) => name) },
  {
    name: "pool",
    environment: { BRANCHSVC_VOLUME_POOL: "4GiB" },
    operations: ["create", "create from a branch", "reset", "recover"],
  },
];

/** Dying before a step is dying behind the one before it; only the first has none before. */
function choosePoints(points: readonly string[]): readonly string[] {
  const unique = [...new Set(points)];
  return diesBeforeToo ? unique : unique.filter((point, index) => index === 0 || !point.endsWith(".before"));
}

for (const place of places) {
  t.test(place.name, async (t) => {
    await using world = new RealWorld(place.environment);
    await world.use(async (engine) => {
      await engine.addSource({ name: "shop", host: source.host, password: sourcePassword }, world.caller);
      await engine.createBranch({ name: "parent", source: "shop" }, world.caller);
    });
    await world.query("parent", "UPDATE kept SET note = 'of the parent' WHERE id <= 10");
    const expected = await world.query("parent", checksum);
    for (const operation of operations) {
      if (!place.operations.includes(operation.name)) continue;
      const points: string[] = [];
      await world.use((engine) => operation.prepare(engine, world.caller));
      await world.use((engine) => operation.run(engine, world.caller), {
        onStep: (point) => points.push(point),
        ...(operation.environment === undefined ? {} : { environment: operation.environment }),
      });
      await tidy(world);
      t.ok(points.length >= 2, `${operation.name} has steps: ${points.join(" ")}`);
      for (const point of choosePoints(points)) {
        await t.test(`${operation.name} killed at ${point}`, (t) =>
          die(t, { world, operation, point, place, expected }),
        );
      }
    }
  });
}

interface Death {
  readonly world: RealWorld;
  readonly operation: Operation;
  readonly point: string;
  readonly place: { readonly name: string };
  readonly expected: readonly (readonly unknown[])[];
}

async function die(t: Test, { world, operation, point, place, expected }: Death): Promise<void> {
  await world.use((engine) => operation.prepare(engine, world.caller));
  const died = await world.bench.try(operation.command, { ...operation.environment, BRANCHSVC_CRASH_AT: point });
  t.equal(died.exitCode, null, `killed: ${died.errorOutput}`);
  const kinds = await world.settle();
  t.strictSame(
    kinds.filter((kind) => !operation.kinds.includes(kind)),
    [],
    `doctor names only what belongs there: ${kinds.join(" ")}`,
  );
  t.strictSame(await world.findProblems(), [], "nothing is left without an owner");
  await tidy(world);
  t.strictSame(await world.query("parent", checksum), expected, "the parent has its data");
  await world.use((engine) => engine.createBranch({ name: "b", source: "shop" }, world.caller));
  t.strictSame(await world.query("b", "SELECT count(*)::int FROM kept"), [[1000]], "the name can be used again");
  t.strictSame(await world.findProblems(), [], "also not after that");
  await tidy(world);
  if (reportPath !== undefined) {
    appendFileSync(reportPath, `| ${place.name} | ${operation.name} | ${point} | ${kinds.join(", ") || "–"} |\n`);
  }
}
