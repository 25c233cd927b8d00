import { type CallContext, ServerError, type ServerMiddleware, type ServerMiddlewareCall } from "nice-grpc-common";
import { DomainError } from "../errors/domain-error.ts";
import { statusByKind } from "../errors/status-map.ts";
import type { Logger } from "../log/logger.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Clock } from "../time/clock.ts";
import type { Span, Tracer } from "../tracing/tracer.ts";
import { encodeStatusDetails, statusDetailsTrailer } from "./status-details.ts";

export interface GrpcMetrics {
  observe(call: { readonly method: string; readonly code: number; readonly durationMs: number }): void;
}

/** @param prefix of the metric names, for example `queue` for `queue_grpc_requests_total` */
export function createGrpcMetrics(metrics: Metrics, prefix: string): GrpcMetrics {
  const total = metrics.counter({
    name: `${prefix}_grpc_requests_total`,
    help: "gRPC calls ended, by method and numeric status code.",
    labels: ["method", "code"],
  });
  const duration = metrics.histogram({
    name: `${prefix}_grpc_request_duration_seconds`,
    help: "Time from the start of a gRPC call to its end, by method.",
    labels: ["method"],
  });
  return {
    observe({ method, code, durationMs }) {
      total.increment({ method, code });
      duration.observe({ method }, durationMs / 1000);
    },
  };
}

export interface CallMiddlewareOptions {
  /** Of the ErrorInfo, for example `queue`. */
  readonly errorDomain: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics?: GrpcMetrics | undefined;
  readonly tracer?: Tracer | undefined;
}

/** The span of a call, for spans below it and for headers of stored messages. */
const spans = new WeakMap<CallContext, Span>();

export function findCallSpan(context: CallContext): Span | undefined {
  return spans.get(context);
}

const okCode = 0;
const cancelledCode = 1;

/**
 * Around each call: domain errors become statuses with details, internal ones are logged once and hidden, every call
 * is counted. Streams pass through untouched.
 */
export function createCallMiddleware(options: CallMiddlewareOptions): ServerMiddleware {
  return async function* handleCall<Request, Response>(
    call: ServerMiddlewareCall<Request, Response>,
    context: CallContext,
  ) {
    const startedMs = options.clock.monotonicMs();
    const span = startCallSpan(call.method.path, context, options.tracer);
    // A consumer that stops reading ends the generator with `return`: that is a cancelled call.
    let code = cancelledCode;
    try {
      const result = yield* call.next(call.request, context);
      code = okCode;
      return result;
    } catch (error) {
      const shown = toServerError(error, call.method.path, context, options);
      code = shown.code;
      span?.fail(error);
      throw shown;
    } finally {
      const durationMs = options.clock.monotonicMs() - startedMs;
      options.metrics?.observe({ method: call.method.path, code, durationMs });
      span?.setAttributes({ "rpc.grpc.status_code": code });
      span?.end();
    }
  };
}

function startCallSpan(path: string, context: CallContext, tracer: Tracer | undefined): Span | undefined {
  if (tracer === undefined) return undefined;
  const span = tracer.startSpan(path.replace(/^\//, ""), {
    kind: "server",
    parent: { traceparent: context.metadata.get("traceparent"), tracestate: context.metadata.get("tracestate") },
    attributes: { "rpc.system": "grpc", "rpc.method": path },
  });
  spans.set(context, span);
  return span;
}

function toServerError(
  error: unknown,
  method: string,
  context: CallContext,
  options: CallMiddlewareOptions,
): ServerError {
  if (error instanceof ServerError) return error;
  if (error instanceof Error && error.name === "AbortError")
    return new ServerError(cancelledCode, "call was cancelled");
  if (!(error instanceof DomainError) || error.kind === "internal") {
    options.logger.error({ err: error, method }, "call failed");
    return new ServerError(statusByKind.internal.grpc, "internal error");
  }
  context.trailer.set(statusDetailsTrailer, encodeStatusDetails(error, options.errorDomain));
  return new ServerError(statusByKind[error.kind].grpc, error.message);
}
