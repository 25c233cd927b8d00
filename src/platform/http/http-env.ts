import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context } from "hono";
import type { Logger } from "../log/logger.ts";
import type { Span } from "../tracing/tracer.ts";

/** What `serveHttp` passes in; absent when an app is called in-process, as tests do. */
export interface HttpBindings {
  readonly incoming?: IncomingMessage;
  readonly outgoing?: ServerResponse;
  /** How long a request body may take to arrive. */
  readonly bodyTimeoutMs?: number;
}

export interface HttpVariables {
  requestId: string;
  /** Limit of this request's body. */
  bodyLimitBytes: number;
  /** Aborted when the request ran into the router's time limit. */
  timeoutSignal: AbortSignal | undefined;
  span: Span | undefined;
  serverLogger: Logger;
  /** What was thrown, for the access log. */
  failure: unknown;
}

export interface HttpEnv {
  Bindings: HttpBindings;
  Variables: HttpVariables;
}

export type HttpContext = Context<HttpEnv>;

/** Aborted when the client disconnects or the request's time is up: for long polls and slow work. */
export function requestSignal(context: HttpContext): AbortSignal {
  const timeout = context.get("timeoutSignal");
  const gone = context.req.raw.signal;
  return timeout === undefined ? gone : AbortSignal.any([gone, timeout]);
}

/** A logger that names the request in each line. */
export function requestLogger(context: HttpContext): Logger {
  return context.get("serverLogger").child({ requestId: context.get("requestId") });
}

/** Address of the peer that holds the connection, a proxy perhaps; undefined in-process. */
export function remoteAddress(context: HttpContext): string | undefined {
  return context.env?.incoming?.socket.remoteAddress;
}
