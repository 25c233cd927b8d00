/**
 * One registry on the real engine, seen from outside: operations run in the executable, which may die, or in an engine of
 * this process; what is left of them is compared with the rows by looking at Docker itself, not through our own runtime.
 */
import postgres from "postgres";
import { engineSchema } from "../../../src/branching/config.ts";
import { openEngine } from "../../../src/branching/open-engine.ts";
import type { BranchingEngine } from "../../../src/branching/service/engine.ts";
import type { Caller } from "../../../src/branching/service/engine-context.ts";
import type { Registry } from "../../../src/branching/service/ports.ts";
import { openRegistry } from "../../../src/branching/store/registry.ts";
import { loadConfig } from "../../../src/platform/config/load-config.ts";
import { silentLogger } from "../../../src/platform/log/logger.ts";
import { systemRandom } from "../../../src/platform/random/random.ts";
import { sleep } from "../../../src/platform/time/clock.ts";
import { docker } from "../e2e/docker.ts";
import { urlOf } from "./bench-engine.ts";
import { LocalBench } from "./local-bench.ts";
import { checkJournal } from "./world-checks.ts";

export interface UseOptions {
  readonly stuckTimeout?: string;
  readonly onStep?: (point: string) => void;
  readonly dockerHost?: string;
  readonly dockerCallTimeoutMs?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

export const stuckTimeout = "1s";
const stuckWaitMs = 1100;
const gcRoundsMax = 4;

export class RealWorld implements AsyncDisposable {
  readonly bench: LocalBench;
  readonly caller: Caller = { actor: "local:test", signal: new AbortController().signal };
  readonly #environment: Readonly<Record<string, string>>;

  constructor(environment: Readonly<Record<string, string>> = {}) {
    this.#environment = environment;
    this.bench = new LocalBench(environment);
  }

