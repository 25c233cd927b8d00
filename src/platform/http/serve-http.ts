import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { formatListenAddress, type ListenAddress } from "../config/field.ts";
import type { Logger } from "../log/logger.ts";
import { systemTimers } from "../time/clock.ts";
import type { TlsCertificates } from "../tls/tls-certificates.ts";
import type { HttpEnv } from "./http-env.ts";
import { listenOn } from "./listen-on.ts";
import { toUrl } from "./listen-url.ts";

/**
 * A listening HTTP server with every wait bounded: headers, bodies, idle connections, and shutdown itself. At shutdown
 * the port is closed first, answers in flight go out with `Connection: close`, and what is left at the deadline is cut.
 */
export interface HttpLimits {
  /** A connection must send its complete headers within this time (408). */
  readonly headersTimeoutMs: number;
  /** … and its body within this time after the headers (408). */
  readonly bodyTimeoutMs: number;
  /** A kept-alive connection without a request is closed after this time. */
  readonly idleTimeoutMs: number;
  readonly maxHeaderBytes: number;
  readonly maxConnections?: number;
}

export const defaultHttpLimits: HttpLimits = {
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 60_000,
  idleTimeoutMs: 120_000,
  maxHeaderBytes: 64 * 1024,
};

export interface ServeHttpOptions {
  readonly app: Hono<HttpEnv>;
  readonly listen: ListenAddress;
  readonly tls?: TlsCertificates | undefined;
  readonly limits?: HttpLimits;
  readonly logger: Logger;
  readonly shutdownDeadlineMs: number;
  /** Sees each request before the router; returns true when it has taken it over. */
  readonly hotPath?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export interface HttpServer extends AsyncDisposable {
  readonly address: ListenAddress;
  readonly url: string;
  /** Resolves when the last connection is gone, within the deadline. Idempotent. */
  close(): Promise<void>;
}

/** How often timeouts of connections are looked at. */
const timeoutCheckMs = 500;
/** A connection on which no request has begun is not idle to Node; at shutdown it gets this long to begin one. */
const unusedGraceMs = 200;
/** The router answers a late body itself; the server only ends what the router does not read. */
const bodyTimeoutGraceMs = 1000;

export async function serveHttp(options: ServeHttpOptions): Promise<HttpServer> {
  const limits = options.limits ?? defaultHttpLimits;
  const running = new RunningRequests();
  const server = createNodeServer(limits, options.tls, createListener(options, limits, running));
  server.on(options.tls === undefined ? "connection" : "secureConnection", (socket: Socket) =>
    running.addSocket(socket),
  );
  if (limits.maxConnections !== undefined) server.maxConnections = limits.maxConnections;
  const bound = await listenOn(server, options.listen);
  const address = addressOf(bound, options.listen);
  const url = toUrl(options.tls === undefined ? "http" : "https", address);
  options.logger.info({ address: formatListenAddress(address), url }, "listening");
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= shutDown(server, running, options);
    return closing;
  };
  return { address, url, close, [Symbol.asyncDispose]: close };
}

function createListener(options: ServeHttpOptions, limits: HttpLimits, running: RunningRequests): RequestListener {
  const { hotPath } = options;
  const bodyTimeoutMs = limits.bodyTimeoutMs;
  const viaRouter = getRequestListener(
    (request, env) => options.app.fetch(request, { ...(env as HttpEnv["Bindings"]), bodyTimeoutMs }),
    { hostname: "localhost" },
  );
  return (request, response) => {
    running.add(response);
    if (hotPath?.(request, response)) return;
    void viaRouter(request, response);
  };
}

function createNodeServer(limits: HttpLimits, tls: TlsCertificates | undefined, listener: RequestListener): Server {
  const serverOptions = {
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.headersTimeoutMs + limits.bodyTimeoutMs + bodyTimeoutGraceMs,
    keepAliveTimeout: limits.idleTimeoutMs,
    maxHeaderSize: limits.maxHeaderBytes,
    connectionsCheckingInterval: timeoutCheckMs,
    noDelay: true,
  };
  if (tls === undefined) return createServer(serverOptions, listener);
  const handshakeTimeout = limits.headersTimeoutMs;
  const server = createTlsServer({ ...serverOptions, ...tls.serverOptions(), handshakeTimeout }, listener);
  tls.attach(server);
  return server;
}

function addressOf(bound: AddressInfo, wanted: ListenAddress): ListenAddress {
  return { host: wanted.host, port: bound.port };
}

async function shutDown(server: Server, running: RunningRequests, options: ServeHttpOptions): Promise<void> {
  running.startDraining();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const sweep = systemTimers.every(50, () => server.closeIdleConnections());
  const unused = systemTimers.after(unusedGraceMs, () => running.destroyUnusedSockets());
  const deadline = systemTimers.after(options.shutdownDeadlineMs, () => {
    options.logger.warn({ requests: running.size }, "shutdown deadline passed: open requests are cut");
    server.closeAllConnections();
  });
  try {
    await closed;
  } finally {
    sweep.cancel();
    unused.cancel();
    deadline.cancel();
  }
}

/** Answers that are not finished, so that shutdown can ask their connections to end. */
class RunningRequests {
  readonly #responses = new Set<ServerResponse>();
  readonly #unusedSockets = new Set<Socket>();
  #isDraining = false;

  get size(): number {
    return this.#responses.size;
  }

  addSocket(socket: Socket): void {
    this.#unusedSockets.add(socket);
    socket.once("close", () => this.#unusedSockets.delete(socket));
  }

  destroyUnusedSockets(): void {
    for (const socket of this.#unusedSockets) socket.destroy();
  }

  add(response: ServerResponse): void {
    if (response.socket !== null) this.#unusedSockets.delete(response.socket);
    if (this.#isDraining) response.shouldKeepAlive = false;
    this.#responses.add(response);
    response.once("close", () => this.#responses.delete(response));
  }

  startDraining(): void {
    this.#isDraining = true;
    for (const response of this.#responses) if (!response.headersSent) response.shouldKeepAlive = false;
  }
}
