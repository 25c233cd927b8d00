import { join, resolve } from "node:path";
import { acquireLockFile, type LockFile } from "../platform/files/lock-file.ts";
import { createNodeDisk } from "../platform/files/node-disk.ts";
import { ensureOwnerOnlyFolder } from "../platform/files/owner-only.ts";
import type { Logger } from "../platform/log/logger.ts";
import type { Random } from "../platform/random/random.ts";
import { afterPendingEvents, type Clock, type Timers } from "../platform/time/clock.ts";
import type { QueueConfig } from "./config.ts";
import { type NodeIdentity, openNodeIdentity } from "./drivers/node/node-identity.ts";
import { createStorageFactory } from "./drivers/storage/shard-storage.ts";
import { openWriteAheadLog } from "./drivers/storage/wal/write-ahead-log.ts";
import type { Topic } from "./model/topics/topic.ts";
import { defaultLimits, topicNotFound } from "./service/broker.ts";
import { createQueueMachines, createQueueService, type QueueMachines } from "./service/create-queue-service.ts";
import { validatePublish } from "./service/publish/validate-publish.ts";
import type { PublishMessage, QueueCounters, QueueService } from "./service/queue-service.ts";
import { createReplicationHost, type ReplicationHost } from "./service/replication/replication-host.ts";
import { createLoopTransport } from "./service/replication/transport.ts";

/**
 * Puts the broker together on a data directory: lock, write-ahead log, one storage and state machine per shard, the
 * Raft groups over them, the services on top. Everything in the directory belongs to this process until `close`.
 */
export interface OpenBrokerOptions {
  readonly config: QueueConfig;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly counters: QueueCounters;
}

export interface OpenBroker {
  readonly service: QueueService;
  /** @throws DomainError what a publish of these messages would be refused with */
  validatePublish(topic: string, messages: readonly PublishMessage[]): void;
  readonly replication: ReplicationHost;
  readonly identity: NodeIdentity;
  /** Free bytes where the data is. */
  freeBytes(): number;
  /** Recovers; resolves when this node can answer. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Fixed when a directory is first used; more than the cores of a small machine, few enough to be cheap when idle. */
const newShardCount = 8;
const hourMs = 3_600_000;

/** @throws DomainError FILE_LOCKED, FILE_UNUSABLE, NOT_READY */
export function openBroker(options: OpenBrokerOptions): OpenBroker {
  const dataDir = resolve(options.config.dataDir);
  ensureOwnerOnlyFolder(dataDir);
  const lock = acquireLockFile(join(dataDir, "broker.lock"));
  try {
    return assemble(options, dataDir, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

function assemble(options: OpenBrokerOptions, dataDir: string, lock: LockFile): OpenBroker {
  const { config, clock, timers, random, logger, counters } = options;
  const { nodeId } = config;
  const identity = openNodeIdentity({ dataDir, nodeId, shardCount: newShardCount, random });
  const { shardCount } = identity;
  const disk = createNodeDisk(dataDir);
  const storage = createStorageFactory({ disk, folder: "shards", runSoon: afterPendingEvents });
  const machines = createQueueMachines({
    shardCount,
    storage,
    openDelayStore: (shard) => storage.openDelayStore(shard),
  });
  const wal = openWriteAheadLog({ disk, folder: "wal", timers, random, runSoon: afterPendingEvents });
  const replication = createReplicationHost({
    nodeId,
    voters: [nodeId],
    shardCount,
    isBootstrap: true,
    wal,
    stateMachineFor: machines.stateMachineFor,
    transport: createLoopTransport(),
    clock,
    timers,
    random,
    logger,
  });
  const limits = {
    ...defaultLimits,
    maxDelayMs: config.maxDelayMs,
    defaultPartitions: config.defaultPartitions,
    defaultRetentionMs: config.defaultRetentionHours * hourMs,
    defaultMaxMessageBytes: config.maxMessageBytes,
  };
  const service = createQueueService({
    nodeId,
    replication,
    machines,
    clock,
    timers,
    random,
    logger,
    limits,
    counters,
  });
  return {
    service,
    validatePublish: (topic, messages) => validatePublish(findTopic(machines, topic), messages, limits),
    replication,
    identity,
    freeBytes: () => disk.freeBytes(),
    async start() {
      await replication.start();
      await service.start();
    },
    async close() {
      try {
        await service.close();
        await replication.close();
      } finally {
        lock.release();
      }
    },
  };
}

function findTopic(machines: QueueMachines, name: string): Topic {
  const topic = machines.metadata.findTopic(name);
  if (topic === undefined) throw topicNotFound(name);
  return topic;
}
