import type { PartitionRef } from "../model/commands/shard-command.ts";

/**
 * Delayed messages of one shard, ordered by due time, on disk: memory does not grow with their number. Part of the
 * shard's state: written only by `apply`, and what `prepareCheckpoint` names is exactly the state at that moment.
 * Synchronous, as everything that `apply` calls.
 */
export interface DelayedEntry {
  readonly sequence: number;
  readonly dueMs: number;
  /** Header and body of a batch of one record. */
  readonly batch: Uint8Array;
}

export interface DelayStore {
  /** `sequence` is new for the partition and above all earlier ones. The bytes are copied. */
  add(ref: PartitionRef, entry: DelayedEntry): void;
  find(ref: PartitionRef, sequence: number): DelayedEntry | undefined;
  /** False when it was not there. */
  remove(ref: PartitionRef, entry: { readonly sequence: number; readonly dueMs: number }): boolean;
  dropTopic(topicNumber: number): void;
  count(ref: PartitionRef): number;
  /** All partitions with at least one entry. */
  partitions(): readonly PartitionRef[];
  /** By due time, then sequence; entries due up to `untilMs`. */
  scan(
    ref: PartitionRef,
    options: { readonly untilMs?: number; readonly skip?: number; readonly limit: number },
  ): readonly DelayedEntry[];
  /** When the earliest entry of the partition is due. */
  nextDueMs(ref: PartitionRef): number | undefined;
  /** Writes and syncs what is in memory; returns what `open` needs to find this state again. */
  prepareCheckpoint(): string;
  /** That checkpoint is durable: files that only older ones need may go. */
  commitCheckpoint(manifest: string): void;
  /** Starts over with the state that a manifest names; undefined is empty. Files that it does not name go. */
  restore(manifest: string | undefined): void;
  close(): void;
}
