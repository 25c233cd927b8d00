/** A binary heap; the smallest item by `isLess` comes first. */
export class MinHeap<T> {
  readonly #isLess: (a: T, b: T) => boolean;
  readonly #items: T[] = [];

  constructor(isLess: (a: T, b: T) => boolean) {
    this.#isLess = isLess;
  }

  get size(): number {
    return this.#items.length;
  }
  peek(): T | undefined {
    return this.#items[0];
  }
  clear(): void {
    this.#items.length = 0;
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.length;
    items.push(item);
    while (at > 0) {
      const parentAt = (at - 1) >>> 1;
      const parent = items[parentAt];
      if (parent === undefined || !this.#isLess(item, parent)) break;
      items[at] = parent;
      at = parentAt;
    }
    items[at] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return first;
    let at = 0;
    for (;;) {
      const leftAt = 2 * at + 1;
      const left = items[leftAt];
      if (left === undefined) break;
      const right = items[leftAt + 1];
      const isRightLess = right !== undefined && this.#isLess(right, left);
      const child = isRightLess ? right : left;
      if (!this.#isLess(child, last)) break;
      items[at] = child;
      at = isRightLess ? leftAt + 1 : leftAt;
    }
    items[at] = last;
    return first;
  }
}
