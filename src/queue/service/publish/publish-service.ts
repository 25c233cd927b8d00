import { assert } from "../../../platform/errors/assert.ts";
import { type DomainError, isDomainError } from "../../../platform/errors/domain-error.ts";
import { queueError } from "../../errors.ts";
import { normalPriority, type ProducerPosition } from "../../model/record-batch.ts";
import { RecordBatchBuilder } from "../../model/record-batch-builder.ts";
import { partitionForKey } from "../../model/topics/partitioner.ts";
import type { Topic } from "../../model/topics/topic.ts";
import { type Broker, partitionOf, type TopicPartitionRef } from "../broker.ts";
import type { Acks } from "../ports.ts";
import type {
  PublishEncodedRequest,
  PublishMessage,
  PublishRequest,
  PublishResult,
  PublishUseCases,
} from "../queue-service.ts";
import type { ShardResult } from "../state-machines/shard-result.ts";
import { dueTimeOf, validatePublish } from "./validate-publish.ts";

/**
 * Publishing: validate all, choose partitions, encode one batch per partition, propose, answer per message. Messages of
 * an idempotent producer share a batch only while their sequence numbers follow each other, so that a repetition is
 * recognised batch by batch.
 */
interface Item {
  readonly message: PublishMessage;
  readonly index: number;
  readonly dueMs: number | undefined;
}

const keyRetryMax = 4;
const recordOverheadBytes = 24;

export class PublishService implements PublishUseCases {
  readonly #broker: Broker;
  /** Per topic, the partition of the next request without keys. */
  readonly #nextPartition = new Map<number, number>();
  readonly #publishedByPriority: [number, number, number, number, number] = [0, 0, 0, 0, 0];

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  get publishedByPriority(): readonly [number, number, number, number, number] {
    return this.#publishedByPriority;
  }

  async publish(request: PublishRequest): Promise<readonly PublishResult[]> {
    const topic = this.#broker.topic(request.topic);
    validatePublish(topic, request.messages, this.#broker.limits);
    const nowMs = this.#broker.clock.nowMs();
    this.#assertDelays(topic, request.messages, nowMs);
    const acks = request.acks ?? (topic.settings.durability === "async" ? "none" : "all");
    const results: PublishResult[] = [];
    const work: Promise<void>[] = [];
    for (const [partition, items] of this.#groupByPartition(topic, request.messages, nowMs)) {
      const ref = partitionOf(topic, partition);
      const put = (item: Item, result: PublishResult): void => {
        results[item.index] = result;
      };
      for (const run of splitRuns(items.filter((item) => item.dueMs === undefined))) {
        work.push(this.#publishRun(ref, run, acks, put));
      }
      for (const item of items) if (item.dueMs !== undefined) work.push(this.#publishDelayed(ref, item, acks, put));
    }
    await Promise.all(work);
    return results;
  }

  async publishEncoded(
    request: PublishEncodedRequest,
  ): Promise<{ readonly baseOffset: number; readonly timestampMs: number; readonly isDuplicate: boolean }> {
    const ref = this.#broker.partition(request.topic, request.partition);
    this.#assertWritable(ref);
    const { batch } = request;
    const sizeBytes = batch.header.length + batch.body.length;
    const acks = request.acks ?? (ref.topic.settings.durability === "async" ? "none" : "all");
    const result = await this.#broker.proposer.propose(
      ref.shard,
      { kind: "append", topicNumber: ref.topicNumber, partition: ref.partition, batch, keys: [] },
      { acks, sizeBytes },
    );
    if (result.kind !== "appended" && result.kind !== "duplicate") throw refusalOf(ref, result);
    this.#broker.counters.onPublished(request.topic, request.partition, request.recordCount, sizeBytes);
    return {
      baseOffset: result.baseOffset,
      timestampMs: result.timestampMs,
      isDuplicate: result.kind === "duplicate",
    };
  }

  partitionForKey(topic: string, key: string | Uint8Array): number {
    return partitionForKey(key, this.#broker.topic(topic).shards.length);
  }

  async initProducer(request: {
    readonly transactionalId?: string | undefined;
  }): Promise<{ readonly producerId: number; readonly producerEpoch: number }> {
    const { transactionalId } = request;
    const result = await this.#broker.changeMetadata({ kind: "initProducer", transactionalId });
    assert(result.kind === "producer", "the metadata answers with a producer");
    return { producerId: result.producerId, producerEpoch: result.producerEpoch };
  }

  /** An absolute time is only known to be too far away once the clock is read. */
  #assertDelays(topic: Topic, messages: readonly PublishMessage[], nowMs: number): void {
    const { maxDelayMs } = this.#broker.limits;
    for (const [index, message] of messages.entries()) {
      if (message.deliverAtMs === undefined || message.deliverAtMs - nowMs <= maxDelayMs) continue;
      throw queueError(
        "INVALID_DELAY",
        `Cannot publish message ${index} to "${topic.name}": its delivery time is more than ${maxDelayMs} ms away`,
        { details: { index, max_delay_ms: maxDelayMs } },
      );
    }
  }

  #groupByPartition(topic: Topic, messages: readonly PublishMessage[], nowMs: number): Map<number, Item[]> {
    const groups = new Map<number, Item[]>();
    let sticky: number | undefined;
    for (const [index, message] of messages.entries()) {
      const key = message.key ?? message.idempotencyKey;
      let partition = message.partition;
      if (partition === undefined && key !== undefined) partition = partitionForKey(key, topic.shards.length);
      if (partition === undefined) {
        sticky ??= this.#takeSticky(topic);
        partition = sticky;
      }
      const item = { message, index, dueMs: dueTimeOf(message, nowMs) };
      const items = groups.get(partition);
      if (items === undefined) groups.set(partition, [item]);
      else items.push(item);
    }
    return groups;
  }

  #takeSticky(topic: Topic): number {
    const partition = (this.#nextPartition.get(topic.number) ?? 0) % topic.shards.length;
    this.#nextPartition.set(topic.number, partition + 1);
    return partition;
  }

  async #publishRun(
    ref: TopicPartitionRef,
    run: readonly Item[],
    acks: Acks,
    put: (item: Item, result: PublishResult) => void,
  ): Promise<void> {
    try {
      this.#assertWritable(ref);
      const { unique, repeated } = splitRepeatedKeys(run);
      const results = await this.#appendRun(ref, unique, acks);
      for (const [index, item] of unique.entries()) {
        const result = results[index];
        if (result !== undefined) put(item, result);
      }
      for (const [item, first] of repeated) {
        const result = results[unique.indexOf(first)];
        if (result !== undefined) put(item, { ...result, isDuplicate: true });
      }
    } catch (error) {
      if (!isDomainError(error)) throw error;
      for (const item of run) put(item, failed(ref, item, error));
    }
  }

