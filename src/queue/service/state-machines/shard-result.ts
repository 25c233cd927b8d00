/** What applying one operation answers to its proposer. Plain values only. */
export type ShardResult =
  | { readonly kind: "appended"; readonly baseOffset: number; readonly timestampMs: number }
  | { readonly kind: "duplicate"; readonly baseOffset: number; readonly timestampMs: number }
  /** Some records of the batch are known by their idempotency key: nothing was written. */
  | { readonly kind: "keysKnown"; readonly known: readonly KnownKey[] }
  | { readonly kind: "fenced"; readonly currentEpoch: number }
  | { readonly kind: "outOfOrder"; readonly expectedSequence: number }
  | { readonly kind: "acked"; readonly settled: readonly SettleOutcome[]; readonly progress: DeliveryProgress }
  | {
      readonly kind: "retrying";
      readonly attempt: number;
      readonly visibleAtMs: number;
      readonly progress: DeliveryProgress;
    }
  | {
      readonly kind: "deadLettered";
      readonly dlqOffset: number;
      readonly attempt: number;
      readonly progress: DeliveryProgress;
    }
  | { readonly kind: "dropped"; readonly attempt: number; readonly progress: DeliveryProgress }
  | { readonly kind: "extended"; readonly untilMs: number }
  | { readonly kind: "refusedSettle"; readonly problem: "done" | "expired" | "unknown" }
  | { readonly kind: "delayed"; readonly sequence: number; readonly dueMs: number; readonly isDuplicate: boolean }
  | {
      readonly kind: "fired";
      readonly fired: readonly { readonly sequence: number; readonly offset: number; readonly dueMs: number }[];
    }
  | { readonly kind: "canceled"; readonly dueMs: number; readonly batch: Uint8Array }
  | { readonly kind: "redriven"; readonly offset: number; readonly timestampMs: number }
  | { readonly kind: "done" }
  /** The thing named is not there (any more), or was redriven before. */
  | { readonly kind: "missing" }
  /** The group record has another version. */
  | { readonly kind: "conflict" };

export interface KnownKey {
  readonly index: number;
  readonly offset: number;
  readonly delayedSequence: number | undefined;
  readonly timestampMs: number;
}

export type SettleOutcome = "acked" | "done" | "expired" | "unknown";

export interface DeliveryProgress {
  readonly committedOffset: number;
  readonly isOffsetAdvanced: boolean;
  readonly inFlightCount: number;
}
