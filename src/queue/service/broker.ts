import type { DomainError } from "../../platform/errors/domain-error.ts";
import type { Logger } from "../../platform/log/logger.ts";
import type { Random } from "../../platform/random/random.ts";
import type { Clock, Timers } from "../../platform/time/clock.ts";
import { queueError } from "../errors.ts";
import type { PartitionRef } from "../model/commands/shard-command.ts";
import type { MetadataCommand, MetadataResult } from "../model/topics/metadata-state.ts";
import type { Topic } from "../model/topics/topic.ts";
import { metadataShard, type Replication, type ShardId } from "./ports.ts";
import type { QueueCounters } from "./queue-service.ts";
import { ShardProposer } from "./shards/shard-proposer.ts";
import { encodeMetadataCommand, type MetadataMachine } from "./state-machines/metadata-machine.ts";
import type { PartitionState } from "./state-machines/partition-state.ts";
import type { ShardMachine } from "./state-machines/shard-machine.ts";

/** Limits of the use cases; the configuration may set them. */
export interface QueueLimits {
  readonly maxDelayMs: number;
  readonly messagesPerRequestMax: number;
  readonly bytesPerRequestMax: number;
  readonly partitionCountMax: number;
  readonly defaultPartitions: number;
  readonly defaultRetentionMs: number;
  readonly defaultReplicationFactor: number;
  readonly defaultMaxMessageBytes: number;
}

export const defaultLimits: QueueLimits = {
  maxDelayMs: 30 * 24 * 3_600_000,
  messagesPerRequestMax: 10_000,
  bytesPerRequestMax: 16 * 1024 * 1024,
  partitionCountMax: 10_000,
  defaultPartitions: 3,
  defaultRetentionMs: 168 * 3_600_000,
  defaultReplicationFactor: 1,
  defaultMaxMessageBytes: 1024 * 1024,
};

/** A partition of a topic, as services pass it around. */
export interface TopicPartitionRef extends PartitionRef {
  readonly topic: Topic;
  readonly shard: ShardId;
}

export interface BrokerOptions {
  readonly nodeId: string;
  readonly replication: Replication;
  readonly metadata: MetadataMachine;
  readonly shards: ReadonlyMap<ShardId, ShardMachine>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: QueueLimits;
  readonly counters: QueueCounters;
}

/** What all use cases share: the replicated state for reading, and the one way to change it. */
export class Broker {
  readonly nodeId: string;
  readonly replication: Replication;
  readonly metadata: MetadataMachine;
  readonly shards: ReadonlyMap<ShardId, ShardMachine>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: QueueLimits;
  readonly counters: QueueCounters;
  readonly proposer: ShardProposer;
  readonly #steadyOriginMs: number;
  readonly #closing = new AbortController();

  constructor(options: BrokerOptions) {
    this.nodeId = options.nodeId;
    this.replication = options.replication;
    this.metadata = options.metadata;
    this.shards = options.shards;
    this.clock = options.clock;
    this.timers = options.timers;
    this.random = options.random;
    this.logger = options.logger;
    this.limits = options.limits;
    this.counters = options.counters;
    this.#steadyOriginMs = options.clock.nowMs() - options.clock.monotonicMs();
    this.proposer = new ShardProposer(options.replication, () => ({
      nowMs: this.clock.nowMs(),
      steadyMs: this.steadyMs(),
    }));
  }

  /** Aborted when the broker stops; ends every wait. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }
  beginClose(): void {
    this.#closing.abort(queueError("SHUTTING_DOWN", "Cannot serve: the broker is stopping", { retryAfterSeconds: 1 }));
  }

  /** Wall clock at the start plus the span since: does not jump. Deadlines of deliveries are in this time. */
  steadyMs(): number {
    return Math.floor(this.#steadyOriginMs + this.clock.monotonicMs());
  }

  shard(shard: ShardId): ShardMachine {
    const machine = this.shards.get(shard);
    if (machine === undefined) throw queueError("INTERNAL", `Cannot find shard ${shard}: this node has none`);
    return machine;
  }

  /** The shard's machine, when this node may answer for it. */
  leading(shard: ShardId): ShardMachine {
    const machine = this.shard(shard);
    if (machine.isLeader) return machine;
    throw notLeader(shard, this.replication.leaderOf(shard));
  }

  /** @throws TOPIC_NOT_FOUND */
  topic(name: string): Topic {
    const topic = this.metadata.findTopic(name);
    if (topic === undefined) throw topicNotFound(name);
    return topic;
  }

  /** @throws TOPIC_NOT_FOUND, PARTITION_NOT_FOUND */
  partition(name: string, partition: number): TopicPartitionRef {
    return partitionOf(this.topic(name), partition);
  }

  /** The partition's state on the leading node; undefined before the first record. */
  findPartition(ref: TopicPartitionRef): PartitionState | undefined {
    return this.shard(ref.shard).findPartition(ref);
  }

  /** @throws the refusal, as a domain error */
  async changeMetadata(command: MetadataCommand): Promise<MetadataResult> {
    const result = (await this.replication.propose(metadataShard, [encodeMetadataCommand(command)])) as MetadataResult;
    if (result.kind === "refused") throw queueError(result.code, result.message, { details: result.details });
    return result;
  }
}

export function partitionOf(topic: Topic, partition: number): TopicPartitionRef {
  const shard = topic.shards[partition];
  if (shard !== undefined) return { topic, topicNumber: topic.number, partition, shard };
  throw queueError(
    "PARTITION_NOT_FOUND",
    `Cannot find partition ${partition} of topic "${topic.name}": it has ${topic.shards.length}, counted from 0`,
    { details: { topic: topic.name, partition, partitions: topic.shards.length } },
  );
}

export function partitionsOf(topic: Topic): readonly TopicPartitionRef[] {
  return topic.shards.map((shard, partition) => ({ topic, topicNumber: topic.number, partition, shard }));
}

export function topicNotFound(name: string): DomainError {
  return queueError("TOPIC_NOT_FOUND", `Cannot find topic "${name}": there is none`, { details: { topic: name } });
}

function notLeader(shard: ShardId, leader: string | undefined): DomainError {
  return leader === undefined
    ? queueError("LEADER_NOT_AVAILABLE", `Cannot answer for shard ${shard}: it has no leader right now`, {
        retryAfterSeconds: 1,
      })
    : queueError("NOT_LEADER", `Cannot answer for shard ${shard}: node "${leader}" leads it`, {
        details: { leader },
        retryAfterSeconds: 1,
      });
}
