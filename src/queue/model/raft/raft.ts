import { assert, unreachable } from "../../../platform/errors/assert.ts";
import { allMembers, decodeMembers, encodeMembers, isVoter, majorityOf, planMembers } from "./members.ts";
import { Progress } from "./progress.ts";
import {
  type AppendRequest,
  type AppendResponse,
  entryKind,
  type Heartbeat,
  type HeartbeatResponse,
  type MemberChange,
  type Members,
  type NodeId,
  type RaftEntry,
  type RaftEvent,
  type RaftHardState,
  type RaftLimits,
  type RaftLogReader,
  type RaftMessage,
  type RaftOutput,
  type RaftRecord,
  type RaftRole,
  type RaftWrite,
  type ReadIndexRequest,
  type ReadIndexResponse,
  type ReadResult,
  type SnapshotPoint,
  type VoteRequest,
  type VoteResponse,
} from "./raft-types.ts";
import { WriteOrder } from "./write-order.ts";

/**
 * One member of one Raft group: what it knows, and what it decides at each event. There is no I/O, clock or randomness
 * in here; the host takes the records first (`takeWrite`), gives them to the log, and then takes what is to be said and
 * done (`takeOutput`). Whatever depends on records comes out only after the host has reported them durable.
 *
 * Beyond the paper: pre-vote and check-quorum, so that a node that was cut off neither disturbs nor answers stale
 * reads; leadership transfer; learners; reads by index; and *recovery*: a node whose disk is new or was damaged counts
 * in no majority until it holds an entry that the others committed without it after it came back.
 */
export interface RaftOptions {
  readonly shard: number;
  readonly nodeId: NodeId;
  readonly log: RaftLogReader;
  readonly hardState: RaftHardState;
  /** Members of the bootstrap, when the hard state has none yet. */
  readonly bootstrapMembers: Members;
  readonly mark: { readonly index: number; readonly term: number };
  readonly lastIndex: number;
  readonly lastTerm: number;
  /** Known to be committed, from the state machine's own files. */
  readonly commitIndex: number;
  /** The state machine lacks entries that the log no longer holds. */
  readonly needsSnapshot: boolean;
  /** The image announced in the hard state is in place. */
  readonly isSnapshotInstalled: boolean;
  /** A number of this life of the node, for a recovery that began before it. */
  readonly recovery: number;
  readonly limits: RaftLimits;
}

interface PendingRead {
  readonly readId: number;
  readonly from: NodeId;
  readonly index: number;
  readonly round: number;
}

export class Raft {
  readonly shard: number;
  readonly nodeId: NodeId;
  readonly #log: RaftLogReader;
  readonly #limits: RaftLimits;

  // Durable
  #term: number;
  #votedFor: NodeId | undefined;
  #members: Members;
  #previousMembers: Members | undefined;
  #isRecovering: boolean;
  #isHardStateDirty = false;

  // The log, with what is not in the host's hands yet
  #records: RaftRecord[] = [];
  #untaken: RaftEntry[] = [];
  #firstUntaken = Number.POSITIVE_INFINITY;
  #mark: { readonly index: number; readonly term: number };
  #lastIndex: number;
  #lastTerm: number;
  #commitIndex: number;
  readonly #order: WriteOrder;

  // Role
  #role: RaftRole = "follower";
  #leader: NodeId | undefined;
  #elapsedTicks = 0;
  #jitter = 0;
  #timeoutTicks: number;
  #isFrozen = false;
  #needsSnapshot: boolean;
  #installing: SnapshotPoint | undefined;
  /** An image that did not get in place; remembered until one does, since the state is of no use before. */
  #interrupted: SnapshotPoint | undefined;
  readonly #recovery: number;
  readonly #votes = new Map<NodeId, boolean>();

  // Follower: how far the log agrees with the leader of this term
  #verifiedIndex = 0;
  /** What the leader waits to hear of; undefined when it has heard all. */
  #confirmUpTo: number | undefined;

  // Leader
  readonly #progress = new Map<NodeId, Progress>();
  #termStartIndex = 0;
  #transferTo: NodeId | undefined;
  #transferTicks = 0;
  #isTransferSent = false;
  #readRound = 0;
  #isRoundNew = false;
  #reads: PendingRead[] = [];
  #earlyReads: { readonly readId: number; readonly from: NodeId }[] = [];

  #messages: RaftMessage[] = [];
  #readResults: ReadResult[] = [];

