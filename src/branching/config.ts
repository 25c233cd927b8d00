/** Settings of the engine that local mode and the daemon share. */
import { join } from "node:path";
import {
  customField,
  FieldProblem,
  optionalField,
  parseBoolean,
  parseChoice,
  parseDurationMs,
  parseInteger,
  parseList,
  parseSizeBytes,
  parseText,
} from "../platform/config/field.ts";
import type { ConfigOf, ConfigSchema } from "../platform/config/load-config.ts";
import { isDomainError } from "../platform/errors/domain-error.ts";
import { type PostgresSetting, parsePostgresSetting } from "./model/postgres-settings.ts";
import type { EngineSettings } from "./service/engine-context.ts";

export const environmentPrefix = "BRANCHSVC_";

const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
const mebibyte = 1024 * 1024;

function parseSetting(text: string): PostgresSetting {
  try {
    return parsePostgresSetting(text);
  } catch (error) {
    if (isDomainError(error)) throw new FieldProblem(error.message);
    throw error;
  }
}

export const engineSchema = {
  home: optionalField(parseText, {
    environment: "BRANCHSVC_HOME",
    description: "Folder of the registry and keys",
    defaultText: "~/.branchsvc",
    valueName: "DIR",
  }),
  stuckTimeoutMs: customField(parseDurationMs({ minMs: 1000 }), {
    flag: "stuck-timeout",
    description:
      "After this long without a heartbeat an operation counts as dead; also the limit of one branch operation",
    defaultValue: 600_000,
    defaultText: "10m",
    valueName: "DURATION",
  }),
  maxBranches: customField(parseInteger({ min: 0 }), {
    environment: "BRANCHSVC_MAX_BRANCHES",
    flag: "max-branches",
    description: "Most live branches, 0 for no limit",
    defaultValue: 0,
    valueName: "N",
  }),
  defaultTtlMs: customField(parseDurationMs(), {
    environment: "BRANCHSVC_DEFAULT_TTL",
    flag: "default-ttl",
    description: "Life time of branches that ask for none, 0 for no end",
    defaultValue: 0,
    valueName: "DURATION",
  }),
  maxTtlMs: customField(parseDurationMs(), {
    environment: "BRANCHSVC_MAX_TTL",
    flag: "max-ttl",
    description: "Longest life time of any branch, 0 for no limit",
    defaultValue: 0,
    valueName: "DURATION",
  }),
  maxLayerDepth: customField(parseInteger({ min: 1, max: 400 }), {
    environment: "BRANCHSVC_MAX_LAYER_DEPTH",
    flag: "max-layer-depth",
    description: "Most frozen layers under a branch on the overlay layout",
    defaultValue: 100,
    valueName: "N",
  }),
  rotatesCredentials: customField(parseBoolean, {
    environment: "BRANCHSVC_ROTATE_BRANCH_CREDENTIALS",
    flag: "rotate-branch-credentials",
    isBoolean: true,
    description: "Give every branch a password of its own",
    defaultValue: false,
  }),
  secretKey: optionalField(parseText, {
    environment: "BRANCHSVC_SECRET_KEY",
    isSecret: true,
    description: "Key that seals branch passwords: 32 bytes in hex or base64",
  }),
  secretKeyPath: optionalField(parseText, {
    flag: "secret-key-file",
    description: "File with the key, used when none is in the environment",
    valueName: "FILE",
  }),
  previousSecretKeys: customField(parseList(parseText), {
    environment: "BRANCHSVC_SECRET_KEY_PREVIOUS",
    isSecret: true,
    description: "Retired keys that may still open passwords, comma separated",
    defaultValue: [] as readonly string[],
  }),
  seedSslMode: customField(parseChoice(sslModes), {
    environment: "BRANCHSVC_SEED_SSLMODE",
    description: "sslmode of the seed's connection; require or verify-full over the internet",
    defaultValue: "prefer" as (typeof sslModes)[number],
    valueName: "MODE",
  }),
  seedSettle: customField(parseChoice(["freeze", "recover", "off"]), {
    environment: "BRANCHSVC_SEED_SETTLE",
    flag: "seed-settle",
    description: "How a seed is prepared once so that branches start fast: freeze, recover or off",
    defaultValue: "freeze" as "freeze" | "recover" | "off",
    valueName: "MODE",
  }),
  layout: customField(parseChoice(["auto", "overlay", "reflink"]), {
    environment: "BRANCHSVC_COW",
    flag: "cow",
    description: "How branches share data: overlay, reflink, or auto for what the volumes' filesystem can do",
    defaultValue: "auto" as "auto" | "overlay" | "reflink",
    valueName: "LAYOUT",
  }),
  volumeRoot: optionalField(parseText, {
    environment: "BRANCHSVC_VOLUME_ROOT",
    flag: "volume-root",
    description: "Folder on the container host that holds every volume, for example on XFS",
    valueName: "DIR",
  }),
  volumePoolBytes: optionalField(parseSizeBytes({ min: 512 * mebibyte }), {
    environment: "BRANCHSVC_VOLUME_POOL",
    flag: "volume-pool",
    description:
      "Make a cloning filesystem of this size in a sparse file on the container host and keep every volume there",
    valueName: "SIZE",
  }),
  branchMemoryBytes: customField(parseSizeBytes({ min: 128 * mebibyte }), {
    environment: "BRANCHSVC_BRANCH_MEMORY",
    flag: "branch-memory",
    description: "Memory limit of a branch's container",
    defaultValue: 1024 * mebibyte,
    defaultText: "1GiB",
    valueName: "SIZE",
  }),
  branchSharedMemoryBytes: customField(parseSizeBytes({ min: 64 * mebibyte }), {
    environment: "BRANCHSVC_BRANCH_SHM",
    flag: "branch-shm",
    description: "Size of /dev/shm of a branch",
    defaultValue: 256 * mebibyte,
    defaultText: "256MiB",
    valueName: "SIZE",
  }),
  branchMaxConnections: customField(parseInteger({ min: 5, max: 10_000 }), {
    environment: "BRANCHSVC_BRANCH_MAX_CONNECTIONS",
    flag: "branch-max-connections",
    description: "Most connections of a branch; never more than its source has",
    defaultValue: 100,
    valueName: "N",
  }),
  branchDurability: customField(parseChoice(["on", "off"]), {
    environment: "BRANCHSVC_BRANCH_DURABILITY",
    flag: "branch-durability",
    description: "off turns fsync and full_page_writes off: faster, but a power failure of the host loses branches",
    defaultValue: "on" as "on" | "off",
    valueName: "on|off",
  }),
  branchSettings: customField(parseList(parseSetting), {
    environment: "BRANCHSVC_BRANCH_PG_CONF",
    flag: "branch-pg-conf",
    isRepeatable: true,
    description: "A Postgres setting for every branch, as name=value",
    defaultValue: [] as readonly PostgresSetting[],
    valueName: "NAME=VALUE",
  }),
  walRecycle: customField(parseChoice(["auto", "on", "off"]), {
    environment: "BRANCHSVC_WAL_RECYCLE",
    flag: "wal-recycle",
    description: "Reuse old log segments in branches; auto does so where new ones cost no less",
    defaultValue: "auto" as "auto" | "on" | "off",
    valueName: "auto|on|off",
  }),
  branchNetwork: optionalField(parseText, {
    environment: "BRANCHSVC_BRANCH_NETWORK",
    flag: "branch-network",
    description: "Network of the branches instead of our own, which has no way out",
    valueName: "NAME",
  }),
} satisfies ConfigSchema;

