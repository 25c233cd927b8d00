import type { PartitionRef } from "../../../src/queue/model/commands/shard-command.ts";
import type { DelayedEntry, DelayStore } from "../../../src/queue/service/delay-store.ts";

/** The delay store's contract in memory; a manifest is the whole content. */
export class MemoryDelayStore implements DelayStore {
  readonly #entries = new Map<string, Map<number, DelayedEntry>>();

  add(ref: PartitionRef, entry: DelayedEntry): void {
    const key = keyOf(ref);
    const entries = this.#entries.get(key) ?? new Map<number, DelayedEntry>();
    this.#entries.set(key, entries.set(entry.sequence, { ...entry, batch: Uint8Array.from(entry.batch) }));
  }
  find(ref: PartitionRef, sequence: number): DelayedEntry | undefined {
    return this.#entries.get(keyOf(ref))?.get(sequence);
  }
  remove(ref: PartitionRef, entry: { readonly sequence: number }): boolean {
    const entries = this.#entries.get(keyOf(ref));
    const isRemoved = entries?.delete(entry.sequence) ?? false;
    if (entries?.size === 0) this.#entries.delete(keyOf(ref));
    return isRemoved;
  }
  dropTopic(topicNumber: number): void {
    for (const key of this.#entries.keys()) if (key.startsWith(`${topicNumber}/`)) this.#entries.delete(key);
  }
  count(ref: PartitionRef): number {
    return this.#entries.get(keyOf(ref))?.size ?? 0;
  }
  partitions(): readonly PartitionRef[] {
    return [...this.#entries.keys()].map((key) => {
      const [topicNumber, partition] = key.split("/").map(Number);
      return { topicNumber: topicNumber ?? 0, partition: partition ?? 0 };
    });
  }
  scan(
    ref: PartitionRef,
    options: { readonly untilMs?: number; readonly skip?: number; readonly limit: number },
  ): readonly DelayedEntry[] {
    const { untilMs = Number.POSITIVE_INFINITY, skip = 0, limit } = options;
    return [...(this.#entries.get(keyOf(ref))?.values() ?? [])]
      .filter((entry) => entry.dueMs <= untilMs)
      .sort((a, b) => a.dueMs - b.dueMs || a.sequence - b.sequence)
      .slice(skip, skip + limit);
  }
  nextDueMs(ref: PartitionRef): number | undefined {
    return this.scan(ref, { limit: 1 })[0]?.dueMs;
  }
  prepareCheckpoint(): string {
    const content = [...this.#entries].map(([key, entries]) => [
      key,
      [...entries.values()].map((entry) => ({ ...entry, batch: Buffer.from(entry.batch).toString("base64") })),
    ]);
    return JSON.stringify(content);
  }
  commitCheckpoint(): void {}
  restore(manifest: string | undefined): void {
    this.#entries.clear();
    if (manifest === undefined) return;
    const content = JSON.parse(manifest) as [string, { sequence: number; dueMs: number; batch: string }[]][];
    for (const [key, entries] of content) {
      this.#entries.set(
        key,
        new Map(entries.map((entry) => [entry.sequence, { ...entry, batch: Buffer.from(entry.batch, "base64") }])),
      );
    }
  }
  close(): void {}
}

function keyOf(ref: PartitionRef): string {
  return `${ref.topicNumber}/${ref.partition}`;
}
