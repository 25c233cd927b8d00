import type { Socket } from "node:net";
import type { TimerHandle, Timers } from "../../../platform/time/clock.ts";
import { ServerFrames } from "../../model/wire/server-frames.ts";

export interface RelayOptions {
  readonly client: Socket;
  readonly backend: Socket;
  readonly timers: Timers;
  readonly limits: {
    readonly authenticationMs: number;
    readonly idleMs: number;
    readonly closeGraceMs: number;
  };
  readonly onAuthenticated: () => void;
  /** Returns the function that forgets the key. */
  readonly onKey: (key: string) => () => void;
}

/**
 * Moves bytes both ways until both sides are done. A session is idle when nothing moved for a while and it is the
 * client's turn: a server that works silently on a long statement is not idle.
 */
export function relay(options: RelayOptions): void {
  const { client, backend, timers, limits } = options;
  const frames = new ServerFrames();
  let forgetKey: () => void = () => {};
  let isClientsTurn = false;
  let hasMoved = true;
  let grace: TimerHandle | undefined;
  const end = (): void => {
    client.destroy();
    backend.destroy();
  };
  const authentication = timers.after(limits.authenticationMs, end);
  const idle = timers.every(limits.idleMs, () => {
    if (!hasMoved && isClientsTurn) end();
    hasMoved = false;
  });
  const watchAuthentication = (chunk: Buffer): void => {
    frames.push(chunk);
    if (!frames.isReady) return;
    backend.off("data", watchAuthentication);
    authentication.cancel();
    options.onAuthenticated();
    if (frames.key !== undefined) forgetKey = options.onKey(frames.key);
  };
  client.on("data", () => {
    hasMoved = true;
    isClientsTurn = false;
  });
  backend.on("data", () => {
    hasMoved = true;
    isClientsTurn = true;
  });
  backend.on("data", watchAuthentication);
  const onEnd = (): void => {
    grace ??= timers.after(limits.closeGraceMs, end);
  };
  const onClose = (): void => {
    authentication.cancel();
    idle.cancel();
    forgetKey();
    onEnd();
    if (client.destroyed && backend.destroyed) grace?.cancel();
  };
  for (const socket of [client, backend]) {
    socket.on("end", onEnd);
    socket.on("close", onClose);
    socket.on("error", end);
  }
  client.pipe(backend);
  backend.pipe(client);
}
