/** Units left for a stream or a document. `charge` answers false once the limit is passed; nothing is built after that. */
export class NodeBudget {
  readonly limit: number;
  #used = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  charge(units: number): boolean {
    this.#used += units;
    return this.#used <= this.limit;
  }

  get used(): number {
    return this.#used;
  }

  get remaining(): number {
    return Math.max(0, this.limit - this.#used);
  }

  /** Takes back what an abandoned attempt has charged. */
  restore(used: number): void {
    this.#used = used;
  }
}

export const sequenceEntryUnits = 4;
