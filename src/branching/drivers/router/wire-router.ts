/**
 * The connection router: reads the first packet, finds the branch, and from then on moves bytes. It never sees a
 * password: authentication is between the client and the branch's own Postgres. Whatever is wrong with a branch, the
 * client reads the same refusal, so that nobody can list branches by asking.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { ListenAddress } from "../../../platform/config/field.ts";
import { listenOn } from "../../../platform/http/listen-on.ts";
import type { Logger } from "../../../platform/log/logger.ts";
import type { Counter, Gauge } from "../../../platform/metrics/metrics.ts";
import type { Timers } from "../../../platform/time/clock.ts";
import type { TlsCertificates } from "../../../platform/tls/tls-certificates.ts";
import {
  encodeFatal,
  type FirstPacket,
  parseFirstPacket,
  splitDatabase,
  withDatabase,
} from "../../model/wire/startup-packet.ts";
import type { Endpoint } from "../../service/ports.ts";
import { relay } from "./relay.ts";
import { Sessions } from "./sessions.ts";

export interface RouterLimits {
  readonly firstByteMs: number;
  readonly startupMs: number;
  readonly startupsPerAddressMax: number;
  readonly startupsMax: number;
  readonly authenticationMs: number;
  readonly idleMs: number;
  readonly closeGraceMs: number;
  readonly dialMs: number;
}

export const defaultRouterLimits: RouterLimits = {
  firstByteMs: 2000,
  startupMs: 10_000,
  startupsPerAddressMax: 64,
  startupsMax: 256,
  authenticationMs: 30_000,
  idleMs: 15 * 60_000,
  closeGraceMs: 5000,
  dialMs: 5000,
};

export interface RouterMetrics {
  readonly connections: Counter;
  readonly active: Gauge;
}

export interface WireRouterOptions {
  readonly listen: ListenAddress;
  readonly tls: TlsCertificates | undefined;
  /** Where a branch that is ready answers; undefined for every other. */
  readonly findEndpoint: (branch: string) => Promise<Endpoint | undefined>;
  readonly limits?: Partial<RouterLimits>;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly metrics: RouterMetrics;
}

export interface WireRouter {
  readonly address: ListenAddress;
  /** Stops accepting and cuts what is connected. */
  close(): Promise<void>;
}

const noBranchState = "3D000";
const refusal = encodeFatal(noBranchState, "branchsvc: database not available");
const missingBranch = encodeFatal(
  noBranchState,
  "branchsvc: the database name must be <database>@<branch>, for example app@pr-7",
);
const tooMany = encodeFatal("53300", "branchsvc: too many connections are starting, try again later");
const badPacket = encodeFatal("08P01", "branchsvc: this is no Postgres startup packet");

