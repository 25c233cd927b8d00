import { Hono } from "hono";
import { createHealthRoutes, createMetricsRoute, type HealthCheck } from "../../platform/http/health-routes.ts";
import type { HttpEnv } from "../../platform/http/http-env.ts";
import type { Metrics } from "../../platform/metrics/metrics.ts";
import type { BookService } from "../service/book-service.ts";

/** Short enough that a probe sees a change within about a second. */
const checkTimeoutMs = 900;

export interface CatalogRoutesOptions {
  readonly service: BookService;
  readonly checks: readonly HealthCheck[];
  readonly metrics: Metrics;
}

export function createCatalogRoutes({ service, checks, metrics }: CatalogRoutesOptions): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>();
  app.get("/books", async (context) => {
    const { text, origin } = await service.listBooks();
    return context.body(text, 200, { "Content-Type": "application/json", "X-Catalog-Origin": origin });
  });
  const health = createHealthRoutes(
    [
      { path: "/healthz", checks: [], body: () => ({ status: "ok" }) },
      {
        path: "/readyz",
        checks,
        body: (isOk, results) => (isOk ? { status: "ready" } : { status: "unavailable", checks: namesOf(results) }),
      },
    ],
    checkTimeoutMs,
  );
  app.route("/", health);
  app.route("/", createMetricsRoute(metrics));
  return app;
}

/** Reasons stay in the log: they name hosts. */
function namesOf(results: readonly { readonly name: string; readonly isOk: boolean }[]): Record<string, string> {
  return Object.fromEntries(results.map(({ name, isOk }) => [name, isOk ? "ok" : "unreachable"]));
}
