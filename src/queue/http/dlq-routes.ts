import { z } from "zod";
import { type HttpContext, requestSignal } from "../../platform/http/http-env.ts";
import { readJson } from "../../platform/http/read-body.ts";
import type { QueueService, RedriveRequest } from "../service/queue-service.ts";
import { nonEmptyField, numberField, wholeField } from "./body-fields.ts";
import { formatDeadLetter } from "./format-message.ts";
import { findCountQuery, findIntegerQuery, findQuery, pathText, perPageMax } from "./query.ts";
import type { Route } from "./route.ts";
import { deadLetterListSchema, purgeResponseSchema, redriveResponseSchema } from "./wire/deliveries.ts";

const tag = "Dead letters";
const peekCountDefault = 50;
const redriveCountMax = 10_000;

const positionSchema = z.object({ partition: z.int().min(0), offset: z.int().min(0) });
const redriveSchema = z.object({
  messages: z
    .array(positionSchema)
    .min(1)
    .max(redriveCountMax)
    .nullish()
    .transform((value) => value ?? undefined),
  reason: nonEmptyField,
  max: wholeField(1),
  target_topic: nonEmptyField,
  rate_per_second: numberField(0.01),
});
const replaySchema = z.object({
  dlq_topic: z.string().min(1),
  partition: z.int().min(0),
  offset: z.int().min(0),
  target_topic: nonEmptyField,
});

export function createDlqRoutes(service: QueueService): readonly Route[] {
  const shared = { tag, status: 200, errors: [404] } as const;
  return [
    {
      ...shared,
      method: "GET",
      path: "/topics/{topic}/dlq",
      operationId: "peekDlq",
      summary: "Look at dead letters without taking them",
      query: [
        { name: "reason", description: "Only these", schema: z.string() },
        { name: "partition", description: "Only from this one", schema: z.int().min(0) },
        { name: "skip", description: "How many to leave out", schema: z.int().min(0).default(0) },
        { name: "limit", description: "At most (max)", schema: z.int().min(1).max(1000).default(50) },
      ],
      response: deadLetterListSchema,
      handle: (context) => peek(service, context),
    },
    {
      ...shared,
      method: "POST",
      path: "/topics/{topic}/dlq/redrive",
      operationId: "redriveDlq",
      summary: "Publish dead letters again, each at most once",
      body: { "application/json": redriveSchema },
      response: redriveResponseSchema,
      errors: [404, 415],
      handle: async (context) => {
        const body = await readJson(context, { schema: redriveSchema, emptyBody: {} });
        return await redrive(service, context, {
          topic: pathText(context, "topic"),
          messages: body.messages,
          reason: body.reason,
          max: body.max,
          targetTopic: body.target_topic,
          ratePerSecond: body.rate_per_second,
        });
      },
    },
    {
      ...shared,
      method: "POST",
      path: "/messages/dlq/replay",
      operationId: "replayDeadLetter",
      summary: "Publish one dead letter again",
      body: { "application/json": replaySchema },
      isBodyRequired: true,
      response: redriveResponseSchema,
      errors: [404, 415],
      handle: async (context) => {
        const body = await readJson(context, { schema: replaySchema });
        return await redrive(service, context, {
          topic: body.dlq_topic,
          messages: [{ partition: body.partition, offset: body.offset }],
          targetTopic: body.target_topic,
        });
      },
    },
    {
      ...shared,
      method: "DELETE",
      path: "/topics/{topic}/dlq",
      operationId: "purgeDlq",
      summary: "Delete all dead letters of a topic",
      response: purgeResponseSchema,
      handle: async (context) => {
        const topic = pathText(context, "topic");
        const { dlqTopic, purgedCount } = await service.purgeDlq(topic);
        return context.json({ purged: true, topic, dlq_topic: dlqTopic, count: purgedCount });
      },
    },
  ];
}

async function peek(service: QueueService, context: HttpContext): Promise<Response> {
  const topic = pathText(context, "topic");
  const { dlqTopic, messages, total } = await service.peekDlq({
    topic,
    reason: findQuery(context, "reason"),
    partition: findIntegerQuery(context, ["partition"], { min: 0, code: "INVALID_PARTITION" }),
    skip: findIntegerQuery(context, ["skip"], { min: 0 }) ?? 0,
    limit: findCountQuery(context, ["limit", "max", "per_page"], perPageMax) ?? peekCountDefault,
  });
  const formatted = messages.map((message) => formatDeadLetter(message, dlqTopic));
  return context.json({ topic, dlq_topic: dlqTopic, data: formatted, messages: formatted, total });
}

async function redrive(service: QueueService, context: HttpContext, request: RedriveRequest): Promise<Response> {
  const { dlqTopic, redriven } = await service.redriveDlq({ ...request, signal: requestSignal(context) });
  return context.json({
    success: true,
    dlq_topic: dlqTopic,
    redriven: redriven.filter((item) => !item.isDuplicate).length,
    results: redriven.map((item) => ({
      dlq_partition: item.dlqPartition,
      dlq_offset: item.dlqOffset,
      topic: item.targetTopic,
      partition: item.partition,
      offset: item.offset,
      ...(item.isDuplicate ? { duplicate: true } : {}),
    })),
  });
}
