import type { TimerHandle } from "../../../platform/time/clock.ts";
import type { Topic } from "../../model/topics/topic.ts";
import type { Broker } from "../broker.ts";
import type { PartitionState } from "../state-machines/partition-state.ts";
import type { ShardMachine } from "../state-machines/shard-machine.ts";

/**
 * Removal of old records. The leader asks the log how far the policy allows and proposes that, so that all replicas
 * keep the same records; compaction keeps all offsets and runs on each replica by itself.
 */
const sweepIntervalMs = 30_000;
const segmentAgeMsMax = 24 * 3_600_000;
const deleteRetentionMs = 24 * 3_600_000;

export class RetentionService {
  readonly #broker: Broker;
  #timer: TimerHandle | undefined;
  #running: Promise<void> | undefined;

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  start(): void {
    this.#timer = this.#broker.timers.every(
      sweepIntervalMs,
      () => {
        this.#running ??= this.sweep().finally(() => {
          this.#running = undefined;
        });
      },
      { isBackground: true },
    );
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    await this.#running;
  }

  async sweep(): Promise<void> {
    for (const machine of this.#broker.shards.values()) {
      for (const partition of machine.partitions.values()) {
        if (this.#broker.closing.aborted) return;
        const topic = this.#broker.metadata.findTopicByNumber(partition.topicNumber);
        if (topic === undefined) continue;
        try {
          await this.#sweepPartition(machine, partition, topic);
        } catch (error) {
          this.#broker.logger.warn(
            { topic: topic.name, partition: partition.partition, err: error },
            "retention waits",
          );
        }
      }
    }
  }

  async #sweepPartition(machine: ShardMachine, partition: PartitionState, topic: Topic): Promise<void> {
    const { cleanupPolicy, retentionMs, retentionBytes } = topic.settings;
    const nowMs = this.#broker.clock.nowMs();
    const { log } = partition;
    const rollAgeMs = retentionMs === 0 ? segmentAgeMsMax : Math.min(segmentAgeMsMax, retentionMs);
    log.rollIfOlder(nowMs, rollAgeMs);
    if (cleanupPolicy !== "delete") await log.compact({ nowMs, deleteRetentionMs });
    if (cleanupPolicy === "compact" || !machine.isLeader) return;
    const offset = log.retentionOffset({ nowMs, retentionMs, retentionBytes });
    if (offset <= log.logStartOffset) return;
    const { topicNumber } = partition;
    await this.#broker.proposer.propose(machine.shard, {
      kind: "trim",
      topicNumber,
      partition: partition.partition,
      offset,
    });
  }
}
