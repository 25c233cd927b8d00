import type { MemberChange } from "../../src/queue/model/raft/raft-types.ts";
import { calmNetwork, type Network } from "./network.ts";
import type { SimNode } from "./node.ts";
import type { FaultKind, SwarmConfig } from "./swarm.ts";
import type { World } from "./world.ts";

/** Breaks things, now and then, and mends some of them. Says what it did, so that a failing seed can be read. */
export interface NemesisOptions {
  readonly world: World;
  readonly network: Network;
  readonly nodes: readonly SimNode[];
  readonly config: SwarmConfig;
  readonly log: (text: string) => void;
}

export class Nemesis {
  readonly #options: NemesisOptions;
  readonly #world: World;
  readonly #nodes: readonly SimNode[];
  #isStopped = false;

  constructor(options: NemesisOptions) {
    this.#options = options;
    this.#world = options.world;
    this.#nodes = options.nodes;
  }

  start(): void {
    const next = (): void => {
      if (this.#isStopped) return;
      this.#noteRepaired();
      const kind = this.#world.pick(this.#options.config.faults);
      if (kind !== undefined) this.#do(kind);
      this.#world.after(this.#world.between(10, this.#options.config.faultGapMsMax), next);
    };
    this.#world.after(this.#world.between(0, 300), next);
  }

  /** Everything works again; what was lost stays lost. */
  heal(): void {
    this.#isStopped = true;
    const { network, log } = this.#options;
    log("all is healed");
    network.heal();
    network.faults = calmNetwork;
    for (const node of this.#nodes) {
      node.disk.setCapacity(Number.MAX_SAFE_INTEGER);
      node.disk.failSync(Number.MAX_SAFE_INTEGER);
      node.diskSlowness = 1;
      node.setWallOffset(0);
      this.#restartIfStopped(node);
      // NOTE: what was on its way to the disk before may still fail.
      this.#world.after(500, () => this.#restartIfStopped(node));
    }
  }

  #restartIfStopped(node: SimNode): void {
    const { host } = node;
    if (host?.failure !== undefined || host?.statuses.some(({ failure }) => failure !== undefined)) node.crash();
    node.start();
  }

