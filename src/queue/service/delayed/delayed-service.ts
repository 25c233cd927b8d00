import { queueError } from "../../errors.ts";
import { BatchView } from "../../model/record-batch.ts";
import { RecordCursor } from "../../model/record-cursor.ts";
import { type Broker, partitionOf, partitionsOf, type TopicPartitionRef } from "../broker.ts";
import type { DelayedEntry } from "../delay-store.ts";
import { Schedule } from "../delivery/schedule.ts";
import type { DelayedMessage, DelayedUseCases } from "../queue-service.ts";
import type { PartitionState } from "../state-machines/partition-state.ts";
import type { ShardMachine } from "../state-machines/shard-machine.ts";

/**
 * Delayed messages: the leader proposes to append what is due by its wall clock; the entry takes the messages out of the
 * store and into the log in one step, so each goes in exactly once, whoever proposes it how often. Between due times
 * the wait is at most half a second, so that a jump of the wall clock is noticed in time.
 */
const clockCheckMs = 500;
const firePageSize = 500;
const retryMs = 250;

interface Pending {
  readonly machine: ShardMachine;
  readonly partition: PartitionState;
  isFiring: boolean;
}

export class DelayedService implements DelayedUseCases {
  readonly #broker: Broker;
  readonly #pending = new Map<string, Pending>();
  readonly #schedule: Schedule<Pending>;

