import type { Hono } from "hono";
import { createDocsRoutes } from "../../platform/http/docs-page.ts";
import type { HttpEnv } from "../../platform/http/http-env.ts";
import type { HttpMetrics } from "../../platform/http/http-metrics.ts";
import { createRouter, type RouteRequest } from "../../platform/http/router.ts";
import type { Logger } from "../../platform/log/logger.ts";
import type { Random } from "../../platform/random/random.ts";
import type { Tracer } from "../../platform/tracing/tracer.ts";
import { createDelayedRoutes } from "./delayed-routes.ts";
import { createDeliveryRoutes } from "./delivery-routes.ts";
import { createDlqRoutes } from "./dlq-routes.ts";
import { errorBody } from "./error-body.ts";
import { createGroupRoutes } from "./group-routes.ts";
import { createMessageRoutes } from "./message-routes.ts";
import { createOffsetRoutes } from "./offset-routes.ts";
import { createQueueDocument } from "./openapi.ts";
import { createProducerRoutes } from "./producer-routes.ts";
import { publishBodyBytesMax } from "./publish-body.ts";
import { mountRoutes, type Route } from "./route.ts";
import { createSystemRoutes, type SystemRouteOptions } from "./system-routes.ts";
import { createTopicRoutes } from "./topic-routes.ts";

export interface QueueAppOptions extends SystemRouteOptions {
  readonly logger: Logger;
  readonly random: Random;
  readonly httpMetrics: HttpMetrics;
  readonly tracer?: Tracer | undefined;
}

const bodyBytesMax = 1024 * 1024;
const publishPath = /^(?:\/v1)?\/topics\/[^/]+\/messages(?:\/batch)?$/;

/** Every endpoint of the broker; the OpenAPI document lists the same. */
export function createQueueRoutes(options: SystemRouteOptions): readonly Route[] {
  const { service } = options;
  return [
    ...createTopicRoutes(service),
    ...createMessageRoutes(service),
    ...createProducerRoutes(service),
    ...createGroupRoutes(service),
    ...createOffsetRoutes(service),
    ...createDeliveryRoutes(service),
    ...createDelayedRoutes(service),
    ...createDlqRoutes(service),
    ...createSystemRoutes(options),
  ];
}

export function createQueueApp(options: QueueAppOptions): Hono<HttpEnv> {
  const app = createRouter({
    name: "queue",
    logger: options.logger,
    metrics: options.httpMetrics,
    clock: options.clock,
    random: options.random,
    errorBody,
    bodyLimitBytes,
    tracer: options.tracer,
    accessLogLevel: "debug",
  });
  const routes = createQueueRoutes(options);
  const docs = createDocsRoutes({ document: createQueueDocument(routes, options.info.version) });
  app.route("/", mountRoutes(routes));
  for (const prefix of ["/", "/v1"]) app.route(prefix, docs);
  return app;
}

function bodyLimitBytes(request: RouteRequest): number {
  return publishPath.test(request.path) ? publishBodyBytesMax : bodyBytesMax;
}
