/** Requests are checked here once; everything behind may rely on them. */
import { branchingError } from "../errors.ts";
import type { SeedMethod } from "./records.ts";

export const supportedMajors = ["14", "15", "16", "17", "18"] as const;
export const defaultMajor = "17";
export const maskSqlBytesMax = 1024 * 1024;
const namePattern = /^[a-z0-9][a-z0-9-]{0,40}$/;
const imagePattern = /^[a-z0-9][a-z0-9._:/@-]{0,254}$/i;
const networkPattern = /^[a-z0-9][a-z0-9_.-]{0,127}$/i;

export interface CreateSourceRequest {
  readonly name: string;
  readonly host: string;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  readonly database?: string | undefined;
  readonly network?: string | undefined;
  readonly pgVersion?: string | undefined;
  readonly password?: string | undefined;
  readonly via?: string | undefined;
  readonly dumpSchemas?: readonly string[] | undefined;
  readonly image?: string | undefined;
}

export interface SourceSettings {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly network: string | undefined;
  readonly pgVersion: string;
  readonly via: SeedMethod;
  readonly dumpSchemas: readonly string[];
  readonly image: string | undefined;
}

export interface CreateBranchRequest {
  readonly name: string;
  readonly source?: string | undefined;
  readonly parent?: string | undefined;
  readonly ttlSeconds?: number | undefined;
}

export function checkName(kind: "source" | "branch", name: string): void {
  if (namePattern.test(name)) return;
  throw branchingError(
    "invalid_request",
    `Cannot use "${clip(name)}" as ${kind} name: it must be 1 to 41 lowercase letters, digits and dashes, and start with a letter or digit`,
  );
}

export function checkSource(request: CreateSourceRequest): SourceSettings {
  checkName("source", request.name);
  const port = request.port ?? 5432;
  const pgVersion = request.pgVersion ?? defaultMajor;
  const via = request.via ?? "basebackup";
  const dumpSchemas = request.dumpSchemas ?? [];
  checkHost(request.host);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw invalid(`port is ${port}, but must be from 1 to 65535`);
  }
  if (!supportedMajors.some((major) => major === pgVersion)) {
    throw invalid(`pg_version is "${clip(pgVersion)}", but must be one of ${supportedMajors.join(", ")}`);
  }
  if (via !== "basebackup" && via !== "dump") throw invalid(`via is "${clip(via)}", but must be basebackup or dump`);
  checkSchemas(via, dumpSchemas);
  if (request.image !== undefined && !imagePattern.test(request.image)) {
    throw invalid(`image is "${clip(request.image)}", but must be an image reference such as postgis/postgis:17-3.5`);
  }
  if (request.network !== undefined && !networkPattern.test(request.network)) {
    throw invalid(`network is "${clip(request.network)}", but must be the name of a container network`);
  }
  return {
    name: request.name,
    host: request.host.trim(),
    port,
    user: checkWord("user", request.user ?? "postgres"),
    database: checkWord("database", request.database ?? "postgres"),
    network: request.network,
    pgVersion,
    via,
    dumpSchemas,
    image: request.image,
  };
}

function checkHost(host: string): void {
  if (host.trim() === "") throw invalid("host is blank, but must be a host name or address that containers can reach");
  if (host.startsWith("/")) {
    throw invalid("host is a socket path, but the seed runs in a container: give a host name or address");
  }
  if (hasControl(host) || /[\s,]/.test(host.trim())) throw invalid("host holds spaces, commas or control characters");
}

function checkWord(field: string, value: string): string {
  if (value.trim() === "") throw invalid(`${field} is blank`);
  if (hasControl(value) || value.length > 63)
    throw invalid(`${field} must be at most 63 characters without control characters`);
  return value;
}

function checkSchemas(via: SeedMethod, schemas: readonly string[]): void {
  if (schemas.length > 0 && via !== "dump")
    throw invalid("dump_schemas is set, but only via=dump can leave schemas out");
  for (const schema of schemas) {
    if (schema.trim() === "" || schema.includes(",") || hasControl(schema)) {
      throw invalid(`dump_schemas holds "${clip(schema)}", but a pattern must not be blank or hold commas`);
    }
  }
}

/** Exactly one of source and parent, a valid name, a sensible TTL. */
export function checkBranch(request: CreateBranchRequest): void {
  checkName("branch", request.name);
  const { source, parent, ttlSeconds } = request;
  if ((source === undefined) === (parent === undefined)) {
    const given = source === undefined ? "neither is set" : "both are set";
    throw branchingError(
      "invalid_request",
      `Cannot create branch "${request.name}": exactly one of source and parent is needed, but ${given}`,
    );
  }
  if (ttlSeconds !== undefined && (!Number.isSafeInteger(ttlSeconds) || ttlSeconds < 0)) {
    throw branchingError(
      "invalid_request",
      `Cannot create branch "${request.name}": ttl_seconds must be a whole number, 0 or more`,
    );
  }
}

export interface TtlRules {
  /** 0 is none. */
  readonly defaultTtlMs: number;
  /** 0 is none. */
  readonly maxTtlMs: number;
}

/** When the branch expires; undefined is never. The longest TTL holds for branches that asked for none, too. */
export function expiryOf(nowMs: number, ttlSeconds: number | undefined, rules: TtlRules): number | undefined {
  const asked = (ttlSeconds ?? 0) * 1000;
  const wanted = asked === 0 ? rules.defaultTtlMs : asked;
  if (rules.maxTtlMs > 0) return nowMs + (wanted === 0 ? rules.maxTtlMs : Math.min(wanted, rules.maxTtlMs));
  return wanted === 0 ? undefined : nowMs + wanted;
}

export function checkMaskScripts(scripts: readonly { readonly name: string; readonly sql: string }[]): void {
  let totalBytes = 0;
  for (const script of scripts) {
    if (script.sql.trim() === "")
      throw branchingError("invalid_request", `Cannot set mask "${clip(script.name)}": the script is empty`);
    if (script.sql.includes("\0"))
      throw branchingError("invalid_request", `Cannot set mask "${clip(script.name)}": the script holds a zero byte`);
    totalBytes += Buffer.byteLength(script.sql);
  }
  if (totalBytes > maskSqlBytesMax) {
    throw branchingError(
      "invalid_request",
      `Cannot set masks: the scripts have ${totalBytes} bytes, but at most ${maskSqlBytesMax} are allowed`,
    );
  }
}

function invalid(problem: string): Error {
  return branchingError("invalid_request", `Cannot add source: ${problem}`);
}

function hasControl(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return /[\u0000-\u001f\u007f]/.test(text);
}

function clip(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