  constructor(options: RaftOptions) {
    const { hardState } = options;
    this.shard = options.shard;
    this.nodeId = options.nodeId;
    this.#log = options.log;
    this.#limits = options.limits;
    this.#term = hardState.term;
    this.#votedFor = hardState.votedFor;
    const members = hardState.members ?? options.bootstrapMembers;
    // NOTE: members are written before their entry; a crash between the two leaves members that never came to be.
    this.#members = members.index > options.lastIndex ? (hardState.previousMembers ?? members) : members;
    this.#previousMembers = hardState.previousMembers;
    this.#isRecovering = hardState.isRecovering ?? false;
    this.#mark = options.mark;
    this.#lastIndex = options.lastIndex;
    this.#lastTerm = options.lastTerm;
    this.#commitIndex = options.commitIndex;
    this.#needsSnapshot = options.needsSnapshot;
    this.#recovery = options.recovery;
    this.#order = new WriteOrder(options.lastIndex);
    this.#timeoutTicks = options.limits.electionTicks;
    if (hardState.installing === undefined) return;
    this.#installing = hardState.installing;
    if (options.isSnapshotInstalled) {
      this.#finishSnapshot(undefined);
      return;
    }
    this.#interrupted = this.#installing;
    this.#installing = undefined;
    this.#needsSnapshot = true;
  }

  // --- what the host may know

  get term(): number {
    return this.#term;
  }
  get role(): RaftRole {
    return this.#role;
  }
  get leader(): NodeId | undefined {
    return this.#leader;
  }
  get lastIndex(): number {
    return this.#lastIndex;
  }
  /** The last entry that the log has let go. */
  get markIndex(): number {
    return this.#mark.index;
  }
  get commitIndex(): number {
    return this.#commitIndex;
  }
  get durableIndex(): number {
    return this.#order.durableIndex;
  }
  get members(): Members {
    return this.#members;
  }
  get isRecovering(): boolean {
    return this.#isRecovering;
  }
  get isInstalling(): boolean {
    return this.#installing !== undefined;
  }
  get needsSnapshot(): boolean {
    return this.#needsSnapshot;
  }
  /** First entry of this leader's term: what lies before it is applied when this is. */
  get termStartIndex(): number {
    return this.#termStartIndex;
  }
  get hasWork(): boolean {
    return (
      this.#records.length > 0 ||
      this.#isHardStateDirty ||
      this.#messages.length > 0 ||
      this.#readResults.length > 0 ||
      this.#role === "leader"
    );
  }

  /** The newest members that are surely committed when the entry at `index` is. */
  membersAt(index: number): Members {
    return this.#members.index <= index ? this.#members : (this.#previousMembers ?? this.#members);
  }

  /** What the leader knows of a follower, for status and for tests. */
  progressOf(node: NodeId): Readonly<Progress> | undefined {
    return this.#progress.get(node);
  }

  // --- events

