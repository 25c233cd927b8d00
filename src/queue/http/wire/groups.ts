import { z } from "zod";
import {
  assignedPartitionsSchema,
  byPartition,
  instantSchema,
  offsetSchema,
  paginationSchema,
  partitionSchema,
} from "./common.ts";
import { deliverySchema } from "./messages.ts";

const topicPartitionSchema = z.object({ topic: z.string(), partition: partitionSchema });
const groupStateSchema = z.enum(["empty", "rebalancing", "stable", "dead"]);
const modeSchema = z.enum(["consumer", "share"]);
const generationSchema = z.int().min(0);

export const joinResponseSchema = z
  .object({
    group: z.string(),
    member_id: z.string(),
    client_id: z.string().nullable(),
    generation: generationSchema,
    leader_id: z.string(),
    leader: z.boolean(),
    state: groupStateSchema,
    mode: modeSchema,
    assigned_partitions: assignedPartitionsSchema,
    partitions: z.array(topicPartitionSchema),
    members: z.array(z.string()),
    heartbeat_interval_ms: z.int().min(1),
    session_timeout_ms: z.int().min(1),
    rebalance_required: z.boolean(),
  })
  .meta({ id: "JoinResponse" });

const memberViewShape = {
  status: z.literal("ok"),
  group: z.string(),
  member_id: z.string(),
  generation: generationSchema,
  state: groupStateSchema,
  draining: z.boolean(),
  rebalance_required: z.boolean(),
  assigned_partitions: assignedPartitionsSchema,
  partitions_assigned: z.array(topicPartitionSchema).meta({ description: "Assigned, still held by their last owner" }),
  partitions_to_revoke: z.array(topicPartitionSchema).meta({ description: "Moving away: settle what you hold" }),
  revocation_deadline: instantSchema.nullable(),
};

export const heartbeatResponseSchema = z.object(memberViewShape).meta({ id: "MemberView" });

export const pollResponseSchema = z
  .object({ ...memberViewShape, messages: z.array(deliverySchema) })
  .meta({ id: "PollResponse" });

export const leaveResponseSchema = z.object({ status: z.literal("left"), group: z.string(), member_id: z.string() });

export const drainResponseSchema = z
  .object({
    status: z.enum(["active", "draining", "drained"]),
    group: z.string(),
    member_id: z.string(),
    in_flight: z.int().min(0),
    generation: generationSchema,
    assigned_partitions: assignedPartitionsSchema,
  })
  .meta({ id: "DrainResponse" });

const memberSchema = z
  .object({
    member_id: z.string(),
    id: z.string(),
    client_id: z.string().nullable(),
    client_host: z.string().nullable(),
    state: z.enum(["active", "draining", "drained"]),
    topics: z.array(z.string()),
    assigned_partitions: assignedPartitionsSchema,
    last_heartbeat: instantSchema,
    joined_at: instantSchema,
    in_flight: z.int().min(0),
  })
  .meta({ id: "Member" });

export const groupSchema = z
  .object({
    group_id: z.string(),
    id: z.string(),
    state: groupStateSchema,
    mode: modeSchema,
    protocol: z.literal("cooperative-sticky"),
    generation: generationSchema,
    leader_id: z.string().nullable(),
    topics: z.array(z.string()),
    members: z.array(memberSchema),
    offsets: z.record(
      z.string(),
      byPartition(
        z.object({
          committed: offsetSchema.nullable(),
          latest: offsetSchema,
          lag: z.int().min(0),
          in_flight: z.int().min(0),
          retrying: z.int().min(0),
          paused: z.boolean(),
        }),
      ),
    ),
    created_at: instantSchema,
    updated_at: instantSchema,
  })
  .meta({ id: "Group" });

export const groupListSchema = z
  .object({ data: z.array(groupSchema), groups: z.array(groupSchema), pagination: paginationSchema })
  .meta({ id: "GroupList" });

export const groupDeletedSchema = z.object({ deleted: z.literal(true), group: z.string() });

const offsetsByTopicSchema = z.record(z.string(), byPartition(offsetSchema));

export const commitResponseSchema = z
  .object({
    status: z.literal("committed"),
    group: z.string(),
    offsets: offsetsByTopicSchema,
    results: z.array(z.object({ topic: z.string(), partition: partitionSchema, offset: offsetSchema })),
  })
  .meta({ id: "CommitResponse" });

export const groupOffsetsSchema = z
  .object({
    group_id: z.string(),
    offsets: offsetsByTopicSchema,
    topics: offsetsByTopicSchema,
    generation: generationSchema,
    updated_at: instantSchema,
    details: z.array(
      z.object({
        topic: z.string(),
        partition: partitionSchema,
        committed_offset: offsetSchema.nullable(),
        latest_offset: offsetSchema,
        lag: z.int().min(0),
        metadata: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: "GroupOffsets" });

export const resetResponseSchema = z
  .object({
    group: z.string(),
    topic: z.string(),
    dry_run: z.boolean(),
    results: z.array(
      z.object({ partition: partitionSchema, old_offset: offsetSchema.nullable(), new_offset: offsetSchema }),
    ),
  })
  .meta({ id: "ResetResponse" });
