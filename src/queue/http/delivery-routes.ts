import { z } from "zod";
import type { HttpContext } from "../../platform/http/http-env.ts";
import { readJson } from "../../platform/http/read-body.ts";
import { formatInstant } from "../../platform/time/clock.ts";
import { queueError } from "../errors.ts";
import type {
  AckResult,
  DeliveryRef,
  ExtendResult,
  NackResult,
  Outcome,
  QueueService,
} from "../service/queue-service.ts";
import { booleanField, durationField, nonEmptyField, textField, wholeField } from "./body-fields.ts";
import { formatItemError } from "./message-routes.ts";
import { pathText } from "./query.ts";
import type { Route } from "./route.ts";
import { ackResponseSchema, extendResponseSchema, inFlightSchema, nackResponseSchema } from "./wire/deliveries.ts";

const tag = "Deliveries";
export const settleCountMax = 10_000;

const refShape = {
  receipt_handle: nonEmptyField,
  topic: nonEmptyField,
  partition: wholeField(0),
  offset: wholeField(0),
  group: nonEmptyField,
  member_id: nonEmptyField,
};
const refSchema = z.object(refShape);
const ackSchema = refSchema.extend({ messages: z.array(refSchema).nullish() });
const nackSchema = ackSchema.extend({
  requeue: booleanField,
  delay: durationField,
  delay_ms: wholeField(0),
  reason: textField,
  error: textField,
  failed: booleanField,
});
const extendSchema = ackSchema.extend({
  timeout: durationField,
  timeout_seconds: wholeField(0),
  extension_seconds: wholeField(0),
});

export function createDeliveryRoutes(service: QueueService): readonly Route[] {
  const shared = {
    method: "POST",
    tag,
    status: 200,
    isBodyRequired: true,
    errors: [404, 409, 415],
  } as const;
  return [
    {
      ...shared,
      path: "/messages/ack",
      operationId: "ack",
      summary: "Settle deliveries as done",
      description: "By receipt_handle, or by topic, partition and offset; several under messages.",
      body: { "application/json": ackSchema },
      response: ackResponseSchema,
      handle: async (context) => {
        const body = await readJson(context, { schema: ackSchema });
        return answer(context, body, await service.ack(toRefs(body)), formatAck);
      },
    },
    {
      ...shared,
      path: "/messages/nack",
      operationId: "nack",
      summary: "Give deliveries back for a retry, or to the dead-letter topic",
      body: { "application/json": nackSchema },
      response: nackResponseSchema,
      handle: (context) => nack(service, context),
    },
    {
      ...shared,
      path: "/messages/reject",
      operationId: "reject",
      summary: "Move deliveries to the dead-letter topic at once",
      body: { "application/json": nackSchema },
      response: nackResponseSchema,
      handle: async (context) => {
        const body = await readJson(context, { schema: nackSchema });
        return answer(context, body, await service.reject(toRefs(body), body.reason ?? body.error), formatNack);
      },
    },
    {
      ...shared,
      path: "/messages/visibility",
      operationId: "extendVisibility",
      summary: "Keep deliveries invisible for longer; 0 gives them back",
      body: { "application/json": extendSchema },
      response: extendResponseSchema,
      aliases: ["/messages/extend-visibility"],
      handle: (context) => extend(service, context),
    },
    {
      method: "GET",
      path: "/topics/{topic}/inflight",
      operationId: "listInFlight",
      tag,
      summary: "Deliveries that are not settled, by partition",
      status: 200,
      response: inFlightSchema,
      errors: [404],
      handle: async (context) => await listInFlight(service, context),
    },
  ];
}

async function nack(service: QueueService, context: HttpContext): Promise<Response> {
  const body = await readJson(context, { schema: nackSchema });
  const outcomes = await service.nack(toRefs(body), {
    isRequeue: body.requeue,
    delayMs: body.delay ?? body.delay_ms,
    reason: body.reason ?? body.error,
    isFailed: body.failed,
  });
  return answer(context, body, outcomes, formatNack);
}

