import { setImmediate as nextTurn } from "node:timers/promises";
import { SimDisk } from "../../../src/platform/files/sim-disk.ts";
import type { Logger } from "../../../src/platform/log/logger.ts";
import { createSeededRandom } from "../../../src/platform/random/random.ts";
import type { Clock } from "../../../src/platform/time/clock.ts";
import { createStorageFactory } from "../../../src/queue/drivers/storage/shard-storage.ts";
import type { QueueLimits } from "../../../src/queue/service/broker.ts";
import {
  createQueueMachines,
  createQueueService,
  type QueueMachines,
} from "../../../src/queue/service/create-queue-service.ts";
import type { DelayStore } from "../../../src/queue/service/delay-store.ts";
import type { StorageFactory } from "../../../src/queue/service/partition-log.ts";
import { metadataShard, type ShardId, type ShardStateMachine } from "../../../src/queue/service/ports.ts";
import type {
  PollResult,
  PublishMessage,
  QueueCounters,
  QueueService,
} from "../../../src/queue/service/queue-service.ts";
import { MemoryDelayStore } from "./memory-delay-store.ts";
import { MemoryReplication, type SavedLogs } from "./memory-replication.ts";
import { MemoryShardStorage, type SavedShard } from "./memory-storage.ts";
import { VirtualTime } from "./virtual-time.ts";

/**
 * The real services and state machines of one node over a replication in memory, on a clock that the test moves. A
 * restart keeps what was committed and loses what was not.
 */
export const startMs = 1_700_000_000_000;

export class QueueFixture {
  readonly time = new VirtualTime();
  readonly #saved = new Map<ShardId, SavedShard>();
  readonly #logs: SavedLogs = new Map();
  readonly #shardCount: number;
  readonly #limits: Partial<QueueLimits>;
  readonly #counters: QueueCounters | undefined;
  readonly #disk: SimDisk | undefined;
  #term = 0;
  /** What the wall clock is ahead of the steady one. */
  jumpMs = 0;
  service: QueueService;
  machines: QueueMachines;
  replication: MemoryReplication;

  private constructor(options: FixtureOptions) {
    this.#shardCount = options.shardCount ?? 4;
    this.#limits = options.limits ?? {};
    this.#counters = options.counters;
    if (options.isOnDisk) {
      this.#disk = new SimDisk({ random: createSeededRandom(1), schedule: this.time.schedule });
    }
    ({ service: this.service, machines: this.machines, replication: this.replication } = this.#build());
  }

  static async create(options: FixtureOptions = {}): Promise<QueueFixture> {
    const fixture = new QueueFixture(options);
    await fixture.#start();
    return fixture;
  }

  readonly clock: Clock = {
    nowMs: () => startMs + this.time.nowMs + this.jumpMs,
    monotonicMs: () => this.time.nowMs,
  };

  /** Lets time pass in small steps, so that what one callback proposes is applied before the next. */
  async advance(spanMs: number, stepMs = 10): Promise<void> {
    const untilMs = this.time.nowMs + spanMs;
    while (this.time.nowMs < untilMs) {
      this.time.advance(Math.min(stepMs, untilMs - this.time.nowMs));
      await nextTurn();
    }
    await this.settle();
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  }

  /** Starts the node again: without an orderly stop everything that is in memory only is lost. */
  async restart(options: { readonly isClean?: boolean; readonly withCheckpoint?: boolean } = {}): Promise<void> {
    if (options.isClean) {
      await this.service.close();
      await this.settle();
    }
    if (options.withCheckpoint) await this.checkpoint();
    this.replication.isStopped = true;
    this.time.clear();
    this.#disk?.crash();
    ({ service: this.service, machines: this.machines, replication: this.replication } = this.#build());
    await this.#start();
  }

  async checkpoint(): Promise<void> {
    const { metadata, shards } = this.machines;
    await this.finish(Promise.all([metadata, ...shards.values()].map((machine) => machine.checkpoint())));
  }

  /** Lets time pass for the disk until the work is done. */
  async finish<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const ending = work.finally(() => {
      isDone = true;
    });
    ending.catch(() => undefined);
    for (let turn = 0; !isDone && turn < 100_000; turn += 1) {
      await nextTurn();
      if (this.#disk !== undefined) this.time.advance(1);
    }
    return ending;
  }

  async publish(topic: string, messages: readonly (string | Partial<PublishMessage>)[]): Promise<readonly number[]> {
    const results = await this.service.publish({
      topic,
      messages: messages.map((message) =>
        typeof message === "string" ? { value: message } : { value: "", ...message },
      ),
    });
    for (const result of results) if (result.error !== undefined) throw result.error;
    return results.map((result) => result.offset);
  }

  poll(group: string, memberId: string, maxMessages = 100): Promise<PollResult> {
    return this.service.poll({ group, memberId, timeoutMs: 0, maxMessages });
  }

  async close(): Promise<void> {
    await this.service.close();
  }

  async #start(): Promise<void> {
    this.replication.start();
    await this.service.start();
  }

  #openStorage(): { storage: StorageFactory; openDelayStore: (shard: ShardId) => DelayStore } {
    if (this.#disk !== undefined) {
      const limits = { segmentBytes: 16 * 1024, unwrittenBytes: 64 * 1024, openFiles: 8 };
      const disk = this.#disk.mount();
      const factory = createStorageFactory({ disk, folder: "shards", runSoon: this.time.runSoon, limits });
      return { storage: factory, openDelayStore: (shard) => factory.openDelayStore(shard) };
    }
    const openShard = (shard: ShardId): MemoryShardStorage => {
      const saved = this.#saved.get(shard) ?? { checkpoint: undefined, logs: [] };
      this.#saved.set(shard, saved);
      return new MemoryShardStorage(saved);
    };
    return { storage: { openShard }, openDelayStore: () => new MemoryDelayStore() };
  }

  #build(): { service: QueueService; machines: QueueMachines; replication: MemoryReplication } {
    this.#term += 1;
    const { storage, openDelayStore } = this.#openStorage();
    const machines = createQueueMachines({ shardCount: this.#shardCount, storage, openDelayStore });
    const byShard = new Map<ShardId, ShardStateMachine>([[metadataShard, machines.metadata], ...machines.shards]);
    const replication = new MemoryReplication(byShard, this.#logs, this.#term);
    const service = createQueueService({
      nodeId: "node-1",
      replication,
      machines,
      clock: this.clock,
      timers: this.time,
      random: createSeededRandom(this.#term),
      logger: silentLogger,
      limits: this.#limits,
      ...(this.#counters === undefined ? {} : { counters: this.#counters }),
    });
    return { service, machines, replication };
  }
}

export interface FixtureOptions {
  readonly shardCount?: number;
  readonly limits?: Partial<QueueLimits>;
  readonly counters?: QueueCounters;
  /** On the real storage over a simulated disk that forgets what was not synced. */
  readonly isOnDisk?: boolean;
}

export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLogger,
};

export function text(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8");
}
