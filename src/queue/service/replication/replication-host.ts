import { assert } from "../../../platform/errors/assert.ts";
import type { Logger } from "../../../platform/log/logger.ts";
import type { Random } from "../../../platform/random/random.ts";
import type { Clock, TimerHandle, Timers } from "../../../platform/time/clock.ts";
import { queueError } from "../../errors.ts";
import { Raft, type RaftOptions } from "../../model/raft/raft.ts";
import type { MemberChange, Members, RaftHardState, RaftWrite } from "../../model/raft/raft-types.ts";
import type {
  NodeId,
  ProposeOptions,
  RecoveredShard,
  Replication,
  ShardId,
  ShardStateMachine,
  WalRecord,
  WriteAheadLog,
} from "../ports.ts";
import { defaultReplicationLimits, type ReplicationLimits } from "./limits.ts";
import type { ProposalCallback } from "./pending-proposals.ts";
import { ShardHost, type ShardStatus } from "./shard-host.ts";
import type { ReplicationMessage, Transport } from "./transport.ts";

/**
 * All Raft groups of one node. Proposals, messages, timers and finished writes wake shards; once the input at hand is
 * taken in, one turn serves all woken shards: their records go to the log as one append, and only then do they speak
 * and apply. So the log sees large groups under load, and a group costs one append however many proposals are in it.
 */
export interface ReplicationOptions {
  readonly nodeId: NodeId;
  /** Voters of every group when the node is bootstrapped; `nodeId` among them, unless it comes later. */
  readonly voters: readonly NodeId[];
  /** Data shards; with the metadata group there is one group more. */
  readonly shardCount: number;
  /**
   * True when nodes start a new cluster (a single node always may). A node without data in a running cluster must say
   * false: it then counts in no majority until it has caught up, lest it forget what it confirmed in an earlier life.
   */
  readonly isBootstrap: boolean;
  readonly wal: WriteAheadLog;
  readonly stateMachineFor: (shard: ShardId) => ShardStateMachine;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits?: Partial<ReplicationLimits>;
  /** Runs a callback after the input at hand; `queueMicrotask` unless time is simulated. */
  readonly defer?: (callback: () => void) => void;
  /** Makes the core of a shard; tests put broken ones here. */
  readonly createRaft?: (options: RaftOptions) => Raft;
}

export interface ReplicationHost extends Replication {
  /** Resolves when this node serves every shard, or follows a leader of it; at once for shards that are damaged. */
  start(): Promise<void>;
  /** As `propose`, without a promise. */
  submit(shard: ShardId, command: readonly Uint8Array[], options: ProposeOptions, callback: ProposalCallback): void;
  /** As `readBarrier`, without a promise. */
  read(shard: ShardId, callback: (error: Error | undefined) => void): void;
  changeMembers(shard: ShardId, change: MemberChange): Promise<void>;
  /**
   * The log durably knows this node. Until then it has said nothing that binds it, and may be bootstrapped again; from
   * then on an empty disk means that data was lost.
   */
  readonly isBootstrapped: boolean;
  /** Asks another voter to take over; whether it did shows in `leaderOf`. */
  transferLeadership(shard: ShardId, to: NodeId): void;
  status(shard: ShardId): ShardStatus;
  readonly statuses: readonly ShardStatus[];
  /** Set when the log failed: the node is unhealthy until it is started again. */
  readonly failure: Error | undefined;
  /** Brings all state into the shards' own files, so that the log can be cut. */
  checkpoint(): Promise<void>;
  /** Ends orderly: nothing new is taken, what is on its way is finished, state is checkpointed and closed. */
  close(): Promise<void>;
  /** Ends at once, as a crash would. */
  kill(): void;
}

export function createReplicationHost(options: ReplicationOptions): ReplicationHost {
  return new NodeReplication(options);
}

