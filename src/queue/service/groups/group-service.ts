import type { TimerHandle } from "../../../platform/time/clock.ts";
import { queueError } from "../../errors.ts";
import { parseAssignmentKey } from "../../model/groups/assignor.ts";
import {
  createGroup,
  findMember,
  finishMoves,
  type GroupMember,
  type GroupRecord,
  groupTopics,
  joinGroup,
  partitionsOfMember,
  refreshGroup,
  removeMember,
  setDraining,
} from "../../model/groups/group-record.ts";
import { type Broker, partitionOf, type TopicPartitionRef } from "../broker.ts";
import type { DispatchService } from "../delivery/dispatch-service.ts";
import type {
  DeliveredMessage,
  DrainResult,
  GroupStatus,
  GroupUseCases,
  JoinRequest,
  JoinResult,
  MemberRequest,
  MemberView,
  Page,
  PageRequest,
  PollRequest,
  PollResult,
  TopicPartition,
} from "../queue-service.ts";
import { waitForWake } from "../shards/wake-ups.ts";
import type { GroupStore } from "./group-store.ts";
import { GroupViews, memberState } from "./group-views.ts";
import { MemberSessions } from "./member-sessions.ts";
import { defaultRebalanceTimeoutMs, defaultSessionTimeoutMs, validateJoin, validatePoll } from "./validate-join.ts";

/**
 * Consumer groups: members, assignment, hand-over, long polls. The record of a group is replicated; sessions and waits
 * are in the coordinator's memory.
 */
const heartbeatIntervalMs = 3_000;
const sweepIntervalMs = 500;
const moveCheckIntervalMs = 25;
const emptyGroupKeptMs = 7 * 24 * 3_600_000;
const pollBytesMax = 16 * 1024 * 1024;

export class GroupService implements GroupUseCases {
  readonly #broker: Broker;
  readonly #store: GroupStore;
  readonly #dispatch: DispatchService;
  readonly #sessions = new MemberSessions();
  readonly #views: GroupViews;
  /** Groups with partitions on their way. */
  readonly #moving = new Set<string>();
  /** Where the next poll of a member begins, so that no partition comes last for ever. */
  readonly #pollTurns = new Map<string, number>();
  #sweepTimer: TimerHandle | undefined;
  #moveTimer: TimerHandle | undefined;

