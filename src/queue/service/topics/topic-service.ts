import { queueError } from "../../errors.ts";
import type { MetadataResult } from "../../model/topics/metadata-state.ts";
import {
  deadLetterSettings,
  defaultSettings,
  isDeadLetterName,
  type Topic,
  type TopicDefaults,
  type TopicSettings,
} from "../../model/topics/topic.ts";
import { type Broker, partitionsOf } from "../broker.ts";
import type {
  CreateTopicRequest,
  Page,
  PageRequest,
  PartitionStatus,
  PatchTopicRequest,
  TopicStatus,
  TopicUseCases,
} from "../queue-service.ts";

/** Topics: created, changed and deleted in the metadata group; a deleted topic's data goes shard by shard after it. */
export class TopicService implements TopicUseCases {
  readonly #broker: Broker;

  constructor(broker: Broker) {
    this.#broker = broker;
    broker.metadata.onChange(() => this.#dropDeleted());
    for (const machine of broker.shards.values()) {
      machine.addEvents({
        onAppended: () => {},
        onDelivery: () => {},
        onDelayed: () => {},
        onGroup: () => {},
        onTopicDropped: () => {},
        onLeadership: () => this.#dropDeleted(),
      });
    }
  }

  async createTopic(request: CreateTopicRequest): Promise<TopicStatus> {
    const { name } = request;
    const result = await this.#broker.changeMetadata({
      kind: "createTopic",
      name,
      partitions: request.partitions ?? this.#broker.limits.defaultPartitions,
      settings: { ...defaultSettings(name, this.#defaults()), ...dropUndefined(request.settings) },
      nowMs: this.#broker.clock.nowMs(),
      partitionCountLimit: this.#broker.limits.partitionCountMax,
    });
    return this.#status(topicOf(result));
  }

  async getTopic(name: string): Promise<TopicStatus> {
    return this.#status(this.#broker.topic(name));
  }

  async listTopics(page: PageRequest): Promise<Page<TopicStatus>> {
    const names = this.listTopicNames();
    const start = (page.page - 1) * page.perPage;
    const data = names.slice(start, start + page.perPage).map((name) => this.#status(this.#broker.topic(name)));
    return { data, page: page.page, perPage: page.perPage, total: names.length };
  }

  listTopicNames(): readonly string[] {
    return [...this.#broker.metadata.state.topics.keys()].sort();
  }

  findTopicSettings(name: string): { readonly partitions: number; readonly settings: TopicSettings } | undefined {
    const topic = this.#broker.metadata.findTopic(name);
    return topic === undefined ? undefined : { partitions: topic.shards.length, settings: topic.settings };
  }

  async patchTopic(request: PatchTopicRequest): Promise<TopicStatus> {
    const result = await this.#broker.changeMetadata({
      kind: "patchTopic",
      name: request.name,
      partitions: request.partitions,
      settings: dropUndefined(request.settings),
      partitionCountLimit: this.#broker.limits.partitionCountMax,
    });
    return this.#status(topicOf(result));
  }

  async deleteTopic(name: string): Promise<void> {
    const topic = topicOf(await this.#broker.changeMetadata({ kind: "deleteTopic", name }));
    const shards = new Set(topic.shards);
    await Promise.all([...shards].map((shard) => this.#drop(shard, topic.number)));
  }

  /** The dead-letter topic of a topic; created with its partitions on first use. Undefined when it has none. */
  async ensureDeadLetterTopic(source: Topic): Promise<Topic | undefined> {
    if (!source.settings.isDlqEnabled) return undefined;
    const name = source.settings.dlqTopic;
    const existing = this.#broker.metadata.findTopic(name);
    if (existing !== undefined && existing.shards.length >= source.shards.length) return existing;
    try {
      return topicOf(
        await this.#broker.changeMetadata({
          kind: "createTopic",
          name,
          partitions: source.shards.length,
          settings: deadLetterSettings(name, source.settings, this.#defaults()),
          nowMs: this.#broker.clock.nowMs(),
          partitionCountLimit: Number.MAX_SAFE_INTEGER,
        }),
      );
    } catch (error) {
      // Another dead letter came first, or the topic has too few partitions.
      const topic = this.#broker.metadata.findTopic(name);
      if (topic === undefined) throw error;
      if (topic.shards.length >= source.shards.length) return topic;
      const grown = await this.#broker.changeMetadata({
        kind: "patchTopic",
        name,
        partitions: source.shards.length,
        settings: {},
        partitionCountLimit: Number.MAX_SAFE_INTEGER,
      });
      return topicOf(grown);
    }
  }

  #defaults(): TopicDefaults {
    const { limits } = this.#broker;
    return {
      replicationFactor: limits.defaultReplicationFactor,
      retentionMs: limits.defaultRetentionMs,
      maxMessageBytes: limits.defaultMaxMessageBytes,
    };
  }

