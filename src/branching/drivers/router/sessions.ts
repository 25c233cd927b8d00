import type { Endpoint } from "../../service/ports.ts";

/** Who is connected: bounds on connections in startup, and the keys that cancel requests name. */
export interface SessionLimits {
  readonly startupsPerAddressMax: number;
  readonly startupsMax: number;
}

export class Sessions {
  readonly #limits: SessionLimits;
  readonly #startupsByAddress = new Map<string, number>();
  readonly #endpointsByKey = new Map<string, Endpoint[]>();
  #startupCount = 0;

  constructor(limits: SessionLimits) {
    this.#limits = limits;
  }

  /** Undefined when there is no room; else the function that gives the place back. */
  enterStartup(address: string): (() => void) | undefined {
    const count = this.#startupsByAddress.get(address) ?? 0;
    if (this.#startupCount >= this.#limits.startupsMax || count >= this.#limits.startupsPerAddressMax) return undefined;
    this.#startupCount += 1;
    this.#startupsByAddress.set(address, count + 1);
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#startupCount -= 1;
      const left = (this.#startupsByAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#startupsByAddress.delete(address);
      else this.#startupsByAddress.set(address, left);
    };
  }

  /** Two servers may give out the same key: both are kept, and neither is then told apart. */
  addKey(key: string, endpoint: Endpoint): () => void {
    const held = this.#endpointsByKey.get(key) ?? [];
    held.push(endpoint);
    this.#endpointsByKey.set(key, held);
    return () => {
      const index = held.indexOf(endpoint);
      if (index >= 0) held.splice(index, 1);
      if (held.length === 0) this.#endpointsByKey.delete(key);
    };
  }

  /** The one live session's server, or undefined for an unknown or ambiguous key. */
  findByKey(key: string): Endpoint | undefined {
    const held = this.#endpointsByKey.get(key) ?? [];
    return held.length === 1 ? held[0] : undefined;
  }
}
