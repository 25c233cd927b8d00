import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { matchedRoutes } from "hono/route";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { DomainError } from "../errors/domain-error.ts";
import { statusByKind } from "../errors/status-map.ts";
import type { Logger } from "../log/logger.ts";
import type { Random } from "../random/random.ts";
import { type Clock, systemTimers } from "../time/clock.ts";
import type { Span, Tracer } from "../tracing/tracer.ts";
import { type HttpContext, type HttpEnv, remoteAddress } from "./http-env.ts";
import { ClientGoneError, createHttpError, toPublicError } from "./http-errors.ts";
import { type HttpMetrics, unmatchedRoute } from "./http-metrics.ts";
import { assertDeclaredLength, readBody } from "./read-body.ts";

/**
 * The one router of all servers: request ids, access log, metrics, spans, limits and the translation of errors are the
 * same everywhere; only the shape of an error body belongs to the feature. Sub-apps are plain `new Hono<HttpEnv>()`
 * mounted with `app.route`; they set neither `onError` nor `notFound`.
 */
export interface ErrorRequest {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
}

export interface RouteRequest {
  readonly method: string;
  readonly path: string;
}

export interface RouterOptions {
  readonly name: string;
  readonly logger: Logger;
  readonly metrics: HttpMetrics;
  readonly clock: Clock;
  readonly random: Random;
  /** The body of an error; a string is sent as plain text, anything else as JSON. Internal errors arrive disguised. */
  readonly errorBody: (error: DomainError, request: ErrorRequest) => unknown;
  /** Headers beside Retry-After and Allow, for example WWW-Authenticate. */
  readonly errorHeaders?: (error: DomainError, request: ErrorRequest) => Readonly<Record<string, string>>;
  /** Of any request, or by request. Handlers may set a lower one when they read. */
  readonly bodyLimitBytes: number | ((request: RouteRequest) => number);
  /** How long a handler may take before the answer is 504; absent or undefined means no limit. */
  readonly requestTimeoutMs?: number | ((request: RouteRequest) => number | undefined);
  readonly tracer?: Tracer | undefined;
  /** Level of the line per request; probes are logged at `debug` always. */
  readonly accessLogLevel?: "info" | "debug";
}

/** Not an error: nginx's number for a client that left; it is logged and counted, nobody receives it. */
const clientGoneStatus = 499;
const probePaths = new Set(["/healthz", "/readyz", "/livez", "/health", "/metrics"]);
const sanePattern = /^[\w.:/+=@-]{1,128}$/;
const routableMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"];

export function createRouter(options: RouterOptions): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>();
  const logger = options.logger.child({ server: options.name });
  app.use(async (context, next) => {
    const startedMs = options.clock.monotonicMs();
    const requestId = chooseRequestId(context.req.header("x-request-id"), options.random);
    const span = startServerSpan(context, options.tracer);
    context.set("requestId", requestId);
    context.set("serverLogger", logger);
    context.set("span", span);
    context.header("X-Request-Id", requestId);
    await next();
    if (context.res.headers.get("x-request-id") === null) context.header("X-Request-Id", requestId);
    finishRequest({ context, options, logger, span, durationMs: options.clock.monotonicMs() - startedMs });
  });
  app.use(async (context, next) => {
    applyBodyLimit(context, options);
    await runWithTimeout(context, options, next);
  });
  app.notFound((context) => answerError(refuseUnrouted(app, context), context, options));
  app.onError((error, context) => {
    context.set("failure", error);
    if (error instanceof ClientGoneError) return new Response(null, { status: clientGoneStatus });
    const shown = error instanceof HTTPException ? fromHttpException(error) : toPublicError(error);
    if (shown.kind === "internal") {
      logger.error({ err: error, requestId: context.get("requestId"), method: context.req.method }, "request failed");
    }
    return answerError(shown, context, options);
  });
  return app;
}

function chooseRequestId(given: string | undefined, random: Random): string {
  return given !== undefined && sanePattern.test(given) ? given : random.uuid();
}

function startServerSpan(context: HttpContext, tracer: Tracer | undefined): Span | undefined {
  if (tracer === undefined) return undefined;
  return tracer.startSpan(context.req.method, {
    kind: "server",
    parent: { traceparent: context.req.header("traceparent"), tracestate: context.req.header("tracestate") },
    attributes: { "http.request.method": context.req.method, "url.path": context.req.path },
  });
}

interface FinishedRequest {
  readonly context: HttpContext;
  readonly options: RouterOptions;
  readonly logger: Logger;
  readonly span: Span | undefined;
  readonly durationMs: number;
}