  #status(topic: Topic): TopicStatus {
    const details = partitionsOf(topic).map((ref) => this.#partitionStatus(ref.partition, ref.shard, topic));
    return {
      name: topic.name,
      topicId: String(topic.number),
      partitions: topic.shards.length,
      createdAtMs: topic.createdAtMs,
      isDeadLetterTopic: this.#isDeadLetterTopic(topic.name),
      settings: topic.settings,
      totalMessages: details.reduce((total, detail) => total + detail.messageCount, 0),
      totalSizeBytes: details.reduce((total, detail) => total + detail.sizeBytes, 0),
      partitionDetails: details,
    };
  }

  #partitionStatus(partition: number, shard: number, topic: Topic): PartitionStatus {
    const machine = this.#broker.shard(shard);
    const log = machine.findPartition({ topicNumber: topic.number, partition })?.log;
    const leader = this.#broker.replication.leaderOf(shard);
    const nodes = leader === undefined ? [] : [leader];
    return {
      partition,
      shard,
      leader,
      leaderEpoch: machine.term,
      replicas: nodes,
      inSyncReplicas: nodes,
      earliestOffset: log?.logStartOffset ?? 0,
      latestOffset: log?.logEndOffset ?? 0,
      sizeBytes: log?.sizeBytes ?? 0,
      messageCount: log?.recordCount ?? 0,
    };
  }

  #isDeadLetterTopic(name: string): boolean {
    if (isDeadLetterName(name)) return true;
    for (const topic of this.#broker.metadata.state.topics.values()) {
      if (topic.settings.isDlqEnabled && topic.settings.dlqTopic === name) return true;
    }
    return false;
  }

  /** Data of topics that are no longer in the metadata: a deletion that a crash or another leader left half done. */
  #dropDeleted(): void {
    if (!this.#broker.metadata.isLeader && this.#broker.metadata.lastAppliedIndex() === 0) return;
    for (const machine of this.#broker.shards.values()) {
      if (!machine.isLeader) continue;
      const numbers = new Set([...machine.partitions.values()].map((partition) => partition.topicNumber));
      for (const number of numbers) {
        const isNewer = number > this.#broker.metadata.state.lastTopicNumber;
        if (isNewer || this.#broker.metadata.findTopicByNumber(number) !== undefined) continue;
        this.#drop(machine.shard, number).catch((error: unknown) => {
          this.#broker.logger.debug({ shard: machine.shard, err: error }, "data of a deleted topic stays for now");
        });
      }
    }
  }

  async #drop(shard: number, topicNumber: number): Promise<void> {
    await this.#broker.proposer.propose(shard, { kind: "dropTopic", topicNumber });
  }
}

function topicOf(result: MetadataResult): Topic {
  if (result.kind === "topic") return result.topic;
  throw queueError("INTERNAL", `Cannot read the metadata's answer: it is ${result.kind}`);
}

function dropUndefined(settings: Partial<TopicSettings> | undefined): Partial<TopicSettings> {
  return Object.fromEntries(Object.entries(settings ?? {}).filter(([, value]) => value !== undefined));
}
