import { createClient } from "@redis/client";
import type { Logger } from "../../platform/log/logger.ts";
import type { BookCache } from "../service/book-service.ts";

/**
 * A Redis that keeps the list of books for a moment. The client connects again by itself, a few times a second, and
 * while it is not connected commands fail at once instead of piling up; one that hangs is replaced.
 */
const connectTimeoutMs = 900;
const reconnectDelayMs = 250;
const commandTimeoutMs = 900;
const maxQueuedCommands = 1000;
const keptMs = 1000;
const booksKey = "catalog:books";

type Client = ReturnType<typeof connect>;

export class RedisCache implements BookCache {
  readonly name = "cache";
  readonly #url: string;
  readonly #logger: Logger;
  #client: Client;

  constructor(url: string, logger: Logger) {
    this.#url = url;
    this.#logger = logger;
    this.#client = connect(url, logger);
  }

  async check(signal: AbortSignal): Promise<void> {
    const client = this.#client;
    const reset = (): void => this.#replace(client);
    signal.addEventListener("abort", reset, { once: true });
    try {
      await client.ping();
    } finally {
      signal.removeEventListener("abort", reset);
    }
  }

  async findBooks(): Promise<string | undefined> {
    return (await this.#client.get(booksKey)) ?? undefined;
  }

  async keepBooks(text: string): Promise<void> {
    await this.#client.set(booksKey, text, { expiration: { type: "PX", value: keptMs } });
  }

  #replace(hanging: Client): void {
    if (hanging !== this.#client) return;
    this.#client = connect(this.#url, this.#logger);
    hanging.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.destroy();
  }
}

function connect(url: string, logger: Logger) {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    commandsQueueMaxLength: maxQueuedCommands,
    commandOptions: { timeout: commandTimeoutMs },
    socket: { connectTimeout: connectTimeoutMs, reconnectStrategy: () => reconnectDelayMs },
  });
  client.on("error", (error: unknown) => logger.debug({ err: error }, "cache connection failed"));
  client.connect().catch((error: unknown) => logger.debug({ err: error }, "cache connection given up"));
  return client;
}
