import { type Disk, errorCode } from "../../src/platform/files/disk.ts";
import { SimDisk } from "../../src/platform/files/sim-disk.ts";
import { silentLogger } from "../../src/platform/log/logger.ts";
import { openWriteAheadLog } from "../../src/queue/drivers/storage/wal/write-ahead-log.ts";
import type { CommandTime } from "../../src/queue/model/commands/shard-command.ts";
import type { CommittedEntry } from "../../src/queue/service/ports.ts";
import type { ReplicationLimits } from "../../src/queue/service/replication/limits.ts";
import { createReplicationHost, type ReplicationHost } from "../../src/queue/service/replication/replication-host.ts";
import { BrokerMachine } from "./broker-machine.ts";
import { LogMachine } from "./log-machine.ts";
import type { Network } from "./network.ts";
import { type BrokenRule, breakLog, createRaft } from "./rules.ts";
import type { SimMachine } from "./sim-machine.ts";
import { NodeTime, type World } from "./world.ts";

/** One machine with its disk, and the lives of the broker on it. */
export interface SimNodeOptions {
  readonly id: string;
  readonly voters: readonly string[];
  readonly shardCount: number;
  readonly world: World;
  readonly network: Network;
  readonly limits: Partial<ReplicationLimits>;
  readonly diskLatencyMsMax: number;
  readonly brokenRule: BrokenRule | undefined;
  readonly observer: NodeObserver;
  /** False for a node that joins a running cluster. */
  readonly isFounder: boolean;
  /** Data shards run the broker's own state machine on its own storage. */
  readonly isBroker: boolean;
}

export interface NodeObserver {
  onApply(node: string, entry: CommittedEntry): void;
  onElected(node: string, shard: number, term: number): void;
  onLeadership(node: string, shard: number, isLeader: boolean, term: number): void;
  /** A life ended without a fault to blame. */
  onSurprise(node: string, error: unknown): void;
}

interface Life {
  readonly time: NodeTime;
  readonly host: ReplicationHost;
  readonly machines: readonly SimMachine[];
  readonly onEnd: Set<() => void>;
}

export class SimNode {
  readonly id: string;
  readonly disk: SimDisk;
  readonly #options: SimNodeOptions;
  #life: Life | undefined;
  /** An empty disk would be a loss. */
  #isKnown = false;
  /** Multiplies the time that the disk takes. */
  diskSlowness = 1;
  wallOffsetMs = 0;
  /** What was done to the disk and is not made good yet. */
  isDamaged = false;

  constructor(options: SimNodeOptions) {
    this.id = options.id;
    this.#options = options;
    const { world } = options;
    this.disk = new SimDisk({
      random: world.random,
      schedule: (delayMs, run) => (this.#life === undefined ? undefined : this.#life.time.schedule(delayMs, run)),
      latencyMs: () => world.between(0.05, options.diskLatencyMsMax) * this.diskSlowness,
    });
  }

  get isUp(): boolean {
    return this.#life !== undefined;
  }
  /** Wall clocks jump; the clocks that windows are measured by run alike on all nodes. */
  get commandTime(): CommandTime {
    const wallMs = this.#life?.time.nowMs() ?? 0;
    return { nowMs: wallMs, steadyMs: wallMs - Math.floor(this.wallOffsetMs) };
  }
  get host(): ReplicationHost | undefined {
    return this.#life?.host;
  }
  machine(shard: number): SimMachine | undefined {
    return this.#life?.machines[shard];
  }

  /** Runs `act` when this life of the node ends. */
  onEnd(act: () => void): () => void {
    const ends = this.#life?.onEnd;
    ends?.add(act);
    return () => ends?.delete(act);
  }

  start(): void {
    if (this.#life !== undefined) return;
    const { world, network, brokenRule, observer } = this.#options;
    const time = new NodeTime(world, this.wallOffsetMs);
    const defer = (run: () => void): void => world.defer(time.guard(run));
    // NOTE: the disk schedules in the life that opened the file, also while that life is being built.
    const disk = this.disk.mount();
    const machines: SimMachine[] = [];
    const life = { time, machines, onEnd: new Set<() => void>() };
    this.#life = life as unknown as Life;
    try {
      const wal = openWriteAheadLog({
        disk,
        folder: "wal",
        timers: time,
        random: world.random,
        runSoon: defer,
        limits: { fileBytes: 128 * 1024, groupBytes: 64 * 1024, recentBytes: 16 * 1024, retryFullMs: 200 },
      });
      const host = createReplicationHost({
        nodeId: this.id,
        voters: this.#options.voters,
        shardCount: this.#options.shardCount,
        isBootstrap: this.#options.isFounder && !this.#isKnown,
        wal: breakLog(brokenRule, wal, defer),
        stateMachineFor: (shard) => {
          const machine = this.#createMachine(shard, time, disk, defer);
          machines.push(machine);
          return machine;
        },
        transport: network.attach(this.id),
        clock: time,
        timers: time,
        random: world.random,
        logger: silentLogger,
        limits: this.#options.limits,
        defer,
        createRaft: (options) =>
          createRaft(brokenRule, options, (shard, term) => observer.onElected(this.id, shard, term)),
      });
      this.#life = { ...life, host };
      void host.start();
    } catch (error) {
      this.#life = undefined;
      time.isOver = true;
      // NOTE: a node that cannot read or write its disk does not come up; it is started again.
      const code = errorCode(error);
      if (code !== "EIO" && code !== "ENOSPC") observer.onSurprise(this.id, error);
      this.disk.crash();
      world.after(50, () => this.start());
    }
  }

  #createMachine(shard: number, time: NodeTime, disk: Disk, runSoon: (run: () => void) => void): SimMachine {
    const { observer, brokenRule, isBroker } = this.#options;
    const onApply = (entry: CommittedEntry): void => observer.onApply(this.id, entry);
    const onLeadership = (isLeader: boolean, term: number): void =>
      observer.onLeadership(this.id, shard, isLeader, term);
    if (isBroker && shard > 0) return new BrokerMachine({ shard, disk, runSoon, onApply, onLeadership });
    return new LogMachine({
      shard,
      disk,
      wait: (delayMs) => new Promise((resolve) => time.schedule(delayMs, resolve)),
      onApply,
      onLeadership,
      forgetsSequences: brokenRule === "repeatOnRetry",
    });
  }

  /** The power fails: what was not synced may be gone. */
  crash(): void {
    this.#endLife();
    this.disk.crash();
  }

  /** The process is killed, the machine goes on: what was written stays. */
  kill(): void {
    this.#endLife();
    this.disk.killProcess();
  }

  wipe(): void {
    this.#endLife();
    this.disk.wipe();
    this.#isKnown = true;
    this.isDamaged = true;
  }

  pause(durationMs: number): void {
    this.#life?.time.pause(durationMs);
  }

  setWallOffset(offsetMs: number): void {
    this.wallOffsetMs = offsetMs;
    if (this.#life !== undefined) this.#life.time.wallOffsetMs = offsetMs;
  }

  /** Nothing of what was done to the disk is left to repair. */
  get isWhole(): boolean {
    const host = this.#life?.host;
    if (host === undefined || host.failure !== undefined) return false;
    return host.statuses.every(
      (status) => !status.isRecovering && !status.needsSnapshot && status.failure === undefined,
    );
  }

  #endLife(): void {
    const life = this.#life;
    if (life === undefined) return;
    this.#life = undefined;
    life.time.isOver = true;
    this.#isKnown ||= life.host.isBootstrapped;
    this.#options.network.detach(this.id);
    life.host.kill();
    for (const act of life.onEnd) act();
  }
}
