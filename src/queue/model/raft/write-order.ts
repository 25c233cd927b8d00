import type { RaftMessage } from "./raft-types.ts";

/**
 * What may be said when. A message that depends on records is held until they are durable; messages are released in
 * the order in which they were held.
 */
export class WriteOrder {
  #lastNumber = 0;
  #durableNumber = 0;
  #durableIndex: number;
  readonly #writes: { readonly number: number; lastIndex: number }[] = [];
  readonly #held: { readonly after: number; readonly message: RaftMessage }[] = [];

  constructor(durableIndex: number) {
    this.#durableIndex = durableIndex;
  }

  /** The last entry that is durable. */
  get durableIndex(): number {
    return this.#durableIndex;
  }

  /** Records were taken that end with this entry. */
  begin(lastIndex: number): number {
    this.#lastNumber += 1;
    this.#writes.push({ number: this.#lastNumber, lastIndex });
    return this.#lastNumber;
  }

  /** Returns the messages that may be sent now. */
  finish(writeNumber: number): readonly RaftMessage[] {
    this.#durableNumber = Math.max(this.#durableNumber, writeNumber);
    while ((this.#writes[0]?.number ?? Number.POSITIVE_INFINITY) <= writeNumber) {
      this.#durableIndex = this.#writes.shift()?.lastIndex ?? this.#durableIndex;
    }
    const released: RaftMessage[] = [];
    while ((this.#held[0]?.after ?? Number.POSITIVE_INFINITY) <= this.#durableNumber) {
      const first = this.#held.shift();
      if (first !== undefined) released.push(first.message);
    }
    return released;
  }

  /** Entries from `index` on are replaced: writes under way no longer make them durable. */
  truncate(index: number): void {
    this.#durableIndex = Math.min(this.#durableIndex, index - 1);
    for (const write of this.#writes) write.lastIndex = Math.min(write.lastIndex, index - 1);
  }

  /** True when nothing is under way: what was decided before is durable. */
  get isSettled(): boolean {
    return this.#durableNumber === this.#lastNumber;
  }

  /** Holds a message until everything that was taken, or is about to be (`isMoreToTake`), is durable. */
  hold(message: RaftMessage, isMoreToTake: boolean): void {
    this.#held.push({ after: this.#lastNumber + (isMoreToTake ? 1 : 0), message });
  }

  forgetHeld(): void {
    this.#held.length = 0;
  }
}
