/**
 * The words of the Raft core: what its log holds, what nodes say to each other, what one step asks its host to do.
 * Everything here is plain data, so that a simulation can copy, delay and print it.
 */
export type NodeId = string;

/** Who belongs to a group. Voters elect and count towards a majority; learners only receive. */
export interface Members {
  /** Of the log entry that made them members; 0 for those of the bootstrap. */
  readonly index: number;
  readonly voters: readonly NodeId[];
  readonly learners: readonly NodeId[];
}

export type MemberChange =
  | { readonly kind: "addLearner"; readonly node: NodeId }
  /** A learner that has caught up becomes a voter. */
  | { readonly kind: "promote"; readonly node: NodeId }
  | { readonly kind: "remove"; readonly node: NodeId };

/** What an entry of the log is for: a command of the state machine, the first entry of a leader, new members. */
export const entryKind = { command: 0, empty: 1, members: 2 } as const;

export interface RaftEntry {
  readonly shard: number;
  readonly index: number;
  readonly term: number;
  readonly kind: number;
  readonly payload: readonly Uint8Array[];
}

/** Durable before anything that depends on it is said. */
export interface RaftHardState {
  readonly term: number;
  readonly votedFor: NodeId | undefined;
  readonly members?: Members | undefined;
  /** Those before the last change, should its entry be overwritten: a log holds one change at most that may be. */
  readonly previousMembers?: Members | undefined;
  /** The log may lack entries that this node once confirmed: it may not vote, lead or count until it has caught up. */
  readonly isRecovering?: boolean | undefined;
  /** The image that the state machine is being replaced by: it may be in place although the log does not say so yet. */
  readonly installing?: SnapshotPoint | undefined;
}

/** The state after an entry, and who belonged to the group then. */
export interface SnapshotPoint {
  readonly index: number;
  readonly term: number;
  readonly members: Members;
}

export type RaftRecord =
  | { readonly kind: "hardState"; readonly shard: number; readonly state: RaftHardState }
  | { readonly kind: "truncate"; readonly shard: number; readonly index: number }
  | { readonly kind: "entry"; readonly entry: RaftEntry }
  | { readonly kind: "mark"; readonly shard: number; readonly index: number; readonly term: number };

/** How the core reads the log. Records that were taken from the core are there before its next call. */
export interface RaftLogReader {
  /** Undefined for what lies before the log or behind it; the mark (the last entry let go) is known. */
  termAt(index: number): number | undefined;
  /** `from` … `to` inclusive, cut short at `maxBytes` but never to nothing; empty when `from` was let go. */
  read(from: number, to: number, maxBytes: number): readonly RaftEntry[];
}

interface Envelope {
  readonly shard: number;
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
  readonly isAccepted: boolean;
  /** Accepted: the log agrees with the leader's up to here, durably. Refused: the entry to try next. */
  readonly index: number;
  /** Refused: the `previousIndex` that did not fit, so that old answers are told from new. */
  readonly refusedIndex: number;
  /** Refused: the term of the follower's entry at `index`. */
  readonly termAtIndex: number;
  /** The follower's state is gone: only a snapshot helps. */
  readonly needsSnapshot: boolean;
  /** Which recovery of the follower this is from, if it is in one. */
  readonly recovery: number | undefined;
}
export interface Heartbeat extends Envelope {
  readonly kind: "heartbeat";
  readonly commitIndex: number;
  /** The newest round of reads that waits for a majority to answer. */
  readonly readRound: number;
  /** The recovery of the follower that is over. */
  readonly repaired: number | undefined;
}
export interface HeartbeatResponse extends Envelope {
  readonly kind: "heartbeatResponse";
  readonly readRound: number;
  /** Up to where the follower knows its log to agree with this leader's. */
  readonly verifiedIndex: number;
  readonly recovery: number | undefined;
}
export interface ReadIndexRequest extends Envelope {
  readonly kind: "readIndexRequest";
  readonly readId: number;
}
export interface ReadIndexResponse extends Envelope {
  readonly kind: "readIndexResponse";
  readonly readId: number;
  /** Undefined: the asked node does not lead. */
  readonly index: number | undefined;
}
/** The leader hands over: the receiver stands for election at once. */
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

export type RaftRole = "follower" | "preCandidate" | "candidate" | "leader";

export type RaftEvent =
  /** Time passes; `jitter` in [0, 1) spreads the next election timeout. */
  | { readonly kind: "tick"; readonly jitter: number }
  | { readonly kind: "message"; readonly message: RaftMessage }
  /** The records taken with this write number, and all before, are durable. */
  | { readonly kind: "durable"; readonly writeNumber: number }
  | { readonly kind: "read"; readonly readId: number }
  | { readonly kind: "transfer"; readonly to: NodeId }
  /** A snapshot begins to arrive; to be durable before the state machine changes. */
  | { readonly kind: "snapshotBegun"; readonly point: SnapshotPoint }
  /** The state is the one announced; the leader of `leaderTerm` sent it. */
  | { readonly kind: "snapshotInstalled"; readonly leaderTerm: number }
  /** It did not arrive whole: the state is neither the old nor the new one. */
  | { readonly kind: "snapshotFailed" }
  /** The log has let go of everything up to the entry. */
  | { readonly kind: "released"; readonly index: number; readonly term: number }
  /** The snapshot of the state after `index` has reached the follower, or has not. */
  | { readonly kind: "snapshotSent"; readonly to: NodeId; readonly index: number; readonly isOk: boolean }
  /** The disk is no longer trusted: this node says nothing that needs it, for ever. */
  | { readonly kind: "freeze" };

/** What a node may rely on: how reads that it asked for ended. */
export interface ReadResult {
  readonly readId: number;
  /** State at or behind this index answers the read; undefined: no leader could be asked. */
  readonly index: number | undefined;
}

/** What the host does after the records were given to the log. */
export interface RaftOutput {
  readonly messages: readonly RaftMessage[];
  readonly reads: readonly ReadResult[];
  /** Followers for which an image of the state must be sent. */
  readonly snapshotsTo: readonly NodeId[];
}

export interface RaftWrite {
  readonly writeNumber: number;
  readonly records: readonly RaftRecord[];
}

export interface RaftLimits {
  /** Silence of the leader, in ticks, after which an election may begin; the real timeout is one to two times this. */
  readonly electionTicks: number;
  /** Entries of one message, in bytes; one entry may be larger. */
  readonly appendBytesMax: number;
  /** Messages with entries on their way to one follower. */
  readonly inFlightAppendsMax: number;
}

export const defaultRaftLimits: RaftLimits = {
  electionTicks: 10,
  appendBytesMax: 1024 * 1024,
  inFlightAppendsMax: 16,
};
