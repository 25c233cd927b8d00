// Branches against a bare container of the same image on a ready data directory, on the engine's own volumes (overlay) and
// on a pool (reflink): create, reset, destroy, create from a branch, sizes, and pgbench on warm data.
// BRANCH_BENCH_MB sets the sizes of the base (50,1000); BRANCH_BENCH_SECONDS the time of a pgbench round (5).
import { spawnSync } from "node:child_process";
import type { Branch } from "../../src/branching/model/records.ts";
import { type BenchRow, type BenchTable, createTable, interleave, type Spread, spreadOf } from "../support/bench.ts";
import {
  type BenchEngine,
  bareDocker,
  measureInterruption,
  openBenchEngine,
  querySql,
  untilAnswered,
  urlOf,
} from "../support/branching/bench-engine.ts";
import { type SourceContainer, sourcePassword, startSource } from "../support/branching/local-bench.ts";
import { docker } from "../support/e2e/docker.ts";

const sizesMb = (process.env["BRANCH_BENCH_MB"] ?? "50,1000").split(",").map(Number);
const benchSeconds = Number(process.env["BRANCH_BENCH_SECONDS"] ?? 5);
const pgbenchMbPerScale = 15.7;
const mebibyte = 1024 * 1024;

interface Place {
  readonly name: string;
  readonly environment: Readonly<Record<string, string>>;
}

const places: readonly Place[] = [
  { name: "overlay", environment: {} },
  { name: "pool", environment: { BRANCHSVC_VOLUME_POOL: "24GiB" } },
];

export async function run(rounds: number): Promise<BenchTable> {
  const rows: BenchRow[] = [];
  const medians = new Map<string, number>();
  for (const sizeMb of sizesMb) {
    using source = await startSource({ major: "17" });
    fill(source, sizeMb);
    for (const place of places) {
      await using bench = await openBenchEngine(place.environment);
      await bench.engine.addSource({ name: "shop", host: source.host, password: sourcePassword }, bench.caller);
      const label = `${place.name}, ${sizeMb} MB`;
      using bare = await startBareData(source);
      const life = await measureLife(bench, bare, rounds);
      medians.set(label, life.create.median);
      rows.push(...formatLife(label, place, life));
      rows.push(...(await measureFork(bench, label, place, rounds)));
      rows.push(...(await measureSizes(bench, label)));
      if (sizeMb === sizesMb[0]) rows.push(...(await measureLoad(bench, bare, label, rounds)));
    }
  }
  for (const place of places) rows.push(...compareSizes(place.name, medians));
  return createTable("branch", rows);
}

function fill(source: SourceContainer, sizeMb: number): void {
  const scale = Math.max(1, Math.round(sizeMb / pgbenchMbPerScale));
  pgbench(`postgres://postgres@${source.host}/postgres`, "-i", "-q", "-s", String(scale));
}

function pgbench(url: string, ...args: readonly string[]): string {
  const result = spawnSync("pgbench", [...args, url], {
    encoding: "utf8",
    env: { ...process.env, PGPASSWORD: sourcePassword },
  });
  if (result.status !== 0) throw new Error(`pgbench failed: ${result.stderr}`);
  return result.stdout;
}

// --- the peer: a plain container on a plain copy

interface BareData extends Disposable {
  start(): Promise<{ readonly port: number; readonly id: string }>;
  stop(id: string): Promise<void>;
}

