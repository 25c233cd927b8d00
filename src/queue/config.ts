import type { CommandContext, ConfigRow } from "../platform/cli/command.ts";
import { describeConfig } from "../platform/config/describe-config.ts";
import {
  customField,
  formatListenAddress,
  optionalField,
  parseBoolean,
  parseChoice,
  parseDurationMs,
  parseInteger,
  parseListenAddress,
  parseSizeBytes,
  parseText,
} from "../platform/config/field.ts";
import { type ConfigOf, type ConfigSources, loadConfig } from "../platform/config/load-config.ts";
import { type LogFormat, type LogLevel, logFormats, logLevels } from "../platform/log/logger.ts";
import { formatDuration } from "../platform/time/duration.ts";
import {
  type ClientAuthMode,
  clientAuthModes,
  type TlsVersion,
  tlsVersions,
} from "../platform/tls/tls-certificates.ts";

/**
 * The broker is configured by the environment alone. An unknown QUEUE_ variable is a problem, and so is one that asks
 * for what this build cannot do: a switch for security that is ignored would be worse than none.
 */
const topicPartitionsMax = 1024;
const messageBytesMax = 16 * 1024 * 1024;
const delayMaxMs = 30 * 86_400_000;

const flag = (environment: string, description: string, defaultValue = false) =>
  customField(parseBoolean, { environment, description, defaultValue, isBoolean: true });

export const queueConfigSchema = {
  dataDir: customField(parseText, {
    environment: "QUEUE_BROKER_DATADIR",
    description: "Data directory",
    defaultValue: "./data",
  }),
  nodeId: customField(parseText, {
    environment: "QUEUE_BROKER_NODEID",
    description: "Name of this node",
    defaultValue: "node-1",
  }),
  listenHttp: customField(parseListenAddress, {
    environment: "QUEUE_LISTENERS_HTTP",
    description: "Address of the REST API",
    defaultValue: { host: "127.0.0.1", port: 8080 },
    format: formatListenAddress,
  }),
  listenGrpc: customField(parseListenAddress, {
    environment: "QUEUE_LISTENERS_GRPC",
    description: "Address of the gRPC API",
    defaultValue: { host: "127.0.0.1", port: 9000 },
    format: formatListenAddress,
  }),
  isGrpcReflectionEnabled: flag("QUEUE_GRPC_REFLECTION", "Answer gRPC reflection requests"),
  isTlsEnabled: flag("QUEUE_TLS_ENABLED", "Serve HTTPS and gRPC over TLS"),
  tlsCertFile: optionalField(parseText, { environment: "QUEUE_TLS_CERT_FILE", description: "TLS certificate" }),
  tlsKeyFile: optionalField(parseText, { environment: "QUEUE_TLS_KEY_FILE", description: "Key of the certificate" }),
  tlsCaFile: optionalField(parseText, {
    environment: "QUEUE_TLS_CA_FILE",
    description: "Authorities of client certificates",
  }),
  tlsClientAuth: customField<ClientAuthMode>(parseChoice(clientAuthModes), {
    environment: "QUEUE_TLS_CLIENT_AUTH",
    description: `Client certificates: ${clientAuthModes.join(", ")}`,
    defaultValue: "none",
  }),
  tlsMinVersion: customField<TlsVersion>(parseChoice(tlsVersions), {
    environment: "QUEUE_TLS_MIN_VERSION",
    description: "Oldest TLS version accepted",
    defaultValue: "1.2",
  }),
  isClusterEnabled: flag("QUEUE_CLUSTER_ENABLED", "Be one of several nodes"),
  isAuthEnabled: flag("QUEUE_AUTH_ENABLED", "Require credentials"),
  isAclEnabled: flag("QUEUE_ACL_ENABLED", "Enforce access rules per key"),
  isHealthPublic: flag("QUEUE_AUTH_ALLOW_HEALTH", "Health endpoints need no credential", true),
  rootKey: optionalField(parseText, {
    environment: "QUEUE_API_ROOT_KEY",
    description: "The root API key",
    isSecret: true,
  }),
  logLevel: customField<LogLevel>(parseChoice(logLevels), {
    environment: "QUEUE_LOG_LEVEL",
    description: `Least severe lines that are logged: ${logLevels.join(", ")}`,
    defaultValue: "info",
  }),
  logFormat: customField<LogFormat>(parseChoice(logFormats), {
    environment: "QUEUE_LOG_FORMAT",
    description: `Form of log lines: ${logFormats.join(", ")}`,
    defaultValue: "auto",
  }),
  defaultPartitions: customField(parseInteger({ min: 1, max: topicPartitionsMax }), {
    environment: "QUEUE_DEFAULT_PARTITIONS",
    description: "Partitions of a topic that is created without a number",
    defaultValue: 3,
  }),
  defaultRetentionHours: customField(parseInteger({ min: 0 }), {
    environment: "QUEUE_DEFAULT_RETENTION_HOURS",
    description: "Retention of a topic that is created without one; 0 keeps for ever",
    defaultValue: 168,
  }),
  maxMessageBytes: customField(parseSizeBytes({ min: 1, max: messageBytesMax }), {
    environment: "QUEUE_MAX_MESSAGE_BYTES",
    description: "Largest message of a topic that is created without a limit",
    defaultValue: 1024 * 1024,
  }),
  maxDelayMs: customField(parseDurationMs({ minMs: 1000, maxMs: delayMaxMs }), {
    environment: "QUEUE_MAX_DELAY",
    description: "Longest delay of a message",
    defaultValue: delayMaxMs,
    format: formatDuration,
  }),
} as const;

