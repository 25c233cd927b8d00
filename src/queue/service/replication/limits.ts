import { defaultRaftLimits, type RaftLimits } from "../../model/raft/raft-types.ts";

export interface ReplicationLimits {
  readonly raft: RaftLimits;
  /** Time between two heartbeats; the unit of election timeouts. */
  readonly tickMs: number;
  /** Proposals of one shard that wait to be applied. */
  readonly pendingProposalsMax: number;
  readonly pendingBytesMax: number;
  /** Records of one turn above this are given to the log at once. */
  readonly turnBytesMax: number;
  readonly proposeTimeoutMs: number;
  readonly readTimeoutMs: number;
  readonly pendingReadsMax: number;
  /** Entries applied before other work gets a turn. */
  readonly applyBytesPerTurn: number;
  /** A checkpoint round begins when the log has grown to this, or after the interval if anything changed. */
  readonly checkpointLogBytes: number;
  readonly checkpointIntervalMs: number;
  /** Entries kept behind a checkpoint for followers that are a little late. */
  readonly trailingEntries: number;
  /** A part of a snapshot that is not answered is sent again after this long, this often. */
  readonly snapshotResendMs: number;
  readonly snapshotResendsMax: number;
  /** How long a clean stop waits for proposals on their way. */
  readonly closeTimeoutMs: number;
}

export const defaultReplicationLimits: ReplicationLimits = {
  raft: defaultRaftLimits,
  tickMs: 100,
  pendingProposalsMax: 10_000,
  pendingBytesMax: 64 * 1024 * 1024,
  turnBytesMax: 4 * 1024 * 1024,
  proposeTimeoutMs: 10_000,
  readTimeoutMs: 5_000,
  pendingReadsMax: 10_000,
  applyBytesPerTurn: 4 * 1024 * 1024,
  checkpointLogBytes: 256 * 1024 * 1024,
  checkpointIntervalMs: 60_000,
  trailingEntries: 10_000,
  snapshotResendMs: 1_000,
  snapshotResendsMax: 10,
  closeTimeoutMs: 5_000,
};
