import type { IncomingMessage, ServerResponse } from "node:http";
import type { DomainError } from "../../platform/errors/domain-error.ts";
import { statusByKind } from "../../platform/errors/status-map.ts";
import { ClientGoneError, toPublicError } from "../../platform/http/http-errors.ts";
import type { HttpMetrics } from "../../platform/http/http-metrics.ts";
import { parseJsonBody, readIncomingBody } from "../../platform/http/read-body.ts";
import { defaultHttpLimits } from "../../platform/http/serve-http.ts";
import type { Logger } from "../../platform/log/logger.ts";
import type { Random } from "../../platform/random/random.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { PublishCoalescer } from "../service/ingest/publish-coalescer.ts";
import type { PublishResult } from "../service/queue-service.ts";
import { errorBody } from "./error-body.ts";
import { formatPublishResults } from "./message-routes.ts";
import { parseAcks, parsePublishJson, publishBodyBytesMax } from "./publish-body.ts";

/**
 * Publishing in front of the router: the one request that comes by the thousand. Only its plain form is taken (JSON, no
 * query, no header that changes what it means); everything else goes the usual way. Messages join those of other
 * connections in the coalescer. Answers, errors and metrics are those of the router.
 */
export interface PublishHotPathOptions {
  readonly coalescer: PublishCoalescer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: HttpMetrics;
  /** The router makes spans; with tracing on it gets every request. */
  readonly isTracing: boolean;
}

const pathPattern = /^(?:\/v1)?\/topics\/([A-Za-z0-9._-]+)\/messages$/;
const route = "/topics/{topic}/messages";
const sanePattern = /^[\w.:/+=@-]{1,128}$/;
const messageOverheadBytes = 64;

export function createPublishHotPath(
  options: PublishHotPathOptions,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    if (options.isTracing || request.method !== "POST") return false;
    const topic = pathPattern.exec(request.url ?? "")?.[1];
    if (topic === undefined || !isPlain(request)) return false;
    void handle(options, topic, request, response);
    return true;
  };
}

function isPlain({ headers }: IncomingMessage): boolean {
  const contentType = headers["content-type"];
  if (contentType !== undefined && contentType !== "application/json") return false;
  return (
    headers["ce-specversion"] === undefined &&
    headers["idempotency-key"] === undefined &&
    headers["expect"] === undefined &&
    Number(headers["content-length"] ?? 0) <= publishBodyBytesMax
  );
}

async function handle(
  options: PublishHotPathOptions,
  topic: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startedMs = options.clock.monotonicMs();
  const requestId = chooseRequestId(request.headers["x-request-id"], options.random);
  const finish = (status: number, text: string, headers: Record<string, string> = {}): void => {
    const length = Buffer.byteLength(text);
    response.writeHead(status, {
      "Content-Type": "application/json",
      "Content-Length": length,
      "X-Request-Id": requestId,
      ...headers,
    });
    response.end(text);
    const durationMs = options.clock.monotonicMs() - startedMs;
    options.metrics.observe({ route, method: "POST", status, durationMs });
    options.logger.debug({ requestId, method: "POST", path: request.url, route, status, durationMs }, "request");
  };
  const fail = (error: unknown): void => {
    if (error instanceof ClientGoneError || response.destroyed) return;
    const shown = toPublicError(error);
    if (shown.kind === "internal") options.logger.error({ err: error, requestId, method: "POST" }, "request failed");
    finish(statusByKind[shown.kind].http, JSON.stringify(errorBody(shown)), headersOf(shown));
  };
  try {
    const bytes = await readIncomingBody(request, {
      limitBytes: publishBodyBytesMax,
      timeoutMs: defaultHttpLimits.bodyTimeoutMs,
    });
    const { messages, acks, isSingle } = parsePublishJson(parseJsonBody(bytes));
    options.coalescer.submit({
      topic,
      messages,
      acks: parseAcks(acks),
      sizeBytes: bytes.length + messages.length * messageOverheadBytes,
      onSettled(results, error) {
        try {
          if (results === undefined) fail(error);
          else finish(200, formatAnswer(topic, results, isSingle));
        } catch (failure) {
          fail(failure);
        }
      },
    });
  } catch (error) {
    fail(error);
  }
}

function formatAnswer(topic: string, results: readonly PublishResult[], isSingle: boolean): string {
  return JSON.stringify(formatPublishResults(topic, results, isSingle));
}

function headersOf(error: DomainError): Record<string, string> {
  return {
    ...(error.retryAfterSeconds === undefined ? {} : { "Retry-After": String(Math.ceil(error.retryAfterSeconds)) }),
    ...(error.kind === "payload_too_large" || error.kind === "request_timeout" ? { Connection: "close" } : {}),
  };
}

function chooseRequestId(given: string | string[] | undefined, random: Random): string {
  return typeof given === "string" && sanePattern.test(given) ? given : random.uuid();
}
