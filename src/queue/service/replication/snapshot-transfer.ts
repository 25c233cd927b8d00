import type { Members } from "../../model/raft/raft-types.ts";
import type { NodeId, ShardId } from "../ports.ts";
import type { SnapshotAnswer, SnapshotChunk } from "./transport.ts";

/**
 * An image of a shard's state on its way from the leader to a follower: one part at a time, each sent again until it
 * is answered. The image is read and written piece by piece, so it may be larger than memory.
 */
export interface SnapshotSource {
  readonly shard: ShardId;
  readonly from: NodeId;
  readonly to: NodeId;
  readonly term: number;
  readonly snapshotId: number;
  readonly index: number;
  readonly indexTerm: number;
  readonly members: Members;
  readonly chunks: AsyncIterator<Uint8Array>;
}

export interface SnapshotSenderOptions {
  readonly source: SnapshotSource;
  readonly send: (chunk: SnapshotChunk) => void;
  readonly onEnd: (isOk: boolean, cause: unknown) => void;
  readonly resendMs: number;
  readonly resendsMax: number;
}

export class SnapshotSender {
  readonly #options: SnapshotSenderOptions;
  #next: Promise<IteratorResult<Uint8Array>>;
  #current: SnapshotChunk | undefined;
  #ordinal = -1;
  #sentAtMs = 0;
  #resendCount = 0;
  #isEnded = false;

  constructor(options: SnapshotSenderOptions) {
    this.#options = options;
    // NOTE: asked for at once, while the state is still that of `source.index`.
    this.#next = options.source.chunks.next();
  }

  start(nowMs: number): void {
    void this.#sendNext(nowMs);
  }

  tick(nowMs: number): void {
    if (this.#current === undefined || nowMs - this.#sentAtMs < this.#options.resendMs) return;
    this.#resendCount += 1;
    if (this.#resendCount > this.#options.resendsMax) {
      this.end(false, new Error("the follower does not answer"));
      return;
    }
    this.#sentAtMs = nowMs;
    this.#options.send(this.#current);
  }

  receive(answer: SnapshotAnswer, nowMs: number): void {
    if (answer.snapshotId !== this.#options.source.snapshotId) return;
    if (answer.status === "refused") this.end(false, new Error("the follower refused the snapshot"));
    else if (answer.status === "installed") this.end(true, undefined);
    else if (answer.ordinal === this.#ordinal && this.#current?.isLast === false) void this.#sendNext(nowMs);
  }

  end(isOk: boolean, cause: unknown): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#current = undefined;
    void this.#options.source.chunks.return?.().catch(() => undefined);
    this.#options.onEnd(isOk, cause);
  }

  async #sendNext(nowMs: number): Promise<void> {
    this.#current = undefined;
    try {
      const { done, value } = await this.#next;
      if (this.#isEnded) return;
      if (!done) this.#next = this.#options.source.chunks.next();
      this.#next.catch(() => undefined);
      this.#send(done ? new Uint8Array() : value, done === true, nowMs);
    } catch (error) {
      this.end(false, error);
    }
  }

  #send(bytes: Uint8Array, isLast: boolean, nowMs: number): void {
    const { chunks: _, ...head } = this.#options.source;
    this.#ordinal += 1;
    this.#resendCount = 0;
    this.#sentAtMs = nowMs;
    this.#current = { kind: "snapshotChunk", ...head, ordinal: this.#ordinal, bytes, isLast };
    this.#options.send(this.#current);
  }
}

/** The parts of an image as they come in; a part is answered when the state machine has asked for the next one. */
export class SnapshotReceiver implements AsyncIterable<Uint8Array> {
  readonly first: SnapshotChunk;
  readonly #onTaken: (ordinal: number) => void;
  #waiting: { resolve: (result: IteratorResult<Uint8Array>) => void; reject: (error: Error) => void } | undefined;
  #arrived: SnapshotChunk | undefined;
  #nextOrdinal = 0;
  #isComplete = false;
  #failure: Error | undefined;
  lastHeardMs: number;

  constructor(first: SnapshotChunk, nowMs: number, onTaken: (ordinal: number) => void) {
    this.first = first;
    this.#onTaken = onTaken;
    this.lastHeardMs = nowMs;
  }

  /** The parts stopped coming before the last one. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  receive(chunk: SnapshotChunk, nowMs: number): void {
    this.lastHeardMs = nowMs;
    if (chunk.ordinal < this.#nextOrdinal && this.#arrived === undefined) this.#onTaken(chunk.ordinal);
    if (chunk.ordinal !== this.#nextOrdinal || this.#isComplete) return;
    this.#nextOrdinal += 1;
    this.#isComplete = chunk.isLast;
    this.#arrived = chunk;
    this.#handOver();
  }

  fail(error: Error): void {
    if (this.#isComplete || this.#failure !== undefined) return;
    this.#failure = error;
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () =>
        new Promise((resolve, reject) => {
          if (this.#failure !== undefined) {
            reject(this.#failure);
            return;
          }
          this.#waiting = { resolve, reject };
          this.#handOver();
        }),
    };
  }

  #handOver(): void {
    const waiting = this.#waiting;
    const chunk = this.#arrived;
    if (waiting === undefined) return;
    if (chunk === undefined) {
      if (this.#isComplete) waiting.resolve({ done: true, value: undefined });
      return;
    }
    this.#waiting = undefined;
    this.#arrived = undefined;
    if (chunk.isLast) waiting.resolve({ done: true, value: undefined });
    else {
      waiting.resolve({ done: false, value: chunk.bytes });
      this.#onTaken(chunk.ordinal);
    }
  }
}
