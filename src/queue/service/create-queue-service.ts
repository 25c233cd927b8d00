import type { Logger } from "../../platform/log/logger.ts";
import type { Random } from "../../platform/random/random.ts";
import type { Clock, Timers } from "../../platform/time/clock.ts";
import { Broker, defaultLimits, type QueueLimits } from "./broker.ts";
import type { DelayStore } from "./delay-store.ts";
import { DelayedService } from "./delayed/delayed-service.ts";
import { DispatchService } from "./delivery/dispatch-service.ts";
import { SettleService } from "./delivery/settle-service.ts";
import { DeadLetterService } from "./dlq/dead-letter-service.ts";
import { FetchService } from "./fetch/fetch-service.ts";
import { GroupService } from "./groups/group-service.ts";
import { GroupStore } from "./groups/group-store.ts";
import { OffsetService } from "./offsets/offset-service.ts";
import type { StorageFactory } from "./partition-log.ts";
import { metadataShard, type Replication, type ShardId, type ShardStateMachine } from "./ports.ts";
import { PublishService } from "./publish/publish-service.ts";
import type { QueueCounters, QueueService } from "./queue-service.ts";
import { MetadataMachine } from "./state-machines/metadata-machine.ts";
import { ShardMachine } from "./state-machines/shard-machine.ts";
import { collectGroupProgress, collectPartitionSizes, collectStats } from "./stats/collect-stats.ts";
import { RetentionService } from "./topics/retention-service.ts";
import { TopicService } from "./topics/topic-service.ts";

/** State machines of one node. Made before the replication, which drives them; the use cases come after it. */
export interface QueueMachines {
  readonly metadata: MetadataMachine;
  readonly shards: ReadonlyMap<ShardId, ShardMachine>;
  readonly stateMachineFor: (shard: ShardId) => ShardStateMachine;
}

export function createQueueMachines(options: {
  readonly shardCount: number;
  readonly storage: StorageFactory;
  readonly openDelayStore: (shard: ShardId) => DelayStore;
}): QueueMachines {
  const { shardCount, storage, openDelayStore } = options;
  const metadata = new MetadataMachine({ storage: storage.openShard(metadataShard), shardCount });
  const shards = new Map<ShardId, ShardMachine>();
  for (let shard = 1; shard <= shardCount; shard += 1) {
    shards.set(shard, new ShardMachine({ shard, storage: storage.openShard(shard), delays: openDelayStore(shard) }));
  }
  const stateMachineFor = (shard: ShardId): ShardStateMachine => {
    const machine = shard === metadataShard ? metadata : shards.get(shard);
    if (machine === undefined) throw new Error(`Cannot find shard ${shard}: there are ${shardCount}`);
    return machine;
  };
  return { metadata, shards, stateMachineFor };
}

export interface QueueServiceOptions {
  readonly nodeId: string;
  readonly replication: Replication;
  readonly machines: QueueMachines;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits?: Partial<QueueLimits>;
  readonly counters?: QueueCounters;
}

const readyCheckMs = 20;
const receiptKeySize = 32;