export type EngineConfig = ConfigOf<typeof engineSchema>;

const defaultSharedBuffers = "128MB";

export function toEngineSettings(config: EngineConfig): EngineSettings {
  return {
    stuckTimeoutMs: config.stuckTimeoutMs,
    readyTimeoutMs: 90_000,
    maxBranches: config.maxBranches,
    ttl: { defaultTtlMs: config.defaultTtlMs, maxTtlMs: config.maxTtlMs },
    maxLayerDepth: config.maxLayerDepth,
    rotatesCredentials: config.rotatesCredentials,
    seedSslMode: config.seedSslMode,
    seedSettle: config.seedSettle,
    branchMemoryBytes: config.branchMemoryBytes,
    branchSharedMemoryBytes: config.branchSharedMemoryBytes,
    branchMaxConnections: config.branchMaxConnections,
    branchSharedBuffers: defaultSharedBuffers,
    branchDurability: config.branchDurability,
    branchWalRecycle: config.walRecycle,
    branchSettings: config.branchSettings,
    branchNetwork: config.branchNetwork,
    layout: config.layout,
  };
}

export function homeFolderOf(config: EngineConfig, userHome: string): string {
  return config.home ?? join(userHome, ".branchsvc");
}

/** Variables of the daemon, the client and the hook that share the prefix. */
export const otherVariables = [
  "BRANCHSVC_SERVER",
  "BRANCHSVC_TOKEN",
  "BRANCHSVC_CA_CERT",
  "BRANCHSVC_TLS_SKIP_VERIFY",
  "BRANCHSVC_CRASH_AT",
  "BRANCHSVC_SHUTDOWN_TIMEOUT",
  "BRANCHSVC_REGISTRY_URL",
  "BRANCHSVC_POD_NAME",
  "BRANCHSVC_POD_UID",
];