async function extend(service: QueueService, context: HttpContext): Promise<Response> {
  const body = await readJson(context, { schema: extendSchema });
  const seconds = body.timeout_seconds ?? body.extension_seconds;
  const timeoutMs = body.timeout ?? (seconds === undefined ? undefined : seconds * 1000);
  if (timeoutMs === undefined) {
    throw queueError("INVALID_ARGUMENT", 'Cannot extend the visibility: "timeout" is needed, for example "30s"');
  }
  return answer(context, body, await service.extendVisibility(toRefs(body), timeoutMs), formatExtend);
}

function toRefs(body: z.output<typeof ackSchema>): readonly DeliveryRef[] {
  const { messages } = body;
  if (messages === undefined || messages === null) return [toRef(body, undefined)];
  if (messages.length > 0 && messages.length <= settleCountMax) return messages.map(toRef);
  throw queueError(
    "INVALID_ARGUMENT",
    `Cannot settle ${messages.length} deliveries in one request: 1 to ${settleCountMax} are allowed`,
  );
}

function toRef(fields: z.output<typeof refSchema>, index: number | undefined): DeliveryRef {
  const { receipt_handle: receiptHandle, topic, partition, offset } = fields;
  if (receiptHandle !== undefined) return { kind: "receipt", receiptHandle };
  if (topic !== undefined && partition !== undefined && offset !== undefined) {
    return { kind: "position", topic, partition, offset, group: fields.group, memberId: fields.member_id };
  }
  const what = index === undefined ? "the delivery" : `delivery ${index}`;
  throw queueError(
    "INVALID_ARGUMENT",
    `Cannot settle ${what}: receipt_handle is needed, or topic, partition and offset`,
    { details: index === undefined ? {} : { index } },
  );
}

/** One delivery: its result or its error. Several: all results, and an error status only when every one failed. */
function answer<Result>(
  context: HttpContext,
  body: z.output<typeof ackSchema>,
  outcomes: readonly Outcome<Result>[],
  format: (result: Result) => object,
): Response {
  const [first] = outcomes;
  if (first?.kind === "error" && outcomes.every((outcome) => outcome.kind === "error")) throw first.error;
  const results = outcomes.map((outcome) =>
    outcome.kind === "ok" ? format(outcome.value) : { success: false, error: formatItemError(outcome.error) },
  );
  if (!Array.isArray(body.messages)) return context.json({ ...results[0] });
  return context.json({ success: outcomes.every((outcome) => outcome.kind === "ok"), results });
}

function formatAck(result: AckResult): object {
  return {
    success: true,
    acknowledged: true,
    ...(result.isAlreadyAcked ? { already_acked: true } : {}),
    topic: result.topic,
    partition: result.partition,
    offset: result.offset,
    group: result.group,
    committed_offset: result.committedOffset,
    offset_advanced: result.isOffsetAdvanced,
    in_flight_count: result.inFlightCount,
  };
}

function formatNack(result: NackResult): object {
  return {
    success: true,
    action: result.action,
    requeued: result.action === "requeued",
    topic: result.topic,
    partition: result.partition,
    offset: result.offset,
    group: result.group,
    delivery_count: result.deliveryCount,
    ...(result.nextVisibleAtMs === undefined ? {} : { next_visible_at: formatInstant(result.nextVisibleAtMs) }),
    ...(result.dlqTopic === undefined
      ? {}
      : { dlq_topic: result.dlqTopic, dlq_partition: result.dlqPartition, dlq_offset: result.dlqOffset }),
  };
}

function formatExtend(result: ExtendResult): object {
  return {
    success: true,
    extended: true,
    topic: result.topic,
    partition: result.partition,
    offset: result.offset,
    group: result.group,
    new_deadline: formatInstant(result.deadlineMs),
  };
}

async function listInFlight(service: QueueService, context: HttpContext): Promise<Response> {
  const topic = pathText(context, "topic");
  const partitions = await service.listInFlight(topic);
  return context.json({
    topic,
    partitions: Object.fromEntries(
      partitions.map((item) => [
        String(item.partition),
        { in_flight_count: item.inFlightCount, oldest_in_flight_age_seconds: item.oldestInFlightAgeMs / 1000 },
      ]),
    ),
  });
}