  #later(delayMs: number, act: () => void): void {
    this.#world.after(delayMs, () => {
      if (!this.#isStopped) act();
    });
  }

  #startLater(node: SimNode): void {
    this.#later(this.#world.between(1, this.#options.config.restartMsMax), () => node.start());
  }

  #noteRepaired(): void {
    for (const node of this.#nodes) if (node.isDamaged && node.isWhole) node.isDamaged = false;
  }

  #do(kind: FaultKind): void {
    const node = this.#world.pick(this.#nodes);
    if (node === undefined) return;
    const { log, network, config } = this.#options;
    const world = this.#world;
    const say = (text: string): void => log(`${kind} ${node.id}${text}`);
    switch (kind) {
      case "crash":
      case "kill":
        if (!node.isUp) return;
        say("");
        if (kind === "crash") node.crash();
        else node.kill();
        this.#startLater(node);
        return;
      case "pause": {
        const durationMs = world.between(20, 600);
        say(` for ${durationMs.toFixed(0)} ms`);
        node.pause(durationMs);
        return;
      }
      case "oneWayCut": {
        const other = world.pick(this.#nodes.filter((candidate) => candidate !== node));
        if (other === undefined) return;
        say(` to ${other.id}`);
        network.cut(node.id, other.id);
        this.#later(world.between(20, config.cutMsMax), () => network.heal());
        return;
      }
      case "partition":
        this.#partition();
        return;
      case "badNetwork":
        say("");
        network.faults = {
          ...config.network,
          lossRate: world.between(0, 0.3),
          doubleRate: world.between(0, 0.3),
          straggleRate: world.between(0, 0.3),
          straggleMsMax: world.between(5, 300),
        };
        this.#later(world.between(100, 1000), () => {
          network.faults = config.network;
        });
        return;
      case "slowDisk":
        node.diskSlowness = world.between(2, 60);
        say("");
        this.#later(world.between(50, 500), () => {
          node.diskSlowness = 1;
        });
        return;
      case "syncError":
        say("");
        node.disk.failSync(world.wholeBetween(0, 5));
        this.#later(world.between(50, 400), () => {
          if (node.isUp) node.crash();
          this.#startLater(node);
        });
        return;
      case "diskFull":
        this.#fillDisk(node);
        return;
      case "bitFlip":
      case "wipe":
        this.#damage(kind, node);
        return;
      case "clockJump":
        node.setWallOffset(world.between(-3_600_000, 3_600_000));
        return;
      case "transfer": {
        const shard = world.wholeBetween(0, config.shardCount);
        const leader = this.#nodes.find((candidate) => candidate.host?.isLeader(shard));
        if (leader !== undefined) log(`transfer of shard ${shard} from ${leader.id} to ${node.id}`);
        leader?.host?.transferLeadership(shard, node.id);
        return;
      }
      case "checkpoint":
        void node.host?.checkpoint();
        return;
      case "members":
        this.#changeMembers(node);
        return;
    }
  }

  #partition(): void {
    const { log, network } = this.#options;
    const world = this.#world;
    const side = new Set(this.#nodes.filter(() => world.chance(0.5)));
    log(`partition [${[...side].map(({ id }) => id).join(" ")}] from the others`);
    for (const from of this.#nodes) {
      for (const to of this.#nodes) if (side.has(from) !== side.has(to)) network.cut(from.id, to.id);
    }
    this.#later(world.between(20, this.#options.config.cutMsMax), () => network.heal());
  }

  #fillDisk(node: SimNode): void {
    const world = this.#world;
    let usedBytes = 0;
    for (const { size } of node.disk.files()) usedBytes += size;
    this.#options.log(`diskFull ${node.id}`);
    node.disk.setCapacity(usedBytes + world.wholeBetween(0, 40_000));
    this.#later(world.between(100, 900), () => node.disk.setCapacity(Number.MAX_SAFE_INTEGER));
  }

  /**
   * What a disk loses can only be made good by the others, so never on more nodes at once than a majority can spare.
   * Flips stay away from the newest writes: damage there cannot be told from a write that never completed.
   */
  #damage(kind: "bitFlip" | "wipe", node: SimNode): void {
    const { config, log } = this.#options;
    const damagedCount = this.#nodes.filter(({ isDamaged, isWhole }) => isDamaged || !isWhole).length;
    const mayCount = config.spareCount > 0 ? 1 : Math.floor((config.nodeCount - 1) / 2);
    if (damagedCount >= mayCount || !node.isWhole) return;
    if (kind === "wipe") {
      log(`wipe ${node.id}`);
      node.wipe();
    } else {
      const flipped = flipOldBit(node, this.#world, config.isBroker);
      if (flipped === undefined) return;
      log(`bitFlip ${node.id} ${flipped}`);
      node.isDamaged = true;
      node.kill();
    }
    this.#startLater(node);
  }

  #changeMembers(node: SimNode): void {
    const { config, log } = this.#options;
    const shard = this.#world.wholeBetween(0, config.shardCount);
    const leader = this.#nodes.find((candidate) => candidate.host?.isLeader(shard));
    const status = leader?.host?.status(shard);
    if (leader?.host === undefined || status === undefined) return;
    if (this.#nodes.some(({ isDamaged }) => isDamaged)) return;
    let change: MemberChange;
    if (status.learners.includes(node.id)) change = { kind: "promote", node: node.id };
    else if (!status.voters.includes(node.id)) change = { kind: "addLearner", node: node.id };
    else if (status.voters.length > 3) change = { kind: "remove", node: node.id };
    else return;
    log(`${change.kind} ${node.id} in shard ${shard}`);
    leader.host.changeMembers(shard, change).catch(() => undefined);
  }
}

const newestBytes = 8 * 1024;

/** The broker's own files of a shard are checked where they are read; only the log is made good by other nodes. */
function flipOldBit(node: SimNode, world: World, isLogOnly: boolean): string | undefined {
  const isTarget = (path: string): boolean => path.startsWith("wal/") || (!isLogOnly && !path.endsWith(".new"));
  const files = node.disk.files().filter(({ path, size }) => size > 0 && isTarget(path));
  const chosen = world.pick(files);
  if (chosen === undefined) return undefined;
  const isLog = chosen.path.startsWith("wal/");
  const file = node.disk.open(chosen.path, "read");
  const bytes = file.read(0, chosen.size);
  file.close();
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  const limit = isLog ? end - newestBytes : end;
  if (limit <= 0) return undefined;
  const position = world.wholeBetween(0, limit - 1);
  node.disk.flipBit(chosen.path, position, world.wholeBetween(0, 7));
  return `${chosen.path} at ${position}`;
}
