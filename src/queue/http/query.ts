import type { HttpContext } from "../../platform/http/http-env.ts";
import { parseInstant } from "../../platform/time/clock.ts";
import { parseDuration } from "../../platform/time/duration.ts";
import { type QueueErrorCode, queueError } from "../errors.ts";
import type { PageRequest } from "../service/queue-service.ts";

/** Query and path parameters as typed values; an unknown parameter is ignored, a bad one is refused by name. */
export interface IntegerQuery {
  readonly min: number;
  readonly max?: number;
  readonly code?: QueueErrorCode;
}

export const perPageMax = 1000;
const perPageDefault = 50;

/** The first of the names that the request has; an empty value counts as absent. */
export function findQuery(context: HttpContext, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = context.req.query(name);
    if (value !== undefined && value !== "") return value;
  }
  return undefined;
}

/** @throws DomainError of `range.code` (INVALID_ARGUMENT) when it is no whole number in the range */
export function findIntegerQuery(
  context: HttpContext,
  names: readonly string[],
  range: IntegerQuery,
): number | undefined {
  const text = findQuery(context, ...names);
  return text === undefined ? undefined : parseWhole(text, names[0] ?? "", range);
}

export function parseWhole(text: string, name: string, range: IntegerQuery): number {
  const value = Number(text);
  const max = range.max ?? Number.MAX_SAFE_INTEGER;
  if (/^-?\d{1,16}$/.test(text) && value >= range.min && value <= max) return value;
  const wanted = range.max === undefined ? `from ${range.min}` : `from ${range.min} to ${range.max}`;
  throw refuse(range.code, name, `must be a whole number ${wanted}, not "${text}"`);
}

/** Like `max`, but a value above it counts as the highest one: asking for more than there can be is no mistake. */
export function findCountQuery(context: HttpContext, names: readonly string[], max: number): number | undefined {
  const count = findIntegerQuery(context, names, { min: 1 });
  return count === undefined ? undefined : Math.min(count, max);
}

/** `30s` or whole seconds under a plain name, milliseconds under a name that ends in `_ms`; capped at `maxMs`. */
export function findDurationQuery(context: HttpContext, names: readonly string[], maxMs: number): number | undefined {
  for (const name of names) {
    const text = findQuery(context, name);
    if (text === undefined) continue;
    const durationMs = name.endsWith("_ms") ? parseWhole(text, name, { min: 0 }) : parseDuration(text);
    if (durationMs === undefined) {
      throw refuse(undefined, name, `must be a duration such as 30s or 500ms, not "${text}"`);
    }
    return Math.min(durationMs, maxMs);
  }
  return undefined;
}

export function findBooleanQuery(context: HttpContext, name: string): boolean | undefined {
  const text = findQuery(context, name);
  if (text === undefined) return undefined;
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw refuse(undefined, name, `must be true or false, not "${text}"`);
}

export function findInstantQuery(context: HttpContext, name: string): number | undefined {
  const text = findQuery(context, name);
  if (text === undefined) return undefined;
  const epochMs = /^\d{1,16}$/.test(text) ? Number(text) : parseInstant(text);
  if (epochMs !== undefined) return epochMs;
  throw refuse(undefined, name, `must be RFC 3339 such as 2026-01-31T12:00:00Z or milliseconds, not "${text}"`);
}

export function readPage(context: HttpContext): PageRequest {
  return {
    page: findIntegerQuery(context, ["page"], { min: 1 }) ?? 1,
    perPage: findIntegerQuery(context, ["per_page"], { min: 1, max: perPageMax }) ?? perPageDefault,
  };
}

/** A path parameter that the route has; decoded. */
export function pathText(context: HttpContext, name: string): string {
  return context.req.param(name) ?? "";
}

export function pathPartition(context: HttpContext, name = "partition"): number {
  return parseWhole(pathText(context, name), name, { min: 0, code: "INVALID_PARTITION" });
}

function refuse(code: QueueErrorCode | undefined, name: string, problem: string): Error {
  return queueError(code ?? "INVALID_ARGUMENT", `Cannot accept the request: "${name}" ${problem}`, {
    details: { parameter: name },
  });
}
