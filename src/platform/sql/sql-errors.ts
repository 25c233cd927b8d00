import { createErrorFactory, type ErrorCatalogue } from "../errors/domain-error.ts";

export type SqlErrorCode = "DATABASE_UNUSABLE" | "DATABASE_UNAVAILABLE" | "SCHEMA_TOO_NEW" | "SCHEMA_DIVERGED";

export const sqlErrorCatalogue: ErrorCatalogue<SqlErrorCode> = {
  DATABASE_UNUSABLE: { kind: "failed_precondition" },
  DATABASE_UNAVAILABLE: { kind: "unavailable", isRetryable: true },
  SCHEMA_TOO_NEW: { kind: "failed_precondition" },
  SCHEMA_DIVERGED: { kind: "failed_precondition" },
};

export const createSqlError = createErrorFactory(sqlErrorCatalogue);

const sqliteUniqueCodes = new Set([2067, 1555]);

/** A row with the same unique key exists already; the same question on both databases. */
export function isUniqueViolation(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  return code === "23505" || (typeof errcode === "number" && sqliteUniqueCodes.has(errcode));
}

/** A row that is pointed to is absent, or one that is pointed to would vanish. */
export function isForeignKeyViolation(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  return code === "23503" || errcode === 787 || errcode === 1811;
}

/** Refused, unknown host, cut, timed out, or a server that starts, stops or has no connection left. */
export function isConnectionFailure(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code !== "string") return false;
  return /^(?:(?!ERR_)E[A-Z]+|CONNECTION_.*|CONNECT_TIMEOUT|08...|57P0.|53300)$/.test(code);
}
