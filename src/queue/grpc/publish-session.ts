import { queueError } from "../errors.ts";
import type { PublishCoalescer } from "../service/ingest/publish-coalescer.ts";
import type { PublishMessage, PublishResult } from "../service/queue-service.ts";
import { toAcks, toPublishMessage, toTimestamp, toWireError } from "./convert.ts";
import type { PublishRequest, PublishRequestInit, PublishResponse } from "./definition.ts";
import { Gate, type StreamSession, type StreamSink } from "./stream-session.ts";

/**
 * One PublishStream. Requests go to the coalescer at once; confirmations come in request order per partition, and those
 * of neighbours are joined: same partition, offsets and correlation ids without a gap. At most a window of messages is
 * unconfirmed; beyond it the stream is not read.
 */
export const unconfirmedMessagesMax = 10_000;
export const unconfirmedBytesMax = 64 * 1024 * 1024;
const batchMessagesMax = 10_000;
const messageOverheadBytes = 64;

interface Confirmation {
  correlationId: number;
  readonly topic: string;
  readonly result: PublishResult;
  count: number;
}

export class PublishSession implements StreamSession<PublishRequest> {
  readonly #sink: StreamSink<PublishResponse>;
  readonly #coalescer: PublishCoalescer;
  readonly #room = new Gate();
  #unconfirmedMessages = 0;
  #unconfirmedBytes = 0;
  #isHalfClosed = false;
  #isOver = false;
  /** The joined confirmation that may still grow; sent when the next one does not fit or the burst is over. */
  #joined: Confirmation | undefined;
  #isFlushScheduled = false;

  constructor(sink: StreamSink<PublishResponse>, coalescer: PublishCoalescer) {
    this.#sink = sink;
    this.#coalescer = coalescer;
  }

  receive(request: PublishRequest): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    if (request.batch.length > 0) this.#submitBatch(request);
    else this.#submitOne(request);
    return this.#isFull() ? this.#room.wait() : undefined;
  }

  halfClose(): void {
    this.#isHalfClosed = true;
    this.#endWhenConfirmed();
  }

  cancel(): void {
    this.#isOver = true;
    this.#room.open();
  }

  shutDown(): void {
    if (this.#isOver) return;
    this.#flush();
    this.#isOver = true;
    this.#sink.fail(queueError("SHUTTING_DOWN", "Cannot publish any further: the server is shutting down"));
    this.#room.open();
  }

  #submitOne(request: PublishRequest): void {
    const { correlationId, topic } = request;
    const sizeBytes = sizeOf(request);
    let message: PublishMessage;
    let acks: ReturnType<typeof toAcks>;
    try {
      acks = toAcks(request.acks);
      message = toPublishMessage(request);
    } catch (error) {
      this.#refuse(correlationId, topic, error);
      return;
    }
    this.#admit(1, sizeBytes);
    this.#coalescer.submit({
      topic,
      acks,
      messages: [message],
      sizeBytes,
      onSettled: (results, error) => {
        this.#release(1, sizeBytes);
        const result = results?.[0];
        if (result === undefined) this.#refuse(correlationId, topic, error);
        else if (result.error !== undefined) this.#refuse(correlationId, topic, result.error, result.partition);
        else this.#confirm(correlationId, topic, result);
        this.#endWhenConfirmed();
      },
    });
  }

  #submitBatch(request: PublishRequest): void {
    const { correlationId, topic, batch } = request;
    if (batch.length > batchMessagesMax) {
      const limits = { count: batch.length, limit: batchMessagesMax };
      const message = `Cannot publish ${batch.length} messages in one request: at most ${batchMessagesMax} are allowed`;
      this.#refuse(correlationId, topic, queueError("BATCH_TOO_LARGE", message, { details: limits }));
      return;
    }
    let byTopic: Map<string, TopicPart>;
    let acks: ReturnType<typeof toAcks>;
    try {
      acks = toAcks(request.acks);
      byTopic = splitByTopic(request);
    } catch (error) {
      this.#refuse(correlationId, topic, error);
      return;
    }
    const outcomes = new Array<PublishResponse>(batch.length);
    let openParts = byTopic.size;
    for (const [partTopic, part] of byTopic) {
      this.#admit(part.messages.length, part.sizeBytes);
      this.#coalescer.submit({
        topic: partTopic,
        acks,
        messages: part.messages,
        sizeBytes: part.sizeBytes,
        onSettled: (results, error) => {
          this.#release(part.messages.length, part.sizeBytes);
          part.indexes.forEach((index, position) => {
            outcomes[index] = toOutcome(partTopic, results?.[position], error);
          });
          openParts -= 1;
          if (openParts === 0) this.#send(joinOutcomes(correlationId, topic, outcomes));
          this.#endWhenConfirmed();
        },
      });
    }
  }

  #admit(messages: number, bytes: number): void {
    this.#unconfirmedMessages += messages;
    this.#unconfirmedBytes += bytes;
  }

  #release(messages: number, bytes: number): void {
    this.#unconfirmedMessages -= messages;
    this.#unconfirmedBytes -= bytes;
    if (!this.#isFull()) this.#room.open();
  }

  #isFull(): boolean {
    return this.#unconfirmedMessages >= unconfirmedMessagesMax || this.#unconfirmedBytes >= unconfirmedBytesMax;
  }

  #confirm(correlationId: number, topic: string, result: PublishResult): void {
    const joined = this.#joined;
    if (joined !== undefined && isNext(joined, correlationId, topic, result)) {
      joined.correlationId = correlationId;
      joined.count += 1;
      return;
    }
    this.#flush();
    this.#joined = { correlationId, topic, result, count: 1 };
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    // Results of one round are reported in one go: after it there is nothing more to join.
    queueMicrotask(() => {
      this.#isFlushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    const joined = this.#joined;
    if (joined === undefined) return;
    this.#joined = undefined;
    const { correlationId, topic, result, count } = joined;
    this.#send({ correlationId, count, ...toFields(topic, result) });
  }

  #refuse(correlationId: number, topic: string, error: unknown, partition?: number): void {
    this.#flush();
    this.#send({
      correlationId,
      topic,
      count: 1,
      error: toWireError(error),
      ...(partition === undefined ? {} : { partition }),
    });
  }

  #send(response: PublishResponse): void {
    if (response.correlationId !== undefined && this.#joined !== undefined) this.#flush();
    if (!this.#isOver) this.#sink.send(response);
  }

  #endWhenConfirmed(): void {
    if (!this.#isHalfClosed || this.#isOver || this.#unconfirmedMessages > 0) return;
    this.#flush();
    this.#isOver = true;
    this.#sink.end();
  }
}