  step(event: RaftEvent): void {
    if (this.#isFrozen) return;
    switch (event.kind) {
      case "tick":
        this.#tick(event.jitter);
        return;
      case "message":
        this.#receive(event.message);
        return;
      case "durable":
        this.#noteDurable(event.writeNumber);
        return;
      case "read":
        this.#read(event.readId, this.nodeId);
        return;
      case "transfer":
        this.#transfer(event.to);
        return;
      case "snapshotBegun":
        this.#installing = event.point;
        this.#isHardStateDirty = true;
        return;
      case "snapshotInstalled":
        this.#finishSnapshot(event.leaderTerm);
        return;
      case "snapshotFailed":
        this.#interrupted = this.#installing;
        this.#installing = undefined;
        this.#needsSnapshot = true;
        return;
      case "released":
        this.#mark = { index: event.index, term: event.term };
        return;
      case "snapshotSent":
        this.#noteSnapshotSent(event.to, event.index, event.isOk);
        return;
      case "freeze":
        this.#becomeFollower(this.#term, undefined);
        this.#isFrozen = true;
        return;
      default:
        unreachable(event);
    }
  }

  /** Appends a command to the leader's log; its index, or undefined when this node takes no commands now. */
  propose(payload: readonly Uint8Array[]): number | undefined {
    if (this.#role !== "leader" || this.#transferTo !== undefined || this.#isFrozen) return undefined;
    return this.#append(entryKind.command, payload);
  }

  /** Begins a change of members; its index, or why there can be none now. */
  changeMembers(change: MemberChange): { readonly index: number } | { readonly refused: string } {
    if (this.#role !== "leader" || this.#transferTo !== undefined) return { refused: "this node does not lead" };
    if (this.#members.index > this.#commitIndex) return { refused: "another change is under way" };
    if (this.#commitIndex < this.#termStartIndex) return { refused: "the leader has not committed in its term yet" };
    const learner = this.#progress.get(change.node);
    if (change.kind === "promote" && (learner === undefined || !this.#isCaughtUp(learner)))
      return { refused: `'${change.node}' has not caught up` };
    const index = this.#lastIndex + 1;
    const planned = planMembers(this.#members, change, index);
    if (planned.kind === "refused") return { refused: planned.reason };
    return { index: this.#append(entryKind.members, [encodeMembers(planned.members)]) };
  }

  // --- output

  /** Records for the log, in order; undefined when there are none. To be taken before `takeOutput`. */
  takeWrite(): RaftWrite | undefined {
    if (this.#records.length === 0 && !this.#isHardStateDirty) return undefined;
    const records = this.#records;
    if (this.#isHardStateDirty) records.unshift(this.#hardStateRecord());
    this.#isHardStateDirty = false;
    this.#records = [];
    this.#untaken = [];
    this.#firstUntaken = Number.POSITIVE_INFINITY;
    return { writeNumber: this.#order.begin(this.#lastIndex), records };
  }

  takeOutput(): RaftOutput {
    const snapshotsTo: NodeId[] = [];
    if (this.#role === "leader" && this.#progress.size > 0) this.#sendToFollowers(snapshotsTo);
    const output = { messages: this.#messages, reads: this.#readResults, snapshotsTo };
    if (this.#messages.length > 0) this.#messages = [];
    if (this.#readResults.length > 0) this.#readResults = [];
    return output;
  }

  #hardStateRecord(): RaftRecord {
    const state = {
      term: this.#term,
      votedFor: this.#votedFor,
      members: this.#members,
      previousMembers: this.#previousMembers,
      isRecovering: this.#isRecovering ? true : undefined,
      installing: this.#installing ?? this.#interrupted,
    };
    return { kind: "hardState", shard: this.shard, state };
  }

  // --- time and elections

  #tick(jitter: number): void {
    this.#jitter = jitter;
    this.#elapsedTicks += 1;
    if (this.#role === "leader") this.#tickLeader();
    else if (this.#mayCampaign() && this.#isTimeToCampaign()) {
      this.#campaign(this.#isAlone() ? "candidate" : "preCandidate", false);
    }
  }

  /** A candidate whose own vote is still being written waits: on a slow disk it would never get one. */
  #isTimeToCampaign(): boolean {
    if (this.#role === "candidate" && !this.#order.isSettled) return false;
    return this.#elapsedTicks >= this.#timeoutTicks || (this.#role === "follower" && this.#isAlone());
  }

  #tickLeader(): void {
    for (const progress of this.#progress.values()) progress.tick();
    if (this.#transferTo !== undefined) {
      this.#transferTicks += 1;
      if (this.#transferTicks >= this.#limits.electionTicks) this.#transferTo = undefined;
    }
    if (this.#elapsedTicks >= this.#limits.electionTicks) {
      this.#elapsedTicks = 0;
      if (!this.#hasActiveMajority()) {
        this.#becomeFollower(this.#term, undefined);
        return;
      }
      for (const progress of this.#progress.values()) progress.isActive = false;
    }
    this.#broadcastHeartbeat();
  }

  #isAlone(): boolean {
    return this.#members.voters.length === 1 && this.#members.voters[0] === this.nodeId;
  }

  #mayCampaign(): boolean {
    return (
      isVoter(this.#members, this.nodeId) &&
      !this.#isRecovering &&
      this.#installing === undefined &&
      !this.#needsSnapshot
    );
  }

  #campaign(role: "preCandidate" | "candidate", isTransfer: boolean): void {
    this.#resetElection();
    this.#role = role;
    this.#leader = undefined;
    this.#votes.clear();
    if (role === "candidate") {
      this.#term += 1;
      this.#votedFor = this.nodeId;
      this.#isHardStateDirty = true;
      this.#forgetLeader();
    }
    const isPreVote = role === "preCandidate";
    const term = isPreVote ? this.#term + 1 : this.#term;
    for (const to of this.#members.voters) {
      if (to === this.nodeId) continue;
      const request: VoteRequest = {
        kind: "voteRequest",
        shard: this.shard,
        from: this.nodeId,
        to,
        term,
        isPreVote,
        lastIndex: this.#lastIndex,
        lastTerm: this.#lastTerm,
        isTransfer,
      };
      if (isPreVote) this.#messages.push(request);
      else this.#sendWhenDurable(request);
    }
    const own: VoteResponse = {
      ...this.#envelope(this.nodeId),
      kind: "voteResponse",
      term,
      isPreVote,
      isGranted: true,
    };
    if (isPreVote) this.#countVote(own);
    else this.#sendWhenDurable(own);
  }

  #receiveVoteRequest(request: VoteRequest): void {
    const isUpToDate =
      request.lastTerm > this.#lastTerm ||
      (request.lastTerm === this.#lastTerm && request.lastIndex >= this.#lastIndex);
    const mayVote = isUpToDate && !this.#isRecovering;
    if (request.isPreVote) {
      const isGranted = mayVote && request.term > this.#term;
      const term = isGranted ? request.term : this.#term;
      this.#messages.push({
        ...this.#envelope(request.from),
        kind: "voteResponse",
        term,
        isPreVote: true,
        isGranted,
      });
      return;
    }
    const isFree = this.#votedFor === request.from || (this.#votedFor === undefined && this.#leader === undefined);
    const isGranted = mayVote && isFree;
    if (isGranted) {
      this.#resetElection();
      if (this.#votedFor === undefined) {
        this.#votedFor = request.from;
        this.#isHardStateDirty = true;
      }
    }
    const response: VoteResponse = {
      ...this.#envelope(request.from),
      kind: "voteResponse",
      isPreVote: false,
      isGranted,
    };
    this.#sendWhenDurable(response);
  }

  #countVote(response: VoteResponse): void {
    const isExpected = this.#role === (response.isPreVote ? "preCandidate" : "candidate");
    const term = response.isPreVote && response.isGranted ? this.#term + 1 : this.#term;
    if (!isExpected || response.term !== term || !isVoter(this.#members, response.from)) return;
    this.#votes.set(response.from, response.isGranted);
    const grantedCount = [...this.#votes.values()].filter((isGranted) => isGranted).length;
    const refusedCount = this.#votes.size - grantedCount;
    const majority = majorityOf(this.#members);
    if (grantedCount >= majority) {
      if (response.isPreVote) this.#campaign("candidate", false);
      else this.#becomeLeader();
    } else if (refusedCount >= majority) this.#becomeFollower(this.#term, undefined);
  }

  #becomeFollower(term: number, leader: NodeId | undefined): void {
    const isNewTerm = term > this.#term;
    if (isNewTerm) {
      this.#term = term;
      this.#votedFor = undefined;
      this.#isHardStateDirty = true;
    }
    if (isNewTerm || this.#role === "leader") this.#forgetLeader();
    if (this.#role !== "follower" || isNewTerm) this.#resetElection();
    this.#role = "follower";
    this.#leader = leader;
  }

  /** What was known of the term that ends: of its leader, and as its leader. */
  #forgetLeader(): void {
    this.#verifiedIndex = 0;
    this.#confirmUpTo = undefined;
    this.#progress.clear();
    this.#transferTo = undefined;
    for (const read of [...this.#reads, ...this.#earlyReads]) this.#answerRead(read.readId, read.from, undefined);
    this.#reads = [];
    this.#earlyReads = [];
  }

  #becomeLeader(): void {
    this.#role = "leader";
    this.#leader = this.nodeId;
    this.#elapsedTicks = 0;
    this.#progress.clear();
    this.#followMembers();
    this.#termStartIndex = this.#append(entryKind.empty, []);
  }

  #resetElection(): void {
    this.#elapsedTicks = 0;
    this.#timeoutTicks = this.#limits.electionTicks + Math.floor(this.#jitter * this.#limits.electionTicks);
  }

  #transfer(to: NodeId): void {
    if (this.#role !== "leader" || to === this.nodeId || !isVoter(this.#members, to)) return;
    this.#transferTo = to;
    this.#transferTicks = 0;
    this.#isTransferSent = false;
  }

  #sendTimeoutNowIfDue(): void {
    const to = this.#transferTo;
    if (to === undefined || this.#isTransferSent) return;
    const progress = this.#progress.get(to);
    if (progress === undefined || !progress.isCounted || progress.matchIndex < this.#lastIndex) return;
    this.#isTransferSent = true;
    this.#messages.push({ ...this.#envelope(to), kind: "timeoutNow" });
  }

  // --- messages

  #receive(message: RaftMessage): void {
    if (message.kind === "readIndexRequest") this.#receiveReadRequest(message);
    else if (message.kind === "readIndexResponse") this.#receiveReadResponse(message);
    else if (message.term < this.#term) this.#answerStale(message);
    else if (message.term === this.#term || this.#adoptTerm(message)) this.#receiveOfThisTerm(message);
  }

  #receiveOfThisTerm(message: Exclude<RaftMessage, ReadIndexRequest | ReadIndexResponse>): void {
    switch (message.kind) {
      case "voteRequest":
        this.#receiveVoteRequest(message);
        return;
      case "voteResponse":
        this.#countVote(message);
        return;
      case "append":
        this.#receiveAppend(message);
        return;
      case "appendResponse":
        this.#receiveAppendResponse(message);
        return;
      case "heartbeat":
        this.#receiveHeartbeat(message);
        return;
      case "heartbeatResponse":
        this.#receiveHeartbeatResponse(message);
        return;
      case "timeoutNow":
        if (this.#role !== "leader" && this.#mayCampaign()) this.#campaign("candidate", true);
        return;
      default:
        unreachable(message);
    }
  }

  /** A message of a later term; returns whether it is to be handled at all. */
  #adoptTerm(message: RaftMessage): boolean {
    if (message.kind === "voteRequest" && !message.isTransfer && this.#hearsLeader()) return false;
    if (message.kind === "voteRequest" && message.isPreVote) {
      this.#receiveVoteRequest(message);
      return false;
    }
    if (message.kind === "voteResponse" && message.isPreVote && message.isGranted) {
      this.#countVote(message);
      return false;
    }
    const isFromLeader = message.kind === "append" || message.kind === "heartbeat";
    this.#becomeFollower(message.term, isFromLeader ? message.from : undefined);
    return true;
  }

  /** While a leader is heard of, an election would only disturb. */
  #hearsLeader(): boolean {
    return this.#leader !== undefined && this.#elapsedTicks < this.#limits.electionTicks;
  }

  /** Whoever is behind learns the term, so that a deposed leader steps down and a lonely candidate comes back. */
  #answerStale(message: RaftMessage): void {
    if (message.kind === "append" || message.kind === "heartbeat") {
      this.#messages.push(this.#heartbeatResponse(message.from, 0));
    } else if (message.kind === "voteRequest") {
      const { isPreVote } = message;
      this.#sendWhenDurable({
        ...this.#envelope(message.from),
        kind: "voteResponse",
        isPreVote,
        isGranted: false,
      });
    }
  }

  #envelope(to: NodeId): { shard: number; from: NodeId; to: NodeId; term: number } {
    return { shard: this.shard, from: this.nodeId, to, term: this.#term };
  }

  #sendWhenDurable(message: RaftMessage): void {
    const isMoreToTake = this.#isHardStateDirty || this.#records.length > 0;
    if (!isMoreToTake && this.#order.isSettled) this.#deliver(message);
    else this.#order.hold(message, isMoreToTake);
  }

  #deliver(message: RaftMessage): void {
    if (message.to !== this.nodeId) this.#messages.push(message);
    else this.#receive(message);
  }

  #noteDurable(writeNumber: number): void {
    for (const message of this.#order.finish(writeNumber)) {
      // NOTE: said in an earlier term, it would be about a state that is gone.
      if (message.term === this.#term) this.#deliver(message);
    }
    if (this.#role === "leader") this.#advanceCommit();
    else this.#confirmIfOwed();
  }

  // --- follower

  #heardFromLeader(from: NodeId): void {
    assert(this.#role !== "leader" || from === this.nodeId, `term ${this.#term} has one leader`);
    if (this.#role !== "follower") this.#becomeFollower(this.#term, from);
    this.#leader = from;
    this.#elapsedTicks = 0;
  }

  #receiveAppend(request: AppendRequest): void {
    this.#heardFromLeader(request.from);
    if (this.#installing !== undefined) return;
    if (this.#needsSnapshot) {
      this.#refuse(request, this.#commitIndex, true);
      return;
    }
    const { previousIndex, entries } = request;
    const isKnown = previousIndex <= this.#commitIndex || this.#termOf(previousIndex) === request.previousTerm;
    if (!isKnown) {
      this.#refuse(request, this.#agreementBefore(previousIndex, request.previousTerm), false);
      return;
    }
    this.#takeEntries(entries);
    this.#verifiedIndex = Math.max(this.#verifiedIndex, previousIndex + entries.length, this.#commitIndex);
    this.#commitTo(Math.min(request.commitIndex, this.#verifiedIndex));
    this.#confirmUpTo = this.#verifiedIndex;
    if (this.#order.durableIndex >= this.#confirmUpTo) this.#confirmIfOwed();
  }

  #takeEntries(entries: readonly RaftEntry[]): void {
    for (const entry of entries) {
      if (entry.index <= this.#commitIndex) continue;
      if (entry.index <= this.#lastIndex) {
        if (this.#termOf(entry.index) === entry.term) continue;
        this.#truncate(entry.index);
      }
      assert(entry.index === this.#lastIndex + 1, `entry ${entry.index} follows ${this.#lastIndex}`);
      this.#keep(entry);
    }
  }

  /** The last entry that the leader may hold too: none later than `index`, none of a later term than `term`. */
  #agreementBefore(index: number, term: number): number {
    let candidate = Math.min(index - 1, this.#lastIndex);
    while (candidate > this.#commitIndex && (this.#termOf(candidate) ?? 0) > term) candidate -= 1;
    return Math.max(candidate, this.#commitIndex);
  }

  #refuse(request: AppendRequest, index: number, needsSnapshot: boolean): void {
    this.#sendWhenDurable({
      ...this.#envelope(request.from),
      kind: "appendResponse",
      isAccepted: false,
      index,
      refusedIndex: request.previousIndex,
      termAtIndex: this.#termOf(index) ?? 0,
      needsSnapshot,
      recovery: this.#recoveryIfAny(),
    });
  }

  /** Confirms what the leader sent as far as it is durable. */
  #confirmIfOwed(): void {
    if (this.#confirmUpTo === undefined || this.#leader === undefined) return;
    const index = Math.min(this.#verifiedIndex, this.#order.durableIndex);
    if (index >= this.#confirmUpTo) this.#confirmUpTo = undefined;
    this.#sendWhenDurable({
      ...this.#envelope(this.#leader),
      kind: "appendResponse",
      isAccepted: true,
      index,
      refusedIndex: 0,
      termAtIndex: 0,
      needsSnapshot: false,
      recovery: this.#recoveryIfAny(),
    });
  }

  #receiveHeartbeat(heartbeat: Heartbeat): void {
    this.#heardFromLeader(heartbeat.from);
    this.#commitTo(Math.min(heartbeat.commitIndex, this.#verifiedIndex));
    const isRepaired = heartbeat.repaired !== undefined && heartbeat.repaired === this.#recoveryIfAny();
    if (isRepaired && this.#installing === undefined && !this.#needsSnapshot) {
      this.#isRecovering = false;
      this.#isHardStateDirty = true;
    }
    const response = this.#heartbeatResponse(heartbeat.from, heartbeat.readRound);
    if (isRepaired) this.#sendWhenDurable(response);
    else this.#messages.push(response);
  }

  #heartbeatResponse(to: NodeId, readRound: number): HeartbeatResponse {
    return {
      ...this.#envelope(to),
      kind: "heartbeatResponse",
      readRound,
      verifiedIndex: this.#verifiedIndex,
      recovery: this.#recoveryIfAny(),
    };
  }

  #recoveryIfAny(): number | undefined {
    return this.#isRecovering ? this.#recovery : undefined;
  }

  #commitTo(index: number): void {
    if (index > this.#commitIndex) this.#commitIndex = index;
  }

  /**
   * The state machine holds the announced image. The log keeps what lies behind the image if both are of one history;
   * otherwise nothing in it can ever be committed.
   */
  #finishSnapshot(leaderTerm: number | undefined): void {
    const point = this.#installing;
    assert(point !== undefined, "a snapshot is being installed");
    const { index, term, members } = point;
    const isSameHistory = this.#termOf(index) === term;
    this.#installing = undefined;
    this.#interrupted = undefined;
    this.#needsSnapshot = false;
    this.#isHardStateDirty = true;
    this.#mark = { index, term };
    this.#records.push({ kind: "mark", shard: this.shard, index, term });
    this.#commitIndex = Math.max(this.#commitIndex, index);
    if (!isSameHistory) this.#restartLog(index, term);
    if (!isSameHistory || members.index > this.#members.index) {
      this.#members = members;
      this.#previousMembers = undefined;
    }
    // NOTE: a leader of another term may hold other entries there; it finds out by itself.
    if (this.#leader === undefined || leaderTerm !== this.#term) return;
    this.#verifiedIndex = Math.max(this.#verifiedIndex, index);
    this.#confirmUpTo = this.#verifiedIndex;
  }

  #restartLog(index: number, term: number): void {
    this.#untaken = [];
    this.#firstUntaken = Number.POSITIVE_INFINITY;
    this.#order.truncate(Math.min(index, this.#lastIndex) + 1);
    this.#lastIndex = index;
    this.#lastTerm = term;
    this.#verifiedIndex = Math.min(this.#verifiedIndex, index);
  }

  // --- leader: the log

  #append(kind: number, payload: readonly Uint8Array[]): number {
    const index = this.#lastIndex + 1;
    this.#keep({ shard: this.shard, index, term: this.#term, kind, payload });
    return index;
  }

  #keep(entry: RaftEntry): void {
    this.#records.push({ kind: "entry", entry });
    if (this.#untaken.length === 0) this.#firstUntaken = entry.index;
    this.#untaken.push(entry);
    this.#lastIndex = entry.index;
    this.#lastTerm = entry.term;
    if (entry.kind === entryKind.members) this.#takeMembers(decodeMembers(entry.index, entry.payload));
  }

  #takeMembers(members: Members): void {
    if (members.index <= this.#members.index) return;
    this.#previousMembers = this.#members;
    this.#members = members;
    this.#isHardStateDirty = true;
    if (this.#role === "leader") this.#followMembers();
  }

  #truncate(index: number): void {
    this.#records.push({ kind: "truncate", shard: this.shard, index });
    const untakenKept = Math.max(0, index - this.#firstUntaken);
    if (untakenKept < this.#untaken.length) this.#untaken.length = untakenKept;
    if (this.#untaken.length === 0) this.#firstUntaken = Number.POSITIVE_INFINITY;
    this.#lastIndex = index - 1;
    this.#lastTerm = this.#termOf(index - 1) ?? this.#mark.term;
    this.#order.truncate(index);
    this.#verifiedIndex = Math.min(this.#verifiedIndex, index - 1);
    if (this.#members.index >= index && this.#previousMembers !== undefined) {
      this.#members = this.#previousMembers;
      this.#previousMembers = undefined;
      this.#isHardStateDirty = true;
    }
  }

  #termOf(index: number): number | undefined {
    if (index === 0) return 0;
    if (index > this.#lastIndex) return undefined;
    if (index === this.#lastIndex && this.#lastTerm > 0) return this.#lastTerm;
    if (index >= this.#firstUntaken) return this.#untaken[index - this.#firstUntaken]?.term;
    return index === this.#mark.index ? this.#mark.term : this.#log.termAt(index);
  }

  #followMembers(): void {
    const nodes = new Set(allMembers(this.#members));
    nodes.delete(this.nodeId);
    for (const node of this.#progress.keys()) if (!nodes.has(node)) this.#progress.delete(node);
    for (const node of nodes) {
      if (!this.#progress.has(node)) this.#progress.set(node, new Progress(this.#lastIndex + 1, true));
    }
  }

  #advanceCommit(): void {
    const index = this.#majorityIndex();
    if (index <= this.#commitIndex || !this.mayCommitByCounting(this.#termOf(index))) return;
    this.#commitIndex = index;
    this.#startEarlyReads();
    if (this.#members.index <= index && !isVoter(this.#members, this.nodeId)) {
      this.#becomeFollower(this.#term, undefined);
    }
  }

  /** An entry of an earlier term is committed by one of this term behind it, never by being counted itself. */
  protected mayCommitByCounting(term: number | undefined): boolean {
    return term === this.#term;
  }

  #majorityIndex(): number {
    const { voters } = this.#members;
    if (voters.length === 1 && voters[0] === this.nodeId) return this.#order.durableIndex;
    const held = voters.map((voter) => {
      if (voter === this.nodeId) return this.#order.durableIndex;
      const progress = this.#progress.get(voter);
      return progress?.isCounted ? progress.matchIndex : 0;
    });
    held.sort((a, b) => b - a);
    return held[majorityOf(this.#members) - 1] ?? 0;
  }

  #countVoters(isCounted: (progress: Progress) => boolean): number {
    let count = 0;
    for (const voter of this.#members.voters) {
      const progress = this.#progress.get(voter);
      if (voter === this.nodeId || (progress?.isCounted && isCounted(progress))) count += 1;
    }
    return count;
  }

  #hasActiveMajority(): boolean {
    return this.#countVoters((progress) => progress.isActive) >= majorityOf(this.#members);
  }

  #isCaughtUp(progress: Progress): boolean {
    return progress.isCounted && progress.state === "replicate" && progress.matchIndex >= this.#commitIndex;
  }

  // --- leader: followers

  #broadcastHeartbeat(): void {
    for (const [to, progress] of this.#progress) {
      const heartbeat: Heartbeat = {
        ...this.#envelope(to),
        kind: "heartbeat",
        commitIndex: Math.min(this.#commitIndex, progress.matchIndex),
        readRound: this.#readRound,
        repaired: progress.recovery?.isOver ? progress.recovery.id : undefined,
      };
      this.#messages.push(heartbeat);
    }
  }

  #sendToFollowers(snapshotsTo: NodeId[]): void {
    if (this.#isRoundNew) {
      this.#isRoundNew = false;
      this.#broadcastHeartbeat();
    }
    for (const [to, progress] of this.#progress) {
      while (progress.canSend(this.#limits.inFlightAppendsMax) && this.#sendAppend(to, progress));
      if (progress.state === "snapshot" && !progress.isSnapshotAsked) {
        progress.isSnapshotAsked = true;
        snapshotsTo.push(to);
      }
    }
    this.#sendTimeoutNowIfDue();
  }

  /** Returns whether there may be more to send. */
  #sendAppend(to: NodeId, progress: Progress): boolean {
    const hasEntries = progress.nextIndex <= this.#lastIndex;
    if (progress.state === "replicate" && !hasEntries) return false;
    const previousIndex = progress.nextIndex - 1;
    const previousTerm = this.#termOf(previousIndex);
    const entries =
      hasEntries && previousTerm !== undefined
        ? this.#log.read(progress.nextIndex, this.#lastIndex, this.#limits.appendBytesMax)
        : [];
    if (previousTerm === undefined || (hasEntries && entries.length === 0)) {
      progress.needSnapshot();
      return false;
    }
    this.#messages.push({
      ...this.#envelope(to),
      kind: "append",
      previousIndex,
      previousTerm,
      entries,
      commitIndex: this.#commitIndex,
    });
    progress.noteSent(previousIndex + entries.length);
    return true;
  }

  #receiveAppendResponse(response: AppendResponse): void {
    const progress = this.#believedProgress(response);
    if (progress === undefined) return;
    progress.isActive = true;
    if (response.needsSnapshot) {
      if (progress.state !== "snapshot") progress.needSnapshot();
    } else if (!response.isAccepted) {
      progress.noteRefused(response.refusedIndex, this.#agreementWith(response));
    } else if (response.index <= this.#lastIndex && progress.noteAccepted(response.index)) {
      this.#advanceCommit();
    }
    this.#endRecoveryIfOver(progress);
  }

  /** Where the follower's log may agree with this one's, from the entry that it named. */
  #agreementWith(response: AppendResponse): number {
    let index = Math.min(response.index, this.#lastIndex);
    while (index > this.#mark.index && (this.#termOf(index) ?? 0) > response.termAtIndex) index -= 1;
    return index;
  }

  /** The follower's progress, if the answer is of its present life; a life that recovers starts from nothing. */
  #believedProgress(response: AppendResponse | HeartbeatResponse): Progress | undefined {
    const progress = this.#progress.get(response.from);
    if (this.#role !== "leader" || progress === undefined) return undefined;
    const { recovery } = response;
    if (recovery === progress.recovery?.id) return progress;
    if (recovery === undefined) {
      if (!progress.recovery?.isOver) return undefined;
      progress.endRecovery();
      this.#advanceCommit();
      return progress;
    }
    if (progress.wasInRecovery(recovery)) return progress.resumeRecovery(recovery) ? progress : undefined;
    const barrierIndex = this.#append(entryKind.empty, []);
    progress.restart(barrierIndex, { id: recovery, barrierIndex, isOver: false });
    return progress;
  }

  #endRecoveryIfOver(progress: Progress): void {
    const { recovery } = progress;
    if (recovery === undefined || recovery.isOver) return;
    const { barrierIndex } = recovery;
    recovery.isOver = this.#commitIndex >= barrierIndex && progress.matchIndex >= barrierIndex;
  }

  #receiveHeartbeatResponse(response: HeartbeatResponse): void {
    const progress = this.#believedProgress(response);
    if (progress === undefined) return;
    progress.isActive = true;
    progress.readRound = Math.max(progress.readRound, response.readRound);
    this.#endRecoveryIfOver(progress);
    if (progress.state === "replicate" && response.verifiedIndex < progress.matchIndex) {
      progress.probe(progress.matchIndex + 1);
    }
    if (this.#reads.length > 0) this.#answerConfirmedReads();
  }

  #noteSnapshotSent(to: NodeId, index: number, isOk: boolean): void {
    const progress = this.#progress.get(to);
    if (progress === undefined || progress.state !== "snapshot") return;
    progress.probe(isOk ? Math.max(index, progress.matchIndex) + 1 : progress.matchIndex + 1);
    // NOTE: when it failed, the next tick probes what is missing and asks for another one.
    progress.isPaused = !isOk;
  }

  // --- reads

  #read(readId: number, from: NodeId): void {
    if (this.#role === "leader") this.#readAsLeader(readId, from);
    else if (from === this.nodeId && this.#leader !== undefined) {
      this.#messages.push({ ...this.#envelope(this.#leader), kind: "readIndexRequest", readId });
    } else this.#answerRead(readId, from, undefined);
  }

  #readAsLeader(readId: number, from: NodeId): void {
    if (this.#commitIndex < this.#termStartIndex) {
      this.#earlyReads.push({ readId, from });
      return;
    }
    if (this.#isAlone()) {
      this.#answerRead(readId, from, this.#commitIndex);
      return;
    }
    if (!this.#isRoundNew) {
      this.#readRound += 1;
      this.#isRoundNew = true;
    }
    this.#reads.push({ readId, from, index: this.#commitIndex, round: this.#readRound });
  }

  /** Until the leader has committed in its own term it does not know what is committed. */
  #startEarlyReads(): void {
    if (this.#earlyReads.length === 0 || this.#commitIndex < this.#termStartIndex) return;
    const early = this.#earlyReads;
    this.#earlyReads = [];
    for (const { readId, from } of early) this.#readAsLeader(readId, from);
  }

  #answerConfirmedReads(): void {
    const majority = majorityOf(this.#members);
    while (true) {
      const first = this.#reads[0];
      if (first === undefined) return;
      if (this.#countVoters((progress) => progress.readRound >= first.round) < majority) return;
      this.#reads.shift();
      this.#answerRead(first.readId, first.from, first.index);
    }
  }

  #answerRead(readId: number, to: NodeId, index: number | undefined): void {
    if (to === this.nodeId) this.#readResults.push({ readId, index });
    else this.#messages.push({ ...this.#envelope(to), kind: "readIndexResponse", readId, index });
  }

  #receiveReadRequest(request: ReadIndexRequest): void {
    if (this.#role === "leader") this.#readAsLeader(request.readId, request.from);
    else this.#answerRead(request.readId, request.from, undefined);
  }

  #receiveReadResponse(response: ReadIndexResponse): void {
    this.#readResults.push({ readId: response.readId, index: response.index });
  }
}
