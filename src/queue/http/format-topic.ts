import { formatInstant } from "../../platform/time/clock.ts";
import { formatDuration } from "../../platform/time/duration.ts";
import type { Page, PartitionStatus, TopicStatus } from "../service/queue-service.ts";

export const hourMs = 3_600_000;

export function formatTopic(topic: TopicStatus): Record<string, unknown> {
  const { settings } = topic;
  return {
    name: topic.name,
    partitions: topic.partitions,
    created_at: formatInstant(topic.createdAtMs),
    replication_factor: settings.replicationFactor,
    min_insync_replicas: settings.minInsyncReplicas,
    retention_hours: settings.retentionMs / hourMs,
    retention_bytes: settings.retentionBytes,
    cleanup_policy: settings.cleanupPolicy,
    max_message_bytes: settings.maxMessageBytes,
    durability: settings.durability,
    visibility_timeout: formatDuration(settings.visibilityTimeoutMs),
    max_deliveries: settings.maxDeliveries,
    retry_initial_delay: formatDuration(settings.retryInitialDelayMs),
    retry_multiplier: settings.retryMultiplier,
    retry_max_delay: formatDuration(settings.retryMaxDelayMs),
    dlq_enabled: settings.isDlqEnabled,
    dlq_topic: settings.dlqTopic,
    dlq_pause_threshold: settings.dlqPauseThreshold,
    message_ttl: formatDuration(settings.messageTtlMs),
    priority_weights: settings.priorityWeights,
    compression: settings.compression,
    total_messages: topic.totalMessages,
    total_size_bytes: topic.totalSizeBytes,
    partition_offsets: Object.fromEntries(
      topic.partitionDetails.map((detail) => [
        String(detail.partition),
        { earliest: detail.earliestOffset, latest: detail.latestOffset },
      ]),
    ),
    partition_details: topic.partitionDetails.map(formatPartition),
  };
}

export function formatPartition(detail: PartitionStatus): object {
  return {
    partition: detail.partition,
    leader: detail.leader ?? null,
    leader_epoch: detail.leaderEpoch,
    replicas: detail.replicas,
    isr: detail.inSyncReplicas,
    earliest_offset: detail.earliestOffset,
    latest_offset: detail.latestOffset,
    size_bytes: detail.sizeBytes,
  };
}

export function formatPagination(page: Pick<Page<unknown>, "page" | "perPage" | "total">): object {
  return {
    page: page.page,
    per_page: page.perPage,
    total: page.total,
    total_pages: Math.ceil(page.total / page.perPage),
  };
}