  constructor(broker: Broker, store: GroupStore, dispatch: DispatchService) {
    this.#broker = broker;
    this.#store = store;
    this.#dispatch = dispatch;
    this.#views = new GroupViews(broker, store, dispatch, this.#sessions);
    for (const machine of broker.shards.values()) {
      machine.addEvents({
        onAppended: () => {},
        onDelivery: () => {},
        onDelayed: () => {},
        onGroup: (group) => this.#onGroup(group),
        onTopicDropped: () => {},
        onLeadership: () => this.#onLeadership(),
      });
    }
    broker.metadata.onChange(() => this.#onTopics());
  }

  start(): void {
    this.#sweepTimer = this.#broker.timers.every(sweepIntervalMs, () => this.#sweep(), { isBackground: true });
  }
  close(): void {
    this.#sweepTimer?.cancel();
    this.#moveTimer?.cancel();
  }

  // ── Members ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async join(request: JoinRequest): Promise<JoinResult> {
    validateJoin(request);
    const { group } = request;
    const topics = [...new Set(request.topics)].sort();
    for (const topic of topics) this.#broker.topic(topic);
    const memberId = request.memberId ?? this.#makeMemberId(request.clientId ?? "");
    return this.#store.exclusively(group, async () => {
      this.#store.coordinator(group);
      await this.#openPartitions(group, topics, request.autoOffsetReset ?? "earliest");
      const generation = this.#store.find(group)?.generation;
      const record = await this.#store.update(group, (current) => {
        const base = current ?? createGroup(group, request.mode ?? "consumer", this.#broker.clock.nowMs());
        const chosen = this.#checkMode(base, request);
        return joinGroup(chosen, this.#memberOf(chosen, memberId, topics, request), this.#store.context());
      });
      this.#touch(group, memberId);
      if (record.generation !== generation) this.#broker.counters.onRebalance(group);
      const member = findMember(record, memberId);
      return {
        ...this.#views.view(record, memberId),
        clientId: request.clientId,
        leaderId: record.members[0]?.memberId ?? memberId,
        memberIds: record.members.map((other) => other.memberId),
        mode: record.mode,
        sessionTimeoutMs: member?.sessionTimeoutMs ?? defaultSessionTimeoutMs,
        heartbeatIntervalMs,
      };
    });
  }

  async heartbeat(request: MemberRequest): Promise<MemberView> {
    const { record, member } = this.#member(request);
    this.#touch(request.group, request.memberId);
    if (member.isAutoExtend) this.#extendAll(request.group, request.memberId);
    return this.#views.view(record, request.memberId);
  }

  async leave(request: MemberRequest): Promise<void> {
    this.#member({ group: request.group, memberId: request.memberId });
    await this.#remove(request.group, request.memberId, { isFailed: false });
  }

  async revoke(request: MemberRequest & { readonly partitions?: readonly TopicPartition[] }): Promise<MemberView> {
    const { group, memberId } = request;
    this.#member(request);
    this.#touch(group, memberId);
    return this.#store.exclusively(group, async () => {
      const record = await this.#store.update(group, (current) => {
        const found = current ?? this.#store.get(group);
        const { toRevoke } = partitionsOfMember(found, memberId, this.#store.context());
        const wanted = request.partitions?.map(({ topic, partition }) => `${topic}/${partition}`) ?? toRevoke;
        return finishMoves(
          found,
          wanted.filter((key) => toRevoke.includes(key)),
        );
      });
      return this.#views.view(record, memberId);
    });
  }

  async drain(request: MemberRequest): Promise<DrainResult> {
    return this.#setDraining(request, true);
  }
  async undrain(request: MemberRequest): Promise<DrainResult> {
    return this.#setDraining(request, false);
  }

  // ── Poll ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async poll(request: PollRequest): Promise<PollResult> {
    const { group, memberId } = request;
    const { timers, clock, closing } = this.#broker;
    validatePoll(request);
    const { member } = this.#member(request);
    if (member.isAutoExtend) this.#extendAll(group, memberId);
    const deadlineMs = clock.monotonicMs() + request.timeoutMs;
    this.#sessions.beginPoll(group, memberId, this.#broker.steadyMs(), clock.nowMs());
    try {
      for (;;) {
        const { record } = this.#member(request.generation === undefined ? request : { group, memberId });
        const refs = this.#deliverable(record, memberId);
        // From here to the answer nothing waits, so a client that is gone holds nothing.
        const messages = request.signal?.aborted ? [] : this.#deliver(request, refs);
        const timeoutMs = deadlineMs - clock.monotonicMs();
        if (messages.length > 0 || timeoutMs <= 0) return { ...this.#views.view(record, memberId), messages };
        const roomKey = this.#dispatch.roomKey(group, memberId);
        const keys = [
          groupKey(group),
          ...(roomKey === undefined ? [] : [roomKey]),
          ...refs.flatMap((ref) => this.#dispatch.wakeKeys(group, ref)),
        ];
        const signals = [request.signal, closing];
        const end = await waitForWake(this.#dispatch.wakeUps, keys, { timers, timeoutMs, signals });
        if (end === "aborted") return { ...this.#views.view(record, memberId), messages: [] };
      }
    } finally {
      this.#sessions.endPoll(group, memberId, this.#broker.steadyMs(), clock.nowMs());
    }
  }

  #deliver(request: PollRequest, refs: readonly TopicPartitionRef[]): readonly DeliveredMessage[] {
    const { group, memberId } = request;
    if (refs.length === 0) return [];
    const room = Math.min(request.maxMessages, this.#dispatch.roomOf(group, memberId));
    const record = this.#store.find(group);
    const visibilityMs =
      request.visibilityTimeoutMs ??
      (record === undefined ? undefined : findMember(record, memberId)?.visibilityTimeoutMs);
    const messages: DeliveredMessage[] = [];
    let bytesLeft = request.maxBytes ?? pollBytesMax;
    const turnKey = `${group}\n${memberId}`;
    const first = (this.#pollTurns.get(turnKey) ?? 0) % refs.length;
    this.#pollTurns.set(turnKey, first + 1);
    for (let turn = 0; turn < refs.length && messages.length < room && bytesLeft > 0; turn += 1) {
      const ref = refs[(first + turn) % refs.length];
      if (ref === undefined || !this.#broker.shard(ref.shard).isLeader) continue;
      const count = room - messages.length;
      const taken = this.#dispatch.deliver(group, ref, { memberId, count, bytesMax: bytesLeft, visibilityMs });
      for (const message of taken) {
        bytesLeft -= (message.key?.length ?? 0) + (message.value?.length ?? 0);
        messages.push(message);
      }
    }
    return messages;
  }

  #deliverable(record: GroupRecord, memberId: string): readonly TopicPartitionRef[] {
    const { deliverable } = partitionsOfMember(record, memberId, this.#store.context());
    return this.#refs(deliverable);
  }

  #refs(keys: readonly string[]): readonly TopicPartitionRef[] {
    return keys.flatMap((key) => {
      const { topic, partition } = parseAssignmentKey(key);
      const found = this.#broker.metadata.findTopic(topic);
      return found?.shards[partition] === undefined ? [] : [partitionOf(found, partition)];
    });
  }

  // ── Looking ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async getGroup(group: string): Promise<GroupStatus> {
    return this.#views.status(this.#store.get(group));
  }

  async listGroups(page: PageRequest): Promise<Page<GroupStatus>> {
    const names = this.#store.listLed();
    const start = (page.page - 1) * page.perPage;
    const data = names.slice(start, start + page.perPage).flatMap((name) => {
      const record = this.#store.find(name);
      return record === undefined ? [] : [this.#views.status(record)];
    });
    return { data, page: page.page, perPage: page.perPage, total: names.length };
  }

  async deleteGroup(group: string, options: { readonly isForced?: boolean } = {}): Promise<void> {
    await this.#store.exclusively(group, async () => {
      const record = this.#store.get(group);
      if (record.members.length > 0 && options.isForced !== true) {
        throw queueError("GROUP_NOT_EMPTY", `Cannot delete group "${group}": it has ${record.members.length} members`, {
          details: { group, members: record.members.length },
        });
      }
      for (const { memberId } of record.members) this.#sessions.delete(group, memberId);
      // Members go first, so that none is served while the offsets go.
      await this.#store.update(group, (current) =>
        (current ?? record).members.reduce(
          (rest, member) => removeMember(rest, member.memberId, this.#store.context()),
          current ?? record,
        ),
      );
      await this.#onAllShards((shard) => this.#broker.proposer.propose(shard, { kind: "dropGroup", group }));
      await this.#store.update(group, () => undefined);
    });
  }

  watchMember(group: string, memberId: string, onChange: (view: MemberView | undefined) => void): () => void {
    return this.#dispatch.wakeUps.subscribe([groupKey(group)], () => {
      const record = this.#store.find(group);
      const isMember = record !== undefined && findMember(record, memberId) !== undefined;
      onChange(isMember ? this.#views.view(record, memberId) : undefined);
    });
  }

  /** @throws GROUP_NOT_FOUND, MEMBER_NOT_FOUND, STALE_GENERATION */
  checkMember(request: MemberRequest): GroupRecord {
    return this.#member(request).record;
  }

  wake(group: string): void {
    this.#dispatch.wakeUps.wake(groupKey(group));
  }

  // ── Inside: members ───────────────────────────────────────────────────────────────────────────────────────────────

  #member(request: MemberRequest): { readonly record: GroupRecord; readonly member: GroupMember } {
    const { group, memberId, generation } = request;
    const record = this.#store.get(group);
    const member = findMember(record, memberId);
    if (member === undefined) {
      throw queueError(
        "MEMBER_NOT_FOUND",
        `Cannot find member "${memberId}" of group "${group}": it has not joined, or its session ended`,
        {
          details: { group, member_id: memberId },
        },
      );
    }
    if (generation === undefined || generation === record.generation) return { record, member };
    if (generation > record.generation) {
      throw queueError(
        "INVALID_ARGUMENT",
        `Cannot accept generation ${generation}: group "${group}" is at ${record.generation}`,
        {
          details: { group, current_generation: record.generation },
        },
      );
    }
    const { assignedPartitions } = this.#views.view(record, memberId);
    throw queueError(
      "STALE_GENERATION",
      `Cannot accept generation ${generation}: group "${group}" is at ${record.generation}`,
      {
        details: { group, current_generation: record.generation, assigned_partitions: byTopic(assignedPartitions) },
      },
    );
  }

  #memberOf(record: GroupRecord, memberId: string, topics: readonly string[], request: JoinRequest): GroupMember {
    return {
      memberId,
      clientId: request.clientId,
      clientHost: request.clientHost,
      topics,
      sessionTimeoutMs: request.sessionTimeoutMs ?? defaultSessionTimeoutMs,
      rebalanceTimeoutMs: request.rebalanceTimeoutMs ?? defaultRebalanceTimeoutMs,
      autoOffsetReset: request.autoOffsetReset ?? "earliest",
      visibilityTimeoutMs: request.visibilityTimeoutMs,
      isAutoExtend: request.isAutoExtend ?? false,
      joinedAtMs: this.#broker.clock.nowMs(),
      isDraining: findMember(record, memberId)?.isDraining ?? false,
    };
  }

  #checkMode(record: GroupRecord, request: JoinRequest): GroupRecord {
    if (request.mode === undefined || request.mode === record.mode) return record;
    if (record.members.length === 0) return { ...record, mode: request.mode };
    throw queueError(
      "INVALID_ARGUMENT",
      `Cannot join group "${record.name}" in mode ${request.mode}: its mode is ${record.mode}`,
      {
        details: { group: record.name, mode: record.mode },
      },
    );
  }

  #makeMemberId(clientId: string): string {
    return `${clientId}-${Buffer.from(this.#broker.random.bytes(4)).toString("hex")}`;
  }

  #touch(group: string, memberId: string): void {
    this.#sessions.touch(group, memberId, this.#broker.steadyMs(), this.#broker.clock.nowMs());
  }

  async #setDraining(request: MemberRequest, isDraining: boolean): Promise<DrainResult> {
    const { group, memberId } = request;
    this.#member(request);
    return this.#store.exclusively(group, async () => {
      const record = await this.#store.update(group, (current) =>
        setDraining(current ?? this.#store.get(group), memberId, isDraining, this.#store.context()),
      );
      const inFlightCount = this.#dispatch.inFlightCountOf(group, memberId);
      return {
        group,
        memberId,
        state: memberState(isDraining, inFlightCount),
        inFlightCount,
        generation: record.generation,
      };
    });
  }

  async #remove(group: string, memberId: string, options: { readonly isFailed: boolean }): Promise<void> {
    await this.#store.exclusively(group, async () => {
      this.#sessions.delete(group, memberId);
      this.#pollTurns.delete(`${group}\n${memberId}`);
      // Out of the group first, so that nothing new reaches it; then what it holds goes back.
      await this.#store.update(group, (current) =>
        current === undefined ? undefined : removeMember(current, memberId, this.#store.context()),
      );
      for (const dispatcher of this.#dispatch.dispatchersOf(group)) this.#dispatch.record(dispatcher);
      await this.#onAllShards((shard) =>
        this.#broker.proposer.propose(shard, { kind: "releaseMember", group, memberId, isFailed: options.isFailed }),
      );
      this.#broker.counters.onRebalance(group);
    });
  }

  #extendAll(group: string, memberId: string): void {
    const atMs = this.#broker.steadyMs();
    for (const dispatcher of this.#dispatch.dispatchersOf(group)) {
      if (dispatcher.inFlightCountOf(memberId) === 0) continue;
      this.#dispatch.record(dispatcher);
      const { topicNumber, partition } = dispatcher.partition;
      const topic = this.#broker.metadata.findTopicByNumber(topicNumber);
      const shard = topic?.shards[partition];
      if (shard === undefined) continue;
      this.#broker.proposer
        .propose(shard, { kind: "extendMember", group, topicNumber, partition, memberId, atMs })
        .catch((error: unknown) => this.#broker.logger.debug({ group, err: error }, "visibility was not extended"));
    }
  }

  /** Every partition of the topics gets its starting point now, so that "latest" means the time of the join. */
  async #openPartitions(
    group: string,
    topics: readonly string[],
    reset: "earliest" | "latest" | "none",
  ): Promise<void> {
    const missing = topics.flatMap((name) => {
      const topic = this.#broker.topic(name);
      return topic.shards
        .map((_, partition) => partitionOf(topic, partition))
        .filter((ref) => this.#broker.findPartition(ref)?.groups.get(group) === undefined);
    });
    const first = missing[0];
    if (reset === "none" && first !== undefined) {
      throw queueError(
        "OFFSET_OUT_OF_RANGE",
        `Cannot join group "${group}": it has no offset in partition ${first.partition} of "${first.topic.name}", and auto_offset_reset is none`,
        { details: { group, topic: first.topic.name, partition: first.partition } },
      );
    }
    await Promise.all(
      missing.map((ref) => {
        const log = this.#broker.findPartition(ref)?.log;
        const floor = (reset === "latest" ? log?.logEndOffset : log?.logStartOffset) ?? 0;
        const { topicNumber, partition } = ref;
        return this.#broker.proposer.propose(ref.shard, { kind: "openGroup", group, topicNumber, partition, floor });
      }),
    );
  }

  // ── Inside: time and events ───────────────────────────────────────────────────────────────────────────────────────

  #onGroup(group: string): void {
    const record = this.#store.find(group);
    if (record !== undefined && Object.keys(record.moving).length > 0) {
      this.#moving.add(group);
      this.#armMoves();
    }
    this.wake(group);
  }

  #onLeadership(): void {
    this.#sessions.clear();
    this.#dispatch.wakeUps.wakeAll();
    for (const group of this.#store.listLed()) this.#onGroup(group);
  }

  /** Topics came, grew or went: assignments follow. */
  #onTopics(): void {
    for (const group of this.#store.listLed()) {
      const record = this.#store.find(group);
      if (record === undefined || record.members.length === 0) continue;
      const isSame = refreshGroup(record, this.#store.context()) === record;
      if (isSame && record.mode === "consumer") continue;
      this.#background(group, async () => {
        const topics = groupTopics(record).filter((topic) => this.#broker.metadata.findTopic(topic) !== undefined);
        await this.#openPartitions(group, topics, "earliest");
        await this.#store.update(group, (current) =>
          current === undefined ? undefined : refreshGroup(current, this.#store.context()),
        );
        if (!isSame) this.#broker.counters.onRebalance(group);
        this.wake(group);
      });
    }
  }

  #sweep(): void {
    const steadyMs = this.#broker.steadyMs();
    const wallMs = this.#broker.clock.nowMs();
    for (const group of this.#store.listLed()) {
      const record = this.#store.find(group);
      if (record === undefined) continue;
      if (record.emptySinceMs !== undefined && wallMs - record.emptySinceMs > emptyGroupKeptMs) {
        this.deleteGroup(group).catch((error: unknown) => {
          this.#broker.logger.debug({ group, err: error }, "empty group stays for now");
        });
        continue;
      }
      for (const member of record.members) {
        if (!this.#sessions.isExpired(group, member.memberId, member.sessionTimeoutMs, steadyMs, wallMs)) continue;
        this.#broker.logger.info({ group, memberId: member.memberId }, "session of a member ended");
        // Not again at the next sweep while the removal is on its way.
        this.#touch(group, member.memberId);
        this.#remove(group, member.memberId, { isFailed: true }).catch((error: unknown) => {
          this.#broker.logger.warn({ group, memberId: member.memberId, err: error }, "member not removed yet");
        });
      }
    }
  }

  #armMoves(): void {
    this.#moveTimer ??= this.#broker.timers.every(moveCheckIntervalMs, () => this.#checkMoves(), {
      isBackground: true,
    });
  }

  /** Ends hand-overs whose old owner has settled everything, or whose time is up. */
  #checkMoves(): void {
    for (const group of this.#moving) {
      const record = this.#store.find(group);
      const moves = Object.entries(record?.moving ?? {});
      if (moves.length === 0) {
        this.#moving.delete(group);
        continue;
      }
      const done = moves.filter(([key, move]) => this.#isHandedOver(group, key, move)).map(([key]) => key);
      if (done.length === 0) continue;
      this.#background(group, async () => {
        await this.#store.update(group, (current) => (current === undefined ? undefined : finishMoves(current, done)));
      });
    }
    if (this.#moving.size > 0) return;
    this.#moveTimer?.cancel();
    this.#moveTimer = undefined;
  }

  #isHandedOver(group: string, key: string, move: { readonly from: string; readonly deadlineMs: number }): boolean {
    if (this.#broker.steadyMs() >= move.deadlineMs) return true;
    const ref = this.#refs([key])[0];
    if (ref === undefined || !this.#broker.shard(ref.shard).isLeader) return true;
    return (this.#dispatch.find(group, ref)?.inFlightCountOf(move.from) ?? 0) === 0;
  }

  #background(group: string, run: () => Promise<void>): void {
    this.#store.exclusively(group, run).catch((error: unknown) => {
      this.#broker.logger.warn({ group, err: error }, "group could not be adapted yet");
    });
  }

  async #onAllShards(run: (shard: number) => Promise<unknown>): Promise<void> {
    await Promise.all([...this.#broker.shards.keys()].map(run));
  }
}

function groupKey(group: string): string {
  return `group ${group}`;
}

function byTopic(partitions: readonly TopicPartition[]): Record<string, number[]> {
  const topics: Record<string, number[]> = {};
  for (const { topic, partition } of partitions) topics[topic] = [...(topics[topic] ?? []), partition];
  return topics;
}
