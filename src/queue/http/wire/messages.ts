import { z } from "zod";
import { instantSchema, itemErrorSchema, offsetSchema, partitionSchema, prioritySchema } from "./common.ts";

const messageShape = {
  topic: z.string(),
  partition: partitionSchema,
  offset: offsetSchema,
  timestamp: instantSchema,
  key: z.string().nullable(),
  key_base64: z.string().optional(),
  value: z.string().nullable().optional().meta({ description: "Text; null is a deletion mark" }),
  payload: z.string().optional().meta({ description: "The value again, when it was published under this name" }),
  value_base64: z.string().optional().meta({ description: "Instead of value when it is no UTF-8 text" }),
  headers: z.record(z.string(), z.string()),
  priority: prioritySchema,
  trace_id: z.string().optional(),
};

export const messageSchema = z.object(messageShape).meta({ id: "Message" });

export const deliverySchema = z
  .object({
    ...messageShape,
    group: z.string(),
    receipt_handle: z.string(),
    delivery_count: z.int().min(1),
    visible_until: instantSchema,
  })
  .meta({ id: "Delivery" });

const publishResultShape = {
  topic: z.string(),
  partition: partitionSchema,
  offset: z.int().min(-1).meta({ description: "-1 for a delayed message" }),
  timestamp: instantSchema.optional(),
  priority: prioritySchema,
  delayed: z.literal(true).optional(),
  deliver_at: instantSchema.optional(),
  delayed_id: z.string().optional(),
  duplicate: z.literal(true).optional(),
  error: itemErrorSchema.optional(),
};

export const publishResponseSchema = z
  .object({
    results: z.array(z.object(publishResultShape)),
    ...z.object(publishResultShape).partial().shape,
  })
  .meta({ id: "PublishResponse", description: "For a single message the fields of its result are at the top too" });

export const fetchResponseSchema = z
  .object({
    topic: z.string(),
    partition: partitionSchema,
    messages: z.array(messageSchema),
    next_offset: offsetSchema,
    high_watermark: offsetSchema,
    earliest_offset: offsetSchema,
  })
  .meta({ id: "FetchResponse" });

const publishMessageSchema = z
  .object({
    key: z.string().nullish(),
    value: z.unknown().optional().meta({ description: "Text; other JSON is stored as its text; null deletes the key" }),
    payload: z.unknown().optional().meta({ description: "Another name for value" }),
    value_base64: z.string().optional(),
    headers: z.record(z.string(), z.string()).nullish(),
    partition: z.int().nullish(),
    priority: z.union([z.string(), z.int().min(0).max(4)]).nullish(),
    delay: z.union([z.string(), z.int()]).nullish(),
    deliver_at: z.string().nullish(),
    ttl: z.union([z.string(), z.int()]).nullish(),
    timestamp: z.union([z.string(), z.int()]).nullish(),
    producer_id: z.int().nullish(),
    producer_epoch: z.int().nullish(),
    sequence: z.int().nullish(),
    idempotency_key: z.string().nullish(),
  })
  .meta({ id: "PublishMessage" });

export const publishBodySchema = z.union([
  publishMessageSchema,
  z.object({ messages: z.array(publishMessageSchema), acks: z.string().optional() }),
  z.array(publishMessageSchema),
]);
