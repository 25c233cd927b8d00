/**
 * Tracing as a port without a library behind it: when no exporter is configured there is no tracer at all, and nothing
 * is loaded or allocated. `createTracing` makes the real one.
 */
export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

export type AttributeValue = string | number | boolean | readonly string[];
export type Attributes = Readonly<Record<string, AttributeValue>>;

export interface SpanOptions {
  readonly kind?: SpanKind;
  /** The caller: a span of this process, or the `traceparent` and `tracestate` headers of another one. */
  readonly parent?: Span | TraceHeaders | undefined;
  readonly attributes?: Attributes;
  /** Spans this one is about without being called by them: the messages of a batch. */
  readonly links?: readonly TraceHeaders[];
}

export interface TraceHeaders {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

export interface Span {
  readonly traceId: string;
  /** W3C headers for a call to the next process or for a stored message. */
  headers(): TraceHeaders;
  rename(name: string): void;
  setAttributes(attributes: Attributes): void;
  /** Marks the span as failed; the text must hold no secret. */
  fail(error: unknown): void;
  end(): void;
}

export interface Tracer {
  startSpan(name: string, options?: SpanOptions): Span;
}
