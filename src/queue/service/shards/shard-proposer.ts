import { assert } from "../../../platform/errors/assert.ts";
import type { DomainError } from "../../../platform/errors/domain-error.ts";
import { queueError } from "../../errors.ts";
import { type CommandTime, encodeShardCommand, type ShardOperation } from "../../model/commands/shard-command.ts";
import type { Acks, Replication, ShardId } from "../ports.ts";
import type { ShardResult } from "../state-machines/shard-result.ts";

/**
 * Puts the operations that come up together into one entry. While a few entries of a shard are on their way to the
 * disk, further operations wait and share the next one: under load an entry carries many operations, when idle an
 * operation leaves at once. Order is kept: what was proposed first is applied first.
 */
const outstandingMax = 4;
const operationsPerEntryMax = 2_000;
const bytesPerEntryMax = 4 * 1024 * 1024;
/** What waits for a shard beyond this is refused, so that a slow disk does not fill the memory. */
const pendingCountMax = 50_000;
const pendingBytesMax = 128 * 1024 * 1024;

interface Pending {
  readonly operation: ShardOperation;
  readonly acks: Acks;
  readonly sizeBytes: number;
  readonly resolve: (result: ShardResult) => void;
  readonly reject: (error: unknown) => void;
}

interface Lane {
  pending: Pending[];
  pendingBytes: number;
  outstanding: number;
  isScheduled: boolean;
}

export class ShardProposer {
  readonly #replication: Replication;
  readonly #time: () => CommandTime;
  readonly #lanes = new Map<ShardId, Lane>();

  constructor(replication: Replication, time: () => CommandTime) {
    this.#replication = replication;
    this.#time = time;
  }

  propose(
    shard: ShardId,
    operation: ShardOperation,
    options: { readonly acks?: Acks | undefined; readonly sizeBytes?: number } = {},
  ): Promise<ShardResult> {
    const lane = this.#lane(shard);
    return new Promise((resolve, reject) => {
      const { acks = "all", sizeBytes = 0 } = options;
      if (lane.pending.length >= pendingCountMax || lane.pendingBytes + sizeBytes > pendingBytesMax) {
        reject(busy(shard));
        return;
      }
      lane.pendingBytes += sizeBytes;
      lane.pending.push({ operation, acks, sizeBytes, resolve, reject });
      this.#schedule(shard, lane);
    });
  }

  /** Operations that belong into one entry, without anything between them. */
  proposeAll(shard: ShardId, operations: readonly ShardOperation[]): Promise<readonly ShardResult[]> {
    return Promise.all(operations.map((operation) => this.propose(shard, operation)));
  }

  #lane(shard: ShardId): Lane {
    let lane = this.#lanes.get(shard);
    if (lane === undefined) {
      lane = { pending: [], pendingBytes: 0, outstanding: 0, isScheduled: false };
      this.#lanes.set(shard, lane);
    }
    return lane;
  }

  #schedule(shard: ShardId, lane: Lane): void {
    if (lane.isScheduled || lane.outstanding >= outstandingMax || lane.pending.length === 0) return;
    lane.isScheduled = true;
    queueMicrotask(() => {
      lane.isScheduled = false;
      this.#flush(shard, lane);
    });
  }

  #flush(shard: ShardId, lane: Lane): void {
    const batch = takeBatch(lane);
    // An entry that nobody waits for has no results to answer with; its proposer gets more than it asked for instead.
    const wanted = batch[0]?.acks ?? "all";
    const acks = wanted === "none" ? "leader" : wanted;
    lane.outstanding += 1;
    const command = encodeShardCommand(
      this.#time(),
      batch.map((pending) => pending.operation),
    );
    const finish = (): void => {
      lane.outstanding -= 1;
      this.#schedule(shard, lane);
    };
    this.#replication.propose(shard, command, { acks }).then(
      (results) => {
        finish();
        assert(Array.isArray(results) && results.length === batch.length, "a shard answers each operation");
        batch.forEach((pending, index) => {
          pending.resolve(results[index] as ShardResult);
        });
      },
      (error: unknown) => {
        finish();
        for (const pending of batch) pending.reject(error);
      },
    );
    this.#schedule(shard, lane);
  }
}

/** As many of the oldest operations as fit into one entry and want the same durability. */
function takeBatch(lane: Lane): readonly Pending[] {
  const acks = lane.pending[0]?.acks;
  let count = 0;
  let sizeBytes = 0;
  while (count < lane.pending.length && count < operationsPerEntryMax) {
    const next = lane.pending[count];
    if (next === undefined || next.acks !== acks) break;
    sizeBytes += next.sizeBytes;
    if (count > 0 && sizeBytes > bytesPerEntryMax) break;
    count += 1;
  }
  const batch = lane.pending.splice(0, count);
  for (const pending of batch) lane.pendingBytes -= pending.sizeBytes;
  return batch;
}

function busy(shard: ShardId): DomainError {
  return queueError("RATE_LIMITED", `Cannot accept more for shard ${shard}: its queue is full`, {
    details: { limit: "pending_operations", retry_after_ms: 1000 },
    retryAfterSeconds: 1,
  });
}
