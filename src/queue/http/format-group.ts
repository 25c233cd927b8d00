import { formatInstant } from "../../platform/time/clock.ts";
import type {
  DrainResult,
  GroupMemberStatus,
  GroupOffsets,
  GroupStatus,
  JoinResult,
  MemberView,
  PartitionProgress,
  TopicPartition,
} from "../service/queue-service.ts";

/** `{"orders": [0, 1]}`, sorted. */
export function byTopic(partitions: readonly TopicPartition[]): Record<string, readonly number[]> {
  const grouped = new Map<string, number[]>();
  for (const { topic, partition } of partitions) {
    const list = grouped.get(topic);
    if (list === undefined) grouped.set(topic, [partition]);
    else list.push(partition);
  }
  for (const list of grouped.values()) list.sort((a, b) => a - b);
  return Object.fromEntries([...grouped].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function plain(partitions: readonly TopicPartition[]): readonly TopicPartition[] {
  return partitions.map(({ topic, partition }) => ({ topic, partition }));
}

export function formatJoin(result: JoinResult): object {
  return {
    group: result.group,
    member_id: result.memberId,
    client_id: result.clientId ?? null,
    generation: result.generation,
    leader_id: result.leaderId,
    leader: result.leaderId === result.memberId,
    state: result.state,
    mode: result.mode,
    assigned_partitions: byTopic(result.assignedPartitions),
    partitions: plain(result.assignedPartitions),
    members: result.memberIds,
    heartbeat_interval_ms: result.heartbeatIntervalMs,
    session_timeout_ms: result.sessionTimeoutMs,
    rebalance_required: result.isRebalanceRequired,
  };
}

export function formatMemberView(view: MemberView): Record<string, unknown> {
  return {
    status: "ok",
    group: view.group,
    member_id: view.memberId,
    generation: view.generation,
    state: view.state,
    draining: view.isDraining,
    rebalance_required: view.isRebalanceRequired,
    assigned_partitions: byTopic(view.assignedPartitions),
    partitions_assigned: plain(view.partitionsPending),
    partitions_to_revoke: plain(view.partitionsToRevoke),
    revocation_deadline: view.revocationDeadlineMs === undefined ? null : formatInstant(view.revocationDeadlineMs),
  };
}

export function formatDrain(result: DrainResult, assigned: readonly TopicPartition[]): object {
  return {
    status: result.state,
    group: result.group,
    member_id: result.memberId,
    in_flight: result.inFlightCount,
    generation: result.generation,
    assigned_partitions: byTopic(assigned),
  };
}

export function formatGroup(group: GroupStatus): object {
  return {
    group_id: group.group,
    id: group.group,
    state: group.state,
    mode: group.mode,
    protocol: "cooperative-sticky",
    generation: group.generation,
    leader_id: group.leaderId ?? null,
    topics: group.topics,
    members: group.members.map(formatMember),
    offsets: formatProgress(group.progress),
    created_at: formatInstant(group.createdAtMs),
    updated_at: formatInstant(group.updatedAtMs),
  };
}

function formatMember(member: GroupMemberStatus): object {
  return {
    member_id: member.memberId,
    id: member.memberId,
    client_id: member.clientId ?? null,
    client_host: member.clientHost ?? null,
    state: member.state,
    topics: member.topics,
    assigned_partitions: byTopic(member.assignedPartitions),
    last_heartbeat: formatInstant(member.lastHeartbeatMs),
    joined_at: formatInstant(member.joinedAtMs),
    in_flight: member.inFlightCount,
  };
}

function formatProgress(progress: readonly PartitionProgress[]): object {
  const topics: Record<string, Record<string, object>> = {};
  for (const item of progress) {
    topics[item.topic] ??= {};
    const partitions = topics[item.topic] ?? {};
    partitions[String(item.partition)] = {
      committed: item.committedOffset ?? null,
      latest: item.latestOffset,
      lag: item.lag,
      in_flight: item.inFlightCount,
      retrying: item.retryCount,
      paused: item.isPaused,
    };
  }
  return topics;
}

export function formatGroupOffsets(offsets: GroupOffsets): object {
  const topics: Record<string, Record<string, number>> = {};
  for (const { topic, partition, committedOffset } of offsets.progress) {
    topics[topic] ??= {};
    const partitions = topics[topic] ?? {};
    if (committedOffset !== undefined) partitions[String(partition)] = committedOffset;
  }
  return {
    group_id: offsets.group,
    offsets: topics,
    topics,
    generation: offsets.generation,
    updated_at: formatInstant(offsets.updatedAtMs),
    details: offsets.progress.map((item) => ({
      topic: item.topic,
      partition: item.partition,
      committed_offset: item.committedOffset ?? null,
      latest_offset: item.latestOffset,
      lag: item.lag,
      metadata: item.metadata ?? null,
    })),
  };
}
