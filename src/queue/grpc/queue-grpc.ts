import type { Server } from "nice-grpc";
import type { CallContext } from "nice-grpc-common";
import { afterPendingEvents, type Clock, type Timers } from "../../platform/time/clock.ts";
import type { PublishCoalescer } from "../service/ingest/publish-coalescer.ts";
import type { QueueService } from "../service/queue-service.ts";
import { ConsumeSession } from "./consume-session.ts";
import { type GroupRequest, type PublishRequest, queueDefinition } from "./definition.ts";
import { GroupSession } from "./group-session.ts";
import { PublishSession } from "./publish-session.ts";
import { type OpenSessions, runSession } from "./stream-adapter.ts";
import type { StreamSink } from "./stream-session.ts";

export interface QueueGrpcOptions {
  readonly service: QueueService;
  readonly coalescer: PublishCoalescer;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Told of every stream; ask it to shut down before the server closes. */
  readonly open: OpenSessions;
}

/** Adds queue.v1.Queue to a server. */
export function registerQueueService(server: Server, options: QueueGrpcOptions): void {
  const { service, coalescer, clock, timers, open } = options;
  server.add(queueDefinition, {
    publishStream: (requests: AsyncIterable<PublishRequest>, context: CallContext) =>
      runSession({ context, open, requests, create: (sink) => new PublishSession(sink, coalescer) }),
    consumeStream: (request, context) =>
      runSession({
        context,
        open,
        requests: undefined,
        create: (sink) => {
          const session = new ConsumeSession({ service, timers, sink, request });
          session.start();
          return session;
        },
      }),
    groupStream: (requests: AsyncIterable<GroupRequest>, context: CallContext) =>
      runSession({
        context,
        open,
        requests,
        create: (sink: StreamSink<object>) =>
          new GroupSession({
            service,
            clock,
            timers,
            schedule: afterPendingEvents,
            sink,
            clientHost: hostOf(context.peer),
          }),
      }),
  });
}

/** `127.0.0.1:1234` or `[::1]:1234` without the port. */
function hostOf(peer: string): string {
  return peer.replace(/:\d+$/, "");
}
