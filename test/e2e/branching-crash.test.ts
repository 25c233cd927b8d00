/**
 * The crash matrix on a real engine: bsctl is killed at each step of each operation; then doctor may name only the kinds
 * that belong there, gc clears them, and containers, volumes, data and names are as they should be.
 */
import t from "tap";
import { LocalBench, startSource } from "../support/branching/local-bench.ts";

t.setTimeout(1_800_000);
const source = await startSource({ major: "17" });
const bench = new LocalBench();
t.teardown(async () => {
  await bench[Symbol.asyncDispose]();
  source[Symbol.dispose]();
});
source.sql("CREATE TABLE t AS SELECT generate_series(1, 1000) AS i");

const stuck = ["--stuck-timeout", "1s"] as const;

interface CrashCase {
  readonly operation: readonly string[];
  readonly points: readonly string[];
  /** Kinds that doctor may name afterwards. */
  readonly kinds: readonly string[];
}

const unfinished = ["fail_stuck", "gc_volume", "remove_orphan_container"];

const cases: readonly CrashCase[] = [
  {
    operation: ["branch", "create", "b", "--from", "shop"],
    points: ["create.volume", "create.instance", "create.answer", "create.commit.before", "create.commit"],
    kinds: unfinished,
  },
  {
    operation: ["branch", "create", "b", "--from-branch", "parent"],
    points: [
      "freeze.claim",
      "freeze.stop",
      "freeze.volume",
      "freeze.restart",
      "freeze.commit.before",
      "freeze.commit",
      "from_branch.instance",
    ],
    kinds: [...unfinished, "gc_layer"],
  },
  {
    operation: ["branch", "reset", "parent"],
    points: ["reset.stop", "reset.volume", "reset.instance", "reset.commit.before", "reset.commit"],
    kinds: unfinished,
  },
  {
    operation: ["branch", "destroy", "b"],
    points: ["destroy.claimed", "destroy.instance", "destroy.volume"],
    kinds: ["retry_destroy"],
  },
  {
    operation: ["source", "refresh", "shop"],
    points: ["refresh.volume", "refresh.helper", "refresh.copy", "refresh.settle", "refresh.commit.before"],
    kinds: ["fail_stuck_source", "gc_volume", "remove_orphan_helper"],
  },
];

await bench.run("source", "add", "shop", "--host", source.host);

/** A parent with data of its own, and nobody called `b` unless it is wanted. */
async function prepare(operation: readonly string[]): Promise<void> {
  const listed = await bench.run("branch", "ls");
  const names = listed
    .split("\n")
    .slice(1)
    .map((line) => line.split(" ")[0] ?? "");
  for (const name of names) await bench.run("branch", "destroy", name);
  await bench.run("branch", "create", "parent", "--from", "shop");
  await bench.sql("parent", "CREATE TABLE kept AS SELECT 42 AS i");
  if (operation[1] === "destroy") await bench.run("branch", "create", "b", "--from", "shop");
}

for (const { operation, points, kinds } of cases) {
  for (const point of points) {
    t.test(`killed at ${point}`, async (t) => {
      await prepare(operation);
      const died = await bench.try([...operation], { BRANCHSVC_CRASH_AT: point });
      t.equal(died.exitCode, null, `killed: ${died.errorOutput}`);
      await new Promise((resolve) => setTimeout(resolve, 2100));
      const doctor = await bench.try(["doctor", ...stuck, "--json"]);
      const { actions } = JSON.parse(doctor.output) as { actions: { kind: string }[] | null };
      t.strictSame(
        (actions ?? []).map((action) => action.kind).filter((kind) => !kinds.includes(kind)),
        [],
        "only expected kinds",
      );
      for (let round = 0; round < 2; round++) await bench.run("gc", ...stuck);
      t.equal((await bench.try(["doctor", ...stuck])).exitCode, 0, "nothing is left to do");
      await checkParent(t.equal.bind(t), operation);
      await checkLeftovers(t.strictSame.bind(t));
      if ((await bench.run("branch", "ls")).includes("\nb ")) await bench.run("branch", "destroy", "b");
      await bench.run("branch", "create", "b", "--from", "shop");
      const [row] = await bench.sql("b", "SELECT count(*)::int FROM t");
      t.strictSame(row, [1000], "the name can be used again");
    });
  }
}

async function checkParent(
  equal: (found: unknown, wanted: unknown, text: string) => boolean,
  operation: readonly string[],
): Promise<void> {
  const line = (await bench.run("branch", "ls")).split("\n").find((row) => row.startsWith("parent "));
  if (line?.includes(" failed ")) await bench.run("branch", "recover", "parent");
  const [row] = await bench.sql("parent", "SELECT count(*)::int FROM pg_class WHERE relname = 'kept'");
  const isKept = row?.[0] === 1;
  if (operation[1] === "reset") equal(typeof isKept, "boolean", "the parent serves");
  else equal(isKept, true, "the parent has its data");
}

async function checkLeftovers(same: (found: unknown, wanted: unknown, text: string) => boolean): Promise<void> {
  const { containers, volumes } = await bench.listResources();
  const ready = (await bench.run("branch", "ls"))
    .split("\n")
    .slice(1)
    .filter((line) => line.includes(" ready "));
  same(containers.length, ready.length, `one container per ready branch: ${containers.join(" ")}`);
  const sources = volumes.filter((name) => name.includes("-source-"));
  same(sources.length, 1, `one generation: ${sources.join(" ")}`);
  const branches = volumes.filter((name) => name.includes("-branch-b-"));
  same(branches.length <= 1, true, `no volume of "b" too many: ${branches.join(" ")}`);
}