interface TopicPart {
  readonly messages: PublishMessage[];
  readonly indexes: number[];
  sizeBytes: number;
}

/** The messages of a batch by topic; topic and partition of the outer message are defaults. */
function splitByTopic(request: PublishRequest): Map<string, TopicPart> {
  const parts = new Map<string, TopicPart>();
  request.batch.forEach((item, index) => {
    if (item.batch !== undefined && item.batch !== null && item.batch.length > 0) {
      throw queueError("INVALID_MESSAGE", "Cannot publish the batch: a batch inside a batch", { details: { index } });
    }
    const topic = item.topic || request.topic;
    let part = parts.get(topic);
    if (part === undefined) {
      part = { messages: [], indexes: [], sizeBytes: 0 };
      parts.set(topic, part);
    }
    part.messages.push(toPublishMessage({ ...item, partition: item.partition ?? request.partition ?? null }));
    part.indexes.push(index);
    part.sizeBytes += sizeOf(item);
  });
  return parts;
}

function sizeOf(request: PublishRequestInit): number {
  return (request.payload?.length ?? 0) + (request.key?.length ?? 0) + messageOverheadBytes;
}

function isNext(joined: Confirmation, correlationId: number, topic: string, result: PublishResult): boolean {
  const { result: first, count } = joined;
  return (
    correlationId === joined.correlationId + 1 &&
    topic === joined.topic &&
    result.partition === first.partition &&
    result.offset === first.offset + count &&
    result.timestampMs === first.timestampMs &&
    isPlain(result) &&
    isPlain(first)
  );
}

function isPlain(result: PublishResult): boolean {
  return !result.isDuplicate && result.delayedId === undefined && result.error === undefined;
}

function toFields(topic: string, result: PublishResult): PublishResponse {
  return {
    topic,
    partition: result.partition,
    offset: result.offset,
    timestamp: toTimestamp(result.deliverAtMs ?? result.timestampMs),
    ...(result.isDuplicate ? { duplicate: true } : undefined),
    ...(result.delayedId === undefined ? undefined : { delayedId: result.delayedId }),
  };
}

function toOutcome(topic: string, result: PublishResult | undefined, error: unknown): PublishResponse {
  if (result === undefined) return { topic, error: toWireError(error) };
  if (result.error !== undefined) return { topic, partition: result.partition, error: toWireError(result.error) };
  return toFields(topic, result);
}

/** Without `results` when the first one tells all: one partition, offsets without a gap, nothing special. */
function joinOutcomes(correlationId: number, topic: string, outcomes: readonly PublishResponse[]): PublishResponse {
  const [first] = outcomes;
  const isUniform =
    first !== undefined &&
    outcomes.every(
      (outcome, index) =>
        !outcome.error &&
        !outcome.duplicate &&
        !outcome.delayedId &&
        outcome.topic === first.topic &&
        outcome.partition === first.partition &&
        outcome.offset === (first.offset ?? 0) + index,
    );
  if (isUniform) return { ...first, correlationId, count: 1 };
  const isRefused = first?.error && outcomes.every((outcome) => outcome.error);
  return {
    correlationId,
    topic,
    count: 1,
    results: [...outcomes],
    ...(isRefused ? { error: first.error ?? null } : {}),
  };
}
