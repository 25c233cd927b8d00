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
import { createInterimService, NoDelays } from "./interim.ts";
import { Broker, defaultLimits } from "./service/broker.ts";
import { metadataShard, type ShardId, type ShardStateMachine } from "./service/ports.ts";
import { validatePublish } from "./service/publish/validate-publish.ts";
import type { PublishMessage, QueueCounters, QueueService } from "./service/queue-service.ts";
import { createReplicationHost, type ReplicationHost } from "./service/replication/replication-host.ts";
import { createLoopTransport } from "./service/replication/transport.ts";
import { MetadataMachine } from "./service/state-machines/metadata-machine.ts";
import { ShardMachine } from "./service/state-machines/shard-machine.ts";

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
  const metadata = new MetadataMachine({ storage: storage.openShard(metadataShard), shardCount });
  const shards = new Map<ShardId, ShardMachine>();
  for (let shard = 1; shard <= shardCount; shard += 1) {
    shards.set(shard, new ShardMachine({ shard, storage: storage.openShard(shard), delays: new NoDelays() }));
  }
  const machineOf = (shard: ShardId): ShardStateMachine => shards.get(shard) ?? metadata;
  const wal = openWriteAheadLog({ disk, folder: "wal", timers, random, runSoon: afterPendingEvents });
  const replication = createReplicationHost({
    nodeId,
    voters: [nodeId],
    shardCount,
    isBootstrap: true,
    wal,
    stateMachineFor: machineOf,
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
  const broker = new Broker({
    nodeId,
    replication,
    metadata,
    shards,
    clock,
    timers,
    random,
    logger,
    limits,
    counters,
  });
  const service = createInterimService(broker);
  return {
    service,
    validatePublish: (topic, messages) => validatePublish(broker.topic(topic), messages, limits),
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
