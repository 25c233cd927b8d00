import { connect, type Socket } from "node:net";

/** A connection on which a test writes HTTP by hand, to be slow, broken or rude. */
export interface RawConnection {
  readonly socket: Socket;
  write(text: string): void;
  /** Everything the server sent until it closed the connection. */
  readonly closed: Promise<string>;
  /** Resolves when the text received so far matches. */
  until(pattern: RegExp): Promise<string>;
}

export function openRawConnection(port: number): Promise<RawConnection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let received = "";
    const waiting = new Set<() => void>();
    const ended = Promise.withResolvers<string>();
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      for (const check of waiting) check();
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    socket.on("close", () => ended.resolve(received));
    const until = (pattern: RegExp): Promise<string> =>
      new Promise((found) => {
        const check = (): void => {
          if (!pattern.test(received)) return;
          waiting.delete(check);
          found(received);
        };
        waiting.add(check);
        check();
      });
    socket.on("connect", () =>
      resolve({ socket, write: (text) => void socket.write(text), closed: ended.promise, until }),
    );
  });
}
