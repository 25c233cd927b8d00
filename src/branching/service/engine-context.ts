import type { Logger } from "../../platform/log/logger.ts";
import type { Random } from "../../platform/random/random.ts";
import type { Clock, Timers } from "../../platform/time/clock.ts";
import type { BranchDurability, PostgresSetting } from "../model/postgres-settings.ts";
import type { TtlRules } from "../model/requests.ts";
import type { KeyedLock } from "./keyed-lock.ts";
import type { Registry, Runtime, SecretBox } from "./ports.ts";
import type { SagaHooks } from "./saga.ts";

export type SeedSettle = "freeze" | "recover" | "off";

/** How the engine treats branches and seeds; the daemon and the local CLI fill it from their own configuration. */
export interface EngineSettings {
  readonly stuckTimeoutMs: number;
  readonly readyTimeoutMs: number;
  /** 0 is unlimited. */
  readonly maxBranches: number;
  readonly ttl: TtlRules;
  readonly maxLayerDepth: number;
  readonly rotatesCredentials: boolean;
  readonly seedSslMode: string;
  readonly seedSettle: SeedSettle;
  readonly branchMemoryBytes: number;
  readonly branchSharedMemoryBytes: number;
  readonly branchMaxConnections: number;
  readonly branchSharedBuffers: string;
  readonly branchDurability: BranchDurability;
  readonly branchWalRecycle: "auto" | "on" | "off";
  readonly branchSettings: readonly PostgresSetting[];
  /** Undefined is our own network without a way out. */
  readonly branchNetwork: string | undefined;
  /** `auto` takes reflink where the volumes' filesystem clones extents. */
  readonly layout: "auto" | "overlay" | "reflink";
}

export interface EngineObserver {
  /** After each operation, for metrics. */
  onOperation?(operation: string, durationMs: number, isSuccess: boolean): void;
  onMasked?(durationMs: number): void;
}

/** Everything that a use case needs. */
export interface EngineContext {
  readonly registry: Registry;
  readonly runtime: Runtime;
  /** Undefined without a key: rotated passwords cannot be made or read then. */
  readonly secrets: SecretBox | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly settings: EngineSettings;
  readonly hooks: SagaHooks;
  readonly observer: EngineObserver;
  readonly locks: KeyedLock;
}

/** Who asked, as the journal shows it, and when to give up. */
export interface Caller {
  readonly actor: string;
  readonly signal: AbortSignal;
}

export function newId(context: Pick<EngineContext, "random">): string {
  return context.random.uuid();
}

export function randomSuffix(context: Pick<EngineContext, "random">): string {
  return Buffer.from(context.random.bytes(4)).toString("hex");
}
