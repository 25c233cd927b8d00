import type { DomainError } from "../../../platform/errors/domain-error.ts";
import { queueError } from "../../errors.ts";
import type { BatchView } from "../../model/record-batch.ts";
import { RecordCursor } from "../../model/record-cursor.ts";
import { partitionKey } from "../../model/topics/topic.ts";
import type { Broker, TopicPartitionRef } from "../broker.ts";
import { PartitionDamagedError, type PartitionLog } from "../partition-log.ts";
import type { FetchRequest, FetchResult, FetchUseCases } from "../queue-service.ts";
import { WakeUps, waitForWake } from "../shards/wake-ups.ts";

/**
 * Reading a partition as a log, without a group. A long poll is woken by the append; the answer holds views of stored
 * batches, which the edge passes on or walks over.
 */
export class FetchService implements FetchUseCases {
  readonly #broker: Broker;
  readonly #wakeUps = new WakeUps();

  constructor(broker: Broker) {
    this.#broker = broker;
    for (const machine of broker.shards.values()) {
      machine.addEvents({
        onAppended: (partition) => this.#wakeUps.wake(partition.key),
        onDelivery: () => {},
        onDelayed: () => {},
        onGroup: () => {},
        onTopicDropped: (topicNumber) => this.#wakeTopic(topicNumber),
        onLeadership: () => this.#wakeUps.wakeAll(),
      });
    }
  }

  async fetch(request: FetchRequest): Promise<FetchResult> {
    const ref = this.#broker.partition(request.topic, request.partition);
    const { timers, clock, closing } = this.#broker;
    const startOffset = resolveStart(ref, this.#log(ref), request);
    const deadlineMs = clock.monotonicMs() + request.waitMs;
    for (;;) {
      const result = this.#read(ref, startOffset, request);
      const timeoutMs = deadlineMs - clock.monotonicMs();
      if (result.nextOffset > startOffset || timeoutMs <= 0) return result;
      const key = partitionKey(ref.topicNumber, ref.partition);
      const end = await waitForWake(this.#wakeUps, [key], { timers, timeoutMs, signals: [request.signal, closing] });
      // Deleted meanwhile: the reader learns it rather than waiting on.
      if (this.#broker.metadata.findTopicByNumber(ref.topicNumber) === undefined) this.#broker.topic(request.topic);
      if (end === "aborted") return result;
    }
  }

  #wakeTopic(topicNumber: number): void {
    const topic = this.#broker.metadata.findTopicByNumber(topicNumber);
    const count = topic?.shards.length ?? 1024;
    for (let partition = 0; partition < count; partition += 1) this.#wakeUps.wake(partitionKey(topicNumber, partition));
  }

  #log(ref: TopicPartitionRef): PartitionLog | undefined {
    return this.#broker.leading(ref.shard).findPartition(ref)?.log;
  }

  #read(ref: TopicPartitionRef, startOffset: number, request: FetchRequest): FetchResult {
    const log = this.#log(ref);
    const earliestOffset = log?.logStartOffset ?? 0;
    const highWatermark = log?.logEndOffset ?? 0;
    const empty = { topic: ref.topic.name, partition: ref.partition, startOffset, highWatermark, earliestOffset };
    if (log === undefined || startOffset >= highWatermark) return { ...empty, batches: [], nextOffset: startOffset };
    const { maxBytes, maxRecords } = request;
    const batches = readBatches(ref, log, { offset: startOffset, maxBytes, maxRecords });
    const { kept, nextOffset, count } = takeRecords(batches, startOffset, maxRecords);
    const sizeBytes = kept.reduce((total, batch) => total + batch.sizeBytes, 0);
    this.#broker.counters.onConsumed(ref.topic.name, undefined, count, sizeBytes);
    // All that was left here is gone (compacted): go on behind it.
    return { ...empty, batches: kept, nextOffset: batches.length === 0 ? highWatermark : nextOffset };
  }
}

function resolveStart(ref: TopicPartitionRef, log: PartitionLog | undefined, request: FetchRequest): number {
  const earliest = log?.logStartOffset ?? 0;
  const latest = log?.logEndOffset ?? 0;
  const { start } = request;
  switch (start.kind) {
    case "earliest":
      return earliest;
    case "latest":
      return latest;
    case "timestamp":
      return log?.offsetForTimestamp(start.timestampMs) ?? 0;
    case "offset":
      if (start.offset < earliest || start.offset > latest) throw outOfRange(ref, start.offset, earliest, latest);
      return start.offset;
    default:
      return start satisfies never;
  }
}

export function outOfRange(ref: TopicPartitionRef, offset: number, earliest: number, latest: number): DomainError {
  return queueError(
    "OFFSET_OUT_OF_RANGE",
    `Cannot read partition ${ref.partition} of "${ref.topic.name}" from offset ${offset}: it has ${earliest} to ${latest}`,
    { details: { topic: ref.topic.name, partition: ref.partition, earliest, latest } },
  );
}

function readBatches(
  ref: TopicPartitionRef,
  log: PartitionLog,
  options: { readonly offset: number; readonly maxBytes: number; readonly maxRecords: number },
): readonly BatchView[] {
  try {
    return log.read(options);
  } catch (error) {
    if (!(error instanceof PartitionDamagedError)) throw error;
    throw queueError(
      "INTERNAL",
      `Cannot read partition ${ref.partition} of "${ref.topic.name}": ${error.damage.reason}`,
      {
        cause: error,
        details: { damaged_from: error.damage.fromOffset, readable_from: error.damage.toOffset },
      },
    );
  }
}

/** The batches that hold the next `maxRecords` records, and where the one behind them is. */
function takeRecords(
  batches: readonly BatchView[],
  startOffset: number,
  maxRecords: number,
): { readonly kept: readonly BatchView[]; readonly nextOffset: number; readonly count: number } {
  const kept: BatchView[] = [];
  let nextOffset = startOffset;
  let count = 0;
  for (const batch of batches) {
    if (count >= maxRecords) break;
    kept.push(batch);
    const from = Math.max(startOffset, batch.baseOffset);
    const available = batch.isSparse ? countSparse(batch, from) : batch.nextOffset - from;
    if (count + available > maxRecords) {
      return { kept, nextOffset: offsetOfRecord(batch, from, maxRecords - count), count: maxRecords };
    }
    count += available;
    nextOffset = batch.nextOffset;
  }
  return { kept, nextOffset, count };
}

function countSparse(batch: BatchView, from: number): number {
  const cursor = new RecordCursor(batch);
  let count = 0;
  while (cursor.next()) if (cursor.offset >= from) count += 1;
  return count;
}

/** Offset of the record that comes `count` records behind the first one at or behind `from`. */
function offsetOfRecord(batch: BatchView, from: number, count: number): number {
  if (!batch.isSparse) return from + count;
  const cursor = new RecordCursor(batch);
  let left = count;
  while (cursor.next()) {
    if (cursor.offset < from) continue;
    if (left === 0) return cursor.offset;
    left -= 1;
  }
  return batch.nextOffset;
}
