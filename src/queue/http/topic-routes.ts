import { z } from "zod";
import type { HttpContext } from "../../platform/http/http-env.ts";
import { readJson } from "../../platform/http/read-body.ts";
import { queueError } from "../errors.ts";
import type { PriorityWeights, QueueService, TopicSettings } from "../service/queue-service.ts";
import {
  booleanField,
  choiceField,
  compact,
  durationField,
  numberField,
  textField,
  wholeField,
} from "./body-fields.ts";
import { formatPagination, formatPartition, formatTopic, hourMs } from "./format-topic.ts";
import { pathText, readPage } from "./query.ts";
import type { Route } from "./route.ts";
import { pageParameters } from "./wire/common.ts";
import { topicDeletedSchema, topicListSchema, topicPartitionsSchema, topicSchema } from "./wire/topics.ts";

const tag = "Topics";
const messageBytesMax = 16 * 1024 * 1024;
const weightMax = 1_000_000;

const settingsShape = {
  retention_hours: numberField(0),
  retention_bytes: wholeField(0),
  cleanup_policy: choiceField(["delete", "compact", "compact,delete"]),
  max_message_bytes: wholeField(1, messageBytesMax),
  replication_factor: wholeField(1),
  min_insync_replicas: wholeField(1),
  durability: choiceField(["fsync", "async"]),
  visibility_timeout: durationField,
  max_deliveries: wholeField(0),
  retry_initial_delay: durationField,
  retry_multiplier: numberField(1),
  retry_max_delay: durationField,
  dlq_enabled: booleanField,
  dlq_topic: textField,
  dlq_pause_threshold: numberField(0),
  message_ttl: durationField,
  schema_subject: textField,
  schema_validation: choiceField(["off", "value"]),
  priority_weights: z
    .array(z.int().min(1).max(weightMax))
    .length(5)
    .nullish()
    .transform((value) => value ?? undefined),
  compression: choiceField(["none", "gzip", "zstd"]),
};
const settingsSchema = z.object(settingsShape);
const partitionsField = z
  .int()
  .nullish()
  .transform((value) => value ?? undefined);
const patchSchema = z.object({
  partitions: partitionsField,
  num_partitions: partitionsField,
  ...settingsShape,
  config: settingsSchema.nullish(),
});
const createSchema = patchSchema.extend({ name: z.string() });

type SettingsBody = z.output<typeof settingsSchema>;

export function createTopicRoutes(service: QueueService): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/topics",
      operationId: "listTopics",
      tag,
      summary: "List topics",
      query: pageParameters,
      status: 200,
      response: topicListSchema,
      handle: (context) => listTopics(service, context),
    },
    {
      method: "POST",
      path: "/topics",
      operationId: "createTopic",
      tag,
      summary: "Create a topic",
      body: { "application/json": createSchema },
      isBodyRequired: true,
      status: 201,
      response: topicSchema,
      errors: [409, 415],
      handle: (context) => createTopic(service, context),
    },
    {
      method: "GET",
      path: "/topics/{topic}",
      operationId: "getTopic",
      tag,
      summary: "Describe a topic",
      status: 200,
      response: topicSchema,
      errors: [404],
      handle: async (context) => context.json(formatTopic(await service.getTopic(pathText(context, "topic")))),
    },
    {
      method: "PATCH",
      path: "/topics/{topic}",
      operationId: "patchTopic",
      tag,
      summary: "Change a topic",
      description: "The number of partitions can only grow.",
      body: { "application/json": patchSchema },
      isBodyRequired: true,
      status: 200,
      response: topicSchema,
      errors: [404, 415],
      handle: (context) => patchTopic(service, context),
    },
    {
      method: "DELETE",
      path: "/topics/{topic}",
      operationId: "deleteTopic",
      tag,
      summary: "Delete a topic with its messages and the groups' offsets in it",
      status: 200,
      response: topicDeletedSchema,
      errors: [404],
      handle: async (context) => {
        const name = pathText(context, "topic");
        await service.deleteTopic(name);
        return context.json({ deleted: true, name });
      },
    },
    {
      method: "GET",
      path: "/topics/{topic}/partitions",
      operationId: "listPartitions",
      tag,
      summary: "Describe the partitions of a topic",
      status: 200,
      response: topicPartitionsSchema,
      errors: [404],
      handle: async (context) => {
        const topic = await service.getTopic(pathText(context, "topic"));
        return context.json({ topic: topic.name, partitions: topic.partitionDetails.map(formatPartition) });
      },
    },
  ];
}

async function listTopics(service: QueueService, context: HttpContext): Promise<Response> {
  const page = await service.listTopics(readPage(context));
  return context.json({
    data: page.data.map(formatTopic),
    topics: page.data.map((topic) => topic.name),
    pagination: formatPagination(page),
  });
}

async function createTopic(service: QueueService, context: HttpContext): Promise<Response> {
  const body = await readJson(context, { schema: createSchema });
  const settings = toSettings({ ...body.config, ...compact(body) });
  const topic = await service.createTopic({
    name: body.name,
    partitions: body.partitions ?? body.num_partitions,
    settings,
  });
  return context.json({ ...formatTopic(topic), created: true }, 201);
}

async function patchTopic(service: QueueService, context: HttpContext): Promise<Response> {
  const body = await readJson(context, { schema: patchSchema });
  const settings = toSettings({ ...body.config, ...compact(body) });
  const partitions = body.partitions ?? body.num_partitions;
  if (partitions === undefined && Object.keys(settings).length === 0) {
    throw queueError("INVALID_ARGUMENT", "Cannot change the topic: the request names nothing that can be changed");
  }
  const topic = await service.patchTopic({ name: pathText(context, "topic"), partitions, settings });
  return context.json(formatTopic(topic));
}

function toSettings(body: Partial<SettingsBody>): Partial<TopicSettings> {
  if (body.schema_validation === "value" || body.schema_subject !== undefined) {
    throw queueError("INVALID_ARGUMENT", "Cannot validate messages against a schema: there is no schema registry yet", {
      details: { parameter: body.schema_subject === undefined ? "schema_validation" : "schema_subject" },
    });
  }
  return compact({
    retentionMs: body.retention_hours === undefined ? undefined : Math.round(body.retention_hours * hourMs),
    retentionBytes: body.retention_bytes,
    cleanupPolicy: body.cleanup_policy,
    maxMessageBytes: body.max_message_bytes,
    replicationFactor: body.replication_factor,
    minInsyncReplicas: body.min_insync_replicas,
    durability: body.durability,
    visibilityTimeoutMs: body.visibility_timeout,
    maxDeliveries: body.max_deliveries,
    retryInitialDelayMs: body.retry_initial_delay,
    retryMultiplier: body.retry_multiplier,
    retryMaxDelayMs: body.retry_max_delay,
    isDlqEnabled: body.dlq_enabled,
    dlqTopic: body.dlq_topic,
    dlqPauseThreshold: body.dlq_pause_threshold,
    messageTtlMs: body.message_ttl,
    priorityWeights: body.priority_weights as PriorityWeights | undefined,
    compression: body.compression,
  });
}