  /** Appends what is new; what the partition knows by its key keeps its first offset. */
  async #appendRun(ref: TopicPartitionRef, run: readonly Item[], acks: Acks): Promise<readonly PublishResult[]> {
    const results: PublishResult[] = [];
    let rest = run.map((item, position) => ({ item, position }));
    for (let attempt = 0; attempt < keyRetryMax && rest.length > 0; attempt += 1) {
      const { batch, keys, sizeBytes } = this.#encode(
        ref,
        rest.map(({ item }) => item),
      );
      const operation = {
        kind: "append",
        topicNumber: ref.topicNumber,
        partition: ref.partition,
        batch,
        keys,
      } as const;
      const result = await this.#broker.proposer.propose(ref.shard, operation, { acks, sizeBytes });
      if (result.kind === "keysKnown") {
        for (const known of result.known) {
          const entry = rest[known.index];
          if (entry === undefined) continue;
          results[entry.position] = {
            ...resultOf(ref, entry.item, known.offset, known.timestampMs, true),
            ...(known.delayedSequence === undefined ? {} : { delayedId: `${ref.partition}-${known.delayedSequence}` }),
          };
        }
        const knownIndexes = new Set(result.known.map((known) => known.index));
        rest = rest.filter((_, index) => !knownIndexes.has(index));
        continue;
      }
      if (result.kind !== "appended" && result.kind !== "duplicate") throw refusalOf(ref, result);
      const isDuplicate = result.kind === "duplicate";
      for (const [index, { item, position }] of rest.entries()) {
        results[position] = resultOf(ref, item, result.baseOffset + index, result.timestampMs, isDuplicate);
      }
      if (!isDuplicate)
        this.#count(
          ref,
          rest.map(({ item }) => item),
          sizeBytes,
        );
      return results;
    }
    assert(rest.length === 0, "idempotency keys settle within a few attempts");
    return results;
  }

  async #publishDelayed(
    ref: TopicPartitionRef,
    item: Item,
    acks: Acks,
    put: (item: Item, result: PublishResult) => void,
  ): Promise<void> {
    const dueMs = item.dueMs ?? 0;
    try {
      this.#assertWritable(ref);
      const { batch, sizeBytes } = this.#encode(ref, [item]);
      const result = await this.#broker.proposer.propose(
        ref.shard,
        {
          kind: "delayAdd",
          topicNumber: ref.topicNumber,
          partition: ref.partition,
          dueMs,
          key: item.message.idempotencyKey ?? "",
          batch,
        },
        { acks, sizeBytes },
      );
      if (result.kind === "duplicate") {
        put(item, resultOf(ref, item, result.baseOffset, result.timestampMs, true));
        return;
      }
      if (result.kind !== "delayed") throw refusalOf(ref, result);
      if (!result.isDuplicate) {
        this.#count(ref, [item], sizeBytes);
        this.#broker.counters.onDelayedScheduled(ref.topic.name, 1);
      }
      put(item, {
        ...resultOf(ref, item, -1, this.#broker.clock.nowMs(), result.isDuplicate),
        deliverAtMs: result.dueMs,
        delayedId: `${ref.partition}-${result.sequence}`,
      });
    } catch (error) {
      if (!isDomainError(error)) throw error;
      put(item, failed(ref, item, error));
    }
  }

  #encode(
    ref: TopicPartitionRef,
    items: readonly Item[],
  ): {
    readonly batch: { readonly header: Uint8Array; readonly body: Uint8Array };
    readonly keys: readonly { readonly index: number; readonly key: string }[];
    readonly sizeBytes: number;
  } {
    const builder = new RecordBatchBuilder({
      timestampMs: this.#broker.clock.nowMs(),
      compression: ref.topic.settings.compression,
      producer: producerOf(items[0]?.message),
      expectedBytes: items.reduce((sum, { message }) => sum + expectedBytes(message), 0),
    });
    const keys: { index: number; key: string }[] = [];
    for (const [index, { message, dueMs }] of items.entries()) {
      builder.append(message);
      const { idempotencyKey } = message;
      if (idempotencyKey !== undefined && dueMs === undefined) keys.push({ index, key: idempotencyKey });
    }
    const batch = builder.finish();
    return { batch, keys, sizeBytes: batch.header.length + batch.body.length };
  }

  #assertWritable(ref: TopicPartitionRef): void {
    const machine = this.#broker.leading(ref.shard);
    if (!machine.storage.isDiskFull) return;
    throw queueError("DISK_FULL", `Cannot publish to "${ref.topic.name}": the disk is full; reading goes on`, {
      details: { topic: ref.topic.name, partition: ref.partition },
      retryAfterSeconds: 10,
    });
  }

  #count(ref: TopicPartitionRef, items: readonly Item[], sizeBytes: number): void {
    this.#broker.counters.onPublished(ref.topic.name, ref.partition, items.length, sizeBytes);
    for (const { message } of items) this.#publishedByPriority[message.priority ?? normalPriority] += 1;
  }
}

