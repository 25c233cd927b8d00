import { queueError } from "../../errors.ts";
import {
  bumpGeneration,
  createGroup,
  type GroupRecord,
  groupTopics,
  partitionsOfMember,
} from "../../model/groups/group-record.ts";
import { type Broker, partitionsOf, type TopicPartitionRef } from "../broker.ts";
import type { DispatchService } from "../delivery/dispatch-service.ts";
import { outOfRange } from "../fetch/fetch-service.ts";
import { progressIn, refsOfGroup } from "../groups/group-progress.ts";
import type { GroupService } from "../groups/group-service.ts";
import type { GroupStore } from "../groups/group-store.ts";
import { assertGroupName } from "../groups/validate-join.ts";
import type {
  CommitOffsetsRequest,
  GroupOffsets,
  OffsetCommit,
  OffsetReset,
  OffsetTarget,
  OffsetUseCases,
  ResetOffsetsRequest,
} from "../queue-service.ts";

/** Committed offsets: the next one to deliver. A commit only moves forward; moving back is a reset. */
export class OffsetService implements OffsetUseCases {
  readonly #broker: Broker;
  readonly #store: GroupStore;
  readonly #groups: GroupService;
  readonly #dispatch: DispatchService;

  constructor(broker: Broker, store: GroupStore, groups: GroupService, dispatch: DispatchService) {
    this.#broker = broker;
    this.#store = store;
    this.#groups = groups;
    this.#dispatch = dispatch;
  }

  async commitOffsets(request: CommitOffsetsRequest): Promise<readonly OffsetCommit[]> {
    const { group } = request;
    assertGroupName(group);
    const targets = request.offsets.map((commit) => {
      const ref = this.#broker.partition(commit.topic, commit.partition);
      const log = this.#broker.leading(ref.shard).findPartition(ref)?.log;
      const latest = log?.logEndOffset ?? 0;
      if (!Number.isSafeInteger(commit.offset) || commit.offset < 0) {
        throw queueError("INVALID_OFFSET", `Cannot commit offset ${commit.offset}: it is no whole number from 0 on`);
      }
      if (commit.offset > latest) throw outOfRange(ref, commit.offset, log?.logStartOffset ?? 0, latest);
      return { ref, commit };
    });
    this.#checkOwner(
      request,
      targets.map((target) => target.ref),
    );
    await this.#ensureGroup(group);
    await Promise.all(
      targets.map(({ ref, commit }) => {
        const dispatcher = this.#dispatch.find(group, ref);
        if (dispatcher !== undefined) this.#dispatch.record(dispatcher);
        return this.#broker.proposer.propose(ref.shard, {
          kind: "commit",
          group,
          topicNumber: ref.topicNumber,
          partition: ref.partition,
          offset: commit.offset,
          metadata: commit.metadata ?? "",
        });
      }),
    );
    return request.offsets;
  }

  async getOffsets(request: { readonly group: string; readonly topic?: string | undefined }): Promise<GroupOffsets> {
    const record = this.#store.get(request.group);
    if (request.topic !== undefined) this.#broker.topic(request.topic);
    const topics = request.topic === undefined ? groupTopics(record) : [request.topic];
    const refs = refsOfGroup(this.#broker, request.group, topics).filter(
      (ref) => request.topic === undefined || ref.topic.name === request.topic,
    );
    return {
      group: request.group,
      generation: record.generation,
      updatedAtMs: record.updatedAtMs,
      progress: refs.map((ref) => progressIn(this.#broker, this.#dispatch, request.group, ref)),
    };
  }

  async resetOffsets(request: ResetOffsetsRequest): Promise<readonly OffsetReset[]> {
    const { group, target } = request;
    this.#store.get(group);
    const topic = this.#broker.topic(request.topic);
    const only = target.kind === "offset" ? target.partition : request.partition;
    const refs = only === undefined ? partitionsOf(topic) : [this.#broker.partition(topic.name, only)];
    const resets = refs.map((ref) => {
      const partition = this.#broker.leading(ref.shard).findPartition(ref);
      const newOffset = this.#resolve(ref, target);
      return { ref, partition: ref.partition, oldOffset: partition?.groups.get(group)?.floor, newOffset };
    });
    if (request.isDryRun !== true) {
      await Promise.all(
        resets.map(({ ref, newOffset }) => {
          const dispatcher = this.#dispatch.find(group, ref);
          if (dispatcher !== undefined) this.#dispatch.record(dispatcher);
          const { topicNumber, partition } = ref;
          const operation = { kind: "reset", group, topicNumber, partition, offset: newOffset } as const;
          return this.#broker.proposer.propose(ref.shard, operation);
        }),
      );
      await this.#store.exclusively(group, () =>
        this.#store.update(group, (record) =>
          record === undefined ? undefined : bumpGeneration(record, this.#broker.clock.nowMs()),
        ),
      );
      this.#groups.wake(group);
    }
    return resets.map(({ partition, oldOffset, newOffset }) => ({ partition, oldOffset, newOffset }));
  }

  #resolve(ref: TopicPartitionRef, target: OffsetTarget): number {
    const log = this.#broker.findPartition(ref)?.log;
    const earliest = log?.logStartOffset ?? 0;
    const latest = log?.logEndOffset ?? 0;
    switch (target.kind) {
      case "earliest":
        return earliest;
      case "latest":
        return latest;
      case "timestamp":
        return log?.offsetForTimestamp(target.timestampMs) ?? 0;
      case "offset":
        if (target.offset < earliest || target.offset > latest) throw outOfRange(ref, target.offset, earliest, latest);
        return target.offset;
      default:
        return target satisfies never;
    }
  }

  #checkOwner(request: CommitOffsetsRequest, refs: readonly TopicPartitionRef[]): void {
    const { group, memberId, generation } = request;
    if (memberId === undefined) {
      const record = this.#store.find(group);
      if (record === undefined || record.members.length === 0 || request.isAdmin === true) return;
      throw notAssigned(group, `group "${group}" has members; name one of them`);
    }
    const record = this.#groups.checkMember({ group, memberId, generation });
    const { assigned, toRevoke } = partitionsOfMember(record, memberId, this.#store.context());
    const owned = new Set([...assigned, ...toRevoke]);
    for (const { topic, partition } of refs) {
      if (owned.has(`${topic.name}/${partition}`)) continue;
      throw notAssigned(group, `member "${memberId}" does not own partition ${partition} of "${topic.name}"`);
    }
  }

  async #ensureGroup(group: string): Promise<void> {
    if (this.#store.find(group) !== undefined) return;
    await this.#store.exclusively(group, () =>
      this.#store.update(
        group,
        (record): GroupRecord => record ?? createGroup(group, "consumer", this.#broker.clock.nowMs()),
      ),
    );
  }
}

function notAssigned(group: string, text: string): Error {
  return queueError("NOT_ASSIGNED", `Cannot commit offsets: ${text}`, { details: { group } });
}
