import { z } from "zod";
import type { DomainError } from "../../platform/errors/domain-error.ts";
import { statusByKind } from "../../platform/errors/status-map.ts";
import { type HttpContext, requestSignal } from "../../platform/http/http-env.ts";
import { formatInstant } from "../../platform/time/clock.ts";
import { queueError } from "../errors.ts";
import type { FetchStart, PublishResult, QueueService } from "../service/queue-service.ts";
import { cloudEventBatchMediaType, cloudEventMediaType } from "./cloud-events.ts";
import { formatFetchResult } from "./format-message.ts";
import { formatPriority } from "./parse-message.ts";
import { readPublishBody } from "./publish-body.ts";
import {
  findCountQuery,
  findDurationQuery,
  findInstantQuery,
  findQuery,
  parseWhole,
  pathPartition,
  pathText,
} from "./query.ts";
import type { Route } from "./route.ts";
import { fetchResponseSchema, publishBodySchema, publishResponseSchema } from "./wire/messages.ts";

const tag = "Messages";
const fetchCountDefault = 100;
export const fetchCountMax = 1000;
const fetchBytesDefault = 1024 * 1024;
const fetchBytesMax = 16 * 1024 * 1024;
export const fetchWaitMaxMs = 60_000;

export function createMessageRoutes(service: QueueService): readonly Route[] {
  return [
    ...[
      { path: "/topics/{topic}/messages", operationId: "publish", summary: "Publish one message or several" },
      { path: "/topics/{topic}/messages/batch", operationId: "publishBatch", summary: "Publish several messages" },
    ].map(
      (variant): Route => ({
        ...variant,
        method: "POST",
        tag,
        description:
          "All or nothing is validated first. Messages of one request that go to one partition are stored together, in order.",
        query: [
          {
            name: "acks",
            description: "When to answer: synced on a majority, on the leader, or not at all",
            schema: z.enum(["all", "leader", "none"]).default("all"),
          },
        ],
        body: {
          "application/json": publishBodySchema,
          [cloudEventMediaType]: z.record(z.string(), z.unknown()),
          [cloudEventBatchMediaType]: z.array(z.record(z.string(), z.unknown())),
        },
        isBodyRequired: true,
        status: 200,
        response: publishResponseSchema,
        errors: [404, 409, 413, 415, 503, 504],
        handle: (context) => publish(service, context),
      }),
    ),
    {
      method: "GET",
      path: "/topics/{topic}/partitions/{partition}/messages",
      operationId: "fetch",
      tag,
      summary: "Read a partition from an offset, without a group",
      query: [
        {
          name: "offset",
          description: "earliest, latest or a number; a number before the first kept message is refused",
          schema: z.string().default("earliest"),
        },
        { name: "timestamp", description: "Instead of offset: the first message not older", schema: z.string() },
        {
          name: "max",
          description: "Messages at most (limit)",
          schema: z.int().min(1).max(fetchCountMax).default(100),
        },
        { name: "max_bytes", description: "Bytes at most; at least one message comes", schema: z.int().min(1) },
        { name: "wait_ms", description: "Wait this long for the first message", schema: z.int().min(0).max(60_000) },
      ],
      status: 200,
      response: fetchResponseSchema,
      errors: [404],
      handle: (context) => fetchMessages(service, context),
    },
  ];
}

async function publish(service: QueueService, context: HttpContext): Promise<Response> {
  const topic = pathText(context, "topic");
  const body = await readPublishBody(context);
  const results = await service.publish({ topic, messages: body.messages, acks: body.acks });
  return context.json(formatPublishResults(topic, results, body.isSingle));
}

/** @throws the first error when nothing at all was stored */
export function formatPublishResults(topic: string, results: readonly PublishResult[], isSingle: boolean): object {
  const [first] = results;
  if (first?.error !== undefined && results.every((result) => result.error !== undefined)) throw first.error;
  const formatted = results.map((result) => formatPublishResult(topic, result));
  return isSingle ? { ...formatted[0], results: formatted } : { results: formatted };
}

function formatPublishResult(topic: string, result: PublishResult): Record<string, unknown> {
  const fields: Record<string, unknown> = {
    topic,
    partition: result.partition,
    offset: result.offset,
    timestamp: formatInstant(result.timestampMs),
    priority: formatPriority(result.priority),
  };
  if (result.deliverAtMs !== undefined && result.delayedId !== undefined) {
    fields["delayed"] = true;
    fields["deliver_at"] = formatInstant(result.deliverAtMs);
    fields["delayed_id"] = result.delayedId;
  }
  if (result.isDuplicate) fields["duplicate"] = true;
  if (result.error !== undefined) fields["error"] = formatItemError(result.error);
  return fields;
}

/** An error inside an answer; the same shape as that of a whole answer. */
export function formatItemError(error: DomainError): object {
  const isHidden = error.kind === "internal";
  return {
    code: isHidden ? "INTERNAL" : error.code,
    message: isHidden ? "internal error" : error.message,
    status: statusByKind[error.kind].http,
    details: isHidden ? {} : error.details,
  };
}

async function fetchMessages(service: QueueService, context: HttpContext): Promise<Response> {
  const isolation = findQuery(context, "isolation") ?? "read_committed";
  if (isolation !== "read_committed" && isolation !== "read_uncommitted") {
    throw queueError(
      "INVALID_ARGUMENT",
      `Cannot read with isolation "${isolation}": it is read_committed or read_uncommitted`,
    );
  }
  const result = await service.fetch({
    topic: pathText(context, "topic"),
    partition: pathPartition(context),
    start: readStart(context),
    maxRecords: findCountQuery(context, ["max", "limit"], fetchCountMax) ?? fetchCountDefault,
    maxBytes: findCountQuery(context, ["max_bytes"], fetchBytesMax) ?? fetchBytesDefault,
    waitMs: findDurationQuery(context, ["wait_ms", "wait"], fetchWaitMaxMs) ?? 0,
    signal: requestSignal(context),
  });
  return context.json(formatFetchResult(result));
}

function readStart(context: HttpContext): FetchStart {
  const timestampMs = findInstantQuery(context, "timestamp");
  const offset = findQuery(context, "offset");
  if (timestampMs !== undefined) {
    if (offset === undefined) return { kind: "timestamp", timestampMs };
    throw queueError("INVALID_ARGUMENT", "Cannot read: give one of offset and timestamp");
  }
  if (offset === undefined || offset === "earliest") return { kind: "earliest" };
  if (offset === "latest") return { kind: "latest" };
  return { kind: "offset", offset: parseWhole(offset, "offset", { min: 0, code: "INVALID_OFFSET" }) };
}