function producerOf(message: PublishMessage | undefined): ProducerPosition | undefined {
  if (message?.producerId === undefined || message.sequence === undefined) return undefined;
  return {
    producerId: message.producerId,
    producerEpoch: message.producerEpoch ?? 0,
    baseSequence: message.sequence,
  };
}

/** Cuts where the producer changes or its sequence numbers do not follow each other. */
function splitRuns(items: readonly Item[]): readonly (readonly Item[])[] {
  const runs: Item[][] = [];
  for (const item of items) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run !== undefined && last !== undefined && isNext(last.message, item.message)) run.push(item);
    else runs.push([item]);
  }
  return runs;
}

function isNext(last: PublishMessage, next: PublishMessage): boolean {
  if (last.producerId === undefined || last.sequence === undefined) return next.producerId === undefined;
  return (
    next.producerId === last.producerId &&
    (next.producerEpoch ?? 0) === (last.producerEpoch ?? 0) &&
    next.sequence === last.sequence + 1
  );
}

/** A key that comes twice in one run: the later ones are repetitions of the first. */
function splitRepeatedKeys(run: readonly Item[]): {
  readonly unique: readonly Item[];
  readonly repeated: readonly (readonly [Item, Item])[];
} {
  const firstByKey = new Map<string, Item>();
  const unique: Item[] = [];
  const repeated: (readonly [Item, Item])[] = [];
  for (const item of run) {
    const { idempotencyKey } = item.message;
    const first = idempotencyKey === undefined ? undefined : firstByKey.get(idempotencyKey);
    if (first !== undefined) repeated.push([item, first]);
    else unique.push(item);
    if (idempotencyKey !== undefined && first === undefined) firstByKey.set(idempotencyKey, item);
  }
  return { unique, repeated };
}

function resultOf(
  ref: TopicPartitionRef,
  item: Item,
  offset: number,
  timestampMs: number,
  isDuplicate: boolean,
): PublishResult {
  return {
    partition: ref.partition,
    offset,
    timestampMs,
    priority: item.message.priority ?? normalPriority,
    isDuplicate,
  };
}

/** Exact enough for ASCII without headers. */
function expectedBytes(message: PublishMessage): number {
  return recordOverheadBytes + (message.key?.length ?? 0) + (message.value?.length ?? 0);
}

function failed(ref: TopicPartitionRef, item: Item, error: DomainError): PublishResult {
  return { ...resultOf(ref, item, -1, 0, false), error };
}

function refusalOf(ref: TopicPartitionRef, result: ShardResult): DomainError {
  const what = `Cannot publish to partition ${ref.partition} of "${ref.topic.name}"`;
  const details = { topic: ref.topic.name, partition: ref.partition };
  if (result.kind === "fenced") {
    return queueError("PRODUCER_FENCED", `${what}: the producer has a newer epoch, ${result.currentEpoch}`, {
      details: { ...details, current_epoch: result.currentEpoch },
    });
  }
  if (result.kind === "outOfOrder") {
    return queueError("OUT_OF_ORDER_SEQUENCE", `${what}: the next sequence number is ${result.expectedSequence}`, {
      details: { ...details, expected: result.expectedSequence },
    });
  }
  return queueError("INTERNAL", `${what}: unexpected answer ${result.kind}`);
}
