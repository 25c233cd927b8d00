/** Settings of `fleetscope serve`: flags, and the environment for secrets. */
import {
  customField,
  FieldProblem,
  formatListenAddress,
  isLoopbackHost,
  type ListenAddress,
  optionalField,
  parseBoolean,
  parseList,
  parseListenAddress,
  parseSizeBytes,
  parseText,
} from "../platform/config/field.ts";
import type { ConfigOf } from "../platform/config/load-config.ts";
import { defaultAnnotationDomain, defaultTeamLabel } from "./manifests/inventory-builder.ts";

const mebibyte = 1024 * 1024;

function parseHost(text: string): string {
  if (/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text)) return text.toLowerCase();
  throw new FieldProblem(`must be a host name without scheme, port or wildcard, not "${text}"`);
}

export const hubConfigSchema = {
  listen: customField(parseListenAddress, {
    flag: "listen",
    environment: "FLEETSCOPE_LISTEN",
    description: "Where to listen",
    defaultValue: { host: "127.0.0.1", port: 8080 } as ListenAddress,
    format: formatListenAddress,
    valueName: "ADDRESS",
  }),
  readToken: optionalField(parseText, {
    flag: "read-token",
    environment: "FLEETSCOPE_READ_TOKEN",
    isSecret: true,
    description: "Bearer token for every read, the gate and the metrics",
    valueName: "TOKEN",
  }),
  readTokenPath: optionalField(parseText, {
    flag: "read-token-file",
    description: "File with the read token",
    valueName: "FILE",
  }),
  isAnonymousReadAllowed: customField(parseBoolean, {
    flag: "allow-anonymous-read",
    isBoolean: true,
    description: "Let anyone read, on addresses beyond loopback too",
    defaultValue: false,
  }),
  allowedHosts: customField(parseList(parseHost), {
    flag: "allowed-host",
    environment: "FLEETSCOPE_ALLOWED_HOSTS",
    isRepeatable: true,
    description: "Another name of this server",
    defaultValue: [] as readonly string[],
    valueName: "NAME",
  }),
  gateBytesMax: customField(parseSizeBytes({ min: 1024, max: 256 * mebibyte }), {
    flag: "max-gate-bytes",
    description: "Largest body and answer of the gate",
    defaultValue: 10 * mebibyte,
    valueName: "BYTES",
  }),
  teamMap: optionalField(parseText, {
    flag: "team-map",
    description: "YAML that names the teams of namespaces",
    valueName: "FILE",
  }),
  annotationDomain: customField(parseText, {
    flag: "annotation-domain",
    description: "Prefix of the annotations that accept findings",
    defaultValue: defaultAnnotationDomain,
    valueName: "DOMAIN",
  }),
  teamLabel: customField(parseText, {
    flag: "team-label",
    description: "Label of a namespace that names its team",
    defaultValue: defaultTeamLabel,
    valueName: "LABEL",
  }),
  registryFolder: optionalField(parseText, {
    flag: "registry-dir",
    description: "Folder with facts that add to the embedded ones",
    valueName: "DIR",
  }),
  tlsCertPath: optionalField(parseText, {
    flag: "tls-cert-file",
    description: "Certificate; read again when it changes",
    valueName: "FILE",
  }),
  tlsKeyPath: optionalField(parseText, {
    flag: "tls-key-file",
    description: "Key of the certificate",
    valueName: "FILE",
  }),
} as const;

export type HubConfig = ConfigOf<typeof hubConfigSchema>;

/** Variables of the agent and of what else shares the prefix. */
export const otherHubVariables = ["FLEETSCOPE_SERVER_TOKEN", "FLEETSCOPE_SERVER_TOKEN_FILE"] as const;

export function findHubConflicts(config: HubConfig): readonly string[] {
  const problems: string[] = [];
  if (config.readToken !== undefined && config.readTokenPath !== undefined) {
    problems.push("--read-token and --read-token-file: use one of them");
  }
  const hasToken = config.readToken !== undefined || config.readTokenPath !== undefined;
  if (!hasToken && !isLoopbackHost(config.listen.host) && !config.isAnonymousReadAllowed) {
    problems.push(
      `--listen ${formatListenAddress(config.listen)}: beyond loopback a read token is needed (--read-token-file), or --allow-anonymous-read`,
    );
  }
  if ((config.tlsCertPath === undefined) !== (config.tlsKeyPath === undefined)) {
    problems.push("--tls-cert-file and --tls-key-file: both are needed");
  }
  return problems;
}
