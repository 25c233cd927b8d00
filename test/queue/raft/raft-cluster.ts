import { Raft, type RaftOptions } from "../../../src/queue/model/raft/raft.ts";
import {
  defaultRaftLimits,
  entryKind,
  type MemberChange,
  type Members,
  type RaftEntry,
  type RaftHardState,
  type RaftMessage,
  type RaftRecord,
} from "../../../src/queue/model/raft/raft-types.ts";

/**
 * A group of cores without anything around them, driven by one-line commands. Nothing happens by itself: messages wait
 * until they are delivered or dropped, writes until they are synced, so a scenario is exactly what it says.
 *
 *   tick 1 [times]          time passes at node 1
 *   elect 1                 node 1 ticks until it stands for election, then everything is delivered and synced
 *   win 1 2 3               node 1 is elected by 2 and 3, and all that it then says is lost
 *   propose 1 a             the leader takes the command "a"
 *   members 1 addLearner 4  the leader changes the members
 *   read 1                  node 1 asks for a read index
 *   transfer 1 2            node 1 hands over to node 2
 *   sync [1]                writes under way become durable
 *   deliver [1>2]           messages arrive, and what they cause, until nothing is left; synced on the way
 *   step 1>2                the messages under way from 1 to 2 arrive, and nothing else happens
 *   drop [1>2]              messages under way are lost
 *   keep 3>1 / replay       messages under way are copied / the copies arrive late, as a network may do
 *   cut 1 / mend            node 1 hears and reaches nobody / everybody does again
 *   restart 1               what was not synced is lost
 *   wipe 1                  everything is lost
 *   release 1 5             the log of node 1 lets go of everything up to entry 5
 *   install 1 2             node 2 takes over the state of node 1, as far as node 1 has committed
 */
export interface NodeView {
  readonly role: Raft["role"];
  readonly term: number;
  readonly leader: string | undefined;
  readonly commitIndex: number;
  readonly lastIndex: number;
  readonly durableIndex: number;
}

interface Node {
  readonly id: string;
  raft: Raft;
  log: MemoryLog;
  durable: { hardState: RaftHardState; log: MemoryLog };
  writes: { number: number; records: readonly RaftRecord[] }[];
  reads: (number | undefined)[];
  snapshotsTo: string[];
  /** Committed commands in order, as a state machine would have seen them. */
  applied: string[];
  appliedIndex: number;
}

class MemoryLog {
  mark = { index: 0, term: 0 };
  entries: RaftEntry[] = [];

  get lastIndex(): number {
    return this.mark.index + this.entries.length;
  }
  get lastTerm(): number {
    return this.entries.at(-1)?.term ?? this.mark.term;
  }
  copy(): MemoryLog {
    const copy = new MemoryLog();
    copy.mark = this.mark;
    copy.entries = [...this.entries];
    return copy;
  }
  termAt(index: number): number | undefined {
    return index === this.mark.index ? this.mark.term : this.entries[index - this.mark.index - 1]?.term;
  }
  read(from: number, to: number): readonly RaftEntry[] {
    if (from <= this.mark.index) return [];
    return this.entries.slice(from - this.mark.index - 1, to - this.mark.index);
  }
  apply(record: RaftRecord): void {
    switch (record.kind) {
      case "entry":
        this.entries.push(record.entry);
        return;
      case "truncate":
        this.entries.length = Math.max(0, record.index - this.mark.index - 1);
        return;
      case "mark": {
        const isSame = this.termAt(record.index) === record.term;
        this.entries = isSame ? this.entries.slice(record.index - this.mark.index) : [];
        this.mark = { index: record.index, term: record.term };
        return;
      }
      case "hardState":
        return;
    }
  }
}

export interface RaftClusterOptions {
  readonly nodes: readonly string[];
  readonly voters?: readonly string[];
  readonly create?: (options: RaftOptions) => Raft;
  readonly inFlightAppendsMax?: number;
  readonly appendEntriesMax?: number;
}

export class RaftCluster {
  readonly #options: RaftClusterOptions;
  readonly #nodes = new Map<string, Node>();
  readonly #cut = new Set<string>();
  #network: RaftMessage[] = [];
  readonly #kept: RaftMessage[] = [];
  #lives = 0;

  constructor(options: RaftClusterOptions) {
    this.#options = options;
    const hardState: RaftHardState = { term: 0, votedFor: undefined };
    for (const id of options.nodes) this.#start(id, { hardState, log: new MemoryLog() }, []);
  }

  run(script: string): void {
    for (const line of script.split("\n").map((text) => text.trim())) {
      if (line !== "") this.#command(line);
    }
  }

  view(id: string): NodeView {
    const { role, term, leader, commitIndex, lastIndex, durableIndex } = this.node(id).raft;
    return { role, term, leader, commitIndex, lastIndex, durableIndex };
  }

