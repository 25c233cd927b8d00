import type { ReplicationMessage, Transport } from "../../src/queue/service/replication/transport.ts";
import type { World } from "./world.ts";

/** A network that delays, loses, doubles and reorders, and that can be cut one way. */
export interface NetworkFaults {
  delayMsMin: number;
  delayMsMax: number;
  lossRate: number;
  doubleRate: number;
  /** Now and then a packet takes this much longer. */
  straggleRate: number;
  straggleMsMax: number;
}

export const calmNetwork: NetworkFaults = {
  delayMsMin: 0.2,
  delayMsMax: 2,
  lossRate: 0,
  doubleRate: 0,
  straggleRate: 0,
  straggleMsMax: 0,
};

type Handler = (messages: readonly ReplicationMessage[]) => void;

export class Network {
  readonly #world: World;
  readonly #handlers = new Map<string, Handler>();
  readonly #cuts = new Set<string>();
  faults: NetworkFaults = calmNetwork;

  constructor(world: World) {
    this.#world = world;
  }

  /** The end of one life of a node; packets of an earlier life may still reach the next. */
  attach(node: string): Transport {
    return {
      send: (to, messages) => this.#send(node, to, messages),
      onReceive: (handler) => this.#handlers.set(node, handler),
    };
  }

  detach(node: string): void {
    this.#handlers.delete(node);
  }

  cut(from: string, to: string): void {
    this.#cuts.add(`${from}>${to}`);
  }

  heal(): void {
    this.#cuts.clear();
  }

  #send(from: string, to: string, messages: readonly ReplicationMessage[]): void {
    const world = this.#world;
    if (this.#cuts.has(`${from}>${to}`) || world.chance(this.faults.lossRate)) return;
    const copies = world.chance(this.faults.doubleRate) ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      world.after(this.#delayMs(), () => {
        if (!this.#cuts.has(`${from}>${to}`)) this.#handlers.get(to)?.(messages);
      });
    }
  }

  #delayMs(): number {
    const { delayMsMin, delayMsMax, straggleRate, straggleMsMax } = this.faults;
    const extraMs = this.#world.chance(straggleRate) ? this.#world.between(0, straggleMsMax) : 0;
    return this.#world.between(delayMsMin, delayMsMax) + extraMs;
  }
}
