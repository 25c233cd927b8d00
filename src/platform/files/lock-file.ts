import { closeSync, openSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createFileError } from "./file-errors.ts";
import { ensureOwnerOnlyFolder, ownerOnlyFileMode, writeFileAtomically } from "./owner-only.ts";

/**
 * "Only one process uses this folder." Node has no flock, and a file that names a process is wrong after a crash or
 * when the number is used again. SQLite takes kernel locks on a file, which vanish with the process however it ends, so
 * an open write transaction on an empty database is the lock. Who holds it is written beside it, for the message only:
 * nobody opens the lock file itself, since closing any handle on it would drop the lock.
 */
export interface LockFile extends Disposable {
  readonly path: string;
  release(): void;
}

const sqliteBusy = 5;

/** @throws DomainError FILE_LOCKED that names the holder, FILE_UNUSABLE */
export function acquireLockFile(path: string): LockFile {
  const holderPath = `${path}.pid`;
  const database = openLock(path, holderPath);
  let isHeld = true;
  const release = (): void => {
    if (!isHeld) return;
    isHeld = false;
    rmSync(holderPath, { force: true });
    database.close();
  };
  try {
    writeFileAtomically(holderPath, `${process.pid}\n`);
  } catch (error) {
    release();
    throw toUnusable(path, error);
  }
  return { path, release, [Symbol.dispose]: release };
}

function openLock(path: string, holderPath: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    ensureOwnerOnlyFolder(dirname(path));
    createIfAbsent(path);
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec("begin immediate");
    return database;
  } catch (error) {
    database?.close();
    if ((error as { errcode?: number }).errcode === sqliteBusy) throw toLocked(path, readHolder(holderPath));
    throw toUnusable(path, error);
  }
}

function createIfAbsent(path: string): void {
  try {
    closeSync(openSync(path, "wx", ownerOnlyFileMode));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function readHolder(holderPath: string): number | undefined {
  try {
    const pid = Number(readFileSync(holderPath, "utf8"));
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

function toLocked(path: string, pid: number | undefined): Error {
  const holder = pid === undefined ? "another process" : pid === process.pid ? "this process" : `process ${pid}`;
  return createFileError("FILE_LOCKED", `Cannot lock "${path}": ${holder} holds it; stop that one first`, {
    details: { path, ...(pid === undefined ? {} : { pid }) },
  });
}

function toUnusable(path: string, cause: unknown): Error {
  const { code, message } = cause as { code?: string; message: string };
  return createFileError("FILE_UNUSABLE", `Cannot lock "${path}": ${code ?? message}`, { cause });
}
