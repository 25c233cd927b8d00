import { QueueClient } from "../../../src/queue/client/queue-client.ts";
import { cleanEnvironment, type RunningServer, startServer } from "./executable.ts";

/** `slipway queue serve` on free ports and a data directory; can be killed and started again on the same data. */
export class QueueProcess {
  readonly #dataDir: string;
  readonly #environment: Readonly<Record<string, string>>;
  #server: RunningServer | undefined;
  #client: QueueClient | undefined;
  httpUrl = "";
  grpcAddress = "";

  constructor(dataDir: string, environment: Readonly<Record<string, string>> = {}) {
    this.#dataDir = dataDir;
    this.#environment = environment;
  }

  get pid(): number {
    return this.#server?.pid ?? -1;
  }
  get client(): QueueClient {
    if (this.#client === undefined) throw new Error("the broker was not started");
    return this.#client;
  }
  said(): string {
    return this.#server?.said() ?? "";
  }

  async start(): Promise<void> {
    const server = startServer(["queue", "serve"], {
      env: cleanEnvironment({
        QUEUE_BROKER_DATADIR: this.#dataDir,
        QUEUE_LISTENERS_HTTP: "127.0.0.1:0",
        QUEUE_LISTENERS_GRPC: "127.0.0.1:0",
        QUEUE_LOG_FORMAT: "json",
        ...this.#environment,
      }),
    });
    this.#server = server;
    const [, url = ""] = await server.waitFor(/"url":"(http[^"]+)","msg":"listening"/);
    const [, address = ""] = await server.waitFor(/"address":"([^"]+)"[^\n]*"msg":"listening for gRPC"/);
    this.httpUrl = url;
    this.grpcAddress = address;
    this.#client = new QueueClient({ baseUrl: url });
  }

  /** Ends the process and resolves to its exit code, or to the name of the signal that ended it. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | string> {
    return (await this.#server?.stop(signal)) ?? 0;
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }
}
