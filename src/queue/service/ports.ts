import type { Members, SnapshotPoint } from "../model/raft/raft-types.ts";

/**
 * The seams of the broker. Everything that is replicated goes through `Replication.propose`; a shard's state machine
 * is the only writer of partition data; the write-ahead log is the only thing that must be synced before an answer.
 *
 * One node runs the same code as a cluster: the Raft groups then have one voter each.
 */

export type { Members };
export type NodeId = string;
/** 0 is the metadata group; data shards count from 1. Fixed at bootstrap. */
export type ShardId = number;
export const metadataShard: ShardId = 0;

/** One entry of a shard's replicated log, as the state machine sees it. */
export interface CommittedEntry {
  readonly shard: ShardId;
  readonly index: number;
  readonly term: number;
  /** The proposed command; a view that must not be kept or changed after `apply` returns, unless it is copied. */
  readonly payload: Uint8Array;
}

/** Everything about the partitions of one shard (or the metadata). Driven in log order, on one thread, never re-entered. */
export interface ShardStateMachine {
  /**
   * Deterministic: the same entries give the same state and results on every replica and at every restart. The
   * returned value reaches the proposer when this node proposed the entry. A refusal is a returned value
   * (`{ kind: "refused", error }`), never a throw; a throw is a broken invariant and stops the shard.
   */
  apply(entry: CommittedEntry): unknown;
  /** Entries up to `index` hold nothing to apply: `lastAppliedIndex()` is at least this from now on. */
  noteSkipped?(index: number, term: number): void;
  /** Index of the last entry that `apply` has seen or that was restored from its own files. */
  lastAppliedIndex(): number;
  /**
   * Writes and syncs everything up to `lastAppliedIndex()` to the shard's own files; resolves to that index, below
   * which the write-ahead log may forget. Called now and then, and at a clean stop.
   */
  checkpoint(): Promise<number>;
  /** A self-contained image for a follower that is too far behind, in chunks of at most 1 MiB. */
  createSnapshot(): AsyncIterable<Uint8Array>;
  /**
   * Replaces the whole state by an image; `index` and `term` are those of the last entry in it. When it fails half-way,
   * or the node stops in the middle, the state is not used again before another image has been installed.
   */
  installSnapshot(index: number, term: number, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  /** This node gained or lost the leadership of the shard; timers and long polls live on the leader only. */
  onLeadership(isLeader: boolean, term: number): void;
  close(): Promise<void>;
}

export type Acks = "all" | "leader" | "none";

export interface ProposeOptions {
  /**
   * "all" (the default) as described. "leader": resolves, with undefined when the entry is not applied by then, as soon
   * as it is durable on this node. "none": resolves with undefined at once.
   */
  readonly acks?: Acks;
  /** Gives up waiting after this long with TIMEOUT: the outcome is then unknown. */
  readonly timeoutMs?: number;
}

/** What services use to change and read replicated state. */
export interface Replication {
  /**
   * Appends a command to a shard's log; resolves with what `apply` returned, after the entry is durable on a
   * majority and applied here. The parts are written one after the other and are not copied: the caller gives them up.
   *
   * @throws DomainError NOT_LEADER (details.leader), LEADER_NOT_AVAILABLE, NOT_ENOUGH_REPLICAS, DISK_FULL, TIMEOUT
   *   (outcome unknown), SHUTTING_DOWN, RATE_LIMITED when the shard's bounded proposal queue is full.
   */
  propose(shard: ShardId, command: readonly Uint8Array[], options?: ProposeOptions): Promise<unknown>;
  /** Resolves when state read afterwards on this node is at least as new as any write acknowledged before the call. */
  readBarrier(shard: ShardId): Promise<void>;
  isLeader(shard: ShardId): boolean;
  leaderOf(shard: ShardId): NodeId | undefined;
  readonly shardCount: number;
}

/** Term and vote of one Raft group, durable before any answer that depends on them. */
export interface HardState {
  readonly term: number;
  readonly votedFor: NodeId | undefined;
  /** Who belongs to the group, and who did before the last change. Kept as they are; absent: as bootstrapped. */
  readonly members?: Members | undefined;
  readonly previousMembers?: Members | undefined;
  /** True while this replica may neither vote nor lead: its disk is new or was damaged. Kept as it is. */
  readonly isRecovering?: boolean | undefined;
  /** The image that the shard's state is being replaced by. Kept as it is. */
  readonly installing?: SnapshotPoint | undefined;
}

export interface WalEntry {
  readonly shard: ShardId;
  readonly term: number;
  readonly index: number;
  /** Raft's own kind: data, empty entry of a new leader, membership change. Opaque to the log. */
  readonly kind: number;
  readonly payload: readonly Uint8Array[];
}

export type WalRecord =
  | ({ readonly kind: "entry" } & { readonly entry: WalEntry })
  | { readonly kind: "hardState"; readonly shard: ShardId; readonly state: HardState }
  /** Everything of the shard from `index` on is gone (a follower's conflicting tail). */
  | { readonly kind: "truncate"; readonly shard: ShardId; readonly index: number }
  /** The shard's log starts after this entry (its state is in a snapshot or checkpoint). */
  | { readonly kind: "mark"; readonly shard: ShardId; readonly index: number; readonly term: number };

/** What opening the write-ahead log found for one shard. */
export interface RecoveredShard {
  readonly hardState: HardState;
  /** Last entry that is only in the checkpoint or snapshot; the log holds `mark.index + 1` … `lastIndex`. */
  readonly mark: { readonly index: number; readonly term: number };
  readonly lastIndex: number;
  readonly lastTerm: number;
  /** Set when damage lies inside what was once synced: such a replica may neither vote nor lead until repaired. */
  readonly damage?: string;
}

/** The one log per node that all shards share. */
export interface WriteAheadLog {
  recovered(): ReadonlyMap<ShardId, RecoveredShard>;
  /**
   * Queues records behind all earlier ones; calls back once they are durable, or with the error that froze the log.
   * Callbacks come in the order of the calls. After a sync error every later call fails with the same error.
   */
  append(records: readonly WalRecord[], onDurable: (error: Error | undefined) => void): void;
  /** Entries `from` … `to` (inclusive) of a shard, possibly fewer when `maxBytes` is reached, at least one. */
  readEntries(shard: ShardId, from: number, to: number, maxBytes: number): readonly WalEntry[];
  termAt(shard: ShardId, index: number): number | undefined;
  /** Entries up to `index` are in the shard's own synced files; space is freed file by file when all shards agree. */
  release(shard: ShardId, index: number, term: number): void;
  /** Takes the mark of damage off a shard whose log and state were fetched anew; until then it outlives restarts. */
  markRepaired(shard: ShardId): void;
  readonly sizeBytes: number;
  /**
   * Set while the disk has no room for more log. Proposals are then refused with DISK_FULL; what was appended already
   * waits for room and becomes durable later, so a full disk loses nothing and freezes nothing.
   */
  readonly isDiskFull: boolean;
  /** The sync or write error that froze the log for good. */
  readonly failure: Error | undefined;
  close(): Promise<void>;
}
