import type { Http2Session, ServerHttp2Stream } from "node:http2";
import { ServerInterceptingCall, type ServerInterceptor } from "@grpc/grpc-js";
import { assert } from "../errors/assert.ts";

/**
 * Many small messages of a stream as one write. The library frames and writes message by message, which is most of the
 * cost of a message of a kilobyte; a handler that has many at hand frames them itself and sends them as one of these.
 * Flow control stays the library's: it waits for the write as it would for a single message.
 */
export class FramedMessages {
  /** Each message behind a zero byte and its length in four bytes, big end first. */
  readonly frames: Uint8Array;
  /** Called when the transport is done with the bytes, so that they can be used again; not when the stream broke. */
  readonly onWritten: (() => void) | undefined;

  constructor(frames: Uint8Array, onWritten?: () => void) {
    this.frames = frames;
    this.onWritten = onWritten;
  }
}

export const frameHeaderSize = 5;

/**
 * Must see the call before any other interceptor wraps it.
 * @param windowBytes what a client may send before the server has read it, per stream and for the connection; with the
 * protocol's 64 KiB a server that is busy for a millisecond gets no more than that in each of its turns
 */
export function createFramingInterceptor(windowBytes: number): ServerInterceptor {
  const widened = new WeakSet<Http2Session>();
  return (_method, call) => {
    const framing = new FramingCall(call);
    const session = framing.stream?.session;
    if (session !== undefined && !session.destroyed && !widened.has(session)) {
      widened.add(session);
      session.settings({ initialWindowSize: windowBytes });
      session.setLocalWindowSize(windowBytes);
    }
    return framing;
  };
}

// NOTE: the library offers no way to the stream of a call; these members are those of its innermost call.
interface LibraryCall {
  readonly stream?: ServerHttp2Stream;
  /** Sends the headers, unless they are sent. */
  maybeSendMetadata?(): void;
}

class FramingCall extends ServerInterceptingCall {
  readonly #inner: LibraryCall;

  constructor(inner: ConstructorParameters<typeof ServerInterceptingCall>[0]) {
    super(inner);
    this.#inner = inner as unknown as LibraryCall;
  }

  /** As the library's own call has it, for interceptors around this one. */
  get stream(): ServerHttp2Stream | undefined {
    return this.#inner.stream;
  }

  override sendMessage(message: unknown, callback: () => void): void {
    if (!(message instanceof FramedMessages)) {
      super.sendMessage(message, callback);
      return;
    }
    const { stream } = this;
    assert(stream !== undefined && this.#inner.maybeSendMetadata !== undefined, "the call is the library's own");
    if (stream.destroyed || stream.closed) return;
    this.#inner.maybeSendMetadata();
    stream.write(message.frames, (error) => {
      if (error) return;
      message.onWritten?.();
      callback();
    });
  }
}
