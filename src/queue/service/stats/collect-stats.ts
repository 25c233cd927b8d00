import { type Broker, partitionOf } from "../broker.ts";
import type { DelayedService } from "../delayed/delayed-service.ts";
import type { DispatchService } from "../delivery/dispatch-service.ts";
import { progressIn } from "../groups/group-progress.ts";
import type { GroupStore } from "../groups/group-store.ts";
import type { PartitionProgress, QueueStats, TopicPartition } from "../queue-service.ts";
import { redriveGroup } from "../state-machines/shard-machine.ts";

/** What this node leads, counted when asked. */
export function collectStats(
  broker: Broker,
  store: GroupStore,
  dispatch: DispatchService,
  delayed: DelayedService,
): QueueStats {
  const groups = store.listLed();
  const topics = [...broker.metadata.state.topics.values()];
  let inFlightCount = 0;
  let retryCount = 0;
  for (const progress of collectGroupProgress(broker, dispatch)) {
    inFlightCount += progress.inFlightCount;
    retryCount += progress.retryCount;
  }
  return {
    topicCount: topics.length,
    partitionCount: topics.reduce((total, topic) => total + topic.shards.length, 0),
    groupCount: groups.length,
    memberCount: groups.reduce((total, group) => total + (store.find(group)?.members.length ?? 0), 0),
    inFlightCount,
    retryCount,
    delayedCount: delayed.pendingCount(),
  };
}

export function collectPartitionSizes(
  broker: Broker,
): readonly (TopicPartition & { readonly sizeBytes: number; readonly latestOffset: number })[] {
  const sizes: (TopicPartition & { readonly sizeBytes: number; readonly latestOffset: number })[] = [];
  for (const machine of broker.shards.values()) {
    if (!machine.isLeader) continue;
    for (const { topicNumber, partition, log } of machine.partitions.values()) {
      const topic = broker.metadata.findTopicByNumber(topicNumber);
      if (topic === undefined) continue;
      sizes.push({ topic: topic.name, partition, sizeBytes: log.sizeBytes, latestOffset: log.logEndOffset });
    }
  }
  return sizes;
}

export function collectGroupProgress(
  broker: Broker,
  dispatch: DispatchService,
): readonly (PartitionProgress & { readonly group: string })[] {
  const all: (PartitionProgress & { readonly group: string })[] = [];
  for (const machine of broker.shards.values()) {
    if (!machine.isLeader) continue;
    for (const { topicNumber, partition, groups } of machine.partitions.values()) {
      const topic = broker.metadata.findTopicByNumber(topicNumber);
      if (topic?.shards[partition] === undefined) continue;
      for (const group of groups.keys()) {
        if (group === redriveGroup) continue;
        all.push({ group, ...progressIn(broker, dispatch, group, partitionOf(topic, partition)) });
      }
    }
  }
  return all;
}
