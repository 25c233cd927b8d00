import { sleep } from "../../../platform/time/clock.ts";
import { queueError } from "../../errors.ts";
import type { DeliveryState } from "../../model/delivery/delivery-state.ts";
import { deadLetterHeaders, encodeRedriven } from "../../model/dlq/dead-letter.ts";
import { RecordCursor } from "../../model/record-cursor.ts";
import { partitionForKey } from "../../model/topics/partitioner.ts";
import type { Topic } from "../../model/topics/topic.ts";
import { type Broker, partitionOf, partitionsOf, type TopicPartitionRef } from "../broker.ts";
import { RecordReader } from "../delivery/record-reader.ts";
import type { DeadLetter, DeadLetterUseCases, PeekDlqRequest, Redriven, RedriveRequest } from "../queue-service.ts";
import { redriveGroup } from "../state-machines/shard-machine.ts";

/**
 * Looking into a dead-letter topic, sending its messages back and emptying it. Which dead letters went back is kept as
 * the progress of a group of its own, in the shard of the dead letter: sending one back twice does nothing.
 */
const redriveMaxDefault = 10_000;
const readBytesMax = 1024 * 1024;

export class DeadLetterService implements DeadLetterUseCases {
  readonly #broker: Broker;

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  async peekDlq(request: PeekDlqRequest): Promise<{
    readonly dlqTopic: string;
    readonly messages: readonly DeadLetter[];
    readonly total: number;
  }> {
    const { name, topic } = this.#deadLetterTopic(request.topic);
    if (topic === undefined) return { dlqTopic: name, messages: [], total: 0 };
    const refs = request.partition === undefined ? partitionsOf(topic) : [partitionOf(topic, request.partition)];
    const messages: DeadLetter[] = [];
    let toSkip = request.skip ?? 0;
    for (const ref of refs) {
      for (const letter of this.#letters(ref)) {
        if (messages.length >= request.limit) break;
        if (request.reason !== undefined && letter.reason !== request.reason) continue;
        if (toSkip > 0) toSkip -= 1;
        else messages.push(letter);
      }
    }
    return { dlqTopic: name, messages, total: refs.reduce((sum, ref) => sum + this.#count(ref), 0) };
  }

  async redriveDlq(
    request: RedriveRequest,
  ): Promise<{ readonly dlqTopic: string; readonly redriven: readonly Redriven[] }> {
    const { name, topic } = this.#deadLetterTopic(request.topic);
    const target = request.targetTopic === undefined ? undefined : this.#broker.topic(request.targetTopic);
    if (topic === undefined) return { dlqTopic: name, redriven: [] };
    const redriven: Redriven[] = [];
    const startMs = this.#broker.clock.monotonicMs();
    for (const { ref, offset } of this.#chosen(topic, request)) {
      if (request.signal?.aborted || this.#broker.closing.aborted) break;
      await this.#keepRate(redriven.length, request.ratePerSecond, startMs, request.signal);
      redriven.push(await this.#redriveOne(ref, offset, target));
    }
    return { dlqTopic: name, redriven };
  }

  async purgeDlq(name: string): Promise<{ readonly dlqTopic: string; readonly purgedCount: number }> {
    const { name: dlqName, topic } = this.#deadLetterTopic(name);
    if (topic === undefined) return { dlqTopic: dlqName, purgedCount: 0 };
    const counts = await Promise.all(
      partitionsOf(topic).map(async (ref) => {
        const log = this.#broker.leading(ref.shard).findPartition(ref)?.log;
        if (log === undefined || log.logEndOffset === log.logStartOffset) return 0;
        const count = this.#count(ref);
        const offset = log.logEndOffset;
        await this.#broker.proposer.propose(ref.shard, {
          kind: "trim",
          topicNumber: ref.topicNumber,
          partition: ref.partition,
          offset,
        });
        return count;
      }),
    );
    return { dlqTopic: dlqName, purgedCount: counts.reduce((sum, count) => sum + count, 0) };
  }

  // ── Inside ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The dead-letter topic of a topic, or the topic itself when it is one. */
  #deadLetterTopic(name: string): { readonly name: string; readonly topic: Topic | undefined } {
    const given = this.#broker.topic(name);
    const isSource = given.settings.isDlqEnabled;
    const dlqName = isSource ? given.settings.dlqTopic : name;
    return { name: dlqName, topic: this.#broker.metadata.findTopic(dlqName) };
  }

  #redriveState(ref: TopicPartitionRef): DeliveryState | undefined {
    return this.#broker.leading(ref.shard).findPartition(ref)?.groups.get(redriveGroup);
  }

  #count(ref: TopicPartitionRef): number {
    const log = this.#broker.leading(ref.shard).findPartition(ref)?.log;
    if (log === undefined) return 0;
    const done = this.#redriveState(ref);
    const from = Math.max(log.logStartOffset, done?.floor ?? 0);
    return log.logEndOffset - from - (done?.ackedAboveCount ?? 0);
  }

