import type { CallContext } from "nice-grpc-common";
import { afterPendingEvents } from "../../platform/time/clock.ts";
import type { StreamSession, StreamSink } from "./stream-session.ts";

/** Responses (of many messages, where there are many) wait here until the library asks for them; above the mark the session is told to hold back. */
const waitingCountMax = 16;

/** Joins a session to the library's streams of async iterables. */
export class ResponseQueue<Response> implements StreamSink<Response> {
  #waiting: Response[] = [];
  #position = 0;
  #outcome: { readonly kind: "ended" } | { readonly kind: "failed"; readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;
  #drained: (() => void)[] = [];

  send(response: Response): boolean {
    this.#waiting.push(response);
    this.#wake?.();
    return this.#waiting.length - this.#position < waitingCountMax;
  }

  onDrain(callback: () => void): void {
    this.#drained.push(callback);
  }

  end(): void {
    this.#outcome ??= { kind: "ended" };
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#outcome ??= { kind: "failed", error };
    this.#wake?.();
  }

  /** Until the end; throws the error that the session failed with, after what was sent before it. */
  async *responses(): AsyncGenerator<Response> {
    while (true) {
      for (let next = this.#shift(); next !== undefined; next = this.#shift()) yield next;
      if (this.#outcome?.kind === "failed") throw this.#outcome.error;
      if (this.#outcome?.kind === "ended") return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  #shift(): Response | undefined {
    const next = this.#waiting[this.#position];
    if (next !== undefined) this.#position += 1;
    if (this.#position >= this.#waiting.length) {
      this.#waiting = [];
      this.#position = 0;
    }
    if (this.#waiting.length - this.#position <= waitingCountMax / 2) this.#reportDrain();
    return next;
  }

  #reportDrain(): void {
    if (this.#drained.length === 0) return;
    const callbacks = this.#drained;
    this.#drained = [];
    for (const callback of callbacks) callback();
  }
}

/** Sessions that are open, so that a stop reaches them. */
export class OpenSessions {
  readonly #sessions = new Set<Pick<StreamSession<never>, "shutDown">>();
  #isShuttingDown = false;

  add(session: Pick<StreamSession<never>, "shutDown">): void {
    this.#sessions.add(session);
    if (this.#isShuttingDown) session.shutDown();
  }

  delete(session: Pick<StreamSession<never>, "shutDown">): void {
    this.#sessions.delete(session);
  }

  get size(): number {
    return this.#sessions.size;
  }

  shutDown(): void {
    this.#isShuttingDown = true;
    for (const session of this.#sessions) session.shutDown();
  }
}

export interface RunOptions<Request, Response> {
  readonly context: CallContext;
  readonly open: OpenSessions;
  readonly requests: AsyncIterable<Request> | undefined;
  readonly create: (sink: StreamSink<Response>) => StreamSession<Request>;
}

export async function* runSession<Request, Response>(options: RunOptions<Request, Response>): AsyncGenerator<Response> {
  const queue = new ResponseQueue<Response>();
  const session = options.create(queue);
  const onAbort = (): void => {
    session.cancel();
    queue.end();
  };
  options.context.signal.addEventListener("abort", onAbort, { once: true });
  options.open.add(session);
  if (options.requests !== undefined) void pump(options.requests, session, queue, options.context.signal);
  try {
    yield* queue.responses();
  } finally {
    options.context.signal.removeEventListener("abort", onAbort);
    options.open.delete(session);
    session.cancel();
  }
}

async function pump<Request>(
  requests: AsyncIterable<Request>,
  session: StreamSession<Request>,
  queue: Pick<StreamSink<never>, "fail">,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const request of requests) {
      const pause = session.receive(request);
      if (pause !== undefined) await pause;
    }
    // NOTE: requests of a broken stream end like those of a finished one; the abort follows within the same events.
    await new Promise<void>((resolve) => afterPendingEvents(resolve));
    if (!signal.aborted) session.halfClose();
  } catch (error) {
    session.cancel();
    queue.fail(error);
  }
}
