/** Puts the engine together from its configuration: registry, runtime, keys. */
import { join } from "node:path";
import type { Logger } from "../platform/log/logger.ts";
import { systemRandom } from "../platform/random/random.ts";
import type { DatabaseTarget } from "../platform/sql/database.ts";
import { systemClock, systemTimers } from "../platform/time/clock.ts";
import { type EngineConfig, toEngineSettings } from "./config.ts";
import { resolveDockerEndpoint } from "./drivers/docker/docker-endpoint.ts";
import { createDockerRuntime } from "./drivers/docker/docker-runtime.ts";
import { openSecretBox } from "./drivers/secret-keys.ts";
import { BranchingEngine } from "./service/engine.ts";
import type { EngineObserver } from "./service/engine-context.ts";
import { KeyedLock } from "./service/keyed-lock.ts";
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
  /** The daemon makes the at-rest key on its first start. */
  readonly generatesKey?: boolean;
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
    secrets: openSecretBox({
      key: options.config.secretKey,
      keyPath: options.config.secretKeyPath,
      previousKeys: options.config.previousSecretKeys,
      homeFolder: options.homeFolder,
      generates: options.generatesKey ?? false,
      random: systemRandom,
    }),
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
