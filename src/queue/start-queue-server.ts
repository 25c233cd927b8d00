import { createGrpcMetrics } from "../platform/grpc/grpc-middleware.ts";
import { defaultGrpcLimits, type GrpcServer, serveGrpc } from "../platform/grpc/serve-grpc.ts";
import type { HealthCheck } from "../platform/http/health-routes.ts";
import { createHttpMetrics, type HttpMetrics } from "../platform/http/http-metrics.ts";
import { type HttpServer, serveHttp } from "../platform/http/serve-http.ts";
import type { Logger } from "../platform/log/logger.ts";
import { createMetrics, type Metrics } from "../platform/metrics/metrics.ts";
import { type Random, systemRandom } from "../platform/random/random.ts";
import {
  afterPendingEvents,
  type Clock,
  sleep,
  systemClock,
  systemTimers,
  type Timers,
} from "../platform/time/clock.ts";
import { TlsCertificates } from "../platform/tls/tls-certificates.ts";
import type { Tracer } from "../platform/tracing/tracer.ts";
import type { QueueConfig } from "./config.ts";
import { QueueMetrics } from "./drivers/metrics/queue-metrics.ts";
import { queueServiceName } from "./grpc/definition.ts";
import { registerQueueService } from "./grpc/queue-grpc.ts";
import { OpenSessions } from "./grpc/stream-adapter.ts";
import { createPublishHotPath } from "./http/publish-hot-path.ts";
import { createQueueApp } from "./http/queue-app.ts";
import { type OpenBroker, openBroker } from "./open-broker.ts";
import { PublishCoalescer } from "./service/ingest/publish-coalescer.ts";
import type { QueueService } from "./service/queue-service.ts";

/**
 * The broker with its edges. Order of start: lock and recovery, then both listeners; probes answer once the listener is
 * there, and readiness turns good when recovery is done. Order of stop: not ready any more, streams told, listeners
 * drained, then the broker itself.
 */
export interface QueueServerDependencies {
  readonly logger: Logger;
  readonly version: string;
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly random?: Random;
  readonly tracer?: Tracer | undefined;
  readonly metrics?: Metrics;
}

export interface QueueServer extends AsyncDisposable {
  readonly httpUrl: string;
  /** `host:port`. */
  readonly grpcAddress: string;
  readonly service: QueueService;
  close(): Promise<void>;
}

const drainDeadlineMs = 30_000;
const httpDeadlineMs = 10_000;
const receiveBytesMax = 20 * 1024 * 1024;
/** Below this much free space the node reports itself degraded. */
const freeBytesMin = 256 * 1024 * 1024;

