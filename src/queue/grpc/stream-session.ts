/**
 * One open stream, without the transport: a session is told what arrives and is given a sink for what leaves. That keeps
 * the protocol testable and the transport replaceable.
 */
export interface StreamSink<Response> {
  /** Hands a response to the transport; false means that the client does not keep up: wait for `onDrain`. */
  send(response: Response): boolean;
  /** Calls back once, when there is room again. */
  onDrain(callback: () => void): void;
  /** Ends the stream well. */
  end(): void;
  /** Ends the stream with the status of the error. */
  fail(error: unknown): void;
}

export interface StreamSession<Request> {
  /** Handles a request; a promise asks the transport to read no further until it resolves. */
  receive(request: Request): Promise<void> | undefined;
  /** The client will send nothing more. */
  halfClose(): void;
  /** The client is gone: nothing can be sent any more. */
  cancel(): void;
  /** The server stops: finish soon, and end the stream. */
  shutDown(): void;
}

/** Resolves waiters when room appears; for windows. */
export class Gate {
  #waiters: (() => void)[] = [];

  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  open(): void {
    if (this.#waiters.length === 0) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }
}
