import { isOutOfRoom } from "../../../platform/files/disk.ts";
import type { Logger } from "../../../platform/log/logger.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import { queueError } from "../../errors.ts";
import type { Raft } from "../../model/raft/raft.ts";
import {
  entryKind,
  type MemberChange,
  type RaftEntry,
  type RaftEvent,
  type RaftWrite,
} from "../../model/raft/raft-types.ts";
import type { NodeId, ProposeOptions, ShardId, ShardStateMachine, WriteAheadLog } from "../ports.ts";
import type { ReplicationLimits } from "./limits.ts";
import { PendingProposals, type ProposalCallback } from "./pending-proposals.ts";
import { PendingReads } from "./pending-reads.ts";
import { SnapshotReceiver, SnapshotSender } from "./snapshot-transfer.ts";
import type { ReplicationMessage, SnapshotAnswer, SnapshotChunk } from "./transport.ts";

/**
 * One shard on one node: its Raft core, its state machine and everybody who waits for either.
 *
 * A turn has three parts, always in this order: events step the core; its records go to the log together with those of
 * the other shards; then messages leave, committed entries are applied, and whoever waited is answered. The state
 * machine is touched by nothing else, and never while it replaces itself by a snapshot.
 */
export interface ShardHostOptions {
  readonly shard: ShardId;
  readonly raft: Raft;
  readonly stateMachine: ShardStateMachine;
  readonly wal: WriteAheadLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: ReplicationLimits;
  readonly damage: string | undefined;
  readonly send: (message: ReplicationMessage) => void;
  /** Asks for a turn. */
  readonly wake: () => void;
  /** Asks for a turn after other work had one. */
  readonly wakeLater: () => void;
  readonly nextRandomId: () => number;
}

export interface ShardStatus {
  readonly shard: ShardId;
  readonly role: Raft["role"];
  readonly term: number;
  readonly leader: NodeId | undefined;
  readonly voters: readonly NodeId[];
  readonly learners: readonly NodeId[];
  readonly lastIndex: number;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  readonly isServing: boolean;
  readonly isRecovering: boolean;
  /** The state here is lost or half replaced; an image from another node is on its way or asked for. */
  readonly needsSnapshot: boolean;
  readonly pendingProposals: number;
  readonly damage: string | undefined;
  readonly failure: string | undefined;
}

export class ShardHost {
  readonly shard: ShardId;
  readonly raft: Raft;
  readonly stateMachine: ShardStateMachine;
  readonly #options: ShardHostOptions;
  readonly #limits: ReplicationLimits;
  readonly #pending = new PendingProposals();
  readonly #reads: PendingReads;
  readonly #senders = new Map<NodeId, SnapshotSender>();
  #receiver: SnapshotReceiver | undefined;
  #appliedIndex: number;
  #bytesThisTurn = 0;
  #servingTerm: number | undefined;
  #wasRecovering: boolean;
  #damage: string | undefined;
  #failure: Error | undefined;
  #isCheckpointing = false;
  #checkpointIndex: number;

  constructor(options: ShardHostOptions) {
    this.#options = options;
    this.shard = options.shard;
    this.raft = options.raft;
    this.stateMachine = options.stateMachine;
    this.#limits = options.limits;
    this.#damage = options.damage;
    this.#reads = new PendingReads(options.nextRandomId());
    this.#wasRecovering = options.raft.isRecovering;
    this.#appliedIndex = options.stateMachine.lastAppliedIndex();
    this.#checkpointIndex = this.#appliedIndex;
  }

