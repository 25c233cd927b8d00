/**
 * The words of the Raft core: what its log holds, what nodes say to each other, what one step asks its host to do.
 * Everything here is plain data, so that a simulation can copy, delay and print it.
 */
export type NodeId = string;

/** Who belongs to a group. Voters elect and count towards a majority; learners only receive. */
export interface Members {
  readonly voters: readonly NodeId[];
  readonly learners: readonly NodeId[];
}

/** What an entry of the log is for: a command of the state machine, the first entry of a leader, new members. */
export const entryKind = { command: 0, empty: 1, members: 2 } as const;

export interface RaftEntry {
  readonly index: number;
  readonly term: number;
  readonly kind: number;
  readonly payload: readonly Uint8Array[];
}

/** Durable before anything that depends on it is said. */
export interface RaftHardState {
  readonly term: number;
  readonly votedFor: NodeId | undefined;
  /** The members as of the start of the log: those that a snapshot or a released entry brought. */
  readonly members?: Members | undefined;
  /** The log may lack entries that this node once confirmed: it may not vote, lead or count until it has caught up. */
  readonly isRecovering?: boolean | undefined;
}

/** How the core reads the log. Entries that a step asked to append are there before the next call. */
export interface RaftLogReader {
  /** Undefined for what lies before the log or behind it; the mark itself (the last entry let go) is known. */
  termAt(index: number): number | undefined;
  /** `from` … `to` inclusive, cut short at `maxBytes` but never to nothing; empty when `from` was let go. */
  read(from: number, to: number, maxBytes: number): readonly RaftEntry[];
}

interface Envelope {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly term: number;
}

export interface VoteRequest extends Envelope {
  readonly kind: "voteRequest";
  readonly isPreVote: boolean;
  readonly lastIndex: number;
  readonly lastTerm: number;
  /** The leader itself asked for this election: those who still hear it may vote. */
  readonly isTransfer: boolean;
}
export interface VoteResponse extends Envelope {
  readonly kind: "voteResponse";
  readonly isPreVote: boolean;
  readonly isGranted: boolean;
}
export interface AppendRequest extends Envelope {
  readonly kind: "append";
  readonly previousIndex: number;
  readonly previousTerm: number;
  readonly entries: readonly RaftEntry[];
  readonly commitIndex: number;
}
export interface AppendResponse extends Envelope {
  readonly kind: "appendResponse";
  /** Accepted: the log agrees with the leader's up to here, durably. Refused: where to try next. */
  readonly index: number;
  readonly isAccepted: boolean;
  /** Refused: the `previousIndex` that did not match, so that old answers are told from new. */
  readonly refusedIndex: number;
  /** Refused: term of the follower's entry at `index`. */
  readonly termAtIndex: number;
  /** The follower's state is gone: only a snapshot helps. */
  readonly needsSnapshot: boolean;
  /** Set while the follower recovers: which life of it this is. */
  readonly recovery: number | undefined;
}
export interface Heartbeat extends Envelope {
  readonly kind: "heartbeat";
  /** Never beyond what the follower is known to hold. */
  readonly commitIndex: number;
  /** Number of the newest round of reads that wait for a majority to answer. */
  readonly readRound: number;
  /** The recovery that is over, as the leader sees it. */
  readonly repaired: number | undefined;
}
export interface HeartbeatResponse extends Envelope {
  readonly kind: "heartbeatResponse";
  readonly readRound: number;
  readonly recovery: number | undefined;
}
export interface ReadIndexRequest extends Envelope {
  readonly kind: "readIndexRequest";
  readonly readId: number;
}
export interface ReadIndexResponse extends Envelope {
  readonly kind: "readIndexResponse";
  readonly readId: number;
  /** Undefined: this node does not lead, ask again. */
  readonly index: number | undefined;
}
export interface TimeoutNow extends Envelope {
  readonly kind: "timeoutNow";
}

export type RaftMessage =
  | VoteRequest
  | VoteResponse
  | AppendRequest
  | AppendResponse
  | Heartbeat
  | HeartbeatResponse
  | ReadIndexRequest
  | ReadIndexResponse
  | TimeoutNow;
