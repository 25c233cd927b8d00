import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from "kysely";
import type { ParameterOrJSON, TransactionSql } from "postgres";
import type { PostgresClient } from "./open-postgres.ts";
import { isConnectionFailure } from "./sql-errors.ts";

/**
 * Kysely on postgres.js, made to outlive its server. Three habits of the library are worked around, each found by
 * restarting a server under load: reserved connections hang with `fetch_types` off (and with it on a server that goes
 * away at the wrong moment ends the process), so transactions use its `begin` and single queries any free connection;
 * a statement sent on a lost connection ends the process, so a transaction that has lost its own sends nothing more,
 * not even ROLLBACK; and a connection lost with bytes unsent never connects again, so after a failure of the connection
 * the whole client is replaced.
 */
export function createPostgresDialect(
  createClient: () => PostgresClient,
  closeTimeoutSeconds = defaultCloseTimeoutSeconds,
): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new PostgresDriver(new RenewedClient(createClient, closeTimeoutSeconds)),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

/** Queries that still run when a client is closed or replaced may take this long. */
const defaultCloseTimeoutSeconds = 5;

class RenewedClient {
  readonly #create: () => PostgresClient;
  readonly #closeTimeoutSeconds: number;
  #current: PostgresClient;

  constructor(create: () => PostgresClient, closeTimeoutSeconds: number) {
    this.#create = create;
    this.#closeTimeoutSeconds = closeTimeoutSeconds;
    this.#current = create();
  }

  /** Runs on the current client, which is replaced when the connection fails. */
  async run<T>(work: (client: PostgresClient) => Promise<T>): Promise<T> {
    const client = this.#current;
    try {
      return await work(client);
    } catch (error) {
      if (isConnectionFailure(error) && client === this.#current) {
        this.#current = this.#create();
        void client.end({ timeout: this.#closeTimeoutSeconds }).catch(() => {});
      }
      throw error;
    }
  }

  async end(): Promise<void> {
    await this.#current.end({ timeout: this.#closeTimeoutSeconds });
  }
}

class PostgresDriver implements Driver {
  readonly #client: RenewedClient;

  constructor(client: RenewedClient) {
    this.#client = client;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    return new PostgresConnection(this.#client);
  }

  async beginTransaction(connection: PostgresConnection, settings: TransactionSettings): Promise<void> {
    await connection.begin(settings);
  }

  async commitTransaction(connection: PostgresConnection): Promise<void> {
    await connection.commit();
  }

  async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    await connection.rollback();
  }

  async savepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`savepoint ${quote(name)}`));
  }

  async rollbackToSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`rollback to savepoint ${quote(name)}`));
  }

  async releaseSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`release savepoint ${quote(name)}`));
  }

  async releaseConnection(connection: PostgresConnection): Promise<void> {
    await connection.rollback();
  }

  async destroy(): Promise<void> {
    await this.#client.end();
  }
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

class OpenTransaction {
  readonly #sql: TransactionSql;
  readonly #end: PromiseWithResolvers<void>;
  readonly #ended: Promise<unknown>;
  /** Set when the connection is lost: nothing may be sent as part of this transaction any more. */
  #failure: unknown;

  private constructor(sql: TransactionSql, end: PromiseWithResolvers<void>, ended: Promise<unknown>) {
    this.#sql = sql;
    this.#end = end;
    this.#ended = ended;
    ended.catch((error: unknown) => {
      this.#failure ??= error;
    });
  }

  static async begin(client: PostgresClient, options: string): Promise<OpenTransaction> {
    const opened = Promise.withResolvers<TransactionSql>();
    const end = Promise.withResolvers<void>();
    const ended = client.begin(options, async (sql) => {
      opened.resolve(sql);
      await end.promise;
    });
    ended.catch(opened.reject);
    return new OpenTransaction(await opened.promise, end, ended);
  }

  async run<T>(work: (sql: TransactionSql) => Promise<T>): Promise<T> {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      return await work(this.#sql);
    } catch (error) {
      if (isConnectionFailure(error)) this.#failure ??= error;
      throw error;
    }
  }

  async commit(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#end.resolve();
    await this.#ended;
  }

  /** What has lost its connection was rolled back by the server. */
  async rollback(): Promise<void> {
    if (this.#failure !== undefined) return;
    this.#end.reject(new RolledBack());
    await this.#ended.catch(() => {});
  }
}

class RolledBack extends Error {}

class PostgresConnection implements DatabaseConnection {
  readonly #client: RenewedClient;
  #transaction: OpenTransaction | undefined;

  constructor(client: RenewedClient) {
    this.#client = client;
  }

  async begin({ isolationLevel, accessMode }: TransactionSettings): Promise<void> {
    const isolation = isolationLevel === undefined ? "" : `isolation level ${isolationLevel}`;
    const options = [isolation, accessMode ?? ""].filter((part) => part !== "").join(" ");
    this.#transaction = await this.#client.run((client) => OpenTransaction.begin(client, options));
  }

  async commit(): Promise<void> {
    const transaction = this.#transaction;
    this.#transaction = undefined;
    await this.#client.run(async () => transaction?.commit());
  }

  async rollback(): Promise<void> {
    const transaction = this.#transaction;
    this.#transaction = undefined;
    await transaction?.rollback();
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const result = await this.#run(async (sql) => await send(sql, query));
    const isChange = ["INSERT", "UPDATE", "DELETE", "MERGE"].includes(result.command);
    return { rows: [...result] as Row[], ...(isChange ? { numAffectedRows: BigInt(result.count) } : {}) };
  }

  async *streamQuery<Row>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<Row>> {
    const chunks = await this.#run(async (sql) => send(sql, query).cursor(chunkSize)[Symbol.asyncIterator]());
    try {
      for (;;) {
        const next = await this.#run(() => chunks.next());
        if (next.done) return;
        yield { rows: [...next.value] as Row[] };
      }
    } finally {
      await chunks.return?.();
    }
  }

  async #run<T>(work: (sql: PostgresClient | TransactionSql) => Promise<T>): Promise<T> {
    const transaction = this.#transaction;
    return await this.#client.run((client) => (transaction === undefined ? work(client) : transaction.run(work)));
  }
}

function send(sql: PostgresClient | TransactionSql, query: CompiledQuery) {
  return sql.unsafe(query.sql, [...query.parameters] as ParameterOrJSON<never>[], { prepare: true });
}
