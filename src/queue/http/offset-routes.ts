import { z } from "zod";
import type { HttpContext } from "../../platform/http/http-env.ts";
import { readJson } from "../../platform/http/read-body.ts";
import { queueError } from "../errors.ts";
import type { OffsetCommit, OffsetTarget, QueueService } from "../service/queue-service.ts";
import { booleanField, instantField, nonEmptyField, textField, wholeField } from "./body-fields.ts";
import { formatGroupOffsets } from "./format-group.ts";
import { findQuery, parseWhole, pathText } from "./query.ts";
import type { Route } from "./route.ts";
import { commitResponseSchema, groupOffsetsSchema, resetResponseSchema } from "./wire/groups.ts";

const tag = "Offsets";
const commitCountMax = 10_000;

const commitItemSchema = z.object({
  topic: z.string(),
  partition: z.int().min(0),
  offset: z.int().min(0),
  metadata: textField,
});
const commitSchema = z.object({
  member_id: nonEmptyField,
  generation: wholeField(0),
  offsets: z
    .union([z.array(commitItemSchema), z.record(z.string(), z.record(z.string(), z.int().min(0)))])
    .nullish()
    .transform((value) => value ?? undefined),
  topic: nonEmptyField,
  partition: wholeField(0),
  offset: wholeField(0),
  metadata: textField,
});

const resetSchema = z.object({
  topic: z.string().min(1),
  to: z
    .enum(["earliest", "latest"])
    .nullish()
    .transform((value) => value ?? undefined),
  partition: wholeField(0),
  offset: wholeField(0),
  to_timestamp: instantField,
  dry_run: booleanField,
});

export function createOffsetRoutes(service: QueueService): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/groups/{group}/offsets",
      operationId: "getOffsets",
      tag,
      summary: "Committed offsets and lag",
      query: [{ name: "topic", description: "Only this topic", schema: z.string() }],
      status: 200,
      response: groupOffsetsSchema,
      errors: [404],
      handle: async (context) => {
        const request = { group: pathText(context, "group"), topic: findQuery(context, "topic") };
        return context.json(formatGroupOffsets(await service.getOffsets(request)));
      },
    },
    {
      method: "POST",
      path: "/groups/{group}/offsets",
      operationId: "commitOffsets",
      tag,
      summary: "Commit: everything below is settled",
      body: { "application/json": commitSchema },
      isBodyRequired: true,
      status: 200,
      response: commitResponseSchema,
      errors: [403, 404, 409, 415],
      aliases: ["/groups/{group}/offsets/commit"],
      handle: (context) => commit(service, context),
    },
    {
      method: "POST",
      path: "/groups/{group}/offsets/reset",
      operationId: "resetOffsets",
      tag,
      summary: "Move a group in a topic: earliest, latest, an offset or a time",
      body: { "application/json": resetSchema },
      isBodyRequired: true,
      status: 200,
      response: resetResponseSchema,
      errors: [404, 415],
      handle: (context) => reset(service, context),
    },
  ];
}

async function commit(service: QueueService, context: HttpContext): Promise<Response> {
  const body = await readJson(context, { schema: commitSchema });
  const group = pathText(context, "group");
  const results = await service.commitOffsets({
    group,
    memberId: body.member_id,
    generation: body.generation,
    offsets: toCommits(body),
  });
  const offsets: Record<string, Record<string, number>> = {};
  for (const { topic, partition, offset } of results) {
    offsets[topic] ??= {};
    const partitions = offsets[topic] ?? {};
    partitions[String(partition)] = offset;
  }
  const plain = results.map(({ topic, partition, offset }) => ({ topic, partition, offset }));
  return context.json({ status: "committed", group, offsets, results: plain });
}

function toCommits(body: z.output<typeof commitSchema>): readonly OffsetCommit[] {
  const { topic, partition, offset, metadata, offsets } = body;
  if (offsets === undefined) {
    if (topic !== undefined && partition !== undefined && offset !== undefined) {
      return [{ topic, partition, offset, metadata }];
    }
    throw queueError("INVALID_ARGUMENT", 'Cannot commit: "offsets" is needed, or topic, partition and offset');
  }
  const commits = Array.isArray(offsets) ? offsets : Object.entries(offsets).flatMap(toTopicCommits);
  if (commits.length > 0 && commits.length <= commitCountMax) return commits;
  throw queueError(
    "INVALID_ARGUMENT",
    `Cannot commit ${commits.length} offsets in one request: 1 to ${commitCountMax} are allowed`,
  );
}

function toTopicCommits([topic, partitions]: [string, Record<string, number>]): readonly OffsetCommit[] {
  return Object.entries(partitions).map(([partition, offset]) => ({
    topic,
    partition: parseWhole(partition, `offsets.${topic}`, { min: 0, code: "INVALID_PARTITION" }),
    offset,
  }));
}

async function reset(service: QueueService, context: HttpContext): Promise<Response> {
  const body = await readJson(context, { schema: resetSchema });
  const group = pathText(context, "group");
  const results = await service.resetOffsets({
    group,
    topic: body.topic,
    target: toTarget(body),
    partition: body.partition,
    isDryRun: body.dry_run ?? false,
  });
  return context.json({
    group,
    topic: body.topic,
    dry_run: body.dry_run ?? false,
    results: results.map((item) => ({
      partition: item.partition,
      old_offset: item.oldOffset ?? null,
      new_offset: item.newOffset,
    })),
  });
}

function toTarget(body: z.output<typeof resetSchema>): OffsetTarget {
  const { to, offset, partition, to_timestamp: timestampMs } = body;
  const count = [to, offset, timestampMs].filter((part) => part !== undefined).length;
  if (count !== 1) {
    throw queueError("INVALID_ARGUMENT", "Cannot reset: exactly one of to, offset and to_timestamp is needed");
  }
  if (to !== undefined) return { kind: to };
  if (timestampMs !== undefined) return { kind: "timestamp", timestampMs };
  if (partition !== undefined && offset !== undefined) return { kind: "offset", partition, offset };
  throw queueError("INVALID_ARGUMENT", "Cannot reset to an offset without the partition it is in", {
    details: { parameter: "partition" },
  });
}
