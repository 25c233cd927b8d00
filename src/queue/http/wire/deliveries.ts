import { z } from "zod";
import { byPartition, instantSchema, itemErrorSchema, offsetSchema, partitionSchema } from "./common.ts";
import { messageSchema } from "./messages.ts";

const failedItemSchema = z.object({ success: z.literal(false), error: itemErrorSchema });

/** One result, or under `results` one per delivery of a batch. */
function singleOrBatch<Schema extends z.ZodType>(item: Schema) {
  return z.union([item, z.object({ success: z.boolean(), results: z.array(z.union([item, failedItemSchema])) })]);
}

const positionShape = { topic: z.string(), partition: partitionSchema, offset: offsetSchema, group: z.string() };

export const ackResponseSchema = singleOrBatch(
  z.object({
    success: z.literal(true),
    acknowledged: z.literal(true),
    already_acked: z.literal(true).optional(),
    ...positionShape,
    committed_offset: offsetSchema,
    offset_advanced: z.boolean(),
    in_flight_count: z.int().min(0),
  }),
).meta({ id: "AckResponse" });

export const nackResponseSchema = singleOrBatch(
  z.object({
    success: z.literal(true),
    action: z.enum(["requeued", "dead_lettered", "dropped"]),
    requeued: z.boolean(),
    ...positionShape,
    delivery_count: z.int().min(0),
    next_visible_at: instantSchema.optional(),
    dlq_topic: z.string().optional(),
    dlq_partition: partitionSchema.optional(),
    dlq_offset: offsetSchema.optional(),
  }),
).meta({ id: "NackResponse" });

export const extendResponseSchema = singleOrBatch(
  z.object({
    success: z.literal(true),
    extended: z.literal(true),
    ...positionShape,
    new_deadline: instantSchema,
  }),
).meta({ id: "ExtendResponse" });

export const inFlightSchema = z
  .object({
    topic: z.string(),
    partitions: byPartition(
      z.object({ in_flight_count: z.int().min(0), oldest_in_flight_age_seconds: z.number().min(0) }),
    ),
  })
  .meta({ id: "InFlight" });

const delayedShape = {
  delayed_id: z.string(),
  topic: z.string(),
  partition: partitionSchema,
  offset: z.int().min(0).meta({ description: "The number in delayed_id; not an offset of the partition" }),
  key: z.string().nullable(),
  key_base64: z.string().optional(),
  priority: z.enum(["critical", "high", "normal", "low", "background"]),
  deliver_at: instantSchema,
  time_remaining: z.string(),
  state: z.enum(["pending", "canceled"]),
};
export const delayedMessageSchema = z.object(delayedShape).meta({ id: "DelayedMessage" });

export const delayedListSchema = z
  .object({
    topic: z.string(),
    data: z.array(delayedMessageSchema),
    messages: z.array(delayedMessageSchema),
    count: z.int().min(0),
    skip: z.int().min(0),
    limit: z.int().min(1),
    pagination: z.object({ page: z.int(), per_page: z.int(), total: z.int(), total_pages: z.int() }),
  })
  .meta({ id: "DelayedList" });

export const delayedCanceledSchema = z
  .object({ canceled: z.literal(true), cancelled: z.literal(true), ...delayedShape })
  .meta({ id: "DelayedCanceled" });

const deadLetterSchema = z
  .object({
    ...messageSchema.shape,
    reason: z.string(),
    original_topic: z.string(),
    original_partition: partitionSchema,
    original_offset: offsetSchema,
  })
  .meta({ id: "DeadLetter" });

export const deadLetterListSchema = z
  .object({
    topic: z.string(),
    dlq_topic: z.string(),
    data: z.array(deadLetterSchema),
    messages: z.array(deadLetterSchema),
    total: z.int().min(0),
  })
  .meta({ id: "DeadLetterList" });

export const redriveResponseSchema = z
  .object({
    success: z.literal(true),
    dlq_topic: z.string(),
    redriven: z.int().min(0),
    results: z.array(
      z.object({
        dlq_partition: partitionSchema,
        dlq_offset: offsetSchema,
        topic: z.string(),
        partition: partitionSchema,
        offset: z.int().min(-1).meta({ description: "-1 when it had been sent before" }),
        duplicate: z.literal(true).optional(),
      }),
    ),
  })
  .meta({ id: "RedriveResponse" });

export const purgeResponseSchema = z.object({
  purged: z.literal(true),
  topic: z.string(),
  dlq_topic: z.string(),
  count: z.int().min(0),
});
