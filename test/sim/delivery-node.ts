import { SimDisk } from "../../src/platform/files/sim-disk.ts";
import { silentLogger } from "../../src/platform/log/logger.ts";
import { createStorageFactory } from "../../src/queue/drivers/storage/shard-storage.ts";
import { openWriteAheadLog } from "../../src/queue/drivers/storage/wal/write-ahead-log.ts";
import { createQueueMachines, createQueueService } from "../../src/queue/service/create-queue-service.ts";
import type { QueueService } from "../../src/queue/service/queue-service.ts";
import { createReplicationHost, type ReplicationHost } from "../../src/queue/service/replication/replication-host.ts";
import type { Network } from "./network.ts";
import { NodeTime, type World } from "./world.ts";

/** A node of a cluster with everything but the edges: services, state machines, replication, storage, on simulated disk and net. */
interface Life {
  readonly time: NodeTime;
  readonly host: ReplicationHost;
  readonly service: QueueService;
}

export interface DeliveryNodeOptions {
  readonly id: string;
  readonly voters: readonly string[];
  readonly world: World;
  readonly network: Network;
}

/** One data shard: then one node coordinates the groups and leads their partitions. */
const shardCount = 1;

export class DeliveryNode {
  readonly id: string;
  readonly #options: DeliveryNodeOptions;
  readonly #disk: SimDisk;
  #life: Life | undefined;
  #wasStarted = false;

  constructor(options: DeliveryNodeOptions) {
    this.id = options.id;
    this.#options = options;
    const { world } = options;
    this.#disk = new SimDisk({
      random: world.random,
      schedule: (delayMs, run) => this.#life?.time.schedule(delayMs, run),
      latencyMs: () => world.between(0.05, 2),
    });
  }

  /** The services, when this node may answer for the data shard and the metadata. */
  get service(): QueueService | undefined {
    const life = this.#life;
    const isLeader = life?.host.isLeader(1) === true && life.host.isLeader(0);
    return isLeader ? life.service : undefined;
  }
  get host(): ReplicationHost | undefined {
    return this.#life?.host;
  }
  get isUp(): boolean {
    return this.#life !== undefined;
  }
  get term(): number {
    return this.#life?.host.status(1).term ?? 0;
  }

  start(): void {
    if (this.#life !== undefined) return;
    const { world, network, voters } = this.#options;
    const time = new NodeTime(world, 0);
    this.#life = { time } as unknown as Life;
    const disk = this.#disk.mount();
    const runSoon = (run: () => void): void => world.defer(time.guard(run));
    const storage = createStorageFactory({
      disk,
      folder: "shards",
      runSoon,
      limits: { segmentBytes: 8 * 1024, unwrittenBytes: 16 * 1024, openFiles: 4 },
    });
    const openDelayStore = (shard: number) => storage.openDelayStore(shard);
    const machines = createQueueMachines({ shardCount, storage, openDelayStore });
    const wal = openWriteAheadLog({
      disk,
      folder: "wal",
      timers: time,
      random: world.random,
      runSoon,
      limits: { fileBytes: 128 * 1024, groupBytes: 64 * 1024, recentBytes: 16 * 1024, retryFullMs: 200 },
    });
    const host = createReplicationHost({
      nodeId: this.id,
      voters,
      shardCount,
      isBootstrap: !this.#wasStarted,
      wal,
      stateMachineFor: machines.stateMachineFor,
      transport: network.attach(this.id),
      clock: time,
      timers: time,
      random: world.random,
      logger: silentLogger,
      limits: {
        tickMs: 50,
        proposeTimeoutMs: 1_500,
        checkpointLogBytes: 64 * 1024,
        checkpointIntervalMs: 3_000,
        trailingEntries: 20,
      },
      defer: runSoon,
    });
    const { random } = world;
    const service = createQueueService({
      nodeId: this.id,
      replication: host,
      machines,
      clock: time,
      timers: time,
      random,
      logger: silentLogger,
    });
    this.#life = { time, host, service };
    this.#wasStarted = true;
    void host.start();
    void service.start();
  }

  /** The power fails: what was not synced may be gone. */
  crash(): void {
    const life = this.#life;
    if (life === undefined) return;
    this.#life = undefined;
    life.time.isOver = true;
    this.#options.network.detach(this.id);
    life.host.kill();
    this.#disk.crash();
  }
}