export function createQueueService(options: QueueServiceOptions): QueueService {
  const { nodeId, replication, machines, clock, timers, random, logger } = options;
  const broker = new Broker({
    nodeId,
    replication,
    metadata: machines.metadata,
    shards: machines.shards,
    clock,
    timers,
    random,
    logger,
    limits: { ...defaultLimits, ...options.limits },
    counters: options.counters ?? silentCounters,
  });
  const topics = new TopicService(broker);
  const publishing = new PublishService(broker);
  const fetching = new FetchService(broker);
  const dispatch = new DispatchService(broker, topics);
  const settling = new SettleService(broker, dispatch);
  const store = new GroupStore(broker);
  const groups = new GroupService(broker, store, dispatch);
  const offsets = new OffsetService(broker, store, groups, dispatch);
  const delayed = new DelayedService(broker);
  const deadLetters = new DeadLetterService(broker);
  const retention = new RetentionService(broker);
  let isReady = false;

  return {
    async start() {
      while (!hasLeaders(broker)) await wait(timers, readyCheckMs);
      while (broker.metadata.state.receiptKey === undefined && !broker.closing.aborted) {
        await ensureReceiptKey(broker);
        if (broker.metadata.state.receiptKey === undefined) await wait(timers, readyCheckMs);
      }
      groups.start();
      retention.start();
      isReady = true;
    },
    get isReady() {
      return isReady;
    },
    async close() {
      isReady = false;
      broker.beginClose();
      groups.close();
      delayed.close();
      dispatch.close();
      await retention.close();
    },
    createTopic: (request) => topics.createTopic(request),
    getTopic: (name) => topics.getTopic(name),
    listTopics: (page) => topics.listTopics(page),
    listTopicNames: () => topics.listTopicNames(),
    findTopicSettings: (name) => topics.findTopicSettings(name),
    patchTopic: (request) => topics.patchTopic(request),
    deleteTopic: (name) => topics.deleteTopic(name),
    publish: (request) => publishing.publish(request),
    publishEncoded: (request) => publishing.publishEncoded(request),
    partitionForKey: (topic, key) => publishing.partitionForKey(topic, key),
    initProducer: (request) => publishing.initProducer(request),
    fetch: (request) => fetching.fetch(request),
    join: (request) => groups.join(request),
    heartbeat: (request) => groups.heartbeat(request),
    poll: (request) => groups.poll(request),
    leave: (request) => groups.leave(request),
    revoke: (request) => groups.revoke(request),
    drain: (request) => groups.drain(request),
    undrain: (request) => groups.undrain(request),
    getGroup: (group) => groups.getGroup(group),
    listGroups: (page) => groups.listGroups(page),
    deleteGroup: (group, deletion) => groups.deleteGroup(group, deletion),
    watchMember: (group, memberId, onChange) => groups.watchMember(group, memberId, onChange),
    commitOffsets: (request) => offsets.commitOffsets(request),
    getOffsets: (request) => offsets.getOffsets(request),
    resetOffsets: (request) => offsets.resetOffsets(request),
    ack: (deliveries) => settling.ack(deliveries),
    nack: (deliveries, nackOptions) => settling.nack(deliveries, nackOptions),
    reject: (deliveries, reason) => settling.reject(deliveries, reason),
    extendVisibility: (deliveries, timeoutMs) => settling.extendVisibility(deliveries, timeoutMs),
    listInFlight: (topic) => settling.listInFlight(topic),
    listDelayed: (request) => delayed.listDelayed(request),
    getDelayed: (topic, delayedId) => delayed.getDelayed(topic, delayedId),
    cancelDelayed: (topic, delayedId) => delayed.cancelDelayed(topic, delayedId),
    peekDlq: (request) => deadLetters.peekDlq(request),
    redriveDlq: (request) => deadLetters.redriveDlq(request),
    purgeDlq: (topic) => deadLetters.purgeDlq(topic),
    stats: () => collectStats(broker, store, dispatch, delayed),
    priorityStats: () => ({
      published: publishing.publishedByPriority,
      delivered: dispatch.deliveredByPriority,
    }),
    partitionSizes: () => collectPartitionSizes(broker),
    groupProgress: () => collectGroupProgress(broker, dispatch),
  };
}

function hasLeaders(broker: Broker): boolean {
  if (broker.replication.leaderOf(metadataShard) === undefined) return false;
  return [...broker.shards.keys()].every((shard) => broker.replication.leaderOf(shard) !== undefined);
}

/** The leader of the metadata makes the key; the others see it come. */
async function ensureReceiptKey(broker: Broker): Promise<void> {
  if (!broker.metadata.isLeader) return;
  const key = Buffer.from(broker.random.bytes(receiptKeySize)).toString("base64");
  try {
    await broker.changeMetadata({ kind: "ensureReceiptKey", key });
  } catch (error) {
    // Another leader does it, or this one at the next try.
    broker.logger.debug({ err: error }, "the key of receipts is not written yet");
  }
}

function wait(timers: Timers, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    timers.after(delayMs, resolve);
  });
}

const silentCounters: QueueCounters = {
  onPublished: () => {},
  onConsumed: () => {},
  onSettled: () => {},
  onVisibilityExpired: () => {},
  onDelayedScheduled: () => {},
  onDelayedFired: () => {},
  onRebalance: () => {},
};
