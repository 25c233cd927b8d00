import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import { sleep, systemClock } from "../time/clock.ts";

/**
 * Kysely on node:sqlite. One connection, which Kysely hands to one query or transaction at a time. Transactions are
 * BEGIN IMMEDIATE: they take the write lock at once, so that a read that leads to a write is never stale and never
 * fails half-way with "busy". SQLite itself would wait for another process's lock by stopping this one; the wait is
 * done here instead, between attempts that fail at once.
 */
export function createSqliteDialect(database: DatabaseSync): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteDriver(database),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class SqliteDriver implements Driver {
  readonly #database: DatabaseSync;
  readonly #connection: SqliteConnection;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#connection = new SqliteConnection(database);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    await retryWhileBusy(() => this.#database.exec("begin immediate"));
  }

  async commitTransaction(): Promise<void> {
    this.#database.exec("commit");
  }

  async rollbackTransaction(): Promise<void> {
    // NOTE: SQLite itself ends the transaction on some errors (a full disk); a second rollback would hide that error.
    if (this.#database.isTransaction) this.#database.exec("rollback");
  }

  async savepoint(_connection: DatabaseConnection, name: string): Promise<void> {
    await this.#connection.executeQuery(CompiledQuery.raw(`savepoint ${quote(name)}`));
  }

  async rollbackToSavepoint(_connection: DatabaseConnection, name: string): Promise<void> {
    await this.#connection.executeQuery(CompiledQuery.raw(`rollback to ${quote(name)}`));
  }

  async releaseSavepoint(_connection: DatabaseConnection, name: string): Promise<void> {
    await this.#connection.executeQuery(CompiledQuery.raw(`release ${quote(name)}`));
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    if (this.#database.isOpen) this.#database.close();
  }
}

/** How long to wait for another process's write lock. */
const busyLimitMs = 5000;
const busyPauseMs = 3;
const sqliteBusy = 5;

/** Only for what has no effect when it fails: the start of a transaction, or a statement that is one by itself. */
async function retryWhileBusy<T>(work: () => T): Promise<T> {
  const endsMs = systemClock.monotonicMs() + busyLimitMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      const isBusy = (error as { errcode?: number }).errcode === sqliteBusy;
      if (!isBusy || systemClock.monotonicMs() >= endsMs) throw error;
      await sleep(busyPauseMs);
    }
  }
}

function runStatement<Row>(
  statement: StatementSync,
  returnsRows: boolean,
  parameters: readonly SQLInputValue[],
): QueryResult<Row> {
  // NOTE: rows come without a prototype; a copy makes them the plain objects that Postgres gives.
  if (returnsRows) return { rows: statement.all(...parameters).map((row) => ({ ...row }) as Row) };
  const { changes, lastInsertRowid } = statement.run(...parameters);
  return { rows: [], insertId: BigInt(lastInsertRowid), numAffectedRows: BigInt(changes) };
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

interface PreparedStatement {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
}

/** More than any feature has texts; statements with lists of varying length must not fill the memory. */
const maxPreparedStatements = 500;

class SqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, PreparedStatement>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { statement, returnsRows } = this.#prepare(query.sql);
    const parameters = query.parameters as readonly SQLInputValue[];
    return await retryWhileBusy(() => runStatement<Row>(statement, returnsRows, parameters));
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    // A statement of its own: the shared one may be used again while this one is still being stepped through.
    const statement = this.#database.prepare(query.sql);
    for (const row of statement.iterate(...(query.parameters as readonly SQLInputValue[])))
      yield { rows: [{ ...row } as Row] };
  }

  #prepare(text: string): PreparedStatement {
    const known = this.#prepared.get(text);
    if (known !== undefined) {
      this.#prepared.delete(text);
      this.#prepared.set(text, known);
      return known;
    }
    const statement = this.#database.prepare(text);
    const prepared = { statement, returnsRows: statement.columns().length > 0 };
    this.#prepared.set(text, prepared);
    const oldest = this.#prepared.keys().next().value;
    if (this.#prepared.size > maxPreparedStatements && oldest !== undefined) this.#prepared.delete(oldest);
    return prepared;
  }
}