export type QueueConfig = ConfigOf<typeof queueConfigSchema>;

/** Variables of the client commands, which share the prefix. */
export const clientVariables = ["QUEUE_SERVER", "QUEUE_API_KEY", "QUEUE_API_KEY_FILE"] as const;

/** @throws ConfigError with every problem */
export function loadQueueConfig(sources: ConfigSources): QueueConfig {
  return loadConfig(
    {
      schema: queueConfigSchema,
      prefixes: ["QUEUE_"],
      otherKnownVariables: clientVariables,
      crossChecks: findConflicts,
    },
    sources,
  );
}

export function describeQueueConfig(
  context: CommandContext,
  readFile: ConfigSources["readFile"],
): readonly ConfigRow[] {
  const sources = { environment: context.env, readFile };
  return describeConfig(queueConfigSchema, loadQueueConfig(sources), sources);
}

function findConflicts(config: QueueConfig): readonly string[] {
  const problems: string[] = [];
  if (config.isTlsEnabled && (config.tlsCertFile === undefined || config.tlsKeyFile === undefined)) {
    problems.push("QUEUE_TLS_ENABLED: QUEUE_TLS_CERT_FILE and QUEUE_TLS_KEY_FILE are required with it");
  }
  if (!config.isTlsEnabled && (config.tlsCertFile ?? config.tlsKeyFile ?? config.tlsCaFile) !== undefined) {
    problems.push("QUEUE_TLS_CERT_FILE, QUEUE_TLS_KEY_FILE, QUEUE_TLS_CA_FILE: set QUEUE_TLS_ENABLED=true to use them");
  }
  const isCaNeeded = config.tlsClientAuth === "verify" || config.tlsClientAuth === "require-verify";
  if (isCaNeeded && config.tlsCaFile === undefined) {
    problems.push(`QUEUE_TLS_CLIENT_AUTH: ${config.tlsClientAuth} needs QUEUE_TLS_CA_FILE`);
  }
  if (config.tlsClientAuth !== "none" && !config.isTlsEnabled) {
    problems.push(`QUEUE_TLS_CLIENT_AUTH: ${config.tlsClientAuth} needs QUEUE_TLS_ENABLED=true`);
  }
  if (!/^[a-zA-Z0-9._-]{1,64}$/.test(config.nodeId)) {
    problems.push(`QUEUE_BROKER_NODEID: must be 1 to 64 letters, digits, ".", "_" or "-", not "${config.nodeId}"`);
  }
  const { listenHttp, listenGrpc } = config;
  if (listenHttp.port !== 0 && listenHttp.port === listenGrpc.port && listenHttp.host === listenGrpc.host) {
    problems.push(
      `QUEUE_LISTENERS_GRPC: ${formatListenAddress(listenGrpc)} is the address of QUEUE_LISTENERS_HTTP too`,
    );
  }
  return [...problems, ...findUnavailable(config)];
}

function findUnavailable(config: QueueConfig): readonly string[] {
  const wanted: readonly [boolean, string, string][] = [
    [config.isClusterEnabled, "QUEUE_CLUSTER_ENABLED", "clustering"],
    [config.isAuthEnabled, "QUEUE_AUTH_ENABLED", "authentication"],
    [config.isAclEnabled, "QUEUE_ACL_ENABLED", "access rules"],
    [config.isGrpcReflectionEnabled, "QUEUE_GRPC_REFLECTION", "reflection"],
  ];
  return wanted
    .filter(([isWanted]) => isWanted)
    .map(([, name, what]) => `${name}: ${what} is not in this release; unset it`);
}
