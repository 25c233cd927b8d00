import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type HttpContext, requestLogger } from "./http-env.ts";

/**
 * A body that is made while it is sent. The first piece is awaited before the status goes out, so that work which fails
 * at once is an ordinary error; one that fails later cuts the connection, which is the only way left to tell the client
 * that the body is not whole. A stream given to a Response directly would send the text of its error instead.
 */
export interface StreamOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Pulls as the client reads; ends the source (`return`) when the client leaves. */
export async function streamResponse(
  context: HttpContext,
  source: AsyncIterable<Uint8Array | string>,
  options: StreamOptions = {},
): Promise<Response> {
  const pieces = source[Symbol.asyncIterator]();
  let upcoming: IteratorResult<Uint8Array | string> | undefined = await pieces.next();
  const underlying = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>) {
      try {
        const piece = upcoming ?? (await pieces.next());
        upcoming = undefined;
        if (piece.done) controller.close();
        else controller.enqueue(typeof piece.value === "string" ? Buffer.from(piece.value) : piece.value);
      } catch (error) {
        cut(context, controller, error);
      }
    },
    async cancel() {
      await pieces.return?.();
    },
  };
  const body = new ReadableStream<Uint8Array>(underlying, { highWaterMark: 0 });
  return context.body(body, (options.status ?? 200) as ContentfulStatusCode, { ...options.headers });
}

function cut(context: HttpContext, controller: ReadableStreamDefaultController, error: unknown): void {
  requestLogger(context).error({ err: error, path: context.req.path }, "answer cut: its body could not be completed");
  const outgoing = context.env?.outgoing;
  if (outgoing === undefined) {
    controller.error(new Error("the body could not be completed"));
  } else {
    outgoing.destroy();
    controller.close();
  }
}