  /** "role term/commit/last: entries", an entry as its term and its command. */
  describe(id: string): string {
    const { raft, log } = this.node(id);
    const entries = log.entries.map((entry) => `${entry.term}${textOf(entry)}`);
    return `${raft.role} ${raft.term}/${raft.commitIndex}/${raft.lastIndex}: ${entries.join(" ")}`.trimEnd();
  }

  node(id: string): Node {
    const node = this.#nodes.get(id);
    if (node === undefined) throw new Error(`there is no node '${id}'`);
    return node;
  }

  /** Messages under way, as "1>2 kind". */
  get underWay(): readonly string[] {
    return this.#network.map(({ from, to, kind }) => `${from}>${to} ${kind}`);
  }

  /** Indexes at which two nodes applied different commands. */
  get divergences(): readonly string[] {
    const found: string[] = [];
    const nodes = [...this.#nodes.values()];
    for (const a of nodes) {
      for (const b of nodes) {
        if (a.id >= b.id) continue;
        const at = a.applied.findIndex((text, index) => b.applied[index] !== undefined && b.applied[index] !== text);
        if (at >= 0) found.push(`${a.id} and ${b.id} differ at ${at}: ${a.applied[at]} and ${b.applied[at]}`);
      }
    }
    return found;
  }

  #command(line: string): void {
    const [verb = "", first = "", second = "", third = ""] = line.split(/\s+/);
    switch (verb) {
      case "tick":
        for (let count = Number(second || 1); count > 0; count -= 1) this.#tick(first);
        return;
      case "elect":
        this.#elect(first);
        return;
      case "win":
        this.#win(
          first,
          [second, third].filter((id) => id !== ""),
        );
        return;
      case "propose":
        if (this.node(first).raft.propose([Buffer.from(second)]) === undefined) throw new Error(`${line}: refused`);
        this.#settle(first);
        return;
      case "members": {
        const change = { kind: second as MemberChange["kind"], node: third };
        const changed = this.node(first).raft.changeMembers(change);
        if ("refused" in changed) throw new Error(changed.refused);
        this.#settle(first);
        return;
      }
      case "read":
        this.node(first).raft.step({ kind: "read", readId: 1 });
        this.#settle(first);
        return;
      case "transfer":
        this.node(first).raft.step({ kind: "transfer", to: second });
        this.#settle(first);
        return;
      case "sync":
        for (const id of first === "" ? this.#options.nodes : [first]) this.#sync(id);
        return;
      case "deliver":
        this.#deliver(first);
        return;
      case "step":
        for (const message of this.#take(first)) this.#arrive(message);
        return;
      case "drop":
        this.#take(first);
        return;
      case "keep":
        this.#kept.push(...this.#network.filter(({ from, to }) => first === `${from}>${to}`));
        return;
      case "replay":
        for (const message of this.#kept.splice(0)) this.#arrive(message);
        return;
      case "cut":
        this.#cut.add(first);
        return;
      case "mend":
        this.#cut.clear();
        return;
      case "restart": {
        const { durable, applied } = this.node(first);
        this.#start(first, { ...durable, log: durable.log.copy() }, applied);
        return;
      }
      case "wipe":
        this.#start(
          first,
          { hardState: { term: 0, votedFor: undefined, isRecovering: true }, log: new MemoryLog() },
          [],
        );
        return;
      case "release":
        this.#release(first, Number(second));
        return;
      case "install":
        this.#install(first, second);
        return;
      default:
        throw new Error(`there is no command '${verb}'`);
    }
  }

  #start(id: string, durable: { hardState: RaftHardState; log: MemoryLog }, applied: readonly string[]): void {
    this.#lives += 1;
    const log = durable.log.copy();
    const create = this.#options.create ?? ((options: RaftOptions) => new Raft(options));
    const raft = create({
      shard: 1,
      nodeId: id,
      log: {
        termAt: (index) => log.termAt(index),
        read: (from, to) => log.read(from, Math.min(to, from + (this.#options.appendEntriesMax ?? 100) - 1)),
      },
      hardState: durable.hardState,
      bootstrapMembers: this.#bootstrapMembers(),
      mark: log.mark,
      lastIndex: log.lastIndex,
      lastTerm: log.lastTerm,
      commitIndex: log.mark.index,
      needsSnapshot: false,
      isSnapshotInstalled: false,
      recovery: this.#lives,
      limits: {
        ...defaultRaftLimits,
        inFlightAppendsMax: this.#options.inFlightAppendsMax ?? defaultRaftLimits.inFlightAppendsMax,
      },
    });
    const base = applied.slice(0, log.mark.index);
    this.#nodes.set(id, {
      id,
      raft,
      log,
      durable,
      writes: [],
      reads: [],
      snapshotsTo: [],
      applied: [...base],
      appliedIndex: log.mark.index,
    });
    if (this.#options.nodes.length > 1) raft.step({ kind: "tick", jitter: jitterOf(id) });
  }

  #bootstrapMembers(): Members {
    return { index: 0, voters: this.#options.voters ?? this.#options.nodes, learners: [] };
  }

  #tick(id: string): void {
    const { raft } = this.node(id);
    raft.step({ kind: "tick", jitter: jitterOf(id) });
    this.#settle(id);
  }

  #elect(id: string): void {
    const { raft } = this.node(id);
    for (let count = 0; raft.role === "follower" && count < 30; count += 1) this.#tick(id);
    this.#deliver("");
  }

