import { queueError } from "../../errors.ts";
import type { GroupContext, GroupRecord } from "../../model/groups/group-record.ts";
import { murmur2 } from "../../model/topics/partitioner.ts";
import type { Broker } from "../broker.ts";
import type { ShardId } from "../ports.ts";
import type { ShardMachine } from "../state-machines/shard-machine.ts";

/**
 * Group records in their coordinator's shard. A change is read, decided and put with the version it was read at; one
 * change of a group at a time on this node, and the version fences what another node might do.
 */
const conflictRetryMax = 10;

export class GroupStore {
  readonly #broker: Broker;
  readonly #parsed = new Map<string, { readonly version: number; readonly record: GroupRecord }>();
  readonly #texts = new Map<string, string>();
  readonly #busy = new Map<string, Promise<unknown>>();

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  shardOf(group: string): ShardId {
    return 1 + ((murmur2(Buffer.from(group)) & 0x7fffffff) % this.#broker.replication.shardCount);
  }

  /** @throws NOT_LEADER when another node coordinates the group */
  coordinator(group: string): ShardMachine {
    return this.#broker.leading(this.shardOf(group));
  }

  find(group: string): GroupRecord | undefined {
    return this.#read(group)?.record;
  }

  /** @throws GROUP_NOT_FOUND, NOT_LEADER */
  get(group: string): GroupRecord {
    this.coordinator(group);
    const record = this.find(group);
    if (record !== undefined) return record;
    throw queueError("GROUP_NOT_FOUND", `Cannot find group "${group}": there is none`, { details: { group } });
  }

  /** All groups whose coordinator is on this node, sorted. */
  listLed(): readonly string[] {
    const names: string[] = [];
    for (const machine of this.#broker.shards.values()) if (machine.isLeader) names.push(...machine.groups.keys());
    return names.sort();
  }

  context(): GroupContext {
    return {
      nowMs: this.#broker.clock.nowMs(),
      steadyMs: this.#broker.steadyMs(),
      partitionCount: (topic) => this.#broker.metadata.findTopic(topic)?.shards.length,
    };
  }

  /** Runs one change of a group after the other. */
  async exclusively<T>(group: string, run: () => Promise<T>): Promise<T> {
    const before = this.#busy.get(group);
    const mine = (before ?? Promise.resolve()).then(run, run);
    this.#busy.set(group, mine);
    try {
      return await mine;
    } finally {
      if (this.#busy.get(group) === mine) this.#busy.delete(group);
    }
  }

  /**
   * Replaces the record by what `decide` returns: the same for no change, undefined to delete it. Call inside
   * `exclusively`.
   */
  async update<T extends GroupRecord | undefined>(
    group: string,
    decide: (record: GroupRecord | undefined) => T,
  ): Promise<T> {
    for (let attempt = 0; attempt < conflictRetryMax; attempt += 1) {
      this.coordinator(group);
      const current = this.#read(group);
      const next = decide(current?.record);
      if (next === current?.record) return next;
      const result = await this.#broker.proposer.propose(this.shardOf(group), {
        kind: "putGroup",
        group,
        expectedVersion: current?.version ?? 0,
        record: next === undefined ? "" : JSON.stringify(next),
      });
      if (result.kind === "done") return next;
    }
    throw queueError("REBALANCE_IN_PROGRESS", `Cannot change group "${group}": it changes all the time; try again`);
  }

  #read(group: string): { readonly version: number; readonly record: GroupRecord } | undefined {
    const entry = this.#broker.shard(this.shardOf(group)).groups.get(group);
    if (entry === undefined) {
      this.#parsed.delete(group);
      this.#texts.delete(group);
      return undefined;
    }
    const parsed = this.#parsed.get(group);
    // A deleted group that was made again counts its versions from 1: compare the text's identity too.
    if (parsed !== undefined && parsed.version === entry.version && this.#texts.get(group) === entry.record)
      return parsed;
    const fresh = { version: entry.version, record: JSON.parse(entry.record) as GroupRecord };
    this.#parsed.set(group, fresh);
    this.#texts.set(group, entry.record);
    return fresh;
  }
}