  /** Dead letters that did not go back yet, oldest first. */
  *#letters(ref: TopicPartitionRef): Iterable<DeadLetter> {
    const log = this.#broker.leading(ref.shard).findPartition(ref)?.log;
    if (log === undefined) return;
    const done = this.#redriveState(ref);
    for (let offset = Math.max(log.logStartOffset, done?.floor ?? 0); offset < log.logEndOffset; ) {
      const batches = log.read({ offset, maxBytes: readBytesMax });
      if (batches.length === 0) return;
      for (const batch of batches) {
        const cursor = new RecordCursor(batch);
        while (cursor.next()) {
          if (cursor.offset >= offset && !done?.isDone(cursor.offset)) yield toDeadLetter(ref, cursor);
        }
        offset = batch.nextOffset;
      }
    }
  }

  *#chosen(
    topic: Topic,
    request: RedriveRequest,
  ): Iterable<{ readonly ref: TopicPartitionRef; readonly offset: number }> {
    const max = request.max ?? redriveMaxDefault;
    let count = 0;
    if (request.messages !== undefined) {
      for (const { partition, offset } of request.messages.slice(0, max))
        yield { ref: partitionOf(topic, partition), offset };
      return;
    }
    for (const ref of partitionsOf(topic)) {
      // Decided beforehand: what goes back now may come back as a new dead letter.
      const endOffset = this.#broker.leading(ref.shard).findPartition(ref)?.log.logEndOffset ?? 0;
      for (const letter of this.#letters(ref)) {
        if (count >= max || letter.offset >= endOffset) break;
        if (request.reason !== undefined && letter.reason !== request.reason) continue;
        count += 1;
        yield { ref, offset: letter.offset };
      }
    }
  }

  async #redriveOne(ref: TopicPartitionRef, offset: number, target: Topic | undefined): Promise<Redriven> {
    const partition = this.#broker.leading(ref.shard).findPartition(ref);
    const record = partition === undefined ? undefined : new RecordReader(partition.log).find(offset);
    if (record === undefined) {
      throw queueError(
        "MESSAGE_NOT_FOUND",
        `Cannot redrive offset ${offset} of "${ref.topic.name}": there is no such message`,
        {
          details: { topic: ref.topic.name, partition: ref.partition, offset },
        },
      );
    }
    const letter = toDeadLetter(ref, record);
    const topic = target ?? this.#broker.topic(letter.originalTopic);
    const to = this.#targetPartition(ref, topic, letter);
    const answer = { dlqPartition: ref.partition, dlqOffset: offset, targetTopic: topic.name, partition: to.partition };
    if (this.#redriveState(ref)?.isDone(offset)) return { ...answer, offset: -1, isDuplicate: true };
    const from = `${ref.topic.name}/${ref.partition}/${offset}`;
    const batch = encodeRedriven(record, from, this.#broker.clock.nowMs());
    const dlq = { dlqTopicNumber: ref.topicNumber, dlqPartition: ref.partition, dlqOffset: offset };
    const place = { topicNumber: to.topicNumber, partition: to.partition };
    if (to.shard === ref.shard) {
      const result = await this.#broker.proposer.propose(ref.shard, { kind: "redrive", ...place, ...dlq, batch });
      if (result.kind === "redriven") return { ...answer, offset: result.offset, isDuplicate: false };
      return { ...answer, offset: -1, isDuplicate: true };
    }
    // Two shards: the key keeps a repetition after a crash in between from being stored twice.
    const keys = [{ index: 0, key: `redrive ${from}` }];
    const appended = await this.#broker.proposer.propose(to.shard, { kind: "append", ...place, batch, keys });
    await this.#broker.proposer.propose(ref.shard, { kind: "redrive", ...place, ...dlq, batch: undefined });
    if (appended.kind === "appended") return { ...answer, offset: appended.baseOffset, isDuplicate: false };
    const known = appended.kind === "keysKnown" ? appended.known[0]?.offset : undefined;
    return { ...answer, offset: known ?? -1, isDuplicate: true };
  }

  /** Back where it came from, if that is there; else by its key, else the same number. */
  #targetPartition(ref: TopicPartitionRef, topic: Topic, letter: DeadLetter): TopicPartitionRef {
    if (topic.name === letter.originalTopic && topic.shards[letter.originalPartition] !== undefined) {
      return partitionOf(topic, letter.originalPartition);
    }
    if (letter.key !== undefined) return partitionOf(topic, partitionForKey(letter.key, topic.shards.length));
    return partitionOf(topic, ref.partition % topic.shards.length);
  }

  async #keepRate(
    count: number,
    ratePerSecond: number | undefined,
    startMs: number,
    signal?: AbortSignal,
  ): Promise<void> {
    if (ratePerSecond === undefined || ratePerSecond <= 0) return;
    const waitMs = startMs + (count * 1_000) / ratePerSecond - this.#broker.clock.monotonicMs();
    if (waitMs <= 0) return;
    const signals = [this.#broker.closing, ...(signal === undefined ? [] : [signal])];
    // An aborted wait ends the redrive at its next step.
    await sleep(waitMs, AbortSignal.any(signals), this.#broker.timers).catch(() => {});
  }
}

function toDeadLetter(ref: TopicPartitionRef, record: RecordCursor): DeadLetter {
  const headers = record.headers();
  const header = (name: string): string | undefined => headers.find(([other]) => other === name)?.[1];
  return {
    topic: ref.topic.name,
    partition: ref.partition,
    offset: record.offset,
    timestampMs: record.timestampMs,
    priority: record.priority,
    key: record.key,
    isKeyBinary: record.isKeyBinary,
    value: record.value,
    isBinary: record.isBinary,
    isPayload: record.isPayload,
    headers,
    reason: header(deadLetterHeaders.reason) ?? "",
    originalTopic: header(deadLetterHeaders.topic) ?? "",
    originalPartition: Number(header(deadLetterHeaders.partition) ?? -1),
    originalOffset: Number(header(deadLetterHeaders.offset) ?? -1),
  };
}
