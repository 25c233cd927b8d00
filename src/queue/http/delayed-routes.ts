import { z } from "zod";
import type { HttpContext } from "../../platform/http/http-env.ts";
import { formatInstant } from "../../platform/time/clock.ts";
import { formatDuration } from "../../platform/time/duration.ts";
import type { DelayedMessage, QueueService } from "../service/queue-service.ts";
import { decode, toBase64 } from "./format-message.ts";
import { formatPagination } from "./format-topic.ts";
import { formatPriority } from "./parse-message.ts";
import { findCountQuery, findIntegerQuery, findQuery, pathPartition, pathText, perPageMax, readPage } from "./query.ts";
import type { Route } from "./route.ts";
import { pageParameters } from "./wire/common.ts";
import { delayedCanceledSchema, delayedListSchema, delayedMessageSchema } from "./wire/deliveries.ts";

const tag = "Delayed messages";

export function createDelayedRoutes(service: QueueService): readonly Route[] {
  const shared = { tag, status: 200, errors: [404] } as const;
  return [
    {
      ...shared,
      method: "GET",
      path: "/topics/{topic}/delayed",
      operationId: "listDelayed",
      summary: "Messages that wait for their time, soonest first",
      query: [
        ...pageParameters,
        { name: "skip", description: "Instead of page: how many to leave out", schema: z.int().min(0) },
        { name: "limit", description: "Instead of per_page", schema: z.int().min(1).max(1000) },
      ],
      response: delayedListSchema,
      handle: (context) => listDelayed(service, context),
    },
    {
      ...shared,
      method: "GET",
      path: "/topics/{topic}/delayed/{id}",
      operationId: "getDelayed",
      summary: "One message that waits",
      response: delayedMessageSchema,
      handle: async (context) => {
        const message = await service.getDelayed(pathText(context, "topic"), pathText(context, "id"));
        return context.json(formatDelayed(message, "pending"));
      },
    },
    {
      ...shared,
      method: "DELETE",
      path: "/topics/{topic}/delayed/{id}",
      operationId: "cancelDelayed",
      summary: "Cancel a message that waits",
      response: delayedCanceledSchema,
      handle: (context) => cancel(service, context, pathText(context, "id")),
    },
    {
      ...shared,
      method: "DELETE",
      path: "/topics/{topic}/delayed/{partition}/{number}",
      operationId: "cancelDelayedByNumber",
      summary: "Cancel a message that waits, by the two parts of its id",
      response: delayedCanceledSchema,
      handle: (context) => cancel(service, context, `${pathPartition(context)}-${pathText(context, "number")}`),
    },
  ];
}

async function listDelayed(service: QueueService, context: HttpContext): Promise<Response> {
  const topic = pathText(context, "topic");
  const asked = readPage(context);
  const limit = findCountQuery(context, ["limit"], perPageMax) ?? asked.perPage;
  const isBySkip = findQuery(context, "skip") !== undefined;
  const skip = findIntegerQuery(context, ["skip"], { min: 0 }) ?? (asked.page - 1) * limit;
  const { messages, total } = await service.listDelayed({ topic, skip, limit });
  const formatted = messages.map((message) => formatDelayed(message, "pending"));
  const page = isBySkip ? Math.floor(skip / limit) + 1 : asked.page;
  return context.json({
    topic,
    data: formatted,
    messages: formatted,
    count: formatted.length,
    skip,
    limit,
    pagination: formatPagination({ page, perPage: limit, total }),
  });
}

async function cancel(service: QueueService, context: HttpContext, delayedId: string): Promise<Response> {
  const message = await service.cancelDelayed(pathText(context, "topic"), delayedId);
  return context.json({ canceled: true, cancelled: true, ...formatDelayed(message, "canceled") });
}

function formatDelayed(message: DelayedMessage, state: "pending" | "canceled"): object {
  const { key } = message;
  return {
    delayed_id: message.delayedId,
    topic: message.topic,
    partition: message.partition,
    offset: message.sequence,
    key: key === undefined || message.isKeyBinary ? null : decode(key),
    ...(key !== undefined && message.isKeyBinary ? { key_base64: toBase64(key) } : {}),
    priority: formatPriority(message.priority),
    deliver_at: formatInstant(message.deliverAtMs),
    time_remaining: formatDuration(Math.max(0, message.remainingMs)),
    state,
  };
}
