/** Puts the engine together from its configuration: registry, runtime, keys. */
import { join } from "node:path";
import type { Logger } from "../platform/log/logger.ts";
import { systemRandom } from "../platform/random/random.ts";
import type { DatabaseTarget } from "../platform/sql/database.ts";
import { systemClock, systemTimers } from "../platform/time/clock.ts";
import { type EngineConfig, toEngineSettings } from "./config.ts";
import { resolveDockerEndpoint } from "./drivers/docker/docker-endpoint.ts";
import { createDockerRuntime, type VolumePlacement } from "./drivers/docker/docker-runtime.ts";
import { openSecretBox } from "./drivers/secret-keys.ts";
import { branchingError } from "./errors.ts";
import { BranchingEngine } from "./service/engine.ts";
import type { EngineObserver } from "./service/engine-context.ts";
import { KeyedLock } from "./service/keyed-lock.ts";
import type { Registry } from "./service/ports.ts";
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
  /** How long the container engine may take for one ordinary answer. Default 60 s. */
  readonly dockerCallTimeoutMs?: number;
}

const placementFact = "volume_placement";
const defaultDockerCallTimeoutMs = 60_000;

export async function openEngine(options: EngineOptions): Promise<BranchingEngine> {
  const endpoint = resolveDockerEndpoint(options.environment, options.userHome);
  const target = options.registryTarget ?? { kind: "sqlite", path: join(options.homeFolder, "registry.db") };
  const registry = await openRegistry(target, systemRandom);
  const runtime = createDockerRuntime({
    endpoint,
    instanceId: registry.instanceId,
    random: systemRandom,
    callTimeoutMs: options.dockerCallTimeoutMs ?? defaultDockerCallTimeoutMs,
    placement: await settlePlacement(registry, toPlacement(options.config)),
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

function toPlacement(config: EngineConfig): VolumePlacement | undefined {
  if (config.volumePoolBytes !== undefined) return { kind: "pool", sizeBytes: config.volumePoolBytes };
  return config.volumeRoot === undefined ? undefined : { kind: "directory", root: config.volumeRoot };
}

/** The first choice is kept in the registry: volumes that were made in one place are not looked for in another. */
async function settlePlacement(registry: Registry, wanted: VolumePlacement | undefined): Promise<VolumePlacement> {
  const kept = await registry.facts.find(placementFact);
  if (kept !== undefined) return checkPlacement(JSON.parse(kept) as VolumePlacement, wanted);
  if (wanted !== undefined && (await registry.sources.listGenerations()).length > 0) {
    return checkPlacement({ kind: "named" }, wanted);
  }
  if (wanted !== undefined) await registry.facts.set(placementFact, JSON.stringify(wanted));
  return wanted ?? { kind: "named" };
}

function checkPlacement(kept: VolumePlacement, wanted: VolumePlacement | undefined): VolumePlacement {
  if (wanted === undefined) return kept;
  const isSame =
    wanted.kind === kept.kind &&
    (wanted.kind !== "directory" || kept.kind !== "directory" || wanted.root === kept.root);
  if (isSame) return kept;
  const place =
    kept.kind === "directory"
      ? `the volume root "${kept.root}"`
      : kept.kind === "pool"
        ? "a volume pool"
        : "the engine's own volumes";
  throw branchingError(
    "invalid_request",
    `Cannot move volumes: this registry keeps them in ${place}; use another BRANCHSVC_HOME for another place`,
  );
}
