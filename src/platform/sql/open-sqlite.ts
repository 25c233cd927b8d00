import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createSqlError } from "./sql-errors.ts";

export const memoryPath = ":memory:";
/** Only the opening waits inside SQLite: switching a new file to WAL takes a lock that others may hold. */
const openTimeoutMs = 5000;

/**
 * Opens a file that only its owner can read, in a folder that only its owner can enter when it has to be made. SQLite
 * gives its `-wal` and `-shm` files the mode of the main file.
 *
 * @throws DomainError DATABASE_UNUSABLE
 */
export function openSqlite(path: string): DatabaseSync {
  try {
    if (path !== memoryPath) createOwnerOnly(path);
    const database = new DatabaseSync(path, { timeout: openTimeoutMs, enableForeignKeyConstraints: true });
    prepareSqlite(database);
    return database;
  } catch (error) {
    throw createSqlError("DATABASE_UNUSABLE", `Cannot open the database "${path}": ${describe(error)}`, {
      cause: error,
    });
  }
}

function createOwnerOnly(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
}

function prepareSqlite(database: DatabaseSync): void {
  try {
    database.exec("pragma journal_mode = wal");
    database.exec("pragma synchronous = full");
    database.exec("pragma trusted_schema = off");
    database.prepare("select count(*) from sqlite_schema").get();
    database.exec("pragma busy_timeout = 0");
  } catch (error) {
    database.close();
    throw error;
  }
}

function describe(error: unknown): string {
  const { code, errcode, message } = error as { code?: string; errcode?: number; message: string };
  if (errcode === 26) return "the file is not a SQLite database";
  if (errcode === 11) return "the file is damaged; restore it from a backup";
  if (errcode === 5) return `another process has kept it locked for ${openTimeoutMs / 1000} s`;
  if (errcode === 8 || code === "EROFS") return "the file system is read-only";
  if (code === "EACCES" || code === "EPERM") return "this user may not write there";
  return code === undefined || code.startsWith("ERR_SQLITE") ? message : code;
}