/** A copy of the source's data directory as the stock image wants it, stopped cleanly. */
async function startBareData(source: SourceContainer): Promise<BareData> {
  const volume = docker("volume", "create", "--label", "slipway.test=branching");
  const address = `-h ${source.host} -U postgres`;
  docker(
    "run",
    "--rm",
    "-v",
    `${volume}:/d`,
    "-e",
    `PGPASSWORD=${sourcePassword}`,
    "--user",
    "0",
    "--entrypoint",
    "sh",
    "postgres:17",
    "-c",
    `chown postgres /d && gosu postgres pg_basebackup -D /d -X stream --checkpoint=fast ${address}`,
  );
  const bare: BareData = {
    start: async () => {
      const port = 20_000 + Math.floor(performance.now() % 900);
      const container = await bareDocker.createContainer({
        Image: "postgres:17",
        ExposedPorts: { "5432/tcp": {} },
        HostConfig: {
          Binds: [`${volume}:/var/lib/postgresql/data`],
          PortBindings: { "5432/tcp": [{ HostIp: "127.0.0.1", HostPort: String(port) }] },
        },
      });
      await container.start();
      await untilAnswered(port);
      return { port, id: container.id };
    },
    stop: async (id) => {
      await bareDocker.getContainer(id).stop({ t: 60 });
      await bareDocker.getContainer(id).remove({ v: true });
    },
    [Symbol.dispose]: () => {
      docker("volume", "rm", volume);
    },
  };
  const { id } = await bare.start();
  await bare.stop(id);
  return bare;
}

// --- create, reset, destroy

