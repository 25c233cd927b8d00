import { z } from "zod";
import { type HttpContext, remoteAddress, requestSignal } from "../../platform/http/http-env.ts";
import { readJson } from "../../platform/http/read-body.ts";
import { queueError } from "../errors.ts";
import type { DrainResult, QueueService, TopicPartition } from "../service/queue-service.ts";
import { booleanField, choiceField, durationField, nonEmptyField, wholeField } from "./body-fields.ts";
import { formatDrain, formatGroup, formatJoin, formatMemberView } from "./format-group.ts";
import { formatDelivery } from "./format-message.ts";
import { formatPagination } from "./format-topic.ts";
import {
  findBooleanQuery,
  findCountQuery,
  findDurationQuery,
  findIntegerQuery,
  findQuery,
  pathText,
  readPage,
} from "./query.ts";
import type { Route } from "./route.ts";
import { pageParameters } from "./wire/common.ts";
import {
  drainResponseSchema,
  groupDeletedSchema,
  groupListSchema,
  groupSchema,
  heartbeatResponseSchema,
  joinResponseSchema,
  leaveResponseSchema,
  pollResponseSchema,
} from "./wire/groups.ts";

const tag = "Groups";
const topicsMax = 100;
export const pollTimeoutDefaultMs = 30_000;
export const pollTimeoutMaxMs = 60_000;
const pollCountDefault = 100;
export const pollCountMax = 1000;

const joinSchema = z.object({
  member_id: nonEmptyField,
  client_id: nonEmptyField,
  topics: z.array(z.string()).min(1).max(topicsMax),
  mode: choiceField(["consumer", "share"]),
  session_timeout: durationField,
  session_timeout_ms: wholeField(1),
  rebalance_timeout: durationField,
  rebalance_timeout_ms: wholeField(1),
  auto_offset_reset: choiceField(["earliest", "latest", "none"]),
  visibility_timeout: durationField,
  visibility_timeout_ms: wholeField(1),
  auto_extend: booleanField,
});

const memberSchema = z.object({ member_id: z.string().min(1), generation: wholeField(0) });
const partitionListSchema = z.union([
  z.array(z.object({ topic: z.string(), partition: z.int().min(0) })),
  z.record(z.string(), z.array(z.int().min(0))),
]);
const revokeSchema = memberSchema.extend({
  partitions: partitionListSchema.nullish(),
  revoked_partitions: partitionListSchema.nullish(),
});
const drainSchema = z.object({ timeout: durationField });

export function createGroupRoutes(service: QueueService): readonly Route[] {
  return [...membershipRoutes(service), ...administrationRoutes(service)];
}

function membershipRoutes(service: QueueService): readonly Route[] {
  const shared = { tag, status: 200, isBodyRequired: true } as const;
  return [
    {
      ...shared,
      method: "POST",
      path: "/groups/{group}/join",
      operationId: "joinGroup",
      summary: "Join a group, or come back to it",
      body: { "application/json": joinSchema },
      response: joinResponseSchema,
      errors: [404, 409, 415],
      handle: (context) => join(service, context),
    },
    {
      ...shared,
      method: "POST",
      path: "/groups/{group}/heartbeat",
      operationId: "heartbeat",
      summary: "Keep the session and learn of changes",
      body: { "application/json": memberSchema },
      response: heartbeatResponseSchema,
      errors: [404, 409, 415],
      handle: async (context) => {
        const body = await readJson(context, { schema: memberSchema });
        const view = await service.heartbeat({
          group: pathText(context, "group"),
          memberId: body.member_id,
          generation: body.generation,
        });
        return context.json(formatMemberView(view));
      },
    },
    {
      ...shared,
      method: "POST",
      path: "/groups/{group}/leave",
      operationId: "leaveGroup",
      summary: "Leave; what the member holds goes back without counting as failed",
      body: { "application/json": memberSchema },
      response: leaveResponseSchema,
      errors: [404, 415],
      handle: (context) => leave(service, context),
    },
    {
      ...shared,
      method: "POST",
      path: "/groups/{group}/revoke",
      operationId: "revokePartitions",
      summary: "Hand moving partitions over at once",
      body: { "application/json": revokeSchema },
      response: heartbeatResponseSchema,
      errors: [404, 409, 415],
      handle: (context) => revoke(service, context),
    },
    {
      method: "GET",
      path: "/groups/{group}/poll",
      operationId: "poll",
      tag,
      summary: "Wait for messages; counts as a heartbeat",
      query: [
        { name: "member_id", description: "The member", schema: z.string(), isRequired: true },
        { name: "timeout", description: "How long to wait (wait)", schema: z.string().default("30s") },
        { name: "max_messages", description: "At most (limit, max)", schema: z.int().min(1).max(1000).default(100) },
        { name: "generation", description: "Checked when given", schema: z.int().min(0) },
        { name: "visibility_timeout", description: "Instead of the member's", schema: z.string() },
      ],
      status: 200,
      response: pollResponseSchema,
      errors: [404, 409],
      handle: (context) => poll(service, context),
    },
  ];
}

