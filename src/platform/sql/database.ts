import { Kysely, sql } from "kysely";
import { systemRandom } from "../random/random.ts";
import { sleep } from "../time/clock.ts";
import { applyMigrations, type DatabaseKind, type Migration } from "./migrations.ts";
import { createPostgresClient, type PostgresTarget } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";
import { createPostgresDialect } from "./postgres-dialect.ts";
import { createSqlError, isConnectionFailure } from "./sql-errors.ts";
import { createSqliteDialect } from "./sqlite-dialect.ts";

/**
 * One interface over an embedded SQLite file and a Postgres server: the same migrations, the same typed queries, the
 * same guarantee that transactions behave as if they ran one after the other. SQLite gets there by taking the write
 * lock first, Postgres by SERIALIZABLE with a retry, so a transaction's work may run more than once and must change
 * nothing but the database. Nothing else may be awaited inside: on SQLite every other query waits meanwhile.
 */
export type DatabaseTarget =
  | { readonly kind: "sqlite"; readonly path: string }
  | ({ readonly kind: "postgres" } & PostgresTarget);

export interface Database<Schema> extends AsyncDisposable {
  readonly kind: DatabaseKind;
  /** Single queries, each its own transaction. */
  readonly query: Kysely<Schema>;
  transaction<T>(work: (tx: Kysely<Schema>) => Promise<T>): Promise<T>;
  /** Resolves when the database answers. @throws DomainError DATABASE_UNAVAILABLE */
  ping(): Promise<void>;
  close(): Promise<void>;
}

const maxAttempts = 10;
const retryBaseMs = 5;

/** @throws DomainError DATABASE_UNUSABLE, DATABASE_UNAVAILABLE, SCHEMA_TOO_NEW, SCHEMA_DIVERGED */
export async function openDatabase<Schema>(
  target: DatabaseTarget,
  migrations: readonly Migration[],
): Promise<Database<Schema>> {
  const database = openUnmigrated<Schema>(target);
  try {
    // NOTE: not SERIALIZABLE: the wait for the lock would fix what the transaction sees to before the lock was got.
    const transaction = database.query.transaction();
    await transaction.execute((tx) => applyMigrations(tx as unknown as Kysely<unknown>, database.kind, migrations));
    return database;
  } catch (error) {
    await database.close();
    if (!isConnectionFailure(error)) throw error;
    throw createSqlError("DATABASE_UNAVAILABLE", `Cannot open the database: ${describeFailure(error)}`, {
      cause: error,
    });
  }
}

function openUnmigrated<Schema>(target: DatabaseTarget): Database<Schema> {
  return target.kind === "sqlite" ? openSqliteDatabase(target.path) : openPostgresDatabase(target);
}

function openSqliteDatabase<Schema>(path: string): Database<Schema> {
  const query = new Kysely<Schema>({ dialect: createSqliteDialect(openSqlite(path)) });
  return createDatabase({
    kind: "sqlite",
    query,
    transaction: (work) => query.transaction().execute(work),
    close: () => query.destroy(),
  });
}

function openPostgresDatabase<Schema>(target: PostgresTarget): Database<Schema> {
  const query = new Kysely<Schema>({ dialect: createPostgresDialect(() => createPostgresClient(target)) });
  return createDatabase({
    kind: "postgres",
    query,
    transaction: (work) => runSerializable(query, work),
    close: () => query.destroy(),
  });
}

type Parts<Schema> = Pick<Database<Schema>, "kind" | "query" | "transaction" | "close">;

function createDatabase<Schema>(parts: Parts<Schema>): Database<Schema> {
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= parts.close();
    return closing;
  };
  const ping = async (): Promise<void> => {
    try {
      await sql`select 1`.execute(parts.query);
    } catch (error) {
      throw createSqlError("DATABASE_UNAVAILABLE", "Cannot reach the database", { cause: error });
    }
  };
  return { ...parts, ping, close, [Symbol.asyncDispose]: close };
}

async function runSerializable<Schema, T>(query: Kysely<Schema>, work: (tx: Kysely<Schema>) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await query.transaction().setIsolationLevel("serializable").execute(work);
    } catch (error) {
      if (!isSerializationFailure(error) || attempt === maxAttempts) throw error;
      await sleep(retryBaseMs * 2 ** Math.min(attempt, 6) * (0.5 + systemRandom.fraction()));
    }
  }
}

function describeFailure(error: unknown): string {
  const { code, message } = error as { code: string; message: string };
  return code === "CONNECT_TIMEOUT" ? "the server did not answer in time" : message || code;
}

function isSerializationFailure(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === "40001" || code === "40P01";
}
