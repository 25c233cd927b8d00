import { createHttpMetrics } from "../platform/http/http-metrics.ts";
import { createRouter } from "../platform/http/router.ts";
import { type HttpServer, serveHttp } from "../platform/http/serve-http.ts";
import type { Logger } from "../platform/log/logger.ts";
import { createMetrics } from "../platform/metrics/metrics.ts";
import { systemRandom } from "../platform/random/random.ts";
import { systemClock } from "../platform/time/clock.ts";
import type { Tracer } from "../platform/tracing/tracer.ts";
import type { CatalogConfig } from "./config.ts";
import { createCatalogRoutes } from "./http/catalog-routes.ts";
import { type BookCache, BookService, type BookStore, type Dependency } from "./service/book-service.ts";
import { createObserver } from "./service/observe-dependency.ts";

/** Nothing is posted to this service. */
const bodyLimitBytes = 64 * 1024;
const requestTimeoutMs = 10_000;
const shutdownDeadlineMs = 15_000;

export interface RunningCatalog extends AsyncDisposable {
  readonly server: HttpServer;
}

export interface CatalogPorts {
  readonly logger: Logger;
  readonly tracer?: Tracer | undefined;
}

/** Serves at once, whatever the state of database and cache; `/readyz` tells of them. */
export async function startCatalog(config: CatalogConfig, { logger, tracer }: CatalogPorts): Promise<RunningCatalog> {
  const metrics = createMetrics({ hasProcessMetrics: true });
  const store = await createStore(config);
  const cache = await createCache(config, logger);
  const dependencies = [store, cache].filter((item): item is NonNullable<typeof item> => item !== undefined);
  const close = async (): Promise<void> => {
    await Promise.all(dependencies.map((dependency) => dependency[Symbol.asyncDispose]()));
  };
  const app = createRouter({
    name: "catalog",
    logger,
    metrics: createHttpMetrics(metrics, "catalog"),
    clock: systemClock,
    random: systemRandom,
    errorBody: (error) => ({ error: { code: error.code, message: error.message, details: error.details } }),
    bodyLimitBytes,
    requestTimeoutMs,
    tracer,
  });
  const observe = createObserver(metrics, logger);
  const checks = dependencies.map((item: Dependency) => ({ name: item.name, check: observe(item) }));
  const service = new BookService(store, cache, logger);
  app.route("/", createCatalogRoutes({ service, checks, metrics }));
  try {
    const server = await serveHttp({ app, listen: { host: undefined, port: config.port }, logger, shutdownDeadlineMs });
    const dispose = async (): Promise<void> => {
      await server.close();
      await close();
    };
    return { server, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The client libraries are loaded only when they are used: without them the service starts in half the time. */
async function createStore({ databaseUrl }: CatalogConfig): Promise<BookStore | undefined> {
  if (databaseUrl === undefined) return undefined;
  const { PostgresBooks } = await import("./store/postgres-books.ts");
  return new PostgresBooks(databaseUrl);
}

async function createCache({ cacheUrl }: CatalogConfig, logger: Logger): Promise<BookCache | undefined> {
  if (cacheUrl === undefined) return undefined;
  const { RedisCache } = await import("./drivers/redis-cache.ts");
  return new RedisCache(cacheUrl, logger);
}
