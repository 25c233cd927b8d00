import { join } from "node:path";
import { formatListenAddress } from "../platform/config/field.ts";
import { acquireLockFile, type LockFile } from "../platform/files/lock-file.ts";
import { type HttpServer, serveHttp } from "../platform/http/serve-http.ts";
import type { Logger } from "../platform/log/logger.ts";
import { createMetrics, type Metrics } from "../platform/metrics/metrics.ts";
import { systemRandom } from "../platform/random/random.ts";
import { systemClock, systemTimers } from "../platform/time/clock.ts";
import { TlsCertificates } from "../platform/tls/tls-certificates.ts";
import type { Tracer } from "../platform/tracing/tracer.ts";
import { homeFolderOf } from "./config.ts";
import type { DaemonConfig } from "./daemon-config.ts";
import { startWireRouter, type WireRouter } from "./drivers/router/wire-router.ts";
import { createDaemonApp } from "./http/daemon-app.ts";
import { openEngine } from "./open-engine.ts";
import type { BranchingEngine } from "./service/engine.ts";
import type { Caller } from "./service/engine-context.ts";
import type { Endpoint } from "./service/ports.ts";

/**
 * The daemon in one process: API, connection router, reconcile loop. It holds the lock of the home folder, so that no
 * local command works there meanwhile. Order of stop: no new passes, API drained, what still runs is rolled back,
 * router cut, registry closed. Branches keep running.
 */
export interface DaemonDependencies {
  readonly logger: Logger;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly tracer?: Tracer | undefined;
}

export interface Daemon {
  readonly apiUrl: string;
  readonly routerAddress: string;
  readonly engine: BranchingEngine;
  close(): Promise<void>;
}

const rootActor = "root (admin)";
const reconcileActor = "system:reconcile";

/** @throws DomainError FILE_LOCKED, runtime_unreachable, CANNOT_LISTEN */
export async function startDaemon(config: DaemonConfig, dependencies: DaemonDependencies): Promise<Daemon> {
  const homeFolder = homeFolderOf(config, dependencies.userHome);
  const lock = acquireLockFile(join(homeFolder, "bsd.lock"));
  try {
    return await startLocked(config, dependencies, homeFolder, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function startLocked(
  config: DaemonConfig,
  dependencies: DaemonDependencies,
  homeFolder: string,
  lock: LockFile,
): Promise<Daemon> {
  const { logger, environment, userHome } = dependencies;
  const engine = await openEngine({ config, homeFolder, environment, userHome, logger });
  const stop = new AbortController();
  const metrics = createMetrics({ hasProcessMetrics: true });
  let router: WireRouter | undefined;
  let http: HttpServer | undefined;
  try {
    router = await listenRouter(config, engine, metrics, logger);
    http = await listenApi({ config, dependencies, engine, metrics, router, stop: stop.signal });
  } catch (error) {
    await router?.close();
    await engine.close();
    throw error;
  }
  const loop = startReconcileLoop(config, engine, metrics, logger, stop.signal);
  const parts = { http, router };
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    loop.stop();
    await parts.http.close();
    stop.abort(new Error("the daemon is shutting down"));
    await loop.done();
    await parts.router.close();
    await engine.close();
    lock.release();
  };
  return {
    apiUrl: http.url,
    routerAddress: formatListenAddress(router.address),
    engine,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

async function listenRouter(
  config: DaemonConfig,
  engine: BranchingEngine,
  metrics: Metrics,
  logger: Logger,
): Promise<WireRouter> {
  const router = await startWireRouter({
    listen: config.routerListen,
    tls: loadTls(config.routerTlsCertFile, config.routerTlsKeyFile, logger),
    findEndpoint: (branch) => findEndpoint(engine, branch),
    timers: systemTimers,
    logger,
    metrics: {
      connections: metrics.counter({
        name: "branchsvc_router_connections_total",
        help: "Connections to the router by what became of them.",
        labels: ["result"],
      }),
      active: metrics.gauge({ name: "branchsvc_router_active", help: "Open connections to the router." }),
    },
  });
  logger.info({ address: formatListenAddress(router.address) }, "routing");
  return router;
}

async function findEndpoint(engine: BranchingEngine, name: string): Promise<Endpoint | undefined> {
  const branch = await engine.getBranch(name);
  if (branch.state !== "ready" || branch.host === undefined || branch.port === undefined) return undefined;
  return { host: branch.host, port: branch.port };
}

interface ApiOptions {
  readonly config: DaemonConfig;
  readonly dependencies: DaemonDependencies;
  readonly engine: BranchingEngine;
  readonly metrics: Metrics;
  readonly router: WireRouter;
  readonly stop: AbortSignal;
}

async function listenApi({ config, dependencies, engine, metrics, router, stop }: ApiOptions): Promise<HttpServer> {
  const { logger, version, tracer } = dependencies;
  const { advertised } = config;
  const proxy = {
    ...(advertised?.host === undefined ? {} : { proxy_host: advertised.host }),
    proxy_port: advertised?.port ?? router.address.port,
  };
  const caller = (): Caller => ({ actor: rootActor, signal: stop });
  const app = createDaemonApp({
    engine,
    caller,
    routerFields: () => proxy,
    token: config.token,
    version,
    logger,
    metrics,
    clock: systemClock,
    random: systemRandom,
    tracer,
  });
  return await serveHttp({
    app,
    listen: config.apiListen,
    tls: loadTls(config.apiTlsCertFile, config.apiTlsKeyFile, logger),
    logger,
    shutdownDeadlineMs: config.shutdownTimeoutMs,
  });
}

function loadTls(
  certFile: string | undefined,
  keyFile: string | undefined,
  logger: Logger,
): TlsCertificates | undefined {
  if (certFile === undefined || keyFile === undefined) return undefined;
  return TlsCertificates.load({ certFile, keyFile, logger });
}

/** One pass at a time, the next one counted from the end of the last. */
function startReconcileLoop(
  config: DaemonConfig,
  engine: BranchingEngine,
  metrics: Metrics,
  logger: Logger,
  signal: AbortSignal,
): { stop(): void; done(): Promise<void> } {
  const runs = metrics.counter({ name: "branchsvc_reconcile_runs_total", help: "Passes of the reconcile loop." });
  const actions = metrics.counter({
    name: "branchsvc_reconcile_actions_total",
    help: "What the reconcile loop did.",
    labels: ["action"],
  });
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();
  const pass = async (): Promise<void> => {
    try {
      const { done, failed } = await engine.reconcile({ actor: reconcileActor, signal });
      runs.increment();
      for (const { kind, target, reason } of done) {
        actions.increment({ action: kind });
        logger.info({ kind, target, reason }, "reconciled");
      }
      for (const { action, error } of failed) logger.warn({ err: error, ...action }, "cannot reconcile, trying again");
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, "the reconcile pass failed, trying again");
    }
    schedule();
  };
  let timer = systemTimers.after(0, () => {});
  const schedule = (): void => {
    if (isStopped) return;
    timer = systemTimers.after(config.reconcileIntervalMs, () => {
      running = pass();
    });
  };
  schedule();
  return {
    stop: () => {
      isStopped = true;
      timer.cancel();
    },
    done: () => running,
  };
}
