import { crc32 } from "node:zlib";
import type { CommittedEntry } from "../../src/queue/service/ports.ts";
import { type Anomaly, checkHistory } from "./checker.ts";
import { Clients, finalProducer } from "./clients.ts";
import { Nemesis } from "./nemesis.ts";
import { Network } from "./network.ts";
import { type NodeObserver, SimNode } from "./node.ts";
import type { BrokenRule } from "./rules.ts";
import { drawSwarm, type SwarmConfig } from "./swarm.ts";
import { World } from "./world.ts";

/**
 * One run: a cluster, clients and faults from one seed; then all is healed, the cluster must make progress and agree,
 * and the history is checked.
 */
export interface SimulationOptions {
  readonly brokenRule?: BrokenRule;
  /** Changes what the seed would do. */
  readonly adjust?: (config: SwarmConfig) => SwarmConfig;
}

export interface SimulationResult {
  readonly seed: number;
  readonly anomalies: readonly Anomaly[];
  readonly log: readonly string[];
  readonly config: SwarmConfig;
  readonly acknowledgedCount: number;
  readonly operationCount: number;
  readonly eventCount: number;
  readonly simulatedMs: number;
}

const progressMsMax = 20_000;

export async function simulate(seed: number, options: SimulationOptions = {}): Promise<SimulationResult> {
  const world = new World(seed);
  const drawn = drawSwarm(world);
  const config = options.adjust?.(drawn) ?? drawn;
  const log: string[] = [];
  const anomalies: Anomaly[] = [];
  const say = (text: string): void => {
    log.push(`${world.nowMs.toFixed(1)} ${text}`);
  };
  const network = new Network(world);
  network.faults = config.network;
  const observer = createObserver(anomalies, say);
  const nodes = createNodes(world, network, config, options.brokenRule, observer);
  const clients = new Clients({
    world,
    nodes,
    shardCount: config.shardCount,
    partitionsPerShard: config.partitionsPerShard,
    thinkMs: () => world.between(1, config.thinkMsMax),
    readsWithoutMajority: options.brokenRule === "readWithoutMajority",
  });
  const nemesis = new Nemesis({ world, network, nodes, config, log: say });
  try {
    for (const node of nodes) node.start();
    clients.start(config.producerCount, config.readerCount);
    nemesis.start();
    await world.runUntil(config.faultyMs);
    clients.stop();
    nemesis.heal();
    await expectProgress(world, nodes, clients, config, anomalies);
  } catch (error) {
    anomalies.push({ kind: "crash", text: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
  const finalLogs = collectFinalLogs(nodes, config);
  anomalies.push(...checkHistory({ operations: clients.operations, finalLogs }));
  return {
    seed,
    anomalies,
    log,
    config,
    acknowledgedCount: clients.acknowledgedCount,
    operationCount: clients.operations.length,
    eventCount: world.eventCount,
    simulatedMs: world.nowMs,
  };
}

function createNodes(
  world: World,
  network: Network,
  config: SwarmConfig,
  brokenRule: BrokenRule | undefined,
  observer: NodeObserver,
): readonly SimNode[] {
  const ids = Array.from({ length: config.nodeCount + config.spareCount }, (_, index) => `n${index + 1}`);
  const voters = ids.slice(0, config.nodeCount);
  return ids.map(
    (id) =>
      new SimNode({
        id,
        voters,
        shardCount: config.shardCount,
        world,
        network,
        limits: config.limits,
        diskLatencyMsMax: config.diskLatencyMsMax,
        brokenRule,
        observer,
        isFounder: voters.includes(id),
        isBroker: config.isBroker,
      }),
  );
}

/** Watches what must hold at every moment: one leader per term, one entry per index. */
function createObserver(anomalies: Anomaly[], say: (text: string) => void): NodeObserver {
  const leaders = new Map<string, string>();
  const entries = new Map<string, number>();
  return {
    onApply: (node: string, entry: CommittedEntry) => {
      const key = `${entry.shard}/${entry.index}`;
      const digest = crc32(entry.payload, entry.term);
      const known = entries.get(key);
      if (known === undefined) entries.set(key, digest);
      else if (known !== digest) anomalies.push({ kind: "diverged", text: `${node} applied another entry ${key}` });
    },
    onLeadership: (node, shard, isLeader, term) => {
      say(`${node} ${isLeader ? "leads" : "no longer leads"} shard ${shard} in term ${term}`);
    },
    onElected: (node, shard, term) => {
      const key = `${shard}/${term}`;
      const known = leaders.get(key) ?? node;
      leaders.set(key, known);
      if (known !== node) anomalies.push({ kind: "two-leaders", text: `${known} and ${node} lead in ${key}` });
    },
    onSurprise: (node, error) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      anomalies.push({ kind: "crash", text: `${node}: ${text}` });
    },
  };
}

/** Every shard takes an append again and all its members come to the same point. */
async function expectProgress(
  world: World,
  nodes: readonly SimNode[],
  clients: Clients,
  config: SwarmConfig,
  anomalies: Anomaly[],
): Promise<void> {
  const endMs = world.nowMs + progressMsMax;
  const wanted = await world.runUntil(endMs, () => clients.isIdle && isSettled(nodes, config));
  const before = clients.acknowledgedCount;
  let isDone = false;
  clients.startProducer(finalProducer, 5, () => {
    isDone = true;
  });
  const didAppend = await world.runUntil(endMs + 5_000, () => isDone && isSettled(nodes, config));
  if (wanted && didAppend && clients.acknowledgedCount === before + 5) return;
  const states = nodes.map((node) => `${node.id}: ${JSON.stringify(node.host?.statuses)}`);
  const text = `settled: ${wanted}, appended again: ${didAppend}, acknowledged: ${clients.acknowledgedCount - before}`;
  anomalies.push({ kind: "no-progress", text: `${text}\n${states.join("\n")}` });
}

function isSettled(nodes: readonly SimNode[], config: SwarmConfig): boolean {
  for (let shard = 0; shard <= config.shardCount; shard += 1) {
    const leader = nodes.find((node) => node.host?.isLeader(shard));
    const status = leader?.host?.status(shard);
    if (status === undefined || status.appliedIndex < status.lastIndex) return false;
    for (const id of [...status.voters, ...status.learners]) {
      const member = nodes.find((node) => node.id === id)?.host?.status(shard);
      if (member === undefined || member.appliedIndex !== status.appliedIndex || member.isRecovering) return false;
    }
  }
  return true;
}

function collectFinalLogs(
  nodes: readonly SimNode[],
  config: SwarmConfig,
): { node: string; partition: string; values: readonly string[] }[] {
  const logs: { node: string; partition: string; values: readonly string[] }[] = [];
  for (let shard = 0; shard <= config.shardCount; shard += 1) {
    const leader = nodes.find((node) => node.host?.isLeader(shard));
    const status = leader?.host?.status(shard);
    const members = [...(status?.voters ?? []), ...(status?.learners ?? [])];
    for (const node of nodes) {
      const machine = node.machine(shard);
      if (machine === undefined || !members.includes(node.id)) continue;
      for (let partition = 0; partition < config.partitionsPerShard; partition += 1) {
        logs.push({ node: node.id, partition: `${shard}-${partition}`, values: machine.values(partition, 0) });
      }
    }
  }
  return logs;
}
