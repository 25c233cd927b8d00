import { z } from "zod";
import type { CheckResult, HealthCheck } from "../../platform/http/health-routes.ts";
import { healthCheckTimeoutMs, runHealthChecks } from "../../platform/http/health-routes.ts";
import type { HttpContext } from "../../platform/http/http-env.ts";
import type { Metrics } from "../../platform/metrics/metrics.ts";
import { type Clock, formatInstant } from "../../platform/time/clock.ts";
import type { QueueService } from "../service/queue-service.ts";
import type { Route } from "./route.ts";

export interface SystemInfo {
  readonly nodeId: string;
  readonly version: string;
  readonly startedAtMs: number;
}

export interface SystemRouteOptions {
  readonly service: QueueService;
  readonly info: SystemInfo;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** What must hold for traffic to be sent here. */
  readonly readinessChecks: readonly HealthCheck[];
  /** What an operator should be told of although traffic is served. */
  readonly healthChecks: readonly HealthCheck[];
}

const tag = "System";

const healthSchema = z
  .object({
    status: z.enum(["ok", "degraded", "fail"]),
    timestamp: z.string(),
    uptime_seconds: z.number().min(0),
    checks: z.record(z.string(), z.object({ status: z.enum(["ok", "fail"]), message: z.string().optional() })),
  })
  .meta({ id: "Health" });

const countsSchema = z.array(z.int().min(0)).length(5).meta({ description: "From critical to background" });

const statsSchema = z
  .object({
    node_id: z.string(),
    uptime_seconds: z.number().min(0),
    topics: z.int().min(0),
    partitions: z.int().min(0),
    groups: z.int().min(0),
    members: z.int().min(0),
    in_flight: z.int().min(0),
    retrying: z.int().min(0),
    delayed: z.int().min(0),
    total_size_bytes: z.int().min(0),
  })
  .meta({ id: "Stats" });

export function createSystemRoutes(options: SystemRouteOptions): readonly Route[] {
  return [...probeRoutes(options), ...statsRoutes(options)];
}

function probeRoutes(options: SystemRouteOptions): readonly Route[] {
  const shared = { method: "GET", tag, status: 200, response: healthSchema, errors: [503] } as const;
  return [
    {
      ...shared,
      path: "/livez",
      operationId: "livez",
      summary: "Is the process alive",
      handle: (context) => answerHealth(context, options, { checks: [], failure: "fail" }),
    },
    {
      ...shared,
      path: "/readyz",
      operationId: "readyz",
      summary: "Can it serve traffic",
      handle: (context) => answerHealth(context, options, { checks: options.readinessChecks, failure: "fail" }),
    },
    {
      ...shared,
      path: "/healthz",
      operationId: "healthz",
      summary: "Is all well; 503 when degraded",
      aliases: ["/health"],
      handle: (context) =>
        answerHealth(context, options, {
          checks: [...options.readinessChecks, ...options.healthChecks],
          failure: "degraded",
        }),
    },
    {
      method: "GET",
      path: "/version",
      operationId: "version",
      tag,
      summary: "Version of the service",
      status: 200,
      response: z.object({ version: z.string(), name: z.string(), api: z.string() }),
      handle: (context) => context.json({ version: `v${options.info.version}`, name: "slipway queue", api: "v1" }),
    },
    {
      method: "GET",
      path: "/metrics",
      operationId: "metrics",
      tag,
      summary: "Metrics in the text exposition format",
      status: 200,
      responseMediaType: "text/plain",
      handle: async (context) =>
        context.body(await options.metrics.render(), 200, { "Content-Type": options.metrics.contentType }),
    },
  ];
}

interface Probe {
  readonly checks: readonly HealthCheck[];
  readonly failure: "fail" | "degraded";
}

async function answerHealth(context: HttpContext, options: SystemRouteOptions, probe: Probe): Promise<Response> {
  const results = await runHealthChecks(probe.checks, healthCheckTimeoutMs);
  const isOk = results.every((result) => result.isOk);
  const nowMs = options.clock.nowMs();
  const body = {
    status: isOk ? "ok" : probe.failure,
    timestamp: formatInstant(nowMs),
    uptime_seconds: uptimeSeconds(options),
    checks: Object.fromEntries(results.map((result) => [result.name, formatCheck(result)])),
  };
  context.header("Cache-Control", "no-store");
  return context.json(body, isOk ? 200 : 503);
}

function formatCheck(result: CheckResult): object {
  return result.isOk ? { status: "ok" } : { status: "fail", message: result.reason ?? "failed" };
}

function uptimeSeconds({ clock, info }: SystemRouteOptions): number {
  return Math.max(0, Math.round(clock.nowMs() - info.startedAtMs) / 1000);
}

function statsRoutes(options: SystemRouteOptions): readonly Route[] {
  const { service, info } = options;
  return [
    {
      method: "GET",
      path: "/stats",
      operationId: "stats",
      tag,
      summary: "Totals of this node",
      status: 200,
      response: statsSchema,
      handle: (context) => {
        const stats = service.stats();
        return context.json({
          node_id: info.nodeId,
          uptime_seconds: uptimeSeconds(options),
          topics: stats.topicCount,
          partitions: stats.partitionCount,
          groups: stats.groupCount,
          members: stats.memberCount,
          in_flight: stats.inFlightCount,
          retrying: stats.retryCount,
          delayed: stats.delayedCount,
          total_size_bytes: service.partitionSizes().reduce((sum, item) => sum + item.sizeBytes, 0),
        });
      },
    },
    {
      method: "GET",
      path: "/priority/stats",
      operationId: "priorityStats",
      tag,
      summary: "Messages by priority since the start",
      status: 200,
      response: z.object({ published: countsSchema, delivered: countsSchema }),
      handle: (context) => context.json({ ...service.priorityStats() }),
    },
    {
      method: "GET",
      path: "/delay/stats",
      operationId: "delayStats",
      tag,
      summary: "Messages that wait for their time",
      status: 200,
      response: z.object({ pending: z.int().min(0) }),
      handle: (context) => context.json({ pending: service.stats().delayedCount }),
    },
    {
      method: "GET",
      path: "/reliability/stats",
      operationId: "reliabilityStats",
      tag,
      summary: "Deliveries that are not settled",
      status: 200,
      response: z.object({ in_flight: z.int().min(0), retrying: z.int().min(0) }),
      handle: (context) => {
        const { inFlightCount, retryCount } = service.stats();
        return context.json({ in_flight: inFlightCount, retrying: retryCount });
      },
    },
  ];
}