  #win(id: string, voters: readonly string[]): void {
    const { raft } = this.node(id);
    for (let round = 0; raft.role !== "leader" && round < 100; round += 1) {
      if (raft.role === "follower") this.#tick(id);
      for (const voter of voters) {
        for (const path of [`${id}>${voter}`, `${voter}>${id}`]) {
          this.#sync(id);
          this.#sync(voter);
          for (const message of this.#take(path)) this.#arrive(message);
        }
      }
    }
    this.#sync(id);
    this.#take("");
  }

  /** The turn of a host: records to the log, then what is to be said. */
  #settle(id: string): void {
    const node = this.node(id);
    const write = node.raft.takeWrite();
    if (write !== undefined) {
      for (const record of write.records) node.log.apply(record);
      node.writes.push({ number: write.writeNumber, records: write.records });
    }
    const output = node.raft.takeOutput();
    this.#network.push(...output.messages);
    node.reads.push(...output.reads.map(({ index }) => index));
    node.snapshotsTo.push(...output.snapshotsTo);
    this.#applyCommitted(node);
  }

  #applyCommitted(node: Node): void {
    while (node.appliedIndex < node.raft.commitIndex && !node.raft.isInstalling) {
      node.appliedIndex += 1;
      const [entry] = node.log.read(node.appliedIndex, node.appliedIndex);
      if (entry === undefined) throw new Error(`${node.id} has committed ${node.appliedIndex} and does not hold it`);
      node.applied.push(`${entry.term}${textOf(entry)}`);
    }
  }

  #sync(id: string): void {
    const node = this.node(id);
    const writes = node.writes;
    node.writes = [];
    for (const { number, records } of writes) {
      for (const record of records) {
        if (record.kind === "hardState") node.durable.hardState = record.state;
        node.durable.log.apply(record);
      }
      node.raft.step({ kind: "durable", writeNumber: number });
    }
    if (writes.length > 0) this.#settle(id);
  }

  #deliver(path: string): void {
    for (let round = 0; round < 1_000; round += 1) {
      for (const id of this.#options.nodes) this.#sync(id);
      const messages = this.#take(path);
      for (const message of messages) this.#arrive(message);
      const isBusy = this.#options.nodes.some((id) => this.node(id).writes.length > 0);
      if (messages.length === 0 && !isBusy) return;
    }
    throw new Error("messages go on for ever");
  }

  #take(path: string): readonly RaftMessage[] {
    const isTaken = ({ from, to }: RaftMessage): boolean => path === "" || path === `${from}>${to}`;
    const taken = this.#network.filter(isTaken);
    this.#network = this.#network.filter((message) => !isTaken(message));
    return taken;
  }

  #arrive(message: RaftMessage): void {
    if (this.#cut.has(message.from) || this.#cut.has(message.to) || !this.#nodes.has(message.to)) return;
    this.node(message.to).raft.step({ kind: "message", message });
    this.#settle(message.to);
  }

  #release(id: string, index: number): void {
    const node = this.node(id);
    const term = node.log.termAt(index) ?? 0;
    const record: RaftRecord = { kind: "mark", shard: 1, index, term };
    node.log.apply(record);
    node.durable.log.apply(record);
    node.raft.step({ kind: "released", index, term });
  }

  #install(fromId: string, toId: string): void {
    const from = this.node(fromId);
    const to = this.node(toId);
    const index = from.raft.commitIndex;
    const point = { index, term: from.log.termAt(index) ?? 0, members: from.raft.membersAt(index) };
    to.raft.step({ kind: "snapshotBegun", point });
    this.#settle(toId);
    this.#sync(toId);
    to.applied = from.applied.slice(0, index);
    to.appliedIndex = index;
    to.raft.step({ kind: "snapshotInstalled", leaderTerm: from.raft.term });
    this.#settle(toId);
    this.#sync(toId);
    from.raft.step({ kind: "snapshotSent", to: toId, index, isOk: true });
    this.#settle(fromId);
  }
}

/** Node 1 stands for election after 10 ticks of silence, node 2 after 12, node 3 after 14 … */
function jitterOf(id: string): number {
  return (Number(id) - 1) / 5;
}

function textOf(entry: RaftEntry): string {
  if (entry.kind === entryKind.empty) return "-";
  if (entry.kind === entryKind.members) return "members";
  return Buffer.concat(entry.payload).toString("utf8");
}