  constructor(broker: Broker) {
    this.#broker = broker;
    this.#schedule = new Schedule(
      broker.timers,
      () => broker.clock.monotonicMs(),
      (pending) => this.#onTime(pending),
    );
    for (const machine of broker.shards.values()) {
      machine.addEvents({
        onAppended: () => {},
        onDelivery: () => {},
        onDelayed: (partition) => this.#watch(machine, partition),
        onGroup: () => {},
        onTopicDropped: (topicNumber) => this.#forget((pending) => pending.partition.topicNumber === topicNumber),
        onLeadership: (isLeader) => this.#onLeadership(machine, isLeader),
      });
    }
  }

  close(): void {
    this.#schedule.close();
  }

  async listDelayed(request: { readonly topic: string; readonly skip: number; readonly limit: number }): Promise<{
    readonly messages: readonly DelayedMessage[];
    readonly total: number;
  }> {
    const topic = this.#broker.topic(request.topic);
    const refs = partitionsOf(topic);
    const total = refs.reduce((sum, ref) => sum + this.#broker.leading(ref.shard).delays.count(ref), 0);
    const reach = request.skip + request.limit;
    const merged = refs
      .flatMap((ref) =>
        this.#broker
          .shard(ref.shard)
          .delays.scan(ref, { limit: reach })
          .map((entry) => ({ ref, entry })),
      )
      .sort(
        (a, b) =>
          a.entry.dueMs - b.entry.dueMs || a.ref.partition - b.ref.partition || a.entry.sequence - b.entry.sequence,
      );
    const messages = merged.slice(request.skip, reach).map(({ ref, entry }) => this.#message(ref, entry));
    return { messages, total };
  }

  async getDelayed(topic: string, delayedId: string): Promise<DelayedMessage> {
    const { ref, sequence } = this.#parseId(topic, delayedId);
    const entry = this.#broker.leading(ref.shard).delays.find(ref, sequence);
    if (entry === undefined) throw notFound(topic, delayedId);
    return this.#message(ref, entry);
  }

  async cancelDelayed(topic: string, delayedId: string): Promise<DelayedMessage> {
    const { ref, sequence } = this.#parseId(topic, delayedId);
    this.#broker.leading(ref.shard);
    const result = await this.#broker.proposer.propose(ref.shard, {
      kind: "delayCancel",
      topicNumber: ref.topicNumber,
      partition: ref.partition,
      sequence,
    });
    if (result.kind !== "canceled") throw notFound(topic, delayedId);
    return this.#message(ref, { sequence, dueMs: result.dueMs, batch: result.batch });
  }

  pendingCount(): number {
    let count = 0;
    for (const machine of this.#broker.shards.values()) {
      for (const ref of machine.delays.partitions()) count += machine.delays.count(ref);
    }
    return count;
  }

  // ── Firing ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #onLeadership(machine: ShardMachine, isLeader: boolean): void {
    this.#forget((pending) => pending.machine === machine);
    if (!isLeader) return;
    for (const ref of machine.delays.partitions()) {
      const partition = machine.findPartition(ref);
      if (partition !== undefined) this.#watch(machine, partition);
    }
  }

  #watch(machine: ShardMachine, partition: PartitionState): void {
    if (!machine.isLeader) return;
    let pending = this.#pending.get(partition.key);
    if (pending === undefined || pending.partition !== partition) {
      pending = { machine, partition, isFiring: false };
      this.#pending.set(partition.key, pending);
    }
    this.#arm(pending);
  }

  #arm(pending: Pending): void {
    const dueMs = pending.machine.delays.nextDueMs(pending.partition);
    if (dueMs === undefined) return;
    const waitMs = Math.min(Math.max(0, dueMs - this.#broker.clock.nowMs()), clockCheckMs);
    this.#schedule.set(pending, Math.ceil(this.#broker.clock.monotonicMs() + waitMs));
  }

  #onTime(pending: Pending): void {
    if (pending.isFiring || !pending.machine.isLeader) return;
    pending.isFiring = true;
    this.#fire(pending).then(
      () => {
        pending.isFiring = false;
        this.#arm(pending);
      },
      (error: unknown) => {
        pending.isFiring = false;
        this.#broker.logger.debug(
          { partition: pending.partition.key, err: error },
          "delayed messages wait for the next try",
        );
        this.#schedule.set(pending, this.#broker.clock.monotonicMs() + retryMs);
      },
    );
  }

  async #fire(pending: Pending): Promise<void> {
    const { machine, partition } = pending;
    for (;;) {
      const nowMs = this.#broker.clock.nowMs();
      const due = machine.delays.scan(partition, { untilMs: nowMs, limit: firePageSize });
      if (due.length === 0) return;
      const { topicNumber } = partition;
      const sequences = due.map((entry) => entry.sequence);
      const operation = { kind: "delayFire", topicNumber, partition: partition.partition, sequences } as const;
      const result = await this.#broker.proposer.propose(machine.shard, operation);
      if (result.kind !== "fired") return;
      this.#countFired(topicNumber, result.fired);
      if (due.length < firePageSize) return;
    }
  }

  #countFired(topicNumber: number, fired: readonly { readonly dueMs: number }[]): void {
    const topic = this.#broker.metadata.findTopicByNumber(topicNumber);
    const first = fired[0];
    if (topic === undefined || first === undefined) return;
    this.#broker.counters.onDelayedFired(topic.name, fired.length, this.#broker.clock.nowMs() - first.dueMs);
  }

  #forget(isGone: (pending: Pending) => boolean): void {
    for (const [key, pending] of this.#pending) {
      if (!isGone(pending)) continue;
      this.#pending.delete(key);
      this.#schedule.delete(pending);
    }
  }

  #parseId(topicName: string, delayedId: string): { readonly ref: TopicPartitionRef; readonly sequence: number } {
    const topic = this.#broker.topic(topicName);
    const match = /^(\d{1,5})-(\d{1,16})$/.exec(delayedId);
    const partition = Number(match?.[1]);
    if (match === null || topic.shards[partition] === undefined) throw notFound(topicName, delayedId);
    return { ref: partitionOf(topic, partition), sequence: Number(match[2]) };
  }

  #message(ref: TopicPartitionRef, entry: DelayedEntry): DelayedMessage {
    const record = new RecordCursor(BatchView.at(entry.batch));
    record.next();
    return {
      topic: ref.topic.name,
      partition: ref.partition,
      delayedId: `${ref.partition}-${entry.sequence}`,
      sequence: entry.sequence,
      key: record.key,
      isKeyBinary: record.isKeyBinary,
      priority: record.priority,
      deliverAtMs: entry.dueMs,
      remainingMs: Math.max(0, entry.dueMs - this.#broker.clock.nowMs()),
    };
  }
}

function notFound(topic: string, delayedId: string): Error {
  return queueError(
    "DELAYED_MESSAGE_NOT_FOUND",
    `Cannot find delayed message "${delayedId}" of "${topic}": it was delivered or canceled, or never was`,
    { details: { topic, delayed_id: delayedId } },
  );
}
