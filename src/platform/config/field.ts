import { parseDuration } from "../time/duration.ts";

/** Says what a value should have looked like; the loader adds where it came from. */
export class FieldProblem extends Error {}

/**
 * One setting: where it comes from, how its text becomes a value, and what it is when nobody says.
 * `environment` and `flag` are both optional: a broker has only the first, a CLI option may have only the second.
 */
export interface Field<T> {
  readonly parse: (text: string) => T;
  readonly description: string;
  readonly environment?: string;
  /** Names that are accepted in the environment too, for compatibility. */
  readonly environmentAliases?: readonly string[];
  /** Long option without the dashes. */
  readonly flag?: string;
  readonly flagAlias?: string;
  readonly isRepeatable?: boolean;
  readonly isBoolean?: boolean;
  /** Never shown; also read from the file named by `<ENVIRONMENT>_FILE`. */
  readonly isSecret?: boolean;
  /** Also read from a file, for values that are long rather than secret. */
  readonly hasFileVariant?: boolean;
  readonly isRequired?: boolean;
  readonly defaultValue?: T;
  /** How the default is shown when it is not a plain value. */
  readonly defaultText?: string;
  readonly valueName?: string;
  readonly format?: (value: T) => string;
}

type Rest<T> = Omit<Field<T>, "parse">;
type WithDefault<T> = Rest<T> & { readonly defaultValue: T };
type Required<T> = Rest<T> & { readonly isRequired: true };

/** A field with a default or a required one is never undefined in the configuration. */
export type OptionalField<T> = Field<T | undefined>;

function withParse<T>(parse: (text: string) => T, rest: Rest<T>): Field<T> {
  return { ...rest, parse };
}

/** Makes a field of any type: `parse` throws `FieldProblem` with what would be right. */
export function customField<T>(parse: (text: string) => T, rest: WithDefault<T> | Required<T>): Field<T> {
  return withParse(parse, rest);
}

export function optionalField<T>(parse: (text: string) => T, rest: Omit<Rest<T>, "defaultValue">): OptionalField<T> {
  return { ...(rest as Rest<T | undefined>), parse };
}

export function parseText(text: string): string {
  if (text === "") throw new FieldProblem("must not be empty");
  return text;
}

export function parseBoolean(text: string): boolean {
  if (text === "true" || text === "1" || text === "on" || text === "yes") return true;
  if (text === "false" || text === "0" || text === "off" || text === "no") return false;
  throw new FieldProblem(`must be true or false, not "${text}"`);
}

export function parseInteger(range: { readonly min: number; readonly max?: number }): (text: string) => number {
  const max = range.max ?? Number.MAX_SAFE_INTEGER;
  const wanted = range.max === undefined ? `at least ${range.min}` : `from ${range.min} to ${range.max}`;
  return (text) => {
    const value = Number(text);
    if (!/^-?\d+$/.test(text) || value < range.min || value > max) {
      throw new FieldProblem(`must be a whole number ${wanted}, not "${text}"`);
    }
    return value;
  };
}

/** Milliseconds from `30s`, `5m`, `1h30m`; a bare number counts seconds. */
export function parseDurationMs(
  range: { readonly minMs?: number; readonly maxMs?: number } = {},
): (text: string) => number {
  return (text) => {
    const value = parseDuration(text);
    if (value === undefined) throw new FieldProblem(`must be a duration such as 30s, 5m or 1h30m, not "${text}"`);
    if (value < (range.minMs ?? 0)) throw new FieldProblem(`must be at least ${range.minMs} ms, not "${text}"`);
    if (value > (range.maxMs ?? Number.MAX_SAFE_INTEGER)) {
      throw new FieldProblem(`must be at most ${range.maxMs} ms, not "${text}"`);
    }
    return value;
  };
}

const sizeUnits: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kb: 1000,
  mb: 1000 ** 2,
  gb: 1000 ** 3,
  tb: 1000 ** 4,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
  t: 1024 ** 4,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
};

/** Bytes from `1048576`, `64KiB`, `100MB`, `10G`; KB and MB count in thousands, K, KiB and MiB in 1024s. */
export function parseSizeBytes(range: { readonly min?: number; readonly max?: number } = {}): (text: string) => number {
  return (text) => {
    const match = text.trim().match(/^(\d+(?:\.\d+)?)\s*([a-z]*)$/i);
    const unit = sizeUnits[(match?.[2] ?? "?").toLowerCase()];
    if (match === null || unit === undefined) {
      throw new FieldProblem(`must be a size such as 1048576, 64KiB or 100MB, not "${text}"`);
    }
    const value = Math.round(Number(match[1]) * unit);
    if (value < (range.min ?? 0)) throw new FieldProblem(`must be at least ${range.min} bytes, not "${text}"`);
    if (value > (range.max ?? Number.MAX_SAFE_INTEGER)) {
      throw new FieldProblem(`must be at most ${range.max} bytes, not "${text}"`);
    }
    return value;
  };
}

export function parseChoice<const Choices extends readonly string[]>(
  choices: Choices,
): (text: string) => Choices[number] {
  return (text) => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw new FieldProblem(`must be one of ${choices.join(", ")}, not "${text}"`);
    return found;
  };
}

/** Comma-separated items, trimmed; empty items are dropped. */
export function parseList<T>(parseItem: (text: string) => T, maxCount = 1000): (text: string) => readonly T[] {
  return (text) => {
    const items = text
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== "");
    if (items.length > maxCount) throw new FieldProblem(`must have at most ${maxCount} items, not ${items.length}`);
    return items.map(parseItem);
  };
}

export function parseHttpUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new FieldProblem(`must be a URL such as https://host:1234, not "${text}"`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new FieldProblem(`must be an http or https URL, not "${url.protocol}//…"`);
  }
  return text.replace(/\/+$/, "");
}

export interface ListenAddress {
  /** Undefined means every interface. */
  readonly host: string | undefined;
  /** 0 means any free port. */
  readonly port: number;
}

/** `:8080`, `127.0.0.1:0`, `[::1]:8080`, `localhost:8080`. */
export function parseListenAddress(text: string): ListenAddress {
  const match = text.match(/^(?:\[([0-9a-f:.%]+)\]|([^:[\]]*)):(\d{1,5})$/i);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new FieldProblem(`must be an address such as :8080, 127.0.0.1:0 or [::1]:8080, not "${text}"`);
  }
  const host = match[1] ?? match[2] ?? "";
  return { host: host === "" ? undefined : host, port };
}

export function formatListenAddress(address: ListenAddress): string {
  if (address.host === undefined) return `:${address.port}`;
  return address.host.includes(":") ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}

export function isLoopbackHost(host: string | undefined): boolean {
  return host !== undefined && (host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host));
}