export async function startQueueServer(
  config: QueueConfig,
  dependencies: QueueServerDependencies,
): Promise<QueueServer> {
  const parts = {
    logger: dependencies.logger,
    clock: dependencies.clock ?? systemClock,
    timers: dependencies.timers ?? systemTimers,
    random: dependencies.random ?? systemRandom,
    metrics: dependencies.metrics ?? createMetrics({ hasProcessMetrics: true }),
  };
  const counters = new QueueMetrics(parts.metrics);
  const httpMetrics = createHttpMetrics(parts.metrics, "queue");
  const tls = loadCertificates(config, parts.logger);
  const broker = openBroker({ config, counters, ...parts });
  const coalescer = new PublishCoalescer({
    service: broker.service,
    schedule: afterPendingEvents,
    validate: (topic, messages) => broker.validatePublish(topic, messages),
  });
  const open = new OpenSessions();
  const state = { isReady: false, isStopping: false };
  let http: HttpServer | undefined;
  let grpc: GrpcServer | undefined;
  try {
    await broker.start();
    counters.observe(broker.service);
    state.isReady = true;
    http = await listenHttp({ config, dependencies, parts, broker, coalescer, httpMetrics, tls, state });
    grpc = await listenGrpc({ config, parts, broker, coalescer, tls, open });
  } catch (error) {
    await http?.close();
    await broker.close();
    tls?.[Symbol.dispose]();
    throw error;
  }
  const servers = { http, grpc };
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= shutDown({ ...servers, broker, open, tls, state, logger: parts.logger });
    return closing;
  };
  const { host, port } = grpc.address;
  return {
    httpUrl: http.url,
    grpcAddress: `${host ?? "127.0.0.1"}:${port}`,
    service: broker.service,
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Parts {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly metrics: Metrics;
}

interface ServerState {
  isReady: boolean;
  isStopping: boolean;
}

interface HttpOptions {
  readonly config: QueueConfig;
  readonly dependencies: QueueServerDependencies;
  readonly parts: Parts;
  readonly broker: OpenBroker;
  readonly coalescer: PublishCoalescer;
  readonly httpMetrics: HttpMetrics;
  readonly tls: TlsCertificates | undefined;
  readonly state: ServerState;
}

async function listenHttp(options: HttpOptions): Promise<HttpServer> {
  const { config, dependencies, parts, broker, coalescer, httpMetrics, tls, state } = options;
  const app = createQueueApp({
    ...parts,
    service: broker.service,
    info: { nodeId: config.nodeId, version: dependencies.version, startedAtMs: parts.clock.nowMs() },
    readinessChecks: readinessChecks(broker, state),
    healthChecks: healthChecks(broker),
    httpMetrics,
    tracer: dependencies.tracer,
  });
  return await serveHttp({
    app,
    listen: config.listenHttp,
    tls,
    logger: parts.logger,
    shutdownDeadlineMs: httpDeadlineMs,
    hotPath: createPublishHotPath({
      ...parts,
      coalescer,
      metrics: httpMetrics,
      isTracing: dependencies.tracer !== undefined,
    }),
  });
}

interface GrpcOptions {
  readonly config: QueueConfig;
  readonly parts: Parts;
  readonly broker: OpenBroker;
  readonly coalescer: PublishCoalescer;
  readonly tls: TlsCertificates | undefined;
  readonly open: OpenSessions;
}

async function listenGrpc({ config, parts, broker, coalescer, tls, open }: GrpcOptions): Promise<GrpcServer> {
  const { service } = broker;
  const { clock, timers, logger, metrics } = parts;
  return await serveGrpc({
    listen: config.listenGrpc,
    tls,
    logger,
    clock,
    metrics: createGrpcMetrics(metrics, "queue"),
    errorDomain: "queue",
    limits: { ...defaultGrpcLimits, maxReceiveBytes: receiveBytesMax, maxSendBytes: receiveBytesMax },
    shutdownDeadlineMs: httpDeadlineMs,
    serviceNames: [queueServiceName],
    register: (server) => registerQueueService(server, { service, coalescer, clock, timers, open }),
  });
}

function readinessChecks(broker: OpenBroker, state: ServerState): readonly HealthCheck[] {
  return [
    {
      name: "recovered",
      check() {
        if (!state.isReady) throw new Error("recovery is not done");
      },
    },
    {
      name: "serving",
      check() {
        if (state.isStopping) throw new Error("the broker is stopping");
        const waiting = broker.replication.statuses.filter((shard) => !shard.isServing && shard.leader === undefined);
        if (waiting.length > 0)
          throw new Error(`shards without a leader: ${waiting.map((item) => item.shard).join(", ")}`);
      },
    },
  ];
}

function healthChecks(broker: OpenBroker): readonly HealthCheck[] {
  return [
    {
      name: "log",
      check() {
        if (broker.replication.failure !== undefined) throw broker.replication.failure;
      },
    },
    {
      name: "shards",
      check() {
        const bad = broker.replication.statuses.filter((shard) => (shard.damage ?? shard.failure) !== undefined);
        if (bad.length > 0)
          throw new Error(bad.map((item) => `${item.shard}: ${item.damage ?? item.failure}`).join("; "));
      },
    },
    {
      name: "disk",
      check() {
        const freeBytes = broker.freeBytes();
        if (freeBytes < freeBytesMin)
          throw new Error(`${freeBytes} bytes are free, at least ${freeBytesMin} are wanted`);
      },
    },
  ];
}

function loadCertificates(config: QueueConfig, logger: Logger): TlsCertificates | undefined {
  const { tlsCertFile, tlsKeyFile, tlsCaFile } = config;
  if (!config.isTlsEnabled || tlsCertFile === undefined || tlsKeyFile === undefined) return undefined;
  return TlsCertificates.load({
    certFile: tlsCertFile,
    keyFile: tlsKeyFile,
    caFile: tlsCaFile,
    clientAuth: config.tlsClientAuth,
    minVersion: config.tlsMinVersion,
    logger,
  });
}

interface ShutDownOptions {
  readonly http: HttpServer;
  readonly grpc: GrpcServer;
  readonly broker: OpenBroker;
  readonly open: OpenSessions;
  readonly tls: TlsCertificates | undefined;
  readonly state: ServerState;
  readonly logger: Logger;
}

async function shutDown({ http, grpc, broker, open, tls, state, logger }: ShutDownOptions): Promise<void> {
  state.isStopping = true;
  logger.info({ streams: open.size }, "stopping");
  open.shutDown();
  const listeners = Promise.all([http.close(), grpc.close()]);
  // Long polls end when the service does: it is told as soon as no new request can come in.
  const drained = Promise.all([listeners, broker.close()]);
  const late = new AbortController();
  await Promise.race([
    drained,
    sleep(drainDeadlineMs, late.signal).then(() => logger.error({}, "drain deadline passed: stopping all the same")),
  ]).finally(() => late.abort());
  tls?.[Symbol.dispose]();
  logger.info({}, "stopped");
}
