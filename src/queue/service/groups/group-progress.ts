import type { Broker, TopicPartitionRef } from "../broker.ts";
import { partitionOf } from "../broker.ts";
import type { DispatchService } from "../delivery/dispatch-service.ts";
import type { PartitionProgress } from "../queue-service.ts";

/** How far a group is in a partition. */
export function progressIn(
  broker: Broker,
  dispatch: DispatchService,
  group: string,
  ref: TopicPartitionRef,
): PartitionProgress {
  const partition = broker.findPartition(ref);
  const delivery = partition?.groups.get(group);
  const dispatcher = delivery === undefined ? undefined : dispatch.peek(group, ref);
  const latestOffset = partition?.log.logEndOffset ?? 0;
  const steadyMs = broker.steadyMs();
  const committedOffset = delivery?.floor;
  const from = Math.max(committedOffset ?? 0, partition?.log.logStartOffset ?? 0);
  return {
    topic: ref.topic.name,
    partition: ref.partition,
    committedOffset,
    latestOffset,
    lag: Math.max(0, latestOffset - from - (delivery?.ackedAboveCount ?? 0)),
    inFlightCount: dispatcher?.inFlightCount ?? delivery?.inFlightCount ?? 0,
    retryCount: delivery?.waitingCount ?? 0,
    oldestInFlightAgeMs: Math.max(0, steadyMs - (dispatcher?.oldestInFlightMs() ?? steadyMs)),
    isPaused: (dispatcher?.pausedUntilMs ?? 0) > steadyMs,
    metadata: delivery?.metadata,
  };
}

/** Everything the group has a state for, and all partitions of the topics named. Sorted. */
export function refsOfGroup(broker: Broker, group: string, topics: readonly string[]): readonly TopicPartitionRef[] {
  const refs = new Map<string, TopicPartitionRef>();
  for (const name of topics) {
    const topic = broker.metadata.findTopic(name);
    for (let partition = 0; partition < (topic?.shards.length ?? 0); partition += 1) {
      if (topic !== undefined) refs.set(`${topic.number}/${partition}`, partitionOf(topic, partition));
    }
  }
  for (const machine of broker.shards.values()) {
    for (const partition of machine.partitions.values()) {
      if (refs.has(partition.key) || !partition.groups.has(group)) continue;
      const topic = broker.metadata.findTopicByNumber(partition.topicNumber);
      if (topic !== undefined) refs.set(partition.key, partitionOf(topic, partition.partition));
    }
  }
  return [...refs.values()].sort(
    (a, b) => (a.topic.name < b.topic.name ? -1 : a.topic.name > b.topic.name ? 1 : 0) || a.partition - b.partition,
  );
}
