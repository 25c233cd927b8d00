import type { ObjectRef, Usage } from "../../model/inventory.ts";

interface Tally {
  count: number;
  readonly namespaces: Map<string, number>;
  readonly objects: ObjectRef[];
  readonly seen: Set<ObjectRef>;
}

/** Counts objects by key and namespace and keeps the objects. The same reference counts once, as for pods of one workload. */
export class UsageTally {
  readonly #tallies = new Map<string, Tally>();
  readonly #maxObjects: number;

  constructor(maxObjects: number = Number.POSITIVE_INFINITY) {
    this.#maxObjects = maxObjects;
  }

  add(key: string, ref: ObjectRef): void {
    let tally = this.#tallies.get(key);
    if (tally === undefined) {
      tally = { count: 0, namespaces: new Map(), objects: [], seen: new Set() };
      this.#tallies.set(key, tally);
    }
    if (tally.seen.has(ref)) return;
    tally.seen.add(ref);
    const namespace = ref.namespace ?? "";
    tally.count += 1;
    tally.namespaces.set(namespace, (tally.namespaces.get(namespace) ?? 0) + 1);
    if (tally.objects.length < this.#maxObjects) tally.objects.push(ref);
  }

  usages<Extra>(describe: (key: string) => Extra): (Extra & Usage)[] {
    return [...this.#tallies].map(([key, { count, namespaces, objects }]) => ({
      ...describe(key),
      count,
      namespaces: Object.fromEntries(namespaces),
      objects,
      objectsOmitted: count - objects.length,
    }));
  }
}
