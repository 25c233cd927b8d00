/** Puts the engine together from its configuration: registry, runtime, keys. */
import { join } from "node:path";
import type { Logger } from "../platform/log/logger.ts";
import { systemRandom } from "../platform/random/random.ts";
import type { DatabaseTarget } from "../platform/sql/database.ts";
import { systemClock, systemTimers } from "../platform/time/clock.ts";
import { type EngineConfig, toEngineSettings } from "./config.ts";
import { resolveDockerEndpoint } from "./drivers/docker/docker-endpoint.ts";
import { createDockerRuntime } from "./drivers/docker/docker-runtime.ts";
import { BranchingEngine } from "./service/engine.ts";
import type { EngineObserver } from "./service/engine-context.ts";
import { KeyedLock } from "./service/keyed-lock.ts";
import type { SecretBox } from "./service/ports.ts";
import type { SagaHooks } from "./service/saga.ts";
import { openRegistry } from "./store/registry.ts";

export interface EngineOptions {
  readonly config: EngineConfig;
  /** Folder of registry and keys; the embedded registry lies in it. */
  readonly homeFolder: string;
  /** The embedded registry in the home folder when absent. */
  readonly registryTarget?: DatabaseTarget;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly logger: Logger;
  readonly secrets?: SecretBox;
  readonly hooks?: SagaHooks;
  readonly observer?: EngineObserver;
}

const dockerCallTimeoutMs = 60_000;

export async function openEngine(options: EngineOptions): Promise<BranchingEngine> {
  const endpoint = resolveDockerEndpoint(options.environment, options.userHome);
  const target = options.registryTarget ?? { kind: "sqlite", path: join(options.homeFolder, "registry.db") };
  const registry = await openRegistry(target, systemRandom);
  const runtime = createDockerRuntime({
    endpoint,
    instanceId: registry.instanceId,
    random: systemRandom,
    callTimeoutMs: dockerCallTimeoutMs,
  });
  return new BranchingEngine({
    registry,
    runtime,
    secrets: options.secrets,
    clock: systemClock,
    timers: systemTimers,
    random: systemRandom,
    logger: options.logger,
    settings: toEngineSettings(options.config),
    hooks: options.hooks ?? {},
    observer: options.observer ?? {},
    locks: new KeyedLock(),
  });
}
