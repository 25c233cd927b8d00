/**
 * An engine on a real registry and a fake runtime, that can die at any point: from then on none of its calls is answered,
 * as after SIGKILL, and a new engine is opened on what is left.
 */
import type { MaskScript } from "../../../src/branching/model/records.ts";
import { BranchingEngine } from "../../../src/branching/service/engine.ts";
import type { Caller, EngineSettings } from "../../../src/branching/service/engine-context.ts";
import { KeyedLock } from "../../../src/branching/service/keyed-lock.ts";
import type { Registry, SecretBox } from "../../../src/branching/service/ports.ts";
import { openRegistry } from "../../../src/branching/store/registry.ts";
import { silentLogger } from "../../../src/platform/log/logger.ts";
import { createSeededRandom, type Random } from "../../../src/platform/random/random.ts";
import type { Timers } from "../../../src/platform/time/clock.ts";
import { FakeRuntime, type RuntimeCall } from "./fake-runtime.ts";

export const stuckTimeoutMs = 600_000;

export const fakeSettings: EngineSettings = {
  stuckTimeoutMs,
  readyTimeoutMs: 90_000,
  maxBranches: 0,
  ttl: { defaultTtlMs: 0, maxTtlMs: 0 },
  maxLayerDepth: 100,
  rotatesCredentials: false,
  seedSslMode: "prefer",
  seedSettle: "freeze",
  branchMemoryBytes: 1024 ** 3,
  branchSharedMemoryBytes: 256 * 1024 ** 2,
  branchMaxConnections: 100,
  branchSharedBuffers: "128MB",
  branchDurability: "on",
  branchWalRecycle: "auto",
  branchSettings: [],
  branchNetwork: undefined,
  layout: "auto",
};

export interface WorldOptions {
  readonly seed?: number;
  readonly layout?: "overlay" | "reflink";
  readonly settings?: Partial<EngineSettings>;
  readonly secrets?: SecretBox;
}

/** Timers that never fire: nothing here waits for time to pass. */
const stillTimers: Timers = { after: () => ({ cancel: () => {} }), every: () => ({ cancel: () => {} }) };

class Life {
  isOver = false;
}

export class FakeWorld {
  readonly runtime: FakeRuntime;
  readonly registry: Registry;
  readonly random: Random;
  nowMs = 1_800_000_000_000;
  /** Called with each step of a saga; return true to die there. */
  diesAt: (point: string) => boolean = () => false;
  /** Called with each call of the runtime; throw to fail it. */
  onCall: (call: RuntimeCall) => void = () => {};
  readonly points: string[] = [];
  undoFailures = 0;
  engine: BranchingEngine;
  readonly #options: WorldOptions;
  #life = new Life();

  private constructor(registry: Registry, random: Random, options: WorldOptions) {
    this.registry = registry;
    this.random = random;
    this.#options = options;
    this.runtime = new FakeRuntime({
      nowMs: () => this.nowMs,
      onCall: (call) => this.onCall(call),
      canClone: options.layout === "reflink",
    });
    this.engine = this.#openEngine();
  }

  static async create(options: WorldOptions = {}): Promise<FakeWorld> {
    const random = createSeededRandom(options.seed ?? 1);
    const registry = await openRegistry({ kind: "sqlite", path: ":memory:" }, random);
    return new FakeWorld(registry, random, options);
  }

  get caller(): Caller {
    return { actor: "local:test", signal: new AbortController().signal };
  }

  async addSource(name = "shop", masks: readonly MaskScript[] = []): Promise<void> {
    await this.engine.addSource({ name, host: "db" }, this.caller);
    if (masks.length > 0) await this.engine.setMasks(name, masks);
  }

  /** Runs an operation that may die; true when it came to an end of its own. */
  async attempt(work: (engine: BranchingEngine) => Promise<unknown>): Promise<boolean> {
    const life = this.#life;
    const died = new Promise<false>((resolve) => {
      this.#onDeath = () => resolve(false);
    });
    const ended = work(this.engine).then(
      () => true as const,
      (error: unknown) => {
        if (!life.isOver) throw error;
        return new Promise<true>(() => {});
      },
    );
    return Promise.race([ended, died]);
  }

  #onDeath: () => void = () => {};

  /** A new process on the same registry and runtime. */
  restart(): void {
    this.#life.isOver = true;
    this.#life = new Life();
    this.engine = this.#openEngine();
  }

  #openEngine(): BranchingEngine {
    const life = this.#life;
    return new BranchingEngine({
      registry: mortal(this.registry, life),
      runtime: mortal(this.runtime, life),
      secrets: this.#options.secrets,
      clock: { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs },
      timers: stillTimers,
      random: this.random,
      logger: silentLogger,
      settings: {
        ...fakeSettings,
        ...(this.#options.layout ? { layout: this.#options.layout } : {}),
        ...this.#options.settings,
      },
      hooks: {
        onStep: (point) => this.#onStep(point, life),
        onUndoFailed: () => {
          this.undoFailures++;
        },
      },
      observer: {},
      locks: new KeyedLock(),
    });
  }

  #onStep(point: string, life: Life): void {
    this.points.push(point);
    if (life.isOver || !this.diesAt(point)) return;
    life.isOver = true;
    this.#onDeath();
    throw new Error(`died at ${point}`);
  }
}

/** Calls of the dead are never answered. */
function mortal<T extends object>(target: T, life: Life): T {
  return new Proxy(target, {
    get: (object, key) => {
      const value: unknown = Reflect.get(object, key, object);
      if (typeof value === "function") {
        return (...args: unknown[]) => {
          if (life.isOver) return new Promise(() => {});
          return (value as (...values: unknown[]) => unknown).apply(object, args);
        };
      }
      return typeof value === "object" && value !== null ? mortal(value, life) : value;
    },
  });
}
