import type { Members, RaftMessage } from "../../model/raft/raft-types.ts";
import type { NodeId, ShardId } from "../ports.ts";

/**
 * How nodes reach each other. Messages may be lost, doubled, late and out of order; they are never changed, and no
 * answer is promised. One call carries everything that one turn has to say to one node: the heartbeats of all shards
 * travel together.
 */
export interface Transport {
  /** Best effort: drops what it cannot send or buffer. Never throws. */
  send(to: NodeId, messages: readonly ReplicationMessage[]): void;
  /** Set once, before the first message. */
  onReceive(handler: (messages: readonly ReplicationMessage[]) => void): void;
}

export type ReplicationMessage = RaftMessage | SnapshotChunk | SnapshotAnswer;

/** A part of an image of a shard's state, after entry `index`. The next one is sent when this one is answered. */
export interface SnapshotChunk {
  readonly kind: "snapshotChunk";
  readonly shard: ShardId;
  readonly from: NodeId;
  readonly to: NodeId;
  /** Of the leader that sends. */
  readonly term: number;
  readonly snapshotId: number;
  /** From 0. */
  readonly ordinal: number;
  readonly index: number;
  readonly indexTerm: number;
  readonly members: Members;
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
}

export interface SnapshotAnswer {
  readonly kind: "snapshotAnswer";
  readonly shard: ShardId;
  readonly from: NodeId;
  readonly to: NodeId;
  readonly term: number;
  readonly snapshotId: number;
  readonly ordinal: number;
  readonly status: "taken" | "installed" | "refused";
}

/** For a node without peers. */
export function createLoopTransport(): Transport {
  return { send: () => {}, onReceive: () => {} };
}
