import { createPostgresClient, type PostgresClient } from "../../platform/sql/open-postgres.ts";
import { isConnectionFailure } from "../../platform/sql/sql-errors.ts";
import { createCatalogError } from "../errors.ts";
import { type Book, sampleBooks } from "../model/book.ts";
import type { BookStore } from "../service/book-service.ts";

/**
 * The table `books` in Postgres. The server may be away at any time, at the start too: nothing is connected until it is
 * asked for, and a connection that hangs is thrown away with all that wait on it, since a network that swallows packets
 * would hold them for many minutes.
 */
const connectTimeoutMs = 900;
const closeTimeoutSeconds = 2;
const maxConnections = 5;
const maxListedBooks = 1000;
const seedLockId = 7_202_611_211;
const undefinedTable = "42P01";

export class PostgresBooks implements BookStore {
  readonly name = "database";
  readonly #url: string;
  #client: PostgresClient;
  #seeded: Promise<void> | undefined;

  constructor(url: string) {
    this.#url = url;
    this.#client = this.#createClient();
  }

  async check(signal: AbortSignal): Promise<void> {
    const client = this.#client;
    const reset = (): void => this.#replace(client);
    signal.addEventListener("abort", reset, { once: true });
    try {
      await client`select 1`;
    } finally {
      signal.removeEventListener("abort", reset);
    }
  }

  async listBooks(): Promise<readonly Book[]> {
    try {
      return await this.#listSeeded();
    } catch (error) {
      if (!isConnectionFailure(error)) throw error;
      throw createCatalogError("DATABASE_UNAVAILABLE", "Cannot list books: the database is unreachable", {
        retryAfterSeconds: 1,
        cause: error,
      });
    }
  }

  async #listSeeded(): Promise<readonly Book[]> {
    await this.#ensureTable();
    try {
      return await this.#client<Book[]>`select * from books order by 1 limit ${maxListedBooks}`;
    } catch (error) {
      if ((error as { code?: string }).code !== undefinedTable) throw error;
      this.#seeded = undefined;
      await this.#ensureTable();
      return await this.#client<Book[]>`select * from books order by 1 limit ${maxListedBooks}`;
    }
  }

  #ensureTable(): Promise<void> {
    this.#seeded ??= seed(this.#client).catch((error: unknown) => {
      this.#seeded = undefined;
      throw error;
    });
    return this.#seeded;
  }

  #createClient(): PostgresClient {
    return createPostgresClient({ url: this.#url, maxConnections, connectTimeoutMs });
  }

  #replace(hanging: PostgresClient): void {
    if (hanging !== this.#client) return;
    this.#client = this.#createClient();
    this.#seeded = undefined;
    void hanging.end({ timeout: 0 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end({ timeout: closeTimeoutSeconds });
  }
}

/** Makes and fills the table when it is absent; any number of processes may do so at once. */
async function seed(client: PostgresClient): Promise<void> {
  await client.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${seedLockId})`;
    const [found] = await tx<{ isPresent: boolean }[]>`select to_regclass('books') is not null as "isPresent"`;
    if (found?.isPresent) return;
    await tx`create table books (id bigint primary key, title text not null, author text not null, year integer)`;
    await tx`insert into books ${tx([...sampleBooks])}`;
  });
}
