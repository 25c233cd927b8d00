/**
 * Idempotency keys of a partition: the offset that each key's message got, for two minutes. Bounded by time and by
 * count; the oldest go first.
 */
export const keyWindowMs = 120_000;
export const keyCountMax = 100_000;

interface KeyEntry {
  readonly offset: number;
  /** Set while the message is delayed: its number in the delay store. */
  readonly delayedSequence: number | undefined;
  readonly atMs: number;
}

export type KeyWindowImage = readonly (readonly [string, KeyEntry])[];

export class KeyWindow {
  /** In order of time. */
  readonly #entries = new Map<string, KeyEntry>();

  static restore(image: KeyWindowImage): KeyWindow {
    const window = new KeyWindow();
    for (const [key, entry] of image) window.#entries.set(key, entry);
    return window;
  }

  get size(): number {
    return this.#entries.size;
  }

  find(key: string, nowMs: number): KeyEntry | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined || nowMs - entry.atMs >= keyWindowMs ? undefined : entry;
  }

  add(key: string, entry: KeyEntry): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.evict(entry.atMs);
  }

  evict(nowMs: number): void {
    for (const [key, entry] of this.#entries) {
      if (nowMs - entry.atMs < keyWindowMs && this.#entries.size <= keyCountMax) return;
      this.#entries.delete(key);
    }
  }

  image(): KeyWindowImage {
    return [...this.#entries];
  }
}
