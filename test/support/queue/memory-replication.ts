import type {
  CommittedEntry,
  ProposeOptions,
  Replication,
  ShardId,
  ShardStateMachine,
} from "../../../src/queue/service/ports.ts";

/** One log per shard that survives a restart. */
export type SavedLogs = Map<ShardId, CommittedEntry[]>;

/**
 * Replication on one node without a disk: an entry is committed a turn after it was proposed. Entries outlive the
 * instance, so that a restart replays them; `loseFrom` makes the next ones vanish, as a crash does.
 */
export class MemoryReplication implements Replication {
  readonly #saved: SavedLogs;
  readonly #machines: ReadonlyMap<ShardId, ShardStateMachine>;
  readonly #term: number;
  /** Set to make every proposal fail. */
  failure: Error | undefined;
  /** Proposals wait while set. */
  gate: Promise<void> | undefined;
  isStopped = false;

  constructor(machines: ReadonlyMap<ShardId, ShardStateMachine>, saved: SavedLogs, term: number) {
    this.#machines = machines;
    this.#saved = saved;
    this.#term = term;
  }

  get shardCount(): number {
    return this.#machines.size - 1;
  }

  /** Replays what the machines have not seen, then makes this node the leader of all shards. */
  start(): void {
    for (const [shard, machine] of this.#machines) {
      for (const entry of this.#log(shard)) if (entry.index > machine.lastAppliedIndex()) machine.apply(entry);
    }
    for (const machine of this.#machines.values()) machine.onLeadership(true, this.#term);
  }

  async propose(shard: ShardId, command: readonly Uint8Array[], _options?: ProposeOptions): Promise<unknown> {
    const payload = Buffer.concat(command);
    await this.gate;
    await Promise.resolve();
    if (this.failure !== undefined) throw this.failure;
    const machine = this.#machines.get(shard);
    // After a stop nothing is answered any more.
    if (machine === undefined || this.isStopped) return new Promise(() => {});
    const log = this.#log(shard);
    const entry: CommittedEntry = { shard, index: (log.at(-1)?.index ?? 0) + 1, term: this.#term, payload };
    log.push(entry);
    return machine.apply(entry);
  }

  async readBarrier(): Promise<void> {}
  isLeader(): boolean {
    return true;
  }
  leaderOf(): string {
    return "node-1";
  }

  #log(shard: ShardId): CommittedEntry[] {
    let log = this.#saved.get(shard);
    if (log === undefined) {
      log = [];
      this.#saved.set(shard, log);
    }
    return log;
  }
}