export async function startWireRouter(options: WireRouterOptions): Promise<WireRouter> {
  const limits = { ...defaultRouterLimits, ...options.limits };
  const sessions = new Sessions(limits);
  const sockets = new Set<Socket>();
  const server: Server = createServer({ noDelay: true, keepAlive: true, allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    options.metrics.active.set({}, sockets.size);
    socket.on("close", () => {
      sockets.delete(socket);
      options.metrics.active.set({}, sockets.size);
    });
    socket.on("error", () => socket.destroy());
    new Connection(options, limits, sessions).start(socket);
  });
  const { port } = await listenOn(server, options.listen);
  return {
    address: { host: options.listen.host, port },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** One client, from its first byte to the relay. */
class Connection {
  readonly #options: WireRouterOptions;
  readonly #limits: RouterLimits;
  readonly #sessions: Sessions;
  #received: Buffer = Buffer.alloc(0);
  #encryptionRequests = 0;
  #leaveStartup: () => void = () => {};
  #cancelTimers: () => void = () => {};

  constructor(options: WireRouterOptions, limits: RouterLimits, sessions: Sessions) {
    this.#options = options;
    this.#limits = limits;
    this.#sessions = sessions;
  }

  start(socket: Socket): void {
    const leave = this.#sessions.enterStartup(socket.remoteAddress ?? "unknown");
    if (leave === undefined) {
      this.#refuse(socket, tooMany, "too_many_startups");
      return;
    }
    const { timers } = this.#options;
    const firstByte = timers.after(this.#limits.firstByteMs, () => socket.destroy());
    const startup = timers.after(this.#limits.startupMs, () => socket.destroy());
    this.#leaveStartup = leave;
    this.#cancelTimers = () => {
      firstByte.cancel();
      startup.cancel();
    };
    socket.once("data", () => firstByte.cancel());
    socket.once("close", () => {
      this.#cancelTimers();
      leave();
    });
    this.#listen(socket);
  }

  #listen(socket: Socket): void {
    const onData = (chunk: Buffer): void => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      const parsed = parseFirstPacket(this.#received);
      if (parsed === undefined) return;
      socket.off("data", onData);
      socket.pause();
      const rest = this.#received.subarray(parsed.size);
      this.#received = Buffer.alloc(0);
      void this.#handle(socket, parsed.packet, rest);
    };
    socket.on("data", onData);
    socket.resume();
  }

  async #handle(socket: Socket, packet: FirstPacket, rest: Buffer): Promise<void> {
    switch (packet.kind) {
      case "ssl":
      case "gss":
        this.#answerEncryption(socket, packet.kind, rest);
        return;
      case "cancel":
        this.#forwardCancel(socket, packet.packet, packet.key);
        return;
      case "invalid":
        this.#refuse(socket, badPacket, "bad_packet");
        return;
      case "startup":
        await this.#open(socket, packet, rest);
    }
  }

  #answerEncryption(socket: Socket, kind: "ssl" | "gss", rest: Buffer): void {
    this.#encryptionRequests += 1;
    const isEncrypted = socket instanceof TLSSocket;
    // Bytes behind the request came before the handshake: somebody in between may have put them there.
    if (rest.length > 0 || this.#encryptionRequests > 2 || (isEncrypted && kind === "ssl")) {
      this.#refuse(socket, badPacket, "bad_packet");
      return;
    }
    const { tls } = this.#options;
    if (kind === "gss" || tls === undefined) {
      socket.write("N");
      this.#listen(socket);
      return;
    }
    socket.write("S");
    const secure = new TLSSocket(socket, { isServer: true, ...tls.serverOptions(), ALPNProtocols: ["postgresql"] });
    secure.on("error", () => socket.destroy());
    this.#listen(secure);
  }

  async #open(socket: Socket, packet: Extract<FirstPacket, { kind: "startup" }>, rest: Buffer): Promise<void> {
    const address = splitDatabase(packet.packet, packet.database);
    if (address === undefined || packet.database === undefined) {
      this.#refuse(socket, missingBranch, "no_branch");
      return;
    }
    const endpoint = await this.#options.findEndpoint(address.branch).catch(() => undefined);
    const backend = endpoint === undefined ? undefined : await this.#dial(endpoint);
    if (endpoint === undefined || backend === undefined) {
      this.#refuse(socket, refusal, endpoint === undefined ? "not_available" : "unreachable");
      return;
    }
    if (socket.destroyed) {
      backend.destroy();
      return;
    }
    this.#cancelTimers();
    this.#options.metrics.connections.increment({ result: "routed" });
    backend.write(withDatabase(packet.packet, packet.database, address.database));
    if (rest.length > 0) backend.write(rest);
    relay({
      client: socket,
      backend,
      timers: this.#options.timers,
      limits: this.#limits,
      onAuthenticated: () => this.#leaveStartup(),
      onKey: (key) => this.#sessions.addKey(key, endpoint),
    });
  }

  #dial(endpoint: Endpoint): Promise<Socket | undefined> {
    return new Promise((resolve) => {
      const backend = connect({ ...endpoint, noDelay: true, keepAlive: true, allowHalfOpen: true });
      const timer = this.#options.timers.after(this.#limits.dialMs, () => backend.destroy());
      backend.once("connect", () => {
        timer.cancel();
        resolve(backend);
      });
      backend.on("error", () => backend.destroy());
      backend.once("close", () => {
        timer.cancel();
        resolve(undefined);
      });
    });
  }

  /** The client is let go only when the server has acted, else the cancel may hit its next query. */
  #forwardCancel(socket: Socket, packet: Buffer, key: string): void {
    const endpoint = this.#sessions.findByKey(key);
    this.#options.metrics.connections.increment({ result: endpoint === undefined ? "cancel_dropped" : "cancel" });
    if (endpoint === undefined) {
      socket.destroy();
      return;
    }
    void this.#dial(endpoint).then((backend) => {
      if (backend === undefined) {
        socket.destroy();
        return;
      }
      backend.once("close", () => socket.destroy());
      backend.resume();
      backend.write(packet);
    });
  }

  #refuse(socket: Socket, answer: Buffer, result: string): void {
    this.#options.metrics.connections.increment({ result });
    socket.end(answer);
    this.#options.timers.after(this.#limits.closeGraceMs, () => socket.destroy(), { isBackground: true });
  }
}
