import { type DeliveryImage, DeliveryState } from "../../model/delivery/delivery-state.ts";
import { KeyWindow, type KeyWindowImage } from "../../model/idempotence/key-window.ts";
import { ProducerTable, type ProducerTableImage } from "../../model/idempotence/producer-table.ts";
import { type Priority, priorityCount } from "../../model/record-batch.ts";
import { partitionKey, topicIdText } from "../../model/topics/topic.ts";
import type { PartitionLog, PartitionLogStore } from "../partition-log.ts";

/** All that a shard knows of one partition: its log, who wrote to it, what each group has done with it. */
export class PartitionState {
  readonly topicNumber: number;
  readonly partition: number;
  readonly key: string;
  readonly log: PartitionLog;
  readonly groups = new Map<string, DeliveryState>();
  /** Made when the first idempotent producer writes. */
  producers: ProducerTable | undefined;
  keys: KeyWindow | undefined;
  /** Times of records never go back, whatever the proposers' clocks say. */
  lastTimestampMs = 0;
  lastDelayedSequence = 0;
  /** What `noteBatch` saw began here; of older records nothing is known without asking the log. */
  #notedFromOffset: number;
  readonly #lastOffsets: [number, number, number, number, number] = [-1, -1, -1, -1, -1];

  constructor(topicNumber: number, partition: number, logs: PartitionLogStore) {
    this.topicNumber = topicNumber;
    this.partition = partition;
    this.key = partitionKey(topicNumber, partition);
    this.log = logs.ensure({ topicId: topicIdText(topicNumber), partition });
    this.#notedFromOffset = this.log.logEndOffset;
  }

  /** The log was replaced: only what is written from now on is noted. */
  forgetBatches(): void {
    this.#notedFromOffset = this.log.logEndOffset;
    this.#lastOffsets.fill(-1);
  }

  /** Remembers where each priority was written last. */
  noteBatch(priorities: number, lastOffset: number): void {
    for (let priority = 0; priority < priorityCount; priority += 1) {
      if ((priorities & (1 << priority)) !== 0) this.#lastOffsets[priority] = lastOffset;
    }
  }

  /** Spares a lookup on disk: true when no record of this priority lies at or behind the offset for sure. */
  isSurelyWithout(priority: Priority, fromOffset: number): boolean {
    return fromOffset >= this.#notedFromOffset && this.#lastOffsets[priority] < fromOffset;
  }

  ensureProducers(): ProducerTable {
    this.producers ??= new ProducerTable();
    return this.producers;
  }
  ensureKeys(): KeyWindow {
    this.keys ??= new KeyWindow();
    return this.keys;
  }

  image(): PartitionImage {
    return {
      topicNumber: this.topicNumber,
      partition: this.partition,
      producers: this.producers?.image(),
      keys: this.keys?.image(),
      lastTimestampMs: this.lastTimestampMs,
      lastDelayedSequence: this.lastDelayedSequence,
      groups: [...this.groups].map(([group, delivery]) => [group, delivery.image()] as const),
    };
  }

  restore(image: PartitionImage): void {
    this.producers = image.producers === undefined ? undefined : ProducerTable.restore(image.producers);
    this.keys = image.keys === undefined ? undefined : KeyWindow.restore(image.keys);
    this.lastTimestampMs = image.lastTimestampMs;
    this.lastDelayedSequence = image.lastDelayedSequence;
    for (const [group, delivery] of image.groups) this.groups.set(group, DeliveryState.restore(delivery));
  }
}

export interface PartitionImage {
  readonly topicNumber: number;
  readonly partition: number;
  readonly producers: ProducerTableImage | undefined;
  readonly keys: KeyWindowImage | undefined;
  readonly lastTimestampMs: number;
  readonly lastDelayedSequence: number;
  readonly groups: readonly (readonly [group: string, delivery: DeliveryImage])[];
}
