import { type ChannelOptions, ServerCredentials } from "@grpc/grpc-js";
import { createServer, type Server } from "nice-grpc";
import { formatListenAddress, type ListenAddress } from "../config/field.ts";
import { toListenError } from "../http/listen-on.ts";
import type { Logger } from "../log/logger.ts";
import { type Clock, systemTimers } from "../time/clock.ts";
import type { TlsCertificates } from "../tls/tls-certificates.ts";
import type { Tracer } from "../tracing/tracer.ts";
import { createFramingInterceptor } from "./framed-messages.ts";
import { createCallMiddleware, type GrpcMetrics } from "./grpc-middleware.ts";
import { PeerCertificates, ReloadingCredentials } from "./grpc-tls.ts";
import { GrpcHealth, healthDefinition } from "./health-service.ts";

/**
 * A listening gRPC server in the manner of `serveHttp`: the same addresses, certificates, error translation and
 * shutdown. Long streams end themselves when their feature stops; what is left at the deadline is cut.
 */
export interface GrpcLimits {
  readonly maxReceiveBytes: number;
  readonly maxSendBytes: number;
  readonly maxStreamsPerConnection: number;
  /** What a client may send ahead, per stream and per connection. */
  readonly windowBytes: number;
  /** An idle connection is asked for a sign of life this often … */
  readonly keepaliveIntervalMs: number;
  /** … and ended when none comes within this time. */
  readonly keepaliveTimeoutMs: number;
}

export const defaultGrpcLimits: GrpcLimits = {
  maxReceiveBytes: 4 * 1024 * 1024,
  maxSendBytes: 4 * 1024 * 1024,
  maxStreamsPerConnection: 1000,
  windowBytes: 1024 * 1024,
  keepaliveIntervalMs: 30_000,
  keepaliveTimeoutMs: 20_000,
};

export interface ServeGrpcOptions {
  readonly listen: ListenAddress;
  readonly tls?: TlsCertificates | undefined;
  readonly limits?: GrpcLimits;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics?: GrpcMetrics | undefined;
  readonly tracer?: Tracer | undefined;
  /** `domain` of the ErrorInfo in error details, for example `queue`. */
  readonly errorDomain: string;
  readonly shutdownDeadlineMs: number;
  /** Adds the services: `server.add(definition, implementation)`. */
  readonly register: (server: Server, peers: PeerCertificates) => void;
  /** Names for the health service, beside "" for the whole server. */
  readonly serviceNames?: readonly string[];
}

export interface GrpcServer extends AsyncDisposable {
  readonly address: ListenAddress;
  readonly health: GrpcHealth;
  close(): Promise<void>;
}

export async function serveGrpc(options: ServeGrpcOptions): Promise<GrpcServer> {
  const peers = new PeerCertificates();
  const health = new GrpcHealth();
  const server = createServer(channelOptions(options, peers)).use(createCallMiddleware(options));
  server.add(healthDefinition, {
    check: (request) => health.check(request),
    watch: (request, context) => health.watch(request, context),
  });
  options.register(server, peers);
  const credentials = options.tls === undefined ? undefined : new ReloadingCredentials(options.tls);
  const port = await bind(server, options.listen, credentials);
  const address = { host: options.listen.host, port };
  for (const name of ["", ...(options.serviceNames ?? [])]) health.set(name, "SERVING");
  options.logger.info({ address: formatListenAddress(address), tls: credentials !== undefined }, "listening for gRPC");
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= shutDown(server, health, options).finally(() => credentials?.close());
    return closing;
  };
  return { address, health, close, [Symbol.asyncDispose]: close };
}

function channelOptions(options: ServeGrpcOptions, peers: PeerCertificates): ChannelOptions {
  const limits = options.limits ?? defaultGrpcLimits;
  const clientAuth = options.tls?.clientAuth ?? "none";
  return {
    "grpc.max_receive_message_length": limits.maxReceiveBytes,
    "grpc.max_send_message_length": limits.maxSendBytes,
    "grpc.max_concurrent_streams": limits.maxStreamsPerConnection,
    "grpc.keepalive_time_ms": limits.keepaliveIntervalMs,
    "grpc.keepalive_timeout_ms": limits.keepaliveTimeoutMs,
    // NOTE: without its channel statistics the library keeps no list of sessions, and cannot cut them at a shutdown.
    "grpc.enable_channelz": 1,
    interceptors: [
      createFramingInterceptor(limits.windowBytes),
      ...(clientAuth === "none" ? [] : [peers.createInterceptor(clientAuth)]),
    ],
  };
}

/** Without a host: every interface of both families, or of IPv4 alone where the machine has no IPv6. */
async function bind(
  server: Server,
  address: ListenAddress,
  credentials: ServerCredentials = ServerCredentials.createInsecure(),
): Promise<number> {
  try {
    return await server.listen(formatListenAddress({ ...address, host: address.host ?? "::" }), credentials);
  } catch (error) {
    const code = /\b(E[A-Z]{4,})\b/.exec(String(error))?.[1];
    if (address.host === undefined && (code === "EAFNOSUPPORT" || code === "EADDRNOTAVAIL")) {
      return await bind(server, { ...address, host: "0.0.0.0" }, credentials);
    }
    throw toListenError(error instanceof Error ? error : new Error(String(error)), code, address);
  }
}

async function shutDown(server: Server, health: GrpcHealth, options: ServeGrpcOptions): Promise<void> {
  health.setAll("NOT_SERVING");
  const cut = Promise.withResolvers<void>();
  const deadline = systemTimers.after(options.shutdownDeadlineMs, () => {
    options.logger.warn({}, "shutdown deadline passed: open gRPC calls are cut");
    server.forceShutdown();
    cut.resolve();
  });
  try {
    await Promise.race([server.shutdown(), cut.promise]);
  } finally {
    deadline.cancel();
  }
}
