/**
 * The masking race: a hundred logins a second at every published port of a branch, from before its container answers until
 * the operation is done, while masks take their time. Each run of the mask leaves a row, so that a login which comes
 * too early shows itself even on data that was masked before.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import t, { type Test } from "tap";
import { sleep } from "../../src/platform/time/clock.ts";
import { bareDocker, urlOf } from "../support/branching/bench-engine.ts";
import { LocalBench, startSource } from "../support/branching/local-bench.ts";
import { tryDocker } from "../support/e2e/docker.ts";

t.setTimeout(300_000);
const source = await startSource({ major: "17" });
const bench = new LocalBench();
t.teardown(async () => {
  await bench[Symbol.asyncDispose]();
  source[Symbol.dispose]();
});
source.sql(
  "CREATE TABLE people AS SELECT g AS id, 'person' || g || '@example.org' AS mail FROM generate_series(1, 5000) g",
);
source.sql("CREATE TABLE mask_runs (at timestamptz)");
const maskFile = join(bench.home, "mask.sql");
writeFileSync(
  maskFile,
  "SELECT pg_sleep(2); UPDATE people SET mail = 'masked'; SELECT pg_sleep(0.5); INSERT INTO mask_runs VALUES (now());\n",
);
await bench.run("source", "add", "shop", "--host", source.host);
await bench.run("source", "set-mask", "shop", maskFile);
const intervalMs = 10;

interface Outcome {
  attempts: number;
  refused: number;
  /** Logins that read a row which no mask had touched. */
  unmasked: number;
  /** Logins into a container that the masks had not finished with. */
  early: number;
  admitted: number;
}

/** Knocks until the work is done; containers of `before` may serve what they served, the others need `runs` mask runs. */
async function race(branch: string, runs: number, work: () => Promise<unknown>): Promise<Outcome> {
  const outcome: Outcome = { attempts: 0, refused: 0, unmasked: 0, early: 0, admitted: 0 };
  const id = await bench.instanceId();
  const filters = { label: [`branchsvc.instance=${id}`, `branchsvc.name=${branch}`, "branchsvc.kind=branch"] };
  const before = new Set((await bareDocker.listContainers({ all: true, filters })).map((item) => item.Id));
  let isDone = false;
  let ports: readonly { readonly port: number; readonly isNew: boolean }[] = [];
  const watching = (async () => {
    while (!isDone) {
      const containers = await bareDocker.listContainers({ filters });
      ports = containers.flatMap((item) =>
        item.Ports.flatMap(({ PublicPort }) => (PublicPort ? [{ port: PublicPort, isNew: !before.has(item.Id) }] : [])),
      );
      await sleep(20);
    }
  })();
  const knocks: Promise<void>[] = [];
  const knocking = (async () => {
    while (!isDone) {
      for (const { port, isNew } of ports) knocks.push(knock(port, isNew ? runs : 0, outcome));
      await sleep(intervalMs);
    }
  })();
  try {
    await work();
  } finally {
    isDone = true;
    await Promise.all([watching, knocking]);
    await Promise.all(knocks);
  }
  return outcome;
}

async function knock(port: number, runs: number, outcome: Outcome): Promise<void> {
  outcome.attempts++;
  const client = postgres(urlOf(port), { max: 1, connect_timeout: 5, onnotice: () => {}, fetch_types: false });
  try {
    const [row] = await client<{ unmasked: number; runs: number }[]>`
      SELECT count(*) FILTER (WHERE mail <> 'masked')::int AS unmasked, (SELECT count(*)::int FROM mask_runs) AS runs
      FROM people`;
    outcome.admitted++;
    if (row === undefined || row.unmasked > 0) outcome.unmasked++;
    if (row === undefined || row.runs < runs) outcome.early++;
  } catch {
    outcome.refused++;
  } finally {
    await client.end({ timeout: 0 });
  }
}

function judge(t: Test, outcome: Outcome, refusedMin = 100): void {
  t.ok(outcome.refused > refusedMin, `the gate was tried and closed: ${JSON.stringify(outcome)}`);
  t.equal(outcome.unmasked, 0, "no unmasked row was read");
  t.equal(outcome.early, 0, "nobody got in before the masks were done");
}

t.test("create from a source", async (t) => {
  judge(t, await race("raced", 1, () => bench.run("branch", "create", "raced", "--from", "shop")));
  t.strictSame(await bench.sql("raced", "SELECT DISTINCT mail FROM people"), [["masked"]]);
});

t.test("reset", async (t) => {
  judge(t, await race("raced", 1, () => bench.run("branch", "reset", "raced")));
  t.strictSame(await bench.sql("raced", "SELECT count(*)::int FROM mask_runs"), [[1]]);
});

t.test("create from a branch", async (t) => {
  judge(t, await race("child", 2, () => bench.run("branch", "create", "child", "--from-branch", "raced")));
  t.strictSame(await bench.sql("child", "SELECT count(*)::int FROM mask_runs"), [[2]]);
});

t.test("a container that is killed and restarted in the middle of its masks stays shut", async (t) => {
  const outcome = await race("killed", 1, async () => {
    const creating = bench.try(["branch", "create", "killed", "--from", "shop"]);
    for (let attempt = 0; attempt < 200 && (await bench.containerOf("killed")) === ""; attempt++) await sleep(50);
    await sleep(800);
    const container = await bench.containerOf("killed");
    // It may be gone before it is up again: the create notices the kill and rolls back.
    tryDocker("restart", "-t", "0", container);
    await sleep(1500);
    t.equal((await creating).exitCode, 1, "the create notices");
  });
  judge(t, outcome, 20);
  t.equal(outcome.admitted, 0);
  t.match(await bench.run("branch", "ls"), /killed +shop +failed/);
});
