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
import { fleetError } from "../errors.ts";
import type { IgnoreRule } from "../model/ignore-rules.ts";
import type { GateService } from "../service/gate-service.ts";
import { createGateRoutes } from "./gate-routes.ts";
import { createHostCheck } from "./host-check.ts";
import { createRegistryRoutes } from "./registry-routes.ts";

/** The HTTP side of the hub: what is public, what needs a read credential, and how errors look. */
export interface HubAppOptions {
  readonly gate: GateService;
  readonly toolVersion: string;
  /** Whole-fleet token; without one the read API is open, which the start allows on loopback only. */
  readonly readToken: string | undefined;
  readonly allowedHosts: readonly string[];
  /** A routable address with a read credential answers under any name. */
  readonly isHostChecked: boolean;
  readonly gateBytesMax: number;
  readonly defaultTarget: string;
  readonly parseConfig: (text: string) => readonly IgnoreRule[];
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly tracer: Tracer | undefined;
}

const pageAsset = "fleet/http/page.html";

export function createHubApp(options: HubAppOptions): Hono<HttpEnv> {
  const { metrics, gate, toolVersion } = options;
  const app = createRouter({
    ...options,
    name: "fleetscope",
    metrics: createHttpMetrics(metrics, "fleetscope"),
    errorBody: (error: DomainError) => ({ error: error.message }),
    errorHeaders: (error): Readonly<Record<string, string>> =>
      error.kind === "unauthenticated" ? { "WWW-Authenticate": "Bearer" } : {},
    bodyLimitBytes: options.gateBytesMax,
  });
  app.use(securityHeaders());
  if (options.isHostChecked) app.use(createHostCheck({ ...options, refused: refusedHosts(metrics) }));
  const probe = (path: string) => ({ path, checks: [], body: () => ({ status: "ok" }) });
  app.route("/", createHealthRoutes([probe("/healthz"), probe("/readyz")]));
  const gateRoutes = createGateRoutes({ ...options, bodyLimitBytes: options.gateBytesMax });
  const registryRoutes = createRegistryRoutes(gate.knowledgeBase);
  const document = createOpenApiDocument([...gateRoutes.specs, ...registryRoutes.specs], {
    title: "fleetscope",
    version: toolVersion,
    description: "What breaks when this fleet of Kubernetes clusters moves to the next minor.",
  });
  app.route("/", createDocsRoutes({ document }));
  app.route("/", createPageRoute(options.defaultTarget));
  const guard = createReadGuard(options.readToken);
  app.use("/api/*", guard);
  app.use("/metrics", guard);
  app.route("/", gateRoutes.app);
  app.route("/", registryRoutes.app);
  app.route("/", createMetricsRoute(metrics));
  return app;
}

function refusedHosts(metrics: Metrics) {
  return metrics.counter({
    name: "fleetscope_hosts_refused_total",
    help: "Requests refused because their Host is no name of this server.",
    labels: ["route", "method", "code"],
  });
}

/** A bearer that matches nothing is refused even when the API is open: it shows a mistake that must not stay unseen. */
function createReadGuard(readToken: string | undefined): MiddlewareHandler<HttpEnv> {
  const isWanted = readToken === undefined ? undefined : createSecretCheck(readToken);
  return async (context, next) => {
    const bearer = readBearer(context);
    const isAllowed = bearer === undefined ? isWanted === undefined : isWanted?.(bearer) === true;
    if (!isAllowed) throw fleetError("read_credential_missing", "Cannot answer: a valid read token is needed");
    await next();
  };
}

function createPageRoute(defaultTarget: string): Hono<HttpEnv> {
  const page = loadStaticPage(pageAsset, { target: defaultTarget });
  const app = new Hono<HttpEnv>();
  app.get("/", (context) => {
    context.header("Content-Security-Policy", page.policy);
    return context.html(page.html);
  });
  return app;
}
