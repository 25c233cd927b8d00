import type { ProducerPosition } from "../record-batch.ts";

/**
 * Which batches of idempotent producers a partition has, so that a repeated batch is stored once. Per producer: its
 * epoch, its last sequence number and where its last batches went. Bounded three ways: sequences remembered per
 * producer, producers per partition (the longest idle goes first), idle time.
 */
export const rememberedSequenceCount = 100;
export const producerCountMax = 10_000;
export const producerIdleMsMax = 7 * 24 * 3_600_000;

interface StoredBatch {
  readonly baseSequence: number;
  readonly count: number;
  readonly baseOffset: number;
  readonly timestampMs: number;
}
interface Producer {
  epoch: number;
  lastSequence: number;
  lastSeenMs: number;
  batches: StoredBatch[];
}

export type ProducerVerdict =
  | { readonly kind: "new" }
  | { readonly kind: "duplicate"; readonly baseOffset: number; readonly timestampMs: number }
  | { readonly kind: "fenced"; readonly currentEpoch: number }
  | { readonly kind: "outOfOrder"; readonly expectedSequence: number };

export type ProducerTableImage = readonly (readonly [number, Readonly<Producer>])[];

export class ProducerTable {
  /** In the order they were last seen. */
  readonly #producers = new Map<number, Producer>();

  static restore(image: ProducerTableImage): ProducerTable {
    const table = new ProducerTable();
    for (const [id, producer] of image) table.#producers.set(id, { ...producer, batches: [...producer.batches] });
    return table;
  }

  get size(): number {
    return this.#producers.size;
  }

  check(position: ProducerPosition, count: number): ProducerVerdict {
    const producer = this.#producers.get(position.producerId);
    const { baseSequence, producerEpoch } = position;
    if (producer === undefined || producerEpoch > producer.epoch) {
      // A producer may count from 0 or from 1.
      return baseSequence <= 1 ? { kind: "new" } : { kind: "outOfOrder", expectedSequence: 0 };
    }
    if (producerEpoch < producer.epoch) return { kind: "fenced", currentEpoch: producer.epoch };
    if (baseSequence === producer.lastSequence + 1) return { kind: "new" };
    const known = findStored(producer.batches, baseSequence, count);
    if (known === undefined) return { kind: "outOfOrder", expectedSequence: producer.lastSequence + 1 };
    return {
      kind: "duplicate",
      baseOffset: known.baseOffset + baseSequence - known.baseSequence,
      timestampMs: known.timestampMs,
    };
  }

  /** Notes a batch that `check` called new. */
  add(position: ProducerPosition, count: number, baseOffset: number, nowMs: number): void {
    const known = this.#producers.get(position.producerId);
    const producer: Producer =
      known !== undefined && known.epoch === position.producerEpoch
        ? known
        : { epoch: position.producerEpoch, lastSequence: -1, lastSeenMs: nowMs, batches: [] };
    producer.lastSequence = position.baseSequence + count - 1;
    producer.lastSeenMs = nowMs;
    producer.batches.push({ baseSequence: position.baseSequence, count, baseOffset, timestampMs: nowMs });
    const oldest = producer.lastSequence - rememberedSequenceCount;
    producer.batches = producer.batches.filter((batch) => batch.baseSequence + batch.count - 1 > oldest);
    this.#producers.delete(position.producerId);
    this.#producers.set(position.producerId, producer);
    this.#evict(nowMs);
  }

  image(): ProducerTableImage {
    return [...this.#producers];
  }

  #evict(nowMs: number): void {
    for (const [id, producer] of this.#producers) {
      const isIdle = nowMs - producer.lastSeenMs > producerIdleMsMax;
      if (!isIdle && this.#producers.size <= producerCountMax) return;
      this.#producers.delete(id);
    }
  }
}

function findStored(batches: readonly StoredBatch[], baseSequence: number, count: number): StoredBatch | undefined {
  return batches.find(
    (batch) => baseSequence >= batch.baseSequence && baseSequence + count <= batch.baseSequence + batch.count,
  );
}
