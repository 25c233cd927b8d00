import type { Metrics } from "../metrics/metrics.ts";

export interface ObservedRequest {
  /** The pattern, never the path: `/topics/{name}`; requests that match none count as `unmatched`. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly durationMs: number;
}

/** Request metrics of one server; shared between the router and a hot path in front of it. */
export interface HttpMetrics {
  observe(request: ObservedRequest): void;
}

export const unmatchedRoute = "unmatched";

const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** @param prefix of the metric names, for example `queue` for `queue_http_requests_total` */
export function createHttpMetrics(metrics: Metrics, prefix: string): HttpMetrics {
  const total = metrics.counter({
    name: `${prefix}_http_requests_total`,
    help: "HTTP requests answered, by route pattern, method and status code.",
    labels: ["route", "method", "code"],
  });
  const duration = metrics.histogram({
    name: `${prefix}_http_request_duration_seconds`,
    help: "Time from the arrival of a request to its answer, by route pattern.",
    labels: ["route"],
  });
  return {
    observe(request) {
      const method = knownMethods.has(request.method) ? request.method : "other";
      total.increment({ route: request.route, method, code: request.status });
      duration.observe({ route: request.route }, request.durationMs / 1000);
    },
  };
}
