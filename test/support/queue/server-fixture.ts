import { type Channel, createChannel, createClient } from "nice-grpc";
import { silentLogger } from "../../../src/platform/log/logger.ts";
import { createMetrics } from "../../../src/platform/metrics/metrics.ts";
import { queueDefinition } from "../../../src/queue/grpc/definition.ts";
import { type QueueServer, startQueueServer } from "../../../src/queue/start-queue-server.ts";
import { createTestFolder, testConfig } from "./rest-fixture.ts";

/** The whole server on free ports, with a gRPC client. */
export interface ServerFixture extends AsyncDisposable {
  readonly server: QueueServer;
  readonly channel: Channel;
  readonly client: ReturnType<typeof connect>;
  readonly folder: string;
}

export async function startServerFixture(environment: Record<string, string> = {}): Promise<ServerFixture> {
  const folder = createTestFolder();
  const server = await startQueueServer(testConfig(folder.path, environment), {
    logger: silentLogger,
    version: "0.0.0-test",
    metrics: createMetrics(),
  });
  const channel = createChannel(server.grpcAddress);
  return {
    server,
    channel,
    client: connect(channel),
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      channel.close();
      await server.close();
      folder.remove();
    },
  };
}

function connect(channel: Channel) {
  return createClient(queueDefinition, channel);
}

/** A request stream that a test feeds by hand. */
export class RequestFeed<Request> implements AsyncIterable<Request> {
  readonly #waiting: Request[] = [];
  #wake: (() => void) | undefined;
  #isEnded = false;

  send(...requests: readonly Request[]): void {
    this.#waiting.push(...requests);
    this.#wake?.();
  }
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }
  async *[Symbol.asyncIterator](): AsyncGenerator<Request> {
    while (true) {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) yield next;
      if (this.#isEnded) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** Reads one response at a time. */
export class Responses<Response> {
  readonly #iterator: AsyncIterator<Response>;

  constructor(responses: AsyncIterable<Response>) {
    this.#iterator = responses[Symbol.asyncIterator]();
  }

  async next(): Promise<Response> {
    const { done, value } = await this.#iterator.next();
    if (done) throw new Error("the stream ended");
    return value;
  }
  async find(isWanted: (response: Response) => boolean): Promise<Response> {
    for (;;) {
      const response = await this.next();
      if (isWanted(response)) return response;
    }
  }
  async rest(): Promise<readonly Response[]> {
    const responses: Response[] = [];
    for (;;) {
      const { done, value } = await this.#iterator.next();
      if (done) return responses;
      responses.push(value);
    }
  }
}