function administrationRoutes(service: QueueService): readonly Route[] {
  const shared = { tag, status: 200, errors: [404] } as const;
  return [
    {
      ...shared,
      method: "GET",
      path: "/groups",
      operationId: "listGroups",
      summary: "List groups",
      query: pageParameters,
      response: groupListSchema,
      handle: async (context) => {
        const page = await service.listGroups(readPage(context));
        const groups = page.data.map(formatGroup);
        return context.json({ data: groups, groups, pagination: formatPagination(page) });
      },
    },
    {
      ...shared,
      method: "GET",
      path: "/groups/{group}",
      operationId: "getGroup",
      summary: "Describe a group: members, assignment, offsets, lag",
      response: groupSchema,
      handle: async (context) => context.json(formatGroup(await service.getGroup(pathText(context, "group")))),
    },
    {
      ...shared,
      method: "DELETE",
      path: "/groups/{group}",
      operationId: "deleteGroup",
      summary: "Delete a group with its offsets",
      query: [{ name: "force", description: "Even with members", schema: z.boolean().default(false) }],
      response: groupDeletedSchema,
      errors: [404, 409],
      handle: async (context) => {
        const group = pathText(context, "group");
        await service.deleteGroup(group, { isForced: findBooleanQuery(context, "force") ?? false });
        return context.json({ deleted: true, group });
      },
    },
    {
      ...shared,
      method: "POST",
      path: "/groups/{group}/members/{member}/drain",
      operationId: "drainMember",
      summary: "Deliver nothing more to a member; it can still settle what it holds",
      body: { "application/json": drainSchema },
      response: drainResponseSchema,
      handle: async (context) => {
        await readJson(context, { schema: drainSchema, emptyBody: {} });
        return await answerDrain(service, context, await service.drain(memberOf(context)));
      },
    },
    {
      ...shared,
      method: "POST",
      path: "/groups/{group}/members/{member}/undrain",
      operationId: "undrainMember",
      summary: "Deliver to a drained member again",
      response: drainResponseSchema,
      handle: async (context) => await answerDrain(service, context, await service.undrain(memberOf(context))),
    },
  ];
}

function memberOf(context: HttpContext): { readonly group: string; readonly memberId: string } {
  return { group: pathText(context, "group"), memberId: pathText(context, "member") };
}

async function join(service: QueueService, context: HttpContext): Promise<Response> {
  const body = await readJson(context, { schema: joinSchema });
  if (body.member_id === undefined && body.client_id === undefined) {
    throw queueError("INVALID_ARGUMENT", "Cannot join the group: one of member_id and client_id is needed");
  }
  const result = await service.join({
    group: pathText(context, "group"),
    memberId: body.member_id,
    clientId: body.client_id,
    clientHost: remoteAddress(context),
    topics: body.topics,
    mode: body.mode,
    sessionTimeoutMs: body.session_timeout ?? body.session_timeout_ms,
    rebalanceTimeoutMs: body.rebalance_timeout ?? body.rebalance_timeout_ms,
    autoOffsetReset: body.auto_offset_reset,
    visibilityTimeoutMs: body.visibility_timeout ?? body.visibility_timeout_ms,
    isAutoExtend: body.auto_extend,
  });
  return context.json(formatJoin(result));
}

async function leave(service: QueueService, context: HttpContext): Promise<Response> {
  const body = await readJson(context, { schema: memberSchema });
  const group = pathText(context, "group");
  await service.leave({ group, memberId: body.member_id, generation: body.generation });
  return context.json({ status: "left", group, member_id: body.member_id });
}

async function revoke(service: QueueService, context: HttpContext): Promise<Response> {
  const body = await readJson(context, { schema: revokeSchema });
  const listed = body.partitions ?? body.revoked_partitions ?? undefined;
  const view = await service.revoke({
    group: pathText(context, "group"),
    memberId: body.member_id,
    generation: body.generation,
    ...(listed === undefined ? {} : { partitions: toPartitions(listed) }),
  });
  return context.json(formatMemberView(view));
}

function toPartitions(listed: z.output<typeof partitionListSchema>): readonly TopicPartition[] {
  if (Array.isArray(listed)) return listed;
  return Object.entries(listed).flatMap(([topic, partitions]) => partitions.map((partition) => ({ topic, partition })));
}

async function poll(service: QueueService, context: HttpContext): Promise<Response> {
  const group = pathText(context, "group");
  const memberId = findQuery(context, "member_id");
  if (memberId === undefined) {
    throw queueError("INVALID_ARGUMENT", 'Cannot poll: the query parameter "member_id" is needed', {
      details: { parameter: "member_id" },
    });
  }
  const result = await service.poll({
    group,
    memberId,
    generation: findIntegerQuery(context, ["generation"], { min: 0 }),
    timeoutMs:
      findDurationQuery(context, ["timeout", "wait", "timeout_ms", "wait_ms"], pollTimeoutMaxMs) ??
      pollTimeoutDefaultMs,
    maxMessages: findCountQuery(context, ["max_messages", "limit", "max"], pollCountMax) ?? pollCountDefault,
    visibilityTimeoutMs: findDurationQuery(
      context,
      ["visibility_timeout", "visibility_timeout_ms"],
      Number.MAX_SAFE_INTEGER,
    ),
    signal: requestSignal(context),
  });
  return context.json({
    ...formatMemberView(result),
    messages: result.messages.map((message) => formatDelivery(group, message)),
  });
}

async function answerDrain(service: QueueService, context: HttpContext, result: DrainResult): Promise<Response> {
  const group = await service.getGroup(result.group);
  const member = group.members.find((candidate) => candidate.memberId === result.memberId);
  return context.json(formatDrain(result, member?.assignedPartitions ?? []));
}
