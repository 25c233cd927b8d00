import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  type Span as OtelSpan,
  SpanKind as OtelSpanKind,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Tracing, TracingOptions } from "./create-tracing.ts";
import type { Attributes, Span, SpanKind, SpanOptions, TraceHeaders, Tracer } from "./tracer.ts";

/** The OpenTelemetry side of the tracing port; only `create-tracing.ts` loads it, and only when it is wanted. */
const exportTimeoutMs = 3000;
const exportIntervalMs = 1000;
const maxQueuedSpans = 8192;
const propagator = new W3CTraceContextPropagator();

const kinds: Readonly<Record<SpanKind, OtelSpanKind>> = {
  internal: OtelSpanKind.INTERNAL,
  server: OtelSpanKind.SERVER,
  client: OtelSpanKind.CLIENT,
  producer: OtelSpanKind.PRODUCER,
  consumer: OtelSpanKind.CONSUMER,
};

export function startOtlpTracing(url: string, options: TracingOptions): Tracing {
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: exportTimeoutMs });
  const processor = new BatchSpanProcessor({
    exporter,
    scheduledDelayMillis: exportIntervalMs,
    exportTimeoutMillis: exportTimeoutMs,
    maxQueueSize: maxQueuedSpans,
  });
  const provider = new TracerProvider({
    resource: createResource(options),
    sampler: createSampler(options),
    spanProcessors: [processor],
  });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= provider.shutdown().catch(() => options.logger.warn({}, "the last spans could not be sent"));
    return closing;
  };
  return { tracer: new OtlpTracer(provider.getTracer("slipway")), close, [Symbol.asyncDispose]: close };
}

function createResource({ serviceName, version, environment }: TracingOptions): Resource {
  const attributes: Record<string, string> = { "service.version": version };
  for (const pair of (environment["OTEL_RESOURCE_ATTRIBUTES"] ?? "").split(",")) {
    const [name, ...value] = pair.split("=");
    if (name?.trim() && value.length > 0) attributes[name.trim()] = decodeText(value.join("=").trim());
  }
  attributes["service.name"] = environment["OTEL_SERVICE_NAME"] || attributes["service.name"] || serviceName;
  return resourceFromAttributes(attributes);
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function createSampler({ environment, logger }: TracingOptions): Sampler {
  const name = environment["OTEL_TRACES_SAMPLER"] || "parentbased_always_on";
  const root = createRootSampler(name.replace(/^parentbased_/, ""), environment["OTEL_TRACES_SAMPLER_ARG"]);
  if (root === undefined) logger.warn({ sampler: name }, "unknown OTEL_TRACES_SAMPLER: every trace is kept");
  const sampler = root ?? new AlwaysOnSampler();
  return name.startsWith("parentbased_") ? new ParentBasedSampler({ root: sampler }) : sampler;
}

function createRootSampler(name: string, argument: string | undefined): Sampler | undefined {
  const ratio = argument === undefined || argument === "" ? 1 : Number(argument);
  switch (name) {
    case "always_on":
      return new AlwaysOnSampler();
    case "always_off":
      return new AlwaysOffSampler();
    case "traceidratio":
      return Number.isFinite(ratio) ? new TraceIdRatioBasedSampler(ratio) : undefined;
    default:
      return undefined;
  }
}

class OtlpTracer implements Tracer {
  readonly #tracer: OtelTracer;

  constructor(tracer: OtelTracer) {
    this.#tracer = tracer;
  }

  startSpan(name: string, options: SpanOptions = {}): Span {
    const links = (options.links ?? []).flatMap((headers) => trace.getSpanContext(readHeaders(headers)) ?? []);
    const span = this.#tracer.startSpan(
      name,
      {
        kind: kinds[options.kind ?? "internal"],
        attributes: toMutable(options.attributes ?? {}),
        links: links.map((context) => ({ context })),
      },
      contextOf(options.parent),
    );
    return new OtlpSpan(span);
  }
}

class OtlpSpan implements Span {
  readonly #span: OtelSpan;

  constructor(span: OtelSpan) {
    this.#span = span;
  }

  get context(): Context {
    return trace.setSpan(ROOT_CONTEXT, this.#span);
  }

  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  headers(): TraceHeaders {
    const headers: Record<string, string> = {};
    propagator.inject(this.context, headers, defaultTextMapSetter);
    return headers;
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  setAttributes(attributes: Attributes): void {
    this.#span.setAttributes(toMutable(attributes));
  }

  fail(error: unknown): void {
    const isError = error instanceof Error;
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message: isError ? error.name : String(error) });
    this.#span.setAttributes({ "error.type": isError ? error.name : "error" });
  }

  end(): void {
    this.#span.end();
  }
}

function contextOf(parent: SpanOptions["parent"]): Context {
  if (parent === undefined) return ROOT_CONTEXT;
  return parent instanceof OtlpSpan ? parent.context : readHeaders(isSpan(parent) ? parent.headers() : parent);
}

function isSpan(parent: Span | TraceHeaders): parent is Span {
  return "end" in parent;
}

/** Headers that are absent or malformed give a context without a parent: a new trace starts. */
function readHeaders(headers: TraceHeaders): Context {
  return propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
}

function toMutable(attributes: Attributes): Record<string, string | number | boolean | string[]> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, typeof value === "object" ? [...value] : value]),
  );
}
