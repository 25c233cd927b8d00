import type { Logger } from "../log/logger.ts";
import type { Tracer } from "./tracer.ts";

/**
 * Tracing in the standard way, by the standard variables: off unless OTEL_EXPORTER_OTLP_ENDPOINT (or
 * OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) is set, and then the library is loaded for the first time. Spans go out in
 * batches as OTLP over HTTP; when the receiver is slow or away they are dropped, never waited for.
 */
export interface Tracing extends AsyncDisposable {
  readonly tracer: Tracer;
  /** Sends what is left, for a few seconds at most. */
  close(): Promise<void>;
}

export interface TracingOptions {
  /** `service.name` unless OTEL_SERVICE_NAME says otherwise. */
  readonly serviceName: string;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
}

/** Undefined when no endpoint is configured or OTEL_SDK_DISABLED is true. */
export async function createTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const { environment, logger } = options;
  if (environment["OTEL_SDK_DISABLED"]?.toLowerCase() === "true") return undefined;
  if (environment["OTEL_TRACES_EXPORTER"] === "none") return undefined;
  const url = findEndpoint(environment);
  if (url === undefined) return undefined;
  if (!URL.canParse(url)) {
    logger.warn({}, "tracing is off: the OTLP endpoint is not a URL");
    return undefined;
  }
  const { startOtlpTracing } = await import("./otlp-tracing.ts");
  logger.info({ endpoint: new URL(url).origin }, "tracing is on");
  return startOtlpTracing(url, options);
}

function findEndpoint(environment: TracingOptions["environment"]): string | undefined {
  const exact = environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
  if (exact) return exact;
  const base = environment["OTEL_EXPORTER_OTLP_ENDPOINT"];
  return base ? `${base.replace(/\/+$/, "")}/v1/traces` : undefined;
}
