import {
  collectDefaultMetrics,
  Counter as PromCounter,
  Gauge as PromGauge,
  Histogram as PromHistogram,
  Registry,
} from "prom-client";

/**
 * Metrics of one server. Each server owns its registry, so that several can run in one process (tests, `slipway up`)
 * without sharing figures. Names are given in full; label names are declared with the metric.
 */
export type Labels = Readonly<Record<string, string | number>>;

export interface MetricSpec {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

export interface HistogramSpec extends MetricSpec {
  /** Upper bounds in the unit of the metric's name, ascending. */
  readonly buckets?: readonly number[];
}

export interface GaugeSpec extends MetricSpec {
  /** Called at each scrape, for values that are cheaper to read than to track. */
  readonly collect?: (gauge: Gauge) => void | Promise<void>;
}

export interface BoundCounter {
  increment(value?: number): void;
}

export interface Counter {
  increment(labels?: Labels, value?: number): void;
  /** The same series without a label lookup per call; also makes it appear with 0 before the first event. */
  bind(labels?: Labels): BoundCounter;
}

export interface Gauge {
  set(labels: Labels, value: number): void;
  add(labels: Labels, value: number): void;
  remove(labels: Labels): void;
  /** Forgets all series, for gauges that are filled anew at each scrape. */
  reset(): void;
}

export interface BoundHistogram {
  observe(value: number): void;
}

export interface Histogram {
  observe(labels: Labels, value: number): void;
  bind(labels?: Labels): BoundHistogram;
}

export interface Metrics {
  counter(spec: MetricSpec): Counter;
  gauge(spec: GaugeSpec): Gauge;
  histogram(spec: HistogramSpec): Histogram;
  /** The text exposition format, of the type `contentType`. */
  render(): Promise<string>;
  readonly contentType: string;
}

export interface MetricsOptions {
  /** Adds `process_*` and `nodejs_*`: once per process is enough. */
  readonly hasProcessMetrics?: boolean;
}

/** Seconds; from a cached answer to a stuck disk. */
export const latencyBucketsSeconds: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

export function createMetrics(options: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  if (options.hasProcessMetrics) collectDefaultMetrics({ register: registry });
  return {
    counter: (spec) => createCounter(registry, spec),
    gauge: (spec) => createGauge(registry, spec),
    histogram: (spec) => createHistogram(registry, spec),
    render: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

function createCounter(registry: Registry, spec: MetricSpec): Counter {
  const counter = new PromCounter({ ...namesOf(spec), registers: [registry] });
  return {
    increment: (labels = {}, value = 1) => counter.inc(labels, value),
    bind(labels = {}) {
      const child = counter.labels(labels);
      child.inc(0);
      return { increment: (value = 1) => child.inc(value) };
    },
  };
}

function createGauge(registry: Registry, spec: GaugeSpec): Gauge {
  const { collect } = spec;
  const gauge = new PromGauge({
    ...namesOf(spec),
    registers: [registry],
    ...(collect === undefined ? {} : { collect: () => collect(port) }),
  });
  const port: Gauge = {
    set: (labels, value) => gauge.set(labels, value),
    add: (labels, value) => gauge.inc(labels, value),
    remove: (labels) => gauge.remove(labels),
    reset: () => gauge.reset(),
  };
  return port;
}

function createHistogram(registry: Registry, spec: HistogramSpec): Histogram {
  const histogram = new PromHistogram({
    ...namesOf(spec),
    buckets: [...(spec.buckets ?? latencyBucketsSeconds)],
    registers: [registry],
  });
  return {
    observe: (labels, value) => histogram.observe(labels, value),
    bind(labels = {}) {
      const child = histogram.labels(labels);
      return { observe: (value) => child.observe(value) };
    },
  };
}

function namesOf(spec: MetricSpec): { name: string; help: string; labelNames: string[] } {
  return { name: spec.name, help: spec.help, labelNames: [...(spec.labels ?? [])] };
}