function finishRequest({ context, options, logger, span, durationMs }: FinishedRequest): void {
  const { method, path } = context.req;
  const { status } = context.res;
  const route = routeOf(context) ?? unmatchedRoute;
  options.metrics.observe({ route, method, status, durationMs });
  const fields = {
    requestId: context.get("requestId"),
    method,
    path,
    route,
    status,
    durationMs: Math.round(durationMs * 1000) / 1000,
    remoteAddress: remoteAddress(context),
  };
  if (probePaths.has(path) || options.accessLogLevel === "debug") logger.debug(fields, "request");
  else logger.info(fields, "request");
  if (span === undefined) return;
  span.rename(`${method} ${route}`);
  span.setAttributes({ "http.route": route, "http.response.status_code": status });
  if (status >= 500) span.fail(context.get("failure") ?? `status ${status}`);
  span.end();
}

/** The pattern of the handler in the form `/topics/{name}`, or undefined when only middleware matched. */
function routeOf(context: HttpContext): string | undefined {
  const handler = matchedRoutes(context).findLast((route) => route.method !== "ALL" || !route.path.endsWith("*"));
  if (handler === undefined) return undefined;
  return handler.path.replaceAll(/:(\w+)(?:\{[^}]*\})?\??/g, "{$1}");
}

function applyBodyLimit(context: HttpContext, options: RouterOptions): void {
  const { bodyLimitBytes } = options;
  const limitBytes = typeof bodyLimitBytes === "number" ? bodyLimitBytes : bodyLimitBytes(context.req);
  context.set("bodyLimitBytes", limitBytes);
  const declared = context.req.header("content-length");
  assertDeclaredLength(declared, limitBytes);
  if (declared === undefined && context.req.method !== "GET" && context.req.method !== "HEAD") boundReaders(context);
}

/** A body of undeclared length is bounded even when a handler or a library reads it with hono's own methods. */
function boundReaders(context: HttpContext): void {
  const read = async (): Promise<Buffer> => Buffer.from(await readBody(context));
  context.req.arrayBuffer = async () => new Uint8Array(await read()).buffer;
  context.req.text = async () => (await read()).toString("utf8");
  context.req.json = async () => JSON.parse((await read()).toString("utf8"));
}

async function runWithTimeout(context: HttpContext, options: RouterOptions, next: () => Promise<void>): Promise<void> {
  const { requestTimeoutMs } = options;
  const limitMs = typeof requestTimeoutMs === "function" ? requestTimeoutMs(context.req) : requestTimeoutMs;
  if (limitMs === undefined) return await next();
  const controller = new AbortController();
  context.set("timeoutSignal", controller.signal);
  const work = next();
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = systemTimers.after(limitMs, () => {
    const error = createHttpError("TIMEOUT", `Cannot answer the request: it took longer than ${limitMs / 1000} s`);
    reject(error);
    controller.abort(error);
  });
  try {
    await Promise.race([work, expired]);
  } finally {
    timer.cancel();
  }
}

/** 405 with the methods that the path does answer, or 404. */
function refuseUnrouted(app: Hono<HttpEnv>, context: HttpContext): DomainError {
  const { method, path } = context.req;
  const allowed = routableMethods.filter((candidate) => hasHandler(app, candidate, path));
  if (allowed.length === 0) {
    return createHttpError("NOT_FOUND", `Cannot find "${path}": there is no such route`, { details: { path } });
  }
  if (allowed.includes("GET")) allowed.splice(1, 0, "HEAD");
  context.header("Allow", allowed.join(", "));
  return createHttpError("METHOD_NOT_ALLOWED", `Cannot ${method} "${path}": allowed are ${allowed.join(", ")}`, {
    details: { method, allowed },
  });
}

function hasHandler(app: Hono<HttpEnv>, method: string, path: string): boolean {
  return app.router.match(method, path)[0].some(([[, route]]) => route.method === method);
}

function fromHttpException(error: HTTPException): DomainError {
  const kind = Object.entries(statusByKind).find(([, row]) => row.http === error.status)?.[0];
  if (kind === undefined || error.status >= 500) return toPublicError(error);
  return new DomainError(kind.toUpperCase(), { kind: kind as DomainError["kind"] }, error.message);
}

function answerError(error: DomainError, context: HttpContext, options: RouterOptions): Response {
  const request = { requestId: context.get("requestId"), method: context.req.method, path: context.req.path };
  const body = options.errorBody(error, request);
  const headers: Record<string, string> = {
    "Content-Type": typeof body === "string" ? "text/plain; charset=utf-8" : "application/json",
    ...(error.retryAfterSeconds === undefined ? {} : { "Retry-After": String(Math.ceil(error.retryAfterSeconds)) }),
    ...options.errorHeaders?.(error, request),
  };
  // NOTE: a body that was refused or is late would be waited for; the connection ends after the answer instead.
  if (error.kind === "payload_too_large" || error.kind === "request_timeout") headers["Connection"] = "close";
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return context.newResponse(text, { status: statusByKind[error.kind].http as ContentfulStatusCode, headers });
}