  get appliedIndex(): number {
    return this.#appliedIndex;
  }
  /** This node leads, and its state holds everything that was acknowledged before. */
  get isServing(): boolean {
    return this.#servingTerm !== undefined;
  }
  get failure(): Error | undefined {
    return this.#failure;
  }
  get damage(): string | undefined {
    return this.#damage;
  }
  /** Nothing stands in the way of using the shard through this node, or never will by waiting. */
  get isReady(): boolean {
    const { raft } = this;
    if (this.#damage !== undefined || this.#failure !== undefined) return true;
    return this.isServing || (raft.leader !== undefined && raft.leader !== raft.nodeId);
  }
  /** The state here is up to date and no other node can know better: the only voter leads. */
  get canReadNow(): boolean {
    const { raft } = this;
    return this.isServing && raft.members.voters.length === 1 && this.#appliedIndex === raft.commitIndex;
  }
  get hasPending(): boolean {
    return this.#pending.count > 0;
  }

  status(): ShardStatus {
    const { raft } = this;
    return {
      shard: this.shard,
      role: raft.role,
      term: raft.term,
      leader: raft.leader,
      voters: raft.members.voters,
      learners: raft.members.learners,
      lastIndex: raft.lastIndex,
      commitIndex: raft.commitIndex,
      appliedIndex: this.#appliedIndex,
      isServing: this.isServing,
      isRecovering: raft.isRecovering,
      needsSnapshot: !this.#isStateWhole,
      pendingProposals: this.#pending.count,
      damage: this.#damage,
      failure: this.#failure?.message,
    };
  }

  // --- events

  /** The callback comes later, never from inside this call unless the proposal is refused or wants no confirmation. */
  propose(command: readonly Uint8Array[], options: ProposeOptions, callback: ProposalCallback): void {
    const refusal = this.#refusalOfProposals();
    if (refusal !== undefined) {
      callback(refusal, undefined);
      return;
    }
    const index = this.raft.propose(command);
    if (index === undefined) {
      callback(this.#notLeader("write"), undefined);
      return;
    }
    let sizeBytes = 0;
    for (const part of command) sizeBytes += part.length;
    this.#bytesThisTurn += sizeBytes;
    const acks = options.acks ?? "all";
    if (acks === "none") callback(undefined, undefined);
    else {
      const deadlineMs = this.#options.clock.monotonicMs() + (options.timeoutMs ?? this.#limits.proposeTimeoutMs);
      this.#pending.add(index, { term: this.raft.term, callback, deadlineMs, sizeBytes }, acks);
    }
    this.#options.wake();
  }

  /** True when so much was proposed in this turn that it should end. */
  get isTurnFull(): boolean {
    return this.#bytesThisTurn >= this.#limits.turnBytesMax;
  }

  read(callback: (error: Error | undefined) => void): void {
    if (this.#failure !== undefined) callback(this.#failed());
    else if (this.#reads.count >= this.#limits.pendingReadsMax) {
      callback(queueError("RATE_LIMITED", `Cannot read: ${this.#reads.count} reads of the shard wait already`));
    } else {
      const readId = this.#reads.add(this.#options.clock.monotonicMs() + this.#limits.readTimeoutMs, callback);
      this.step({ kind: "read", readId });
    }
  }

  changeMembers(change: MemberChange, callback: ProposalCallback): void {
    const changed = this.raft.changeMembers(change);
    if ("refused" in changed) {
      callback(
        queueError("NOT_READY", `Cannot change the members of shard ${this.shard}: ${changed.refused}`),
        undefined,
      );
      return;
    }
    const deadlineMs = this.#options.clock.monotonicMs() + this.#limits.proposeTimeoutMs;
    this.#pending.add(changed.index, { term: this.raft.term, callback, deadlineMs, sizeBytes: 0 }, "all");
    this.#options.wake();
  }

  step(event: RaftEvent): void {
    this.raft.step(event);
    this.#options.wake();
  }

  tick(jitter: number): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.raft.step({ kind: "tick", jitter });
    this.#pending.failExpired(nowMs);
    this.#reads.failExpired(nowMs);
    for (const sender of this.#senders.values()) sender.tick(nowMs);
    const giveUpMs = this.#limits.snapshotResendMs * this.#limits.snapshotResendsMax;
    if (this.#receiver !== undefined && nowMs - this.#receiver.lastHeardMs > giveUpMs) {
      this.#receiver.fail(new Error("the leader stopped sending"));
    }
    if (this.raft.hasWork) this.#options.wake();
  }

  receive(message: ReplicationMessage): void {
    if (this.#failure !== undefined) return;
    switch (message.kind) {
      case "snapshotChunk":
        this.#receiveChunk(message);
        return;
      case "snapshotAnswer":
        this.#senders.get(message.from)?.receive(message, this.#options.clock.monotonicMs());
        return;
      case "append":
        // NOTE: a follower without room lets the leader send it again later; what it holds stays.
        if (message.entries.length > 0 && this.#options.wal.isDiskFull) return;
        this.step({ kind: "message", message });
        return;
      default:
        this.step({ kind: "message", message });
    }
  }

  /** The log or the state machine can no longer be trusted: this node is out of the shard until it is started again. */
  freeze(cause: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = cause;
    this.raft.step({ kind: "freeze" });
    this.#stopServing();
    for (const sender of [...this.#senders.values()]) sender.end(false, cause);
    this.#receiver?.fail(cause);
    this.#pending.failAll(() =>
      queueError("TIMEOUT", "Cannot confirm the write: the node stopped on an error, it may or may not happen", {
        cause,
      }),
    );
    this.#reads.failAll(() => this.#failed());
  }

  failPending(makeError: () => Error): void {
    this.#pending.failAll(makeError);
    this.#reads.failAll(makeError);
  }

  // --- the turn

  /** The records of this turn; what waited for entries that they replace is told so. */
  takeWrite(): RaftWrite | undefined {
    this.#bytesThisTurn = 0;
    const write = this.raft.takeWrite();
    for (const record of write?.records ?? []) {
      if (record.kind === "truncate") this.#pending.failOverwritten(record.index);
    }
    return write;
  }

  noteDurable(writeNumber: number): void {
    this.step({ kind: "durable", writeNumber });
  }

  /** Sends, applies and answers, once the records of the turn are with the log. */
  finishTurn(): void {
    if (this.#failure !== undefined) return;
    const output = this.raft.takeOutput();
    for (const message of output.messages) this.#options.send(message);
    for (const { readId, index } of output.reads) {
      if (index === undefined) this.#reads.fail(readId, this.#notLeader("read"));
      else this.#reads.noteIndex(readId, index);
    }
    for (const to of output.snapshotsTo) this.#startSending(to);
    this.#noteRecovered();
    this.#apply();
    this.#pending.settleDurable(this.raft.durableIndex);
    if (this.#isStateWhole) this.#reads.settleApplied(this.#appliedIndex);
    this.#noteLeadership();
  }

  /** The state machine is not being replaced, and was not left half replaced. */
  get #isStateWhole(): boolean {
    return !this.raft.isInstalling && !this.raft.needsSnapshot;
  }

  #apply(): void {
    const { raft } = this;
    let budget = this.#limits.applyBytesPerTurn;
    if (!this.#isStateWhole) return;
    while (this.#appliedIndex < raft.commitIndex && this.#failure === undefined) {
      if (budget <= 0) {
        this.#options.wakeLater();
        return;
      }
      budget -= this.#applySome(budget);
    }
  }

  #applySome(maxBytes: number): number {
    try {
      const entries = this.#options.wal.readEntries(
        this.shard,
        this.#appliedIndex + 1,
        this.raft.commitIndex,
        maxBytes,
      );
      let size = 0;
      for (const entry of entries) size += this.#applyEntry(entry);
      if (entries.length === 0) throw new Error(`entry ${this.#appliedIndex + 1} is not in the log`);
      return size;
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error));
      this.#options.logger.error({ shard: this.shard, err: cause }, "shard stopped: an entry could not be applied");
      this.freeze(cause);
      return maxBytes;
    }
  }

  #applyEntry(entry: RaftEntry): number {
    const { shard, index, term } = entry;
    const payload = joined(entry.payload);
    let result: unknown;
    if (entry.kind === entryKind.command) result = this.stateMachine.apply({ shard, index, term, payload });
    else this.stateMachine.noteSkipped?.(index, term);
    this.#appliedIndex = index;
    this.#pending.settleApplied(index, term, result);
    return payload.length + entryOverheadBytes;
  }

  #noteLeadership(): void {
    const { raft } = this;
    const isServing =
      raft.role === "leader" && this.#appliedIndex >= raft.termStartIndex && this.#failure === undefined;
    if (this.#servingTerm !== undefined && (!isServing || this.#servingTerm !== raft.term)) this.#stopServing();
    if (isServing && this.#servingTerm === undefined) {
      this.#servingTerm = raft.term;
      this.stateMachine.onLeadership(true, raft.term);
    }
    if (raft.role !== "leader") for (const sender of [...this.#senders.values()]) sender.end(false, undefined);
  }

  #stopServing(): void {
    if (this.#servingTerm === undefined) return;
    this.#servingTerm = undefined;
    this.stateMachine.onLeadership(false, this.raft.term);
  }

  #noteRecovered(): void {
    const { isRecovering } = this.raft;
    if (this.#wasRecovering && !isRecovering) {
      this.#options.logger.info({ shard: this.shard }, "shard is complete again");
      this.#options.wal.markRepaired(this.shard);
      this.#damage = undefined;
    }
    this.#wasRecovering = isRecovering;
  }

  // --- checkpoints

  get needsCheckpoint(): boolean {
    return this.#appliedIndex > this.#checkpointIndex && this.#failure === undefined;
  }

  /** Brings the state into the shard's own files and lets the log forget what is in them. */
  async checkpoint(mayKeepTrailing: boolean): Promise<void> {
    if (this.#isCheckpointing || !this.#isStateWhole || this.#failure !== undefined) return;
    this.#isCheckpointing = true;
    try {
      const appliedIndex = this.#appliedIndex;
      const index = await this.stateMachine.checkpoint();
      this.#checkpointIndex = appliedIndex;
      const isOutdated = !this.#isStateWhole || this.#failure !== undefined;
      if (!isOutdated) this.#release(mayKeepTrailing ? Math.min(index, this.#trailingIndex(index)) : index);
    } catch (error) {
      // NOTE: without room the log stays as it is, and the next round tries again; any other error is final.
      if (isOutOfRoom(error)) {
        this.#options.logger.warn({ shard: this.shard, err: error }, "checkpoint put off: the disk is full");
      } else {
        this.#options.logger.error({ shard: this.shard, err: error }, "shard stopped: its checkpoint failed");
        this.freeze(error instanceof Error ? error : new Error(String(error)));
      }
    } finally {
      this.#isCheckpointing = false;
    }
  }

  #release(index: number): void {
    const term = this.#options.wal.termAt(this.shard, index);
    if (term === undefined || index === 0) return;
    this.#options.wal.release(this.shard, index, term);
    this.raft.step({ kind: "released", index, term });
  }

  /** Entries behind a checkpoint are kept for followers that are a little late, while there are any. */
  #trailingIndex(index: number): number {
    const others = this.raft.members.voters.length + this.raft.members.learners.length - 1;
    return others === 0 ? index : Math.max(0, index - this.#limits.trailingEntries);
  }

  // --- snapshots out

  #startSending(to: NodeId): void {
    if (this.#senders.has(to)) return;
    const index = this.#appliedIndex;
    const indexTerm = this.#options.wal.termAt(this.shard, index);
    if (indexTerm === undefined) {
      this.raft.step({ kind: "snapshotSent", to, index, isOk: false });
      return;
    }
    const sender = new SnapshotSender({
      source: {
        shard: this.shard,
        from: this.raft.nodeId,
        to,
        term: this.raft.term,
        snapshotId: this.#options.nextRandomId(),
        index,
        indexTerm,
        members: this.raft.membersAt(index),
        chunks: this.stateMachine.createSnapshot()[Symbol.asyncIterator](),
      },
      send: (chunk) => {
        this.#options.send(chunk);
        this.#options.wake();
      },
      onEnd: (isOk, cause) => {
        this.#senders.delete(to);
        if (cause !== undefined) {
          this.#options.logger.warn({ shard: this.shard, to, err: cause }, "snapshot was not delivered");
        }
        this.step({ kind: "snapshotSent", to, index, isOk });
      },
      resendMs: this.#limits.snapshotResendMs,
      resendsMax: this.#limits.snapshotResendsMax,
    });
    this.#senders.set(to, sender);
    sender.start(this.#options.clock.monotonicMs());
  }

  // --- snapshots in

  #receiveChunk(chunk: SnapshotChunk): void {
    const { raft } = this;
    if (chunk.term !== raft.term) return;
    if (this.#receiver !== undefined) {
      if (this.#receiver.first.snapshotId === chunk.snapshotId) {
        this.#receiver.receive(chunk, this.#options.clock.monotonicMs());
      } else {
        this.#receiver.fail(new Error("another snapshot began"));
        if (chunk.ordinal === 0) this.#answer(chunk, "refused");
      }
      return;
    }
    const isOld = raft.needsSnapshot ? chunk.index < raft.markIndex : chunk.index <= raft.commitIndex;
    if (isOld && !raft.needsSnapshot) this.#answer(chunk, "installed");
    else if (isOld || this.#isCheckpointing || chunk.ordinal !== 0) this.#answer(chunk, "refused");
    else void this.#install(chunk);
  }

  async #install(first: SnapshotChunk): Promise<void> {
    this.#pending.failAll(() =>
      queueError(
        "TIMEOUT",
        "Cannot confirm the write: the state came from another node, it may or may not have happened",
      ),
    );
    const nowMs = this.#options.clock.monotonicMs();
    const receiver = new SnapshotReceiver(first, nowMs, (ordinal) => this.#answer({ ...first, ordinal }, "taken"));
    this.#receiver = receiver;
    const { index, indexTerm, members } = first;
    this.step({ kind: "snapshotBegun", point: { index, term: indexTerm, members } });
    receiver.receive(first, nowMs);
    try {
      await this.#whenAnnounced();
      await this.stateMachine.installSnapshot(index, indexTerm, receiver);
      await this.stateMachine.checkpoint();
      if (this.#failure !== undefined) return;
      this.#receiver = undefined;
      this.#appliedIndex = index;
      this.#checkpointIndex = index;
      this.step({ kind: "snapshotInstalled", leaderTerm: first.term });
      this.#answer(first, "installed");
    } catch (error) {
      this.#receiver = undefined;
      if (this.#failure !== undefined) return;
      this.#noteInstallFailed(error, receiver.hasFailed);
      this.#answer(first, "refused");
    }
  }

  /** What the sender or a full disk is to blame for is tried again; this node's own failures are final. */
  #noteInstallFailed(error: unknown, isSendersFault: boolean): void {
    if (isSendersFault || isOutOfRoom(error)) {
      this.#options.logger.warn({ shard: this.shard, err: error }, "snapshot could not be taken over");
      this.step({ kind: "snapshotFailed" });
    } else {
      this.#options.logger.error({ shard: this.shard, err: error }, "shard stopped: a snapshot could not be installed");
      this.freeze(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** The state machine must not change before the log says what it is going to be. */
  #whenAnnounced(): Promise<void> {
    return new Promise((resolve, reject) => {
      const write = this.takeWrite();
      this.#options.wal.append(write?.records ?? [], (error) => {
        if (error !== undefined) {
          reject(error);
          return;
        }
        if (write !== undefined) this.noteDurable(write.writeNumber);
        resolve();
      });
    });
  }

  #answer(chunk: SnapshotChunk, status: SnapshotAnswer["status"]): void {
    const { shard, term, snapshotId, ordinal } = chunk;
    this.#options.send({
      kind: "snapshotAnswer",
      shard,
      from: this.raft.nodeId,
      to: chunk.from,
      term,
      snapshotId,
      ordinal,
      status,
    });
    this.#options.wake();
  }

  // --- refusals

  #refusalOfProposals(): Error | undefined {
    if (this.#failure !== undefined) return this.#failed();
    if (this.#options.wal.isDiskFull) {
      return queueError("DISK_FULL", "Cannot write: the disk is full, reads go on", { retryAfterSeconds: 5 });
    }
    const { count, sizeBytes } = this.#pending;
    if (count >= this.#limits.pendingProposalsMax || sizeBytes >= this.#limits.pendingBytesMax) {
      const message = `Cannot write: ${count} writes (${sizeBytes} bytes) of the shard wait already`;
      return queueError("RATE_LIMITED", message, { retryAfterSeconds: 1 });
    }
    return undefined;
  }

  #notLeader(verb: string): Error {
    const { leader } = this.raft;
    if (leader === undefined || leader === this.raft.nodeId) {
      const why = this.#damage === undefined ? "no replica leads it yet" : `its log is damaged here (${this.#damage})`;
      return queueError("LEADER_NOT_AVAILABLE", `Cannot ${verb}: shard ${this.shard} is not ready, ${why}`);
    }
    return queueError("NOT_LEADER", `Cannot ${verb}: node '${leader}' leads shard ${this.shard}`, {
      details: { leader },
    });
  }

  #failed(): Error {
    return queueError("NOT_READY", `Cannot use shard ${this.shard}: this node stopped it on an error`, {
      cause: this.#failure,
    });
  }
}

const entryOverheadBytes = 64;

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
}
