import { z } from "zod";
import {
  byPartition,
  durationTextSchema,
  instantSchema,
  offsetSchema,
  paginationSchema,
  partitionSchema,
} from "./common.ts";

const offsetsSchema = z.object({ earliest: offsetSchema, latest: offsetSchema });

export const partitionDetailSchema = z.object({
  partition: partitionSchema,
  leader: z.string().nullable(),
  leader_epoch: z.int().min(0),
  replicas: z.array(z.string()),
  isr: z.array(z.string()),
  earliest_offset: offsetSchema,
  latest_offset: offsetSchema,
  size_bytes: z.int().min(0),
});

export const topicSchema = z
  .object({
    name: z.string(),
    partitions: z.int().min(1),
    created: z.literal(true).optional(),
    created_at: instantSchema,
    replication_factor: z.int().min(1),
    min_insync_replicas: z.int().min(1),
    retention_hours: z.number().min(0),
    retention_bytes: z.int().min(0),
    cleanup_policy: z.enum(["delete", "compact", "compact,delete"]),
    max_message_bytes: z.int().min(1),
    durability: z.enum(["fsync", "async"]),
    visibility_timeout: durationTextSchema,
    max_deliveries: z.int().min(0),
    retry_initial_delay: durationTextSchema,
    retry_multiplier: z.number().min(1),
    retry_max_delay: durationTextSchema,
    dlq_enabled: z.boolean(),
    dlq_topic: z.string(),
    dlq_pause_threshold: z.number().min(0).optional(),
    message_ttl: durationTextSchema,
    priority_weights: z.array(z.int().min(1)).length(5),
    compression: z.enum(["none", "gzip", "zstd"]),
    total_messages: z.int().min(0),
    total_size_bytes: z.int().min(0),
    partition_offsets: byPartition(offsetsSchema),
    partition_details: z.array(partitionDetailSchema),
  })
  .meta({ id: "Topic" });

export const topicListSchema = z
  .object({
    data: z.array(topicSchema),
    topics: z.array(z.string()).meta({ description: "Names of the topics on this page" }),
    pagination: paginationSchema,
  })
  .meta({ id: "TopicList" });

export const topicDeletedSchema = z.object({ deleted: z.literal(true), name: z.string() });

export const topicPartitionsSchema = z.object({ topic: z.string(), partitions: z.array(partitionDetailSchema) });
