/** A socket in front of the Docker engine that lets one request of many go wrong. */
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

/** `cut` is the sly one: the engine does what it was asked, and its answer is lost. */
export type Fault = "drop" | "refuse" | "hang" | "cut";

const enginePath = "/var/run/docker.sock";
const requestLine = /^(GET|POST|PUT|DELETE|HEAD) (\S+) HTTP\/1\.1\r\n/;
const refusal = '{"message":"out of order"}';
const refusalText = `HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: ${refusal.length}\r\nConnection: close\r\n\r\n${refusal}`;

export class FaultySocket implements AsyncDisposable {
  readonly url: string;
  /** Requests since the last `arm`. */
  readonly requests: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #faultyIndex = -1;
  #fault: Fault = "drop";

  private constructor(path: string) {
    this.url = `unix://${path}`;
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#serve(client));
  }

  static async listen(folder: string): Promise<FaultySocket> {
    const path = join(folder, "docker.sock");
    const faulty = new FaultySocket(path);
    await new Promise<void>((resolve) => faulty.#server.listen(path, resolve));
    return faulty;
  }

  /** From now on the request of this number (from 0) goes wrong; -1 is none. */
  arm(index: number, fault: Fault): void {
    this.requests.length = 0;
    this.#faultyIndex = index;
    this.#fault = fault;
  }

  #serve(client: Socket): void {
    // A program in a container reads the end of its input as a half-closed connection, and then still writes.
    const engine = connect({ path: enginePath, allowHalfOpen: true });
    let isHanging = false;
    let isCut = false;
    for (const socket of [client, engine]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    }
    client.on("data", (chunk) => {
      const match = chunk.toString("latin1", 0, 65_536).match(requestLine);
      const index = match ? this.requests.push(`${match[1]} ${match[2]}`) - 1 : -1;
      if (match && index === this.#faultyIndex) {
        if (this.#fault === "hang") isHanging = true;
        else if (this.#fault === "cut") isCut = true;
        else if (this.#fault === "refuse") client.end(refusalText);
        else client.destroy();
        if (this.#fault === "drop" || this.#fault === "refuse") engine.destroy();
      }
      if (!isHanging && !engine.destroyed) engine.write(chunk);
    });
    client.on("end", () => engine.end());
    engine.on("data", (chunk) => {
      if (isCut) client.destroy();
      else client.write(chunk);
    });
    engine.on("end", () => client.end());
    client.on("close", () => engine.destroy());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
