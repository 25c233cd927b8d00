import type { Logger } from "../../platform/log/logger.ts";
import { type Book, sampleBooks } from "../model/book.ts";

/** Something outside that the service was told to use. */
export interface Dependency extends AsyncDisposable {
  readonly name: string;
  /** Resolves when it answers; throws when it does not, or when the signal says that time is up. */
  check(signal: AbortSignal): Promise<void>;
}

export interface BookStore extends Dependency {
  /** @throws DomainError DATABASE_UNAVAILABLE */
  listBooks(): Promise<readonly Book[]>;
}

export interface BookCache extends Dependency {
  /** The text kept a moment ago, if any. */
  findBooks(): Promise<string | undefined>;
  keepBooks(text: string): Promise<void>;
}

export interface ListedBooks {
  /** A JSON array. */
  readonly text: string;
  readonly origin: "memory" | "database" | "cache";
}

/** The cache saves work and is never needed: when it fails, the answer comes from the database. */
export class BookService {
  readonly #store: BookStore | undefined;
  readonly #cache: BookCache | undefined;
  readonly #logger: Logger;

  constructor(store: BookStore | undefined, cache: BookCache | undefined, logger: Logger) {
    this.#store = store;
    this.#cache = cache;
    this.#logger = logger;
  }

  async listBooks(): Promise<ListedBooks> {
    if (this.#store === undefined) return { text: JSON.stringify(sampleBooks), origin: "memory" };
    const kept = await this.#findKept();
    if (kept !== undefined) return { text: kept, origin: "cache" };
    const text = JSON.stringify(await this.#store.listBooks());
    await this.#keep(text);
    return { text, origin: "database" };
  }

  async #findKept(): Promise<string | undefined> {
    try {
      return await this.#cache?.findBooks();
    } catch (error) {
      this.#logger.debug({ err: error }, "cache does not answer");
      return undefined;
    }
  }

  async #keep(text: string): Promise<void> {
    try {
      await this.#cache?.keepBooks(text);
    } catch (error) {
      this.#logger.debug({ err: error }, "cache does not take the books");
    }
  }
}