  /** An engine on this home for the length of the work, as a process of its own would have it. */
  async use<T>(work: (engine: BranchingEngine) => Promise<T>, options: UseOptions = {}): Promise<T> {
    const config = loadConfig(
      { schema: engineSchema, prefixes: [] },
      {
        environment: { ...this.#environment, ...options.environment },
        flags: { "stuck-timeout": options.stuckTimeout ?? "10m" },
        readFile: () => "",
      },
    );
    const engine = await openEngine({
      config,
      homeFolder: this.bench.home,
      environment: options.dockerHost === undefined ? process.env : { DOCKER_HOST: options.dockerHost },
      userHome: "/nonexistent",
      logger: silentLogger,
      ...(options.onStep === undefined ? {} : { hooks: { onStep: options.onStep } }),
      ...(options.dockerCallTimeoutMs === undefined ? {} : { dockerCallTimeoutMs: options.dockerCallTimeoutMs }),
    });
    try {
      return await work(engine);
    } finally {
      await engine.close();
    }
  }

  /** Waits until dead operations count as stuck, then gc until nothing is left to do; the kinds it found at first. */
  async settle(): Promise<readonly string[]> {
    await sleep(stuckWaitMs);
    return this.use(
      async (engine) => {
        const first = await engine.planReconcile();
        for (let round = 0; round < gcRoundsMax; round++) {
          const { failed } = await engine.reconcile(this.caller);
          if (failed.length > 0) throw new Error(`gc failed: ${failed[0]?.action.kind}`, { cause: failed[0]?.error });
          if ((await engine.planReconcile()).length === 0) break;
          await sleep(stuckWaitMs);
        }
        return [...new Set(first.map((action) => action.kind))];
      },
      { stuckTimeout },
    );
  }

  /** What is wrong at rest; empty when all is well. */
  async findProblems(): Promise<readonly string[]> {
    const plan = await this.use((engine) => engine.planReconcile(), { stuckTimeout });
    const registry = await openRegistry({ kind: "sqlite", path: `${this.bench.home}/registry.db` }, systemRandom);
    try {
      return [
        ...plan.map((action) => `there is still to do: ${action.kind} ${action.target} (${action.reason})`),
        ...(await this.#compareContainers(registry)),
        ...(await this.#compareVolumes(registry)),
        ...(await this.#checkRows(registry)),
      ];
    } finally {
      await registry.close();
    }
  }

  async #compareContainers(registry: Registry): Promise<readonly string[]> {
    const format = '{{.ID}} {{.Label "branchsvc.kind"}} {{.State}} {{.Names}}';
    const filter = `label=branchsvc.instance=${registry.instanceId}`;
    const listed = docker("ps", "-a", "--no-trunc", "--filter", filter, "--format", format);
    const rows = await registry.branches.listLiveBranches();
    const owned = new Set(rows.flatMap((row) => row.instanceId ?? []));
    const found = listed.split("\n").map((line) => line.split(" "));
    const running = new Set(found.flatMap(([id = "", , state]) => (state === "running" ? [id] : [])));
    return [
      ...found.flatMap(([id = "", kind, , name]) =>
        id === "" || kind === "pool" || owned.has(id) ? [] : [`container ${name} has no owner`],
      ),
      ...rows.flatMap((row) =>
        row.state === "ready" && !running.has(row.instanceId ?? "") ? [`branch ${row.name} has no container`] : [],
      ),
    ];
  }

  async #compareVolumes(registry: Registry): Promise<readonly string[]> {
    const rows = await registry.branches.listLiveBranches();
    const owned = new Set([
      ...rows.flatMap((row) => [row.volume ?? [], row.pendingVolume ?? []].flat()),
      ...(await registry.layers.listLayers()).map((layer) => layer.volume),
      ...(await registry.sources.listGenerations()).map((generation) => generation.volume),
    ]);
    const found = this.#listVolumes(registry.instanceId);
    const layers = await registry.layers.listLayers();
    return [
      ...found.filter((name) => !owned.has(name)).map((name) => `volume ${name} has no owner`),
      ...layers.flatMap((layer) => (found.includes(layer.volume) ? [] : [`layer ${layer.volume} lost its volume`])),
    ];
  }

  #listVolumes(instanceId: string): readonly string[] {
    const filter = `label=branchsvc.instance=${instanceId}`;
    const text = docker("volume", "ls", "--filter", filter, "--format", "{{.Name}}");
    const names = text.split("\n").filter((name) => name !== "");
    if (!names.some((name) => name.endsWith("-pool"))) return names;
    const keeper = docker("ps", "-q", "--filter", filter, "--filter", "label=branchsvc.kind=pool");
    return docker("exec", keeper, "ls", "/pool")
      .split("\n")
      .filter((name) => name !== "");
  }

  async #checkRows(registry: Registry): Promise<readonly string[]> {
    const rows = await registry.branches.listLiveBranches();
    const states = rows.filter((row) => row.state !== "ready" && row.state !== "failed");
    const layers = await registry.layers.listLayers();
    const sources = await registry.sources.listSources();
    const generations = (await registry.sources.listGenerations()).filter(
      ({ id, sourceId, number, state }) =>
        state === "seeding" ||
        (![...rows, ...layers].some((user) => user.generationId === id) &&
          !sources.some((item) => item.id === sourceId && item.generation === number)),
    );
    const journals = await Promise.all(
      ["b", ...rows.map((row) => row.name)].map((name) => checkJournal({ registry }, name)),
    );
    return [
      ...states.map((row) => `branch ${row.name} is ${row.state}`),
      ...generations.map((row) => `nobody stands on generation ${row.number} of ${row.sourceName}, ${row.state}`),
      ...journals.flat(),
    ];
  }

  /** Runs SQL over the published port as a user does; rows of values. */
  async query(branch: string, text: string): Promise<readonly (readonly unknown[])[]> {
    const { port } = await this.use((engine) => engine.getBranch(branch));
    const client = postgres(urlOf(port ?? 0), { max: 1, connect_timeout: 10, onnotice: () => {} });
    try {
      return Array.from(await client.unsafe(text).values(), (row) => [...row]);
    } finally {
      await client.end({ timeout: 1 });
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.bench[Symbol.asyncDispose]();
  }
}
