import type { TimerHandle, Timers } from "../../platform/time/clock.ts";
import { queueError } from "../errors.ts";
import { RecordCursor } from "../model/record-cursor.ts";
import type { FetchResult, FetchStart, QueueService } from "../service/queue-service.ts";
import { toMilliseconds } from "./convert.ts";
import type { ConsumeRequest, ConsumeResponse } from "./definition.ts";
import { FrameBuffers, MessageFrames, pieceBytes } from "./message-frames.ts";
import { Gate, type StreamSession, type StreamSink } from "./stream-session.ts";

/**
 * One ConsumeStream: each partition is read in a loop of its own, and no loop fetches more while the client does not
 * keep up. An idle stream sends a heartbeat, so that both sides notice a dead connection.
 */
export const heartbeatIntervalMs = 5000;
const fetchBytes = 1024 * 1024;
const fetchRecordsMax = 10_000;
const fetchWaitMs = 30_000;
const pieceFraction = 4;
/** How often a reader of all partitions looks for added ones. */
const partitionCheckMs = 5000;

export interface ConsumeSessionOptions {
  readonly service: QueueService;
  readonly timers: Timers;
  readonly sink: StreamSink<ConsumeResponse>;
  readonly request: ConsumeRequest;
}

interface Reader {
  readonly partition: number;
  start: FetchStart;
  /** Where `stop_at_end` stops; undefined until the first fetch has told it. */
  endOffset: number | undefined;
}

export class ConsumeSession implements StreamSession<never> {
  readonly #options: ConsumeSessionOptions;
  readonly #abort = new AbortController();
  readonly #room = new Gate();
  readonly #buffers = new FrameBuffers();
  readonly #readers = new Map<number, Reader>();
  readonly #fetchRecords: number;
  readonly #pieceMessages: number;
  #isBlocked = false;
  #isOver = false;
  #hasSentSinceTick = false;
  #heartbeat: TimerHandle | undefined;
  #partitionCheck: TimerHandle | undefined;

  constructor(options: ConsumeSessionOptions) {
    this.#options = options;
    const { maxInFlight } = options.request;
    this.#fetchRecords = maxInFlight > 0 ? Math.min(maxInFlight, fetchRecordsMax) : fetchRecordsMax;
    this.#pieceMessages = Math.max(1, Math.ceil(this.#fetchRecords / pieceFraction));
  }

  /** @throws DomainError TOPIC_NOT_FOUND, PARTITION_NOT_FOUND, INVALID_ARGUMENT */
  start(): void {
    const { request, timers } = this.#options;
    const start = toStart(request);
    const partitions = this.#listPartitions();
    this.#heartbeat = timers.every(heartbeatIntervalMs, () => this.#beat(), { isBackground: true });
    if (request.partitions.length === 0 && !request.stopAtEnd) {
      this.#partitionCheck = timers.every(partitionCheckMs, () => this.#addPartitions(), { isBackground: true });
    }
    for (const partition of partitions) this.#open(partition, start);
  }

  receive(): undefined {
    return undefined;
  }
  halfClose(): void {}

  cancel(): void {
    this.#isOver = true;
    this.#stop();
  }

  shutDown(): void {
    this.#finish(queueError("SHUTTING_DOWN", "Cannot send any further messages: the server is shutting down"));
  }

