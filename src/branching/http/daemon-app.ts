import { Hono, type MiddlewareHandler } from "hono";
import type { DomainError } from "../../platform/errors/domain-error.ts";
import { createSecretCheck, readBearer } from "../../platform/http/bearer.ts";
import { createDocsRoutes } from "../../platform/http/docs-page.ts";
import { createHealthRoutes, createMetricsRoute } from "../../platform/http/health-routes.ts";
import type { HttpEnv } from "../../platform/http/http-env.ts";
import { createHttpMetrics } from "../../platform/http/http-metrics.ts";
import { createOpenApiDocument } from "../../platform/http/openapi.ts";
import { createRouter } from "../../platform/http/router.ts";
import { securityHeaders } from "../../platform/http/security-headers.ts";
import { loadStaticPage } from "../../platform/http/static-page.ts";
import type { Logger } from "../../platform/log/logger.ts";
import type { Metrics } from "../../platform/metrics/metrics.ts";
import type { Random } from "../../platform/random/random.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { Tracer } from "../../platform/tracing/tracer.ts";
import { branchingError } from "../errors.ts";
import { createEngineRoutes, type EngineRoutesOptions } from "./engine-routes.ts";

/** The daemon over HTTP: the API behind a bearer token; probes, metrics and the page in front of it. */
export interface DaemonAppOptions extends EngineRoutesOptions {
  /** The built-in admin token. */
  readonly token: string;
  readonly version: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly tracer: Tracer | undefined;
}

const bodyLimitBytes = 1024 * 1024;
const pageAsset = "branching/http/ui.html";

export function createDaemonApp(options: DaemonAppOptions): Hono<HttpEnv> {
  const app = createRouter({
    ...options,
    name: "bsd",
    metrics: createHttpMetrics(options.metrics, "branchsvc"),
    errorBody: (error: DomainError) => ({ error: error.code === "INTERNAL" ? "internal server error" : error.message }),
    errorHeaders: (error): Readonly<Record<string, string>> =>
      error.kind === "unauthenticated" ? { "WWW-Authenticate": "Bearer" } : {},
    bodyLimitBytes,
  });
  app.use(securityHeaders());
  const body = (isOk: boolean) => ({ status: isOk ? "ok" : "unavailable" });
  const { engine } = options;
  app.route(
    "/",
    createHealthRoutes([
      { path: "/healthz", checks: [], body },
      {
        path: "/readyz",
        checks: [
          { name: "registry", check: () => checkRegistry(options) },
          { name: "runtime", check: async () => void (await engine.describeRuntime()) },
        ],
        body,
      },
    ]),
  );
  app.route("/", createMetricsRoute(options.metrics));
  app.route("/", createPageRoutes());
  const routes = createEngineRoutes(options);
  const document = createOpenApiDocument(routes.specs, {
    title: "bsd",
    version: options.version,
    description: "Copy-on-write Postgres branches.",
  });
  app.route("/", createDocsRoutes({ document }));
  app.use("/v1/*", createGuard(options.token));
  app.route("/", routes.app);
  return app;
}

async function checkRegistry({ engine }: DaemonAppOptions): Promise<void> {
  if (!(await engine.isRegistryReachable())) throw new Error("the registry cannot be read");
}

function createGuard(token: string): MiddlewareHandler<HttpEnv> {
  const isWanted = createSecretCheck(token);
  return async (context, next) => {
    const bearer = readBearer(context);
    if (bearer === undefined || !isWanted(bearer)) {
      throw branchingError("token_invalid", "Cannot answer: a valid bearer token is needed");
    }
    await next();
  };
}

function createPageRoutes(): Hono<HttpEnv> {
  const page = loadStaticPage(pageAsset);
  const app = new Hono<HttpEnv>();
  app.get("/", (context) => context.redirect("/ui/"));
  app.get("/ui", (context) => context.redirect("/ui/"));
  app.get("/ui/", (context) => {
    context.header("Content-Security-Policy", page.policy);
    return context.html(page.html);
  });
  return app;
}
