/** One at a time per key, in the order of arrival. Keys without users are forgotten. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const result = before.then(work);
    const tail = result.then(
      () => {},
      () => {},
    );
    this.#tails.set(key, tail);
    try {
      return await result;
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }

  /** What follows the prefix in the keys that are held or waited for. */
  listKeys(prefix: string): readonly string[] {
    return [...this.#tails.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  }
}
