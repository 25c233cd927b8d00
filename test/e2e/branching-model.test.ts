/** Random sequences of operations on a real engine, against what each branch must hold. The seed is in each failure. */
import t from "tap";
import { createSeededRandom } from "../../src/platform/random/random.ts";
import { bareDocker, openBenchEngine, querySql, readWords } from "../support/branching/bench-engine.ts";
import { sourcePassword, startSource } from "../support/branching/local-bench.ts";

t.setTimeout(3_600_000);
const sequenceCount = Number(process.env["BRANCHING_REAL_SEQUENCES"] ?? 2);
const stepCount = 8;
const names = ["a", "b", "c"] as const;
const operations = ["create", "create", "fork", "fork", "write", "write", "reset", "destroy", "kill"] as const;

const source = await startSource({ major: "17" });
source.sql("CREATE TABLE words (word text)");
t.teardown(() => source[Symbol.dispose]());

for (const [place, environment] of [
  ["overlay", {}],
  ["pool", { BRANCHSVC_VOLUME_POOL: "4GiB" }],
] as const) {
  t.test(`${place}: branches hold what was written to them and nothing else`, async (t) => {
    await using bench = await openBenchEngine(environment);
    const { engine, caller } = bench;
    await engine.addSource({ name: "shop", host: source.host, password: sourcePassword }, caller);
    for (let seed = 1; seed <= sequenceCount; seed++) {
      const random = createSeededRandom(seed);
      const pick = <T>(items: readonly T[]): T => items[Math.floor(random.fraction() * items.length)] as T;
      const expected = new Map<string, { words: string[]; base: readonly string[] }>();
      const done: string[] = [];
      const steps: Readonly<Record<(typeof operations)[number], (name: string) => Promise<void>>> = {
        create: async (name) => {
          if (expected.has(name)) return;
          await engine.createBranch({ name, source: "shop" }, caller);
          expected.set(name, { words: [], base: [] });
        },
        fork: async (name) => {
          const parent = pick([...expected.keys()]);
          if (parent === undefined || expected.has(name)) return;
          await engine.createBranch({ name, parent }, caller);
          const words = [...(expected.get(parent)?.words ?? [])];
          expected.set(name, { words, base: [...words] });
        },
        write: async (name) => {
          const branch = expected.get(name);
          if (branch === undefined) return;
          const word = `s${seed}-${done.length}`;
          await querySql(
            (await engine.getBranch(name)).port ?? 0,
            `INSERT INTO words VALUES ('${word}'); SET synchronous_commit = on; SELECT txid_current()`,
          );
          branch.words.push(word);
        },
        reset: async (name) => {
          const branch = expected.get(name);
          if (branch === undefined) return;
          await engine.resetBranch(name, caller);
          branch.words = [...branch.base];
        },
        destroy: async (name) => {
          if (!expected.delete(name)) return;
          await engine.destroyBranch(name, caller);
        },
        kill: async (name) => {
          if (!expected.has(name)) return;
          await bareDocker.getContainer((await engine.getBranch(name)).instanceId ?? "").kill();
          await engine.reconcile(caller);
        },
      };
      for (let step = 0; step < stepCount; step++) {
        const operation = pick(operations);
        const name = pick(names);
        done.push(`${operation} ${name}`);
        await steps[operation](name);
      }
      for (const [name, { words }] of expected) {
        const found = await readWords((await engine.getBranch(name)).port ?? 0);
        t.strictSame([...found].sort(), [...words].sort(), `seed ${seed}: ${name} after ${done.join(", ")}`);
      }
      t.strictSame(await engine.planReconcile(), [], `seed ${seed}: nothing is left to do`);
      for (const name of expected.keys()) await engine.destroyBranch(name, caller);
    }
  });
}
