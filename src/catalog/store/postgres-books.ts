import { Kysely, sql } from "kysely";
import { createPostgresClient } from "../../platform/sql/open-postgres.ts";
import { createPostgresDialect } from "../../platform/sql/postgres-dialect.ts";
import { isConnectionFailure } from "../../platform/sql/sql-errors.ts";
import { createCatalogError } from "../errors.ts";
import { type Book, sampleBooks } from "../model/book.ts";
import type { BookStore } from "../service/book-service.ts";

/**
 * The table `books` in Postgres. The server may be away at any time, at the start too: nothing is connected until it is
 * asked for, and connections that hang are thrown away with all that wait on them, since a network that swallows
 * packets would hold them for many minutes.
 */
const connectTimeoutMs = 900;
const closeTimeoutSeconds = 1;
const maxConnections = 5;
const maxListedBooks = 1000;
const seedLockId = 7_202_611_211;
const undefinedTable = "42P01";

type Query = Kysely<unknown>;

export class PostgresBooks implements BookStore {
  readonly name = "database";
  readonly #url: string;
  #query: Query;
  #seeded: Promise<void> | undefined;

  constructor(url: string) {
    this.#url = url;
    this.#query = createQuery(url);
  }

  async check(signal: AbortSignal): Promise<void> {
    const query = this.#query;
    const replace = (): void => this.#replace(query);
    signal.addEventListener("abort", replace, { once: true });
    try {
      await sql`select 1`.execute(query);
    } finally {
      signal.removeEventListener("abort", replace);
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
      return await selectBooks(this.#query);
    } catch (error) {
      if ((error as { code?: string }).code !== undefinedTable) throw error;
      this.#seeded = undefined;
      await this.#ensureTable();
      return await selectBooks(this.#query);
    }
  }

  #ensureTable(): Promise<void> {
    this.#seeded ??= seed(this.#query).catch((error: unknown) => {
      this.#seeded = undefined;
      throw error;
    });
    return this.#seeded;
  }

  #replace(hanging: Query): void {
    if (hanging !== this.#query) return;
    this.#query = createQuery(this.#url);
    this.#seeded = undefined;
    void hanging.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#query.destroy();
  }
}

function createQuery(url: string): Query {
  const createClient = () => createPostgresClient({ url, maxConnections, connectTimeoutMs });
  return new Kysely({ dialect: createPostgresDialect(createClient, closeTimeoutSeconds) });
}

async function selectBooks(query: Query): Promise<readonly Book[]> {
  const { rows } = await sql<Book>`select * from books order by 1 limit ${maxListedBooks}`.execute(query);
  return rows;
}

/** Makes and fills the table when it is absent; any number of processes may do so at once. */
async function seed(query: Query): Promise<void> {
  await query.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${seedLockId})`.execute(tx);
    const found = await sql<{ isPresent: boolean }>`select to_regclass('books') is not null as "isPresent"`.execute(tx);
    if (found.rows[0]?.isPresent) return;
    await sql`create table books (id bigint primary key, title text not null, author text not null, year integer)`.execute(
      tx,
    );
    for (const { id, title, author, year } of sampleBooks) {
      await sql`insert into books (id, title, author, year) values (${id}, ${title}, ${author}, ${year})`.execute(tx);
    }
  });
}
