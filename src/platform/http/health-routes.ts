import { Hono } from "hono";
import type { Metrics } from "../metrics/metrics.ts";
import { sleep } from "../time/clock.ts";
import type { HttpEnv } from "./http-env.ts";

/** A named check: resolves when all is well, throws what is wrong. */
export interface HealthCheck {
  readonly name: string;
  /** @param signal aborted when the time of the check is up */
  check(signal: AbortSignal): void | Promise<void>;
}

export interface CheckResult {
  readonly name: string;
  readonly isOk: boolean;
  /** Message of the failure; without secrets, as the checks throw it. */
  readonly reason?: string;
}

/** Runs all checks side by side; one that does not answer in time has failed. */
export async function runHealthChecks(
  checks: readonly HealthCheck[],
  timeoutMs: number,
): Promise<readonly CheckResult[]> {
  return await Promise.all(checks.map((check) => runCheck(check, timeoutMs)));
}

async function runCheck(check: HealthCheck, timeoutMs: number): Promise<CheckResult> {
  const expired = new AbortController();
  const answered = new AbortController();
  try {
    // NOTE: in a function of its own, so that a check that throws at once does not leave the limit without a handler.
    const work = async (): Promise<void> => await check.check(expired.signal);
    await Promise.race([work(), expire(timeoutMs, answered.signal, expired)]);
    return { name: check.name, isOk: true };
  } catch (error) {
    return { name: check.name, isOk: false, reason: error instanceof Error ? error.message : String(error) };
  } finally {
    answered.abort();
  }
}

async function expire(timeoutMs: number, answered: AbortSignal, expired: AbortController): Promise<never> {
  await sleep(timeoutMs, answered);
  const error = new Error(`no answer within ${timeoutMs} ms`);
  expired.abort(error);
  throw error;
}

export interface HealthRoute {
  readonly path: string;
  readonly checks: readonly HealthCheck[];
  /** The feature's own body, for the good case and the bad one. */
  readonly body: (isOk: boolean, results: readonly CheckResult[]) => object;
}

export const healthCheckTimeoutMs = 2000;

/** One route per probe: 200 when every check passes, else 503. */
export function createHealthRoutes(routes: readonly HealthRoute[], timeoutMs = healthCheckTimeoutMs): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>();
  for (const route of routes) {
    app.get(route.path, async (context) => {
      const results = await runHealthChecks(route.checks, timeoutMs);
      const isOk = results.every((result) => result.isOk);
      context.header("Cache-Control", "no-store");
      return context.json(route.body(isOk, results), isOk ? 200 : 503);
    });
  }
  return app;
}

export function createMetricsRoute(metrics: Metrics, path = "/metrics"): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>();
  app.get(path, async (context) => context.body(await metrics.render(), 200, { "Content-Type": metrics.contentType }));
  return app;
}