interface Life {
  readonly create: Spread;
  readonly bare: Spread;
  readonly reset: Spread;
  readonly destroy: Spread;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

async function measureLife(bench: BenchEngine, bare: BareData, rounds: number): Promise<Life> {
  const { engine, caller } = bench;
  const resets: number[] = [];
  const destroys: number[] = [];
  const answered = async (branch: Branch): Promise<void> => untilAnswered(branch.port ?? 0);
  const sides = await interleave(rounds, {
    create: async () => {
      const created = await timed(async () =>
        answered(await engine.createBranch({ name: "a", source: "shop" }, caller)),
      );
      resets.push(await timed(async () => answered(await engine.resetBranch("a", caller))));
      destroys.push(await timed(() => engine.destroyBranch("a", caller)));
      return created;
    },
    bare: async () => {
      let id = "";
      const started = await timed(async () => {
        ({ id } = await bare.start());
      });
      await bare.stop(id);
      return started;
    },
  });
  const [create, bareRun] = [sides["create"], sides["bare"]];
  if (create === undefined || bareRun === undefined) throw new Error("both sides are measured");
  return { create, bare: bareRun, reset: spreadOf(resets.slice(1)), destroy: spreadOf(destroys.slice(1)) };
}

function compare(name: string, ours: Spread, peerName: string, peer: Spread, ratioMax: number): BenchRow {
  const isReached = ours.median <= ratioMax * peer.median;
  return { name, unit: "ms", ours, peerName, peer, goal: `≤ ${ratioMax} ×`, isReached };
}

function formatLife(label: string, _place: Place, life: Life): readonly BenchRow[] {
  return [
    compare(`create to first SELECT 1 (${label})`, life.create, "bare docker run", life.bare, 1.15),
    compare(`reset (${label})`, life.reset, "create", life.create, 1.1),
    compare(`destroy (${label})`, life.destroy, "create", life.create, 0.3),
  ];
}

function compareSizes(place: string, medians: ReadonlyMap<string, number>): readonly BenchRow[] {
  const [small, large] = [sizesMb[0], sizesMb.at(-1)];
  const [left, right] = [medians.get(`${place}, ${small} MB`), medians.get(`${place}, ${large} MB`)];
  if (left === undefined || right === undefined || small === large) return [];
  return [
    compare(
      `create, ${large} MB against ${small} MB (${place})`,
      spreadOf([right]),
      `${small} MB`,
      spreadOf([left]),
      1.05,
    ),
  ];
}

// --- a branch of a branch

async function measureFork(
  bench: BenchEngine,
  label: string,
  place: Place,
  rounds: number,
): Promise<readonly BenchRow[]> {
  const { engine, caller } = bench;
  const parent = await engine.createBranch({ name: "p", source: "shop" }, caller);
  await querySql(parent.port ?? 0, "UPDATE pgbench_accounts SET abalance = 1 WHERE aid <= 1000");
  const [gaps, times]: [number[], number[]] = [[], []];
  let errors = 0;
  for (let round = 0; round < rounds; round++) {
    let child: Branch | undefined;
    const outcome = await measureInterruption(parent.port ?? 0, async () => {
      times.push(
        await timed(async () => {
          child = await engine.createBranch({ name: "c", parent: "p" }, caller);
        }),
      );
    });
    gaps.push(outcome.gapMs);
    errors += outcome.errors;
    if (child) await engine.destroyBranch("c", caller);
  }
  await engine.destroyBranch("p", caller);
  const gap = spreadOf(gaps);
  const isPool = place.name === "pool";
  const goal = isPool ? "≤ 150 ms, no error" : "≤ 1.2 × one container start";
  return [
    { name: `create from a branch (${label})`, unit: "ms", ours: spreadOf(times), goal: "–" },
    {
      name: `parent away meanwhile (${label})`,
      unit: "ms",
      ours: gap,
      goal,
      note: `${errors} client errors`,
      ...(isPool ? { isReached: gap.median <= 150 && errors === 0 } : {}),
    },
  ];
}

// --- sizes

async function measureSizes(bench: BenchEngine, label: string): Promise<readonly BenchRow[]> {
  const { engine, caller } = bench;
  const branch = await engine.createBranch({ name: "s", source: "shop" }, caller);
  const port = branch.port ?? 0;
  const measure = (): Promise<number> => engine.measureUsage("s", caller.signal);
  const fresh = await measure();
  await querySql(port, "SELECT count(abalance), sum(bid) FROM pgbench_accounts");
  await querySql(port, "CHECKPOINT");
  const read = await measure();
  await querySql(port, "SELECT count(abalance), sum(bid) FROM pgbench_accounts");
  const readAgain = await measure();
  await querySql(port, "UPDATE pgbench_accounts SET abalance = 1 WHERE aid = 1000; CHECKPOINT");
  const updated = await measure();
  await engine.destroyBranch("s", caller);
  const row = (name: string, bytes: number, bytesMax: number, goal: string): BenchRow => ({
    name: `${name} (${label})`,
    unit: "KiB",
    ours: spreadOf([bytes / 1024]),
    goal,
    isReached: bytes <= bytesMax,
  });
  return [
    row("fresh branch", fresh, 2 * mebibyte, "≤ 2 MiB"),
    row("growth after a full read", read - fresh, 2 * mebibyte, "≤ 2 MiB"),
    row("growth after a second read", readAgain - read, 0, "0"),
    row("growth after a one-row update", updated - readAgain, 64 * 1024, "≤ 64 KiB"),
  ];
}

// --- pgbench on warm data

async function measureLoad(
  bench: BenchEngine,
  bare: BareData,
  label: string,
  rounds: number,
): Promise<readonly BenchRow[]> {
  const { engine, caller } = bench;
  const branch = await engine.createBranch({ name: "l", source: "shop" }, caller);
  const plain = await bare.start();
  const rows: BenchRow[] = [];
  for (const [name, flags, ratioMin] of [
    ["select-only", ["-S"], 0.98],
    ["TPC-B", [], 0.95],
  ] as const) {
    const tps = async (port: number): Promise<number> => {
      const output = pgbench(urlOf(port), "-n", ...flags, "-M", "prepared", "-c", "4", "-T", String(benchSeconds));
      return Number(output.match(/tps = ([\d.]+)/)?.[1]);
    };
    const sides = await interleave(rounds, { branch: () => tps(branch.port ?? 0), plain: () => tps(plain.port) });
    const [ours, peer] = [sides["branch"], sides["plain"]];
    if (ours === undefined || peer === undefined) throw new Error("both sides are measured");
    rows.push({
      name: `pgbench ${name}, warm (${label})`,
      unit: "tps",
      ours,
      peerName: "plain Postgres",
      peer,
      goal: `≥ ${ratioMin} ×`,
      isReached: ours.median >= ratioMin * peer.median,
    });
  }
  await bare.stop(plain.id);
  await engine.destroyBranch("l", caller);
  return rows;
}