class NodeReplication implements ReplicationHost {
  readonly shardCount: number;
  isBootstrapped = false;
  readonly #options: ReplicationOptions;
  readonly #limits: ReplicationLimits;
  readonly #defer: (callback: () => void) => void;
  readonly #shards: readonly ShardHost[];
  readonly #woken = new Set<ShardHost>();
  readonly #outbox = new Map<NodeId, ReplicationMessage[]>();
  #isTurnAsked = false;
  #ticker: TimerHandle | undefined;
  #state: "created" | "running" | "closing" | "closed" = "created";
  #failure: Error | undefined;
  #checkpointRound: Promise<void> | undefined;
  #lastRoundMs: number;
  readonly #readyWaiters: (() => void)[] = [];

  constructor(options: ReplicationOptions) {
    this.shardCount = options.shardCount;
    this.#options = options;
    this.#limits = { ...defaultReplicationLimits, ...options.limits };
    this.#defer = options.defer ?? queueMicrotask;
    this.#lastRoundMs = options.clock.monotonicMs();
    this.#shards = Array.from({ length: options.shardCount + 1 }, (_, shard) => this.#createShard(shard));
    options.transport.onReceive((messages) => this.#receive(messages));
  }

  get failure(): Error | undefined {
    return this.#failure;
  }
  get statuses(): readonly ShardStatus[] {
    return this.#shards.map((shard) => shard.status());
  }

  // --- Replication

  propose(shard: ShardId, command: readonly Uint8Array[], options: ProposeOptions = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.submit(shard, command, options, (error, result) => {
        if (error === undefined) resolve(result);
        else reject(error);
      });
    });
  }

  submit(shard: ShardId, command: readonly Uint8Array[], options: ProposeOptions, callback: ProposalCallback): void {
    if (this.#state !== "running") {
      callback(this.#notRunning("write"), undefined);
      return;
    }
    const host = this.#shard(shard);
    host.propose(command, options, callback);
    if (host.isTurnFull) this.#turn();
  }

  readBarrier(shard: ShardId): Promise<void> {
    const host = this.#shard(shard);
    if (host.canReadNow && this.#state === "running") return resolved;
    return new Promise((resolve, reject) => {
      this.read(shard, (error) => {
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  }

  read(shard: ShardId, callback: (error: Error | undefined) => void): void {
    if (this.#state === "running") this.#shard(shard).read(callback);
    else callback(this.#notRunning("read"));
  }

  isLeader(shard: ShardId): boolean {
    return this.#shard(shard).isServing;
  }

  leaderOf(shard: ShardId): NodeId | undefined {
    return this.#shard(shard).raft.leader;
  }

  // --- cluster

  changeMembers(shard: ShardId, change: MemberChange): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#shard(shard).changeMembers(change, (error) => {
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  }

  transferLeadership(shard: ShardId, to: NodeId): void {
    this.#shard(shard).step({ kind: "transfer", to });
  }

  status(shard: ShardId): ShardStatus {
    return this.#shard(shard).status();
  }

  // --- life cycle

  start(): Promise<void> {
    assert(this.#state === "created", "replication is started once");
    this.#state = "running";
    for (const shard of this.#shards) {
      if (shard.damage !== undefined) {
        this.#options.logger.error(
          { shard: shard.shard, damage: shard.damage },
          "log is damaged, replica needs repair",
        );
      }
    }
    this.#writeBootstrap();
    this.#ticker = this.#options.timers.every(this.#limits.tickMs, () => this.#tick());
    this.#tick();
    return new Promise((resolve) => {
      this.#readyWaiters.push(resolve);
      this.#noteReadiness();
    });
  }

  /** A shard is in the log from its first start on: whoever finds none there later knows that the disk is new. */
  #writeBootstrap(): void {
    const known = this.#options.wal.recovered();
    const records: WalRecord[] = this.#shards
      .filter((host) => !known.has(host.shard))
      .map((host) => ({ kind: "hardState", shard: host.shard, state: this.#firstHardState() }));
    this.isBootstrapped = records.length === 0;
    if (this.isBootstrapped) return;
    this.#options.wal.append(records, (error) => {
      if (error === undefined) this.isBootstrapped = true;
      else this.#freeze(error);
    });
  }

  #firstHardState(): RaftHardState {
    const { isBootstrap } = this.#options;
    return { term: 0, votedFor: undefined, members: this.#bootstrapMembers(), isRecovering: !isBootstrap };
  }

  #bootstrapMembers(): Members {
    return { index: 0, voters: this.#options.voters, learners: [] };
  }

  #tick(): void {
    if (this.#state === "closed") return;
    for (const shard of this.#shards) shard.tick(this.#options.random.fraction());
    this.#startRoundIfDue();
  }

  async close(): Promise<void> {
    if (this.#state !== "running") {
      this.kill();
      return;
    }
    this.#state = "closing";
    await this.#whenDrained();
    await this.#checkpointRound;
    await this.checkpoint();
    this.kill();
    await Promise.all(this.#shards.map((shard) => shard.stateMachine.close()));
  }

  kill(): void {
    this.#state = "closed";
    this.#ticker?.cancel();
    for (const shard of this.#shards) {
      shard.failPending(() => queueError("TIMEOUT", "Cannot finish: the node stopped, a write may or may not happen"));
    }
  }

  #whenDrained(): Promise<void> {
    const { clock, timers } = this.#options;
    const deadlineMs = clock.monotonicMs() + this.#limits.closeTimeoutMs;
    return new Promise((resolve) => {
      const look = (): void => {
        const isDone = this.#failure !== undefined || this.#shards.every((shard) => !shard.hasPending);
        if (isDone || clock.monotonicMs() >= deadlineMs) resolve();
        else timers.after(5, look);
      };
      look();
    });
  }

  // --- turns

  #wake(shard: ShardHost): void {
    this.#woken.add(shard);
    if (this.#isTurnAsked) return;
    this.#isTurnAsked = true;
    this.#defer(() => {
      this.#isTurnAsked = false;
      this.#turn();
    });
  }

  #turn(): void {
    if (this.#state === "closed" || this.#woken.size === 0) return;
    if (this.#options.wal.failure !== undefined) {
      this.#freeze(this.#options.wal.failure);
      return;
    }
    const shards = [...this.#woken];
    this.#woken.clear();
    const records: WalRecord[] = [];
    const writes: { readonly host: ShardHost; readonly write: RaftWrite }[] = [];
    for (const host of shards) {
      const write = host.takeWrite();
      if (write === undefined) continue;
      writes.push({ host, write });
      for (const record of write.records) records.push(record);
    }
    if (writes.length > 0) {
      this.#options.wal.append(records, (error) => {
        if (this.#state === "closed") return;
        if (error !== undefined) this.#freeze(error);
        else for (const { host, write } of writes) host.noteDurable(write.writeNumber);
      });
    }
    for (const host of shards) host.finishTurn();
    this.#flushOutbox();
    if (this.#readyWaiters.length > 0) this.#noteReadiness();
  }

  #flushOutbox(): void {
    for (const [to, messages] of this.#outbox) this.#options.transport.send(to, messages);
    this.#outbox.clear();
  }

  #post(message: ReplicationMessage): void {
    const messages = this.#outbox.get(message.to);
    if (messages === undefined) this.#outbox.set(message.to, [message]);
    else messages.push(message);
  }

  #receive(messages: readonly ReplicationMessage[]): void {
    if (this.#state === "created" || this.#state === "closed" || this.#failure !== undefined) return;
    for (const message of messages) {
      if (message.to === this.#options.nodeId) this.#shards[message.shard]?.receive(message);
    }
  }

  #freeze(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#options.logger.error({ err: error }, "write-ahead log failed: node is out of service until it is restarted");
    for (const shard of this.#shards) shard.freeze(error);
  }

  #noteReadiness(): void {
    if (!this.#shards.every((shard) => shard.isReady)) return;
    for (const resolve of this.#readyWaiters.splice(0)) resolve();
  }

  // --- checkpoints

  #startRoundIfDue(): void {
    if (this.#checkpointRound !== undefined || this.#state !== "running" || this.#failure !== undefined) return;
    const nowMs = this.#options.clock.monotonicMs();
    const isLarge = this.#options.wal.sizeBytes >= this.#limits.checkpointLogBytes;
    const isDue = nowMs - this.#lastRoundMs >= this.#limits.checkpointIntervalMs;
    if ((!isLarge || nowMs - this.#lastRoundMs < checkpointPauseMs) && !isDue) return;
    this.#lastRoundMs = nowMs;
    this.#checkpointRound = this.checkpoint().finally(() => {
      this.#checkpointRound = undefined;
    });
  }

  /** One shard after the other: their files share one disk, and traffic goes on meanwhile. */
  async checkpoint(): Promise<void> {
    const mayKeepTrailing = this.#options.wal.sizeBytes < 2 * this.#limits.checkpointLogBytes;
    for (const shard of this.#shards) {
      if (shard.needsCheckpoint && this.#state !== "closed") await shard.checkpoint(mayKeepTrailing);
    }
  }

  // --- building

  #createShard(shard: ShardId): ShardHost {
    const { wal, clock, random, nodeId } = this.#options;
    const stateMachine = this.#options.stateMachineFor(shard);
    const recovered = wal.recovered().get(shard);
    const raft = this.#createRaft(shard, recovered, stateMachine.lastAppliedIndex());
    const host: ShardHost = new ShardHost({
      shard,
      raft,
      stateMachine,
      wal,
      clock,
      logger: this.#options.logger.child({ node: nodeId }),
      limits: this.#limits,
      damage: recovered?.damage,
      send: (message) => this.#post(message),
      wake: () => this.#wake(host),
      wakeLater: () => this.#options.timers.after(0, () => this.#wake(host)),
      nextRandomId: () => Math.floor(random.fraction() * 2 ** 32),
    });
    return host;
  }

  #createRaft(shard: ShardId, recovered: RecoveredShard | undefined, appliedIndex: number): Raft {
    const { wal, random, nodeId } = this.#options;
    const mark = recovered?.mark ?? { index: 0, term: 0 };
    const lastIndex = recovered?.lastIndex ?? 0;
    const hardState = recovered?.hardState ?? this.#firstHardState();
    // NOTE: a state machine that is ahead of its log was just replaced by a snapshot, or the log was damaged; what the
    // log holds behind the mark then says nothing about what is committed.
    const isLogBehind = appliedIndex > lastIndex || hardState.installing !== undefined;
    const commitIndex = isLogBehind ? mark.index : Math.max(appliedIndex, mark.index);
    const create = this.#options.createRaft ?? ((options) => new Raft(options));
    return create({
      shard,
      nodeId,
      log: {
        termAt: (index) => wal.termAt(shard, index),
        read: (from, to, maxBytes) => wal.readEntries(shard, from, to, maxBytes),
      },
      hardState: recovered?.damage === undefined ? hardState : { ...hardState, isRecovering: true },
      bootstrapMembers: this.#bootstrapMembers(),
      mark,
      lastIndex,
      lastTerm: recovered?.lastTerm ?? 0,
      commitIndex,
      needsSnapshot: appliedIndex < mark.index,
      isSnapshotInstalled: hardState.installing !== undefined && appliedIndex >= hardState.installing.index,
      recovery: Math.floor(random.fraction() * 2 ** 32),
      limits: this.#limits.raft,
    });
  }

  #shard(shard: ShardId): ShardHost {
    const host = this.#shards[shard];
    assert(host !== undefined, `shard ${shard} is one of 0 to ${this.shardCount}`);
    return host;
  }

  #notRunning(verb: string): Error {
    if (this.#state === "created") return queueError("NOT_READY", `Cannot ${verb}: the node is starting`);
    return queueError("SHUTTING_DOWN", `Cannot ${verb}: the node is stopping`);
  }
}

const checkpointPauseMs = 1_000;
const resolved = Promise.resolve();
