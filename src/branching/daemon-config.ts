/** Settings of the daemon beside those of the engine: flags, and the environment for secrets. */
import {
  customField,
  FieldProblem,
  formatListenAddress,
  type ListenAddress,
  optionalField,
  parseDurationMs,
  parseListenAddress,
  parseText,
} from "../platform/config/field.ts";
import { type ConfigOf, type ConfigSources, loadConfig } from "../platform/config/load-config.ts";
import { formatDuration } from "../platform/time/duration.ts";
import { engineSchema, environmentPrefix, otherVariables } from "./config.ts";

const tokenLengthMin = 16;

function parseToken(text: string): string {
  if (text.length >= tokenLengthMin) return text;
  throw new FieldProblem(`must have at least ${tokenLengthMin} characters, not ${text.length}`);
}

export const daemonSchema = {
  ...engineSchema,
  token: customField(parseToken, {
    environment: "BRANCHSVC_TOKEN",
    isSecret: true,
    isRequired: true,
    description: "The admin token, at least 16 characters",
  }),
  apiListen: customField(parseListenAddress, {
    flag: "api-addr",
    environment: "BRANCHSVC_API_ADDR",
    description: "Where the API and the page listen",
    defaultValue: { host: undefined, port: 7070 } as ListenAddress,
    format: formatListenAddress,
    valueName: "ADDRESS",
  }),
  apiTlsCertFile: optionalField(parseText, {
    flag: "api-tls-cert",
    description: "Certificate of the API",
    valueName: "FILE",
  }),
  apiTlsKeyFile: optionalField(parseText, { flag: "api-tls-key", description: "Its key", valueName: "FILE" }),
  routerListen: customField(parseListenAddress, {
    flag: "pg-addr",
    environment: "BRANCHSVC_PG_ADDR",
    description: "Where the connection router listens",
    defaultValue: { host: undefined, port: 6432 } as ListenAddress,
    format: formatListenAddress,
    valueName: "ADDRESS",
  }),
  routerTlsCertFile: optionalField(parseText, {
    flag: "pg-tls-cert",
    description: "Certificate of the router",
    valueName: "FILE",
  }),
  routerTlsKeyFile: optionalField(parseText, { flag: "pg-tls-key", description: "Its key", valueName: "FILE" }),
  advertised: optionalField(parseListenAddress, {
    flag: "advertise-proxy-addr",
    description: "Address of the router as clients reach it",
    valueName: "HOST:PORT",
  }),
  reconcileIntervalMs: customField(parseDurationMs({ minMs: 1000 }), {
    flag: "reconcile-interval",
    description: "How often expired branches are reaped and drift is repaired",
    defaultValue: 60_000,
    format: formatDuration,
    valueName: "DURATION",
  }),
  shutdownTimeoutMs: customField(parseDurationMs({ minMs: 0 }), {
    flag: "shutdown-timeout",
    environment: "BRANCHSVC_SHUTDOWN_TIMEOUT",
    description: "How long requests under way may take at the end",
    defaultValue: 60_000,
    format: formatDuration,
    valueName: "DURATION",
  }),
} as const;

export type DaemonConfig = ConfigOf<typeof daemonSchema>;

/** @throws ConfigError with every problem */
export function loadDaemonConfig(sources: ConfigSources): DaemonConfig {
  return loadConfig(
    { schema: daemonSchema, prefixes: [environmentPrefix], otherKnownVariables: otherVariables, crossChecks },
    sources,
  );
}

function crossChecks(config: DaemonConfig): readonly string[] {
  const problems: string[] = [];
  if ((config.apiTlsCertFile === undefined) !== (config.apiTlsKeyFile === undefined)) {
    problems.push("--api-tls-cert and --api-tls-key: both are needed");
  }
  if ((config.routerTlsCertFile === undefined) !== (config.routerTlsKeyFile === undefined)) {
    problems.push("--pg-tls-cert and --pg-tls-key: both are needed");
  }
  return problems;
}
