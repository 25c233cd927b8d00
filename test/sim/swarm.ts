import { defaultRaftLimits } from "../../src/queue/model/raft/raft-types.ts";
import type { ReplicationLimits } from "../../src/queue/service/replication/limits.ts";
import { calmNetwork, type NetworkFaults } from "./network.ts";
import type { World } from "./world.ts";

/**
 * What one seed does: how many nodes, which kinds of faults, how often. Each run has its own mix, since some bugs only
 * show when most faults are absent.
 */
export const faultKinds = [
  "crash",
  "kill",
  "pause",
  "oneWayCut",
  "partition",
  "badNetwork",
  "slowDisk",
  "syncError",
  "diskFull",
  "bitFlip",
  "wipe",
  "clockJump",
  "transfer",
  "checkpoint",
  "members",
] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface SwarmConfig {
  readonly nodeCount: number;
  /** Nodes that are there but no members at first. */
  readonly spareCount: number;
  /** Data shards run the broker's own state machine, not the small one of the simulation. */
  readonly isBroker: boolean;
  readonly shardCount: number;
  readonly partitionsPerShard: number;
  readonly producerCount: number;
  readonly readerCount: number;
  readonly faultyMs: number;
  readonly faults: readonly FaultKind[];
  readonly faultGapMsMax: number;
  readonly restartMsMax: number;
  /** How long a cut lasts at most. */
  readonly cutMsMax: number;
  readonly thinkMsMax: number;
  readonly diskLatencyMsMax: number;
  readonly network: NetworkFaults;
  readonly limits: Partial<ReplicationLimits>;
}

export function drawSwarm(world: World): SwarmConfig {
  const nodeCount = world.pick([1, 2, 3, 3, 3, 3, 4, 5, 5, 7]) ?? 3;
  const hasSpares = nodeCount >= 3 && nodeCount <= 5 && world.chance(0.4);
  const share = world.between(0.2, 0.8);
  const faults = faultKinds.filter((kind) => mayHappen(kind, nodeCount) && world.chance(share));
  const isFar = world.chance(0.3);
  return {
    nodeCount,
    spareCount: hasSpares ? 1 : 0,
    isBroker: world.chance(0.5),
    shardCount: 1,
    partitionsPerShard: 2,
    producerCount: world.wholeBetween(2, 4),
    readerCount: 2,
    faultyMs: world.between(1500, 3000),
    faults: hasSpares ? faults : faults.filter((kind) => kind !== "members"),
    faultGapMsMax: world.between(60, 400),
    restartMsMax: world.pick([15, 150, 600]) ?? 150,
    cutMsMax: world.pick([150, 1200]) ?? 1200,
    thinkMsMax: world.between(5, 30),
    diskLatencyMsMax: world.pick([0.5, 2, 10]) ?? 2,
    network: { ...calmNetwork, delayMsMax: isFar ? 15 : 2 },
    limits: {
      tickMs: 20,
      raft: {
        ...defaultRaftLimits,
        electionTicks: 6,
        appendBytesMax: world.pick([100, 2_000, 1024 * 1024]) ?? 2_000,
        inFlightAppendsMax: world.pick([1, 4, 16]) ?? 4,
      },
      proposeTimeoutMs: 400,
      readTimeoutMs: 400,
      checkpointLogBytes: 64 * 1024,
      checkpointIntervalMs: world.pick([150, 600, 5_000]) ?? 600,
      trailingEntries: world.pick([0, 5, 100]) ?? 5,
      snapshotResendMs: 60,
      snapshotResendsMax: 5,
    },
  };
}

/** Loss of data on one disk can only be made good by the others; and a node cannot be cut off from nobody. */
function mayHappen(kind: FaultKind, nodeCount: number): boolean {
  switch (kind) {
    case "bitFlip":
    case "wipe":
    case "members":
      return nodeCount >= 3;
    case "oneWayCut":
    case "partition":
    case "badNetwork":
    case "transfer":
      return nodeCount >= 2;
    default:
      return true;
  }
}