  #listPartitions(): readonly number[] {
    const { request, service } = this.#options;
    const topic = service.findTopicSettings(request.topic);
    if (topic === undefined) {
      throw queueError("TOPIC_NOT_FOUND", `Cannot read topic "${request.topic}": there is no such topic`, {
        details: { topic: request.topic },
      });
    }
    const beyond = request.partitions.find((partition) => partition < 0 || partition >= topic.partitions);
    if (beyond !== undefined) {
      const message = `Cannot read partition ${beyond} of topic "${request.topic}": it has ${topic.partitions}`;
      throw queueError("PARTITION_NOT_FOUND", message, { details: { topic: request.topic, partition: beyond } });
    }
    if (request.partitions.length > 0) return [...new Set(request.partitions)];
    return Array.from({ length: topic.partitions }, (_, partition) => partition);
  }

  #addPartitions(): void {
    const topic = this.#options.service.findTopicSettings(this.#options.request.topic);
    if (topic === undefined) return;
    for (let partition = 0; partition < topic.partitions; partition += 1) {
      // A partition that appears later is read whole: nothing in it is older than the stream.
      if (!this.#readers.has(partition)) this.#open(partition, { kind: "earliest" });
    }
  }

  #open(partition: number, start: FetchStart): void {
    const reader: Reader = { partition, start, endOffset: undefined };
    this.#readers.set(partition, reader);
    this.#read(reader).then(
      () => this.#close(partition),
      (error: unknown) => this.#finish(error),
    );
  }

  async #read(reader: Reader): Promise<void> {
    const { service, request } = this.#options;
    while (!this.#isOver) {
      const result = await service.fetch({
        topic: request.topic,
        partition: reader.partition,
        start: reader.start,
        maxRecords: this.#fetchRecords,
        maxBytes: fetchBytes,
        waitMs: request.stopAtEnd ? 0 : fetchWaitMs,
        signal: this.#abort.signal,
      });
      if (this.#isOver) return;
      reader.endOffset ??= result.highWatermark;
      await this.#sendRecords(result, request.stopAtEnd ? reader.endOffset : Number.MAX_SAFE_INTEGER);
      reader.start = { kind: "offset", offset: result.nextOffset };
      if (request.stopAtEnd && result.nextOffset >= reader.endOffset) return;
    }
  }

  /** Sends in pieces, so that what waits for the client is bounded however much one fetch gave. */
  async #sendRecords(result: FetchResult, endOffset: number): Promise<void> {
    const limit = Math.min(result.nextOffset, endOffset);
    const frames = new MessageFrames(result.topic, result.partition, this.#buffers);
    for (const batch of result.batches) {
      if (batch.isControl) continue;
      const cursor = new RecordCursor(batch);
      while (cursor.next()) {
        if (cursor.offset < result.startOffset) continue;
        if (cursor.offset >= limit) break;
        frames.append(cursor);
        if (frames.sizeBytes >= pieceBytes || frames.count >= this.#pieceMessages) await this.#send(frames);
        if (this.#isOver) return;
      }
    }
    if (frames.count > 0) await this.#send(frames);
    frames.close();
  }

  async #send(frames: MessageFrames): Promise<void> {
    if (this.#isBlocked) await this.#room.wait();
    if (this.#isOver) return;
    this.#hasSentSinceTick = true;
    if (this.#options.sink.send(frames.take())) return;
    this.#isBlocked = true;
    this.#options.sink.onDrain(() => {
      this.#isBlocked = false;
      this.#room.open();
    });
  }

  #beat(): void {
    if (!this.#hasSentSinceTick && !this.#isBlocked && !this.#isOver) this.#options.sink.send({ heartbeat: true });
    this.#hasSentSinceTick = false;
  }

  #close(partition: number): void {
    this.#readers.delete(partition);
    if (this.#readers.size === 0) this.#finish(undefined);
  }

  #finish(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stop();
    if (error === undefined) this.#options.sink.end();
    else this.#options.sink.fail(error);
  }

  #stop(): void {
    this.#abort.abort();
    this.#heartbeat?.cancel();
    this.#partitionCheck?.cancel();
    this.#room.open();
  }
}

function toStart(request: ConsumeRequest): FetchStart {
  switch (request.start) {
    case 0:
    case 1:
      return { kind: "earliest" };
    case 2:
      return { kind: "latest" };
    case 3:
      if (request.offset >= 0) return { kind: "offset", offset: request.offset };
      throw queueError("INVALID_OFFSET", `Cannot read from offset ${request.offset}: offsets begin at 0`);
    case 4:
      if (request.timestamp) return { kind: "timestamp", timestampMs: toMilliseconds(request.timestamp) };
      throw queueError("INVALID_ARGUMENT", "Cannot read from a time: the timestamp is not set");
    default:
      throw queueError("INVALID_ARGUMENT", `Cannot read: there is no start ${String(request.start)}`);
  }
}
