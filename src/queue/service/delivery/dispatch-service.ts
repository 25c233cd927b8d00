import { formatInstant, type TimerHandle } from "../../../platform/time/clock.ts";
import { queueError } from "../../errors.ts";
import type { OpenMessage } from "../../model/delivery/delivery-state.ts";
import { createReceiptKey, encodeReceipt, type ReceiptKey } from "../../model/delivery/receipt-handle.ts";
import { type DeadLetterReason, encodeDeadLetter, retryHeaders } from "../../model/dlq/dead-letter.ts";
import type { Priority } from "../../model/record-batch.ts";
import type { RecordCursor } from "../../model/record-cursor.ts";
import type { Topic } from "../../model/topics/topic.ts";
import type { Broker, TopicPartitionRef } from "../broker.ts";
import { PartitionDamagedError } from "../partition-log.ts";
import type { DeliveredMessage } from "../queue-service.ts";
import { WakeUps } from "../shards/wake-ups.ts";
import type { PartitionState } from "../state-machines/partition-state.ts";
import { redriveGroup, type ShardMachine } from "../state-machines/shard-machine.ts";
import type { ShardResult } from "../state-machines/shard-result.ts";
import type { TopicService } from "../topics/topic-service.ts";
import { Dispatcher, inFlightPerMemberMax } from "./dispatcher.ts";
import { RecordReader } from "./record-reader.ts";
import { Schedule } from "./schedule.ts";

/**
 * Hands out messages to members and watches the time of what they hold. Lives on the leader of each shard; everything
 * it keeps can be rebuilt from the shard's state.
 */
export const recordDelayMsMax = 20;
/**
 * A leader that gets no acquisition written for this long hands out nothing more: it may have been replaced without
 * knowing, and what it hands out then, its successor hands out too.
 */
export const unconfirmedMsMax = 250;
const deadLettersPerPollMax = 1_000;
const pauseMs = 60_000;

interface Entry {
  readonly dispatcher: Dispatcher;
  readonly reader: RecordReader;
  readonly machine: ShardMachine;
  /** A poll found acquisitions unconfirmed for too long; it is woken when they are. */
  isHeldBack: boolean;
}

export interface DeliverOptions {
  readonly memberId: string;
  readonly count: number;
  readonly bytesMax: number;
  readonly visibilityMs: number | undefined;
}

export class DispatchService {
  readonly #broker: Broker;
  readonly #topics: TopicService;
  /** Group and partition → dispatcher. */
  readonly #entries = new Map<string, Entry>();
  readonly #byPartition = new Map<string, Set<Entry>>();
  readonly #byGroup = new Map<string, Set<Entry>>();
  readonly #schedule: Schedule<Entry>;
  readonly #unrecorded = new Set<Entry>();
  readonly #deliveredByPriority: [number, number, number, number, number] = [0, 0, 0, 0, 0];
  readonly wakeUps = new WakeUps();
  #recordTimer: TimerHandle | undefined;
  #receiptKey: ReceiptKey | undefined;

  constructor(broker: Broker, topics: TopicService) {
    this.#broker = broker;
    this.#topics = topics;
    this.#schedule = new Schedule(
      broker.timers,
      () => broker.steadyMs(),
      (entry) => this.#onTime(entry),
    );
    for (const machine of broker.shards.values()) {
      machine.addEvents({
        onAppended: (partition) => this.wakeUps.wake(partition.key),
        onDelivery: (group, partition, waiting) => this.#onDelivery(group, partition, waiting),
        onDelayed: () => {},
        onGroup: () => {},
        onTopicDropped: (topicNumber) =>
          this.#forget((entry) => entry.dispatcher.partition.topicNumber === topicNumber),
        onLeadership: (isLeader) => this.#onLeadership(machine, isLeader),
      });
    }
  }

  get deliveredByPriority(): readonly [number, number, number, number, number] {
    return this.#deliveredByPriority;
  }

  /** The key that signs receipts, from the metadata; made once per cluster. */
  receiptKey(): ReceiptKey {
    if (this.#receiptKey !== undefined) return this.#receiptKey;
    const { receiptKey } = this.#broker.metadata.state;
    if (receiptKey === undefined) {
      throw queueError("NOT_READY", "Cannot sign receipts: the metadata has no key yet", { retryAfterSeconds: 1 });
    }
    this.#receiptKey = createReceiptKey(Buffer.from(receiptKey, "base64"));
    return this.#receiptKey;
  }

  /** What wakes a long poll of a group on a partition. */
  wakeKeys(group: string, ref: TopicPartitionRef): readonly string[] {
    const key = `${ref.topicNumber}/${ref.partition}`;
    return [key, wakeKey(group, key)];
  }

  /** What wakes a long poll that a limit of open messages holds back; undefined when none does. */
  roomKey(group: string, memberId: string): string | undefined {
    const isFull = [...(this.#byGroup.get(group) ?? [])].some(({ dispatcher }) => dispatcher.isFull);
    return isFull || this.roomOf(group, memberId) === 0 ? roomKey(group) : undefined;
  }
  /** Deliveries of the group were settled. */
  noteRoom(group: string): void {
    this.wakeUps.wake(roomKey(group));
  }

  find(group: string, ref: TopicPartitionRef): Dispatcher | undefined {
    return this.#entry(group, ref)?.dispatcher;
  }

  /** As `find`, for looking only: undefined when nothing was handed out since this node leads. */
  peek(group: string, ref: TopicPartitionRef): Dispatcher | undefined {
    return this.#entries.get(entryKey(group, `${ref.topicNumber}/${ref.partition}`))?.dispatcher;
  }

  /** Hands out messages of one partition to a member. They are acquired when this returns. */
  deliver(group: string, ref: TopicPartitionRef, options: DeliverOptions): DeliveredMessage[] {
    const entry = this.#entry(group, ref);
    if (entry === undefined) return [];
    const { dispatcher } = entry;
    const nowMs = this.#broker.steadyMs();
    if (dispatcher.pausedUntilMs > nowMs) return [];
    entry.isHeldBack = nowMs - (dispatcher.unconfirmedSinceMs() ?? nowMs) > unconfirmedMsMax;
    if (entry.isHeldBack) return [];
    // Before anything is reserved: what cannot be signed must not be held.
    const receiptKey = this.receiptKey();
    dispatcher.setWeights(ref.topic.settings.priorityWeights);
    const messages: DeliveredMessage[] = [];
    let bytes = 0;
    let deadLetters = 0;
    while (messages.length < options.count && deadLetters < deadLettersPerPollMax) {
      const chosen = dispatcher.choose(options.count - messages.length, nowMs);
      if (chosen.length === 0) break;
      for (const [index, candidate] of chosen.entries()) {
        const record = this.#read(entry, ref, candidate.offset);
        if (record === undefined) continue;
        const reason = this.#deathReason(dispatcher, ref.topic, record);
        if (reason !== undefined) {
          deadLetters += 1;
          this.#bury(entry, ref, candidate, reason);
          continue;
        }
        bytes += record.keySize + record.valueSize;
        if (messages.length > 0 && bytes > options.bytesMax) {
          for (const rest of chosen.slice(index)) dispatcher.putBack(rest);
          return this.#delivered(entry, ref, messages, bytes);
        }
        messages.push(this.#hold(entry, ref, candidate, record, { ...options, nowMs, receiptKey }));
      }
    }
    return this.#delivered(entry, ref, messages, bytes);
  }

  inFlightCountOf(group: string, memberId: string): number {
    let count = 0;
    for (const { dispatcher } of this.#byGroup.get(group) ?? []) count += dispatcher.inFlightCountOf(memberId);
    return count;
  }

  /** How many more the member may hold. */
  roomOf(group: string, memberId: string): number {
    return Math.max(0, inFlightPerMemberMax - this.inFlightCountOf(group, memberId));
  }

  dispatchersOf(group: string): readonly Dispatcher[] {
    return [...(this.#byGroup.get(group) ?? [])].map((entry) => entry.dispatcher);
  }

  dispatchersOfPartition(partitionKey: string): readonly Dispatcher[] {
    return [...(this.#byPartition.get(partitionKey) ?? [])].map((entry) => entry.dispatcher);
  }

  /** Proposes the acquisitions that are not written yet, so that what is proposed next comes behind them. */
  record(dispatcher: Dispatcher): void {
    const entry = this.#entries.get(entryKey(dispatcher.group, dispatcher.partition.key));
    if (entry !== undefined) this.#record(entry);
  }

  recordAll(): void {
    for (const entry of this.#unrecorded) this.#record(entry);
  }

  wake(dispatcher: Dispatcher): void {
    this.wakeUps.wake(wakeKey(dispatcher.group, dispatcher.partition.key));
  }

  /** A deadline got nearer than the schedule knows. */
  reschedule(dispatcher: Dispatcher): void {
    const entry = this.#entries.get(entryKey(dispatcher.group, dispatcher.partition.key));
    if (entry !== undefined) this.#schedule.set(entry, dispatcher.nextTimeMs());
  }

  noteOutcome(dispatcher: Dispatcher, topic: Topic, isDeadLetter: boolean): void {
    if (!dispatcher.noteOutcome(isDeadLetter, topic.settings.dlqPauseThreshold)) return;
    dispatcher.clearOutcomes();
    dispatcher.pausedUntilMs = this.#broker.steadyMs() + pauseMs;
    this.#broker.logger.warn(
      { group: dispatcher.group, topic: topic.name, partition: dispatcher.partition.partition, pauseMs },
      "too many dead letters, delivery pauses",
    );
    const key = wakeKey(dispatcher.group, dispatcher.partition.key);
    this.#broker.timers.after(pauseMs, () => this.wakeUps.wake(key), { isBackground: true });
  }

  /** Moves a message to the dead-letter topic (or drops it, when there is none) and acknowledges it, in one entry. */
  async deadLetter(
    dispatcher: Dispatcher,
    ref: TopicPartitionRef,
    options: {
      readonly offset: number;
      readonly attempt: number;
      readonly term: number;
      readonly reason: DeadLetterReason;
      readonly error: string | undefined;
      readonly open: Readonly<Pick<OpenMessage, "attempt" | "memberId" | "firstFailureMs" | "errors">> | undefined;
    },
  ): Promise<{ readonly result: ShardResult; readonly dlqTopic: Topic | undefined }> {
    const { offset, attempt, term, reason, error, open } = options;
    const target = {
      group: dispatcher.group,
      topicNumber: ref.topicNumber,
      partition: ref.partition,
      offset,
      attempt,
      term,
    };
    const dlqTopic = await this.#topics.ensureDeadLetterTopic(ref.topic);
    const record = dlqTopic === undefined ? undefined : new RecordReader(dispatcher.partition.log).find(offset);
    this.record(dispatcher);
    if (dlqTopic === undefined || record === undefined) {
      const result = await this.#broker.proposer.propose(ref.shard, { kind: "drop", ...target });
      return { result, dlqTopic: undefined };
    }
    const batch = encodeDeadLetter(record, {
      reason,
      topic: ref.topic.name,
      partition: ref.partition,
      group: dispatcher.group,
      open,
      error,
      nowMs: this.#broker.clock.nowMs(),
    });
    const result = await this.#broker.proposer.propose(
      ref.shard,
      { kind: "deadLetter", ...target, dlqTopicNumber: dlqTopic.number, batch },
      { sizeBytes: batch.body.length },
    );
    return { result, dlqTopic };
  }

  close(): void {
    this.#recordTimer?.cancel();
    this.#recordTimer = undefined;
    this.recordAll();
    this.#schedule.close();
  }

  // ── Inside ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #entry(group: string, ref: TopicPartitionRef): Entry | undefined {
    const machine = this.#broker.leading(ref.shard);
    const partition = machine.findPartition(ref);
    return partition === undefined ? undefined : this.#ensureEntry(machine, group, partition);
  }

  #ensureEntry(machine: ShardMachine, group: string, partition: PartitionState): Entry | undefined {
    const key = entryKey(group, partition.key);
    const delivery = partition.groups.get(group);
    const known = this.#entries.get(key);
    if (known !== undefined && known.dispatcher.delivery === delivery) return known;
    if (known !== undefined) this.#forget((entry) => entry === known);
    if (delivery === undefined) return undefined;
    const topic = this.#broker.metadata.findTopicByNumber(partition.topicNumber);
    if (topic === undefined) return undefined;
    const dispatcher = new Dispatcher(group, partition, delivery, {
      weights: topic.settings.priorityWeights,
      nowMs: this.#broker.steadyMs(),
      term: machine.term,
    });
    const entry: Entry = { dispatcher, reader: new RecordReader(partition.log), machine, isHeldBack: false };
    this.#entries.set(key, entry);
    addTo(this.#byPartition, partition.key, entry);
    addTo(this.#byGroup, group, entry);
    this.#schedule.set(entry, dispatcher.nextTimeMs());
    return entry;
  }

  #forget(isGone: (entry: Entry) => boolean): void {
    for (const [key, entry] of this.#entries) {
      if (!isGone(entry)) continue;
      this.#entries.delete(key);
      removeFrom(this.#byPartition, entry.dispatcher.partition.key, entry);
      removeFrom(this.#byGroup, entry.dispatcher.group, entry);
      this.#schedule.delete(entry);
      this.#unrecorded.delete(entry);
      this.wakeUps.wake(wakeKey(entry.dispatcher.group, entry.dispatcher.partition.key));
    }
  }

  #onLeadership(machine: ShardMachine, isLeader: boolean): void {
    this.#forget((entry) => entry.machine === machine);
    if (!isLeader) return;
    for (const partition of machine.partitions.values()) {
      for (const [group, delivery] of partition.groups) {
        if (group !== redriveGroup && delivery.openCount > 0) this.#ensureEntry(machine, group, partition);
      }
    }
  }

  #onDelivery(group: string, partition: PartitionState, waiting: readonly Readonly<OpenMessage>[]): void {
    const entry = this.#entries.get(entryKey(group, partition.key));
    if (entry === undefined) {
      this.wakeUps.wake(wakeKey(group, partition.key));
      return;
    }
    if (partition.groups.get(group) !== entry.dispatcher.delivery) {
      this.#forget((other) => other === entry);
      return;
    }
    for (const open of waiting) entry.dispatcher.noteWaiting(open);
    this.noteRoom(group);
    if (waiting.length > 0) this.#schedule.set(entry, entry.dispatcher.nextTimeMs());
    this.wakeUps.wake(wakeKey(group, partition.key));
  }

  #onTime(entry: Entry): void {
    const { dispatcher, machine } = entry;
    if (!machine.isLeader) return;
    const nowMs = this.#broker.steadyMs();
    this.#expire(entry, nowMs);
    dispatcher.promote(nowMs);
    this.wakeUps.wake(wakeKey(dispatcher.group, dispatcher.partition.key));
    const nextMs = dispatcher.nextTimeMs();
    // Two things close together share a wake-up.
    if (nextMs !== Number.POSITIVE_INFINITY) this.#schedule.set(entry, Math.max(nextMs, nowMs + 5));
  }

  #expire(entry: Entry, nowMs: number): void {
    const { dispatcher, machine } = entry;
    const expired = dispatcher.expired(nowMs);
    if (expired.length === 0) return;
    const topic = this.#broker.metadata.findTopicByNumber(dispatcher.partition.topicNumber);
    this.#record(entry);
    for (const open of expired) {
      const operation = {
        kind: "retry",
        group: dispatcher.group,
        topicNumber: dispatcher.partition.topicNumber,
        partition: dispatcher.partition.partition,
        offset: open.offset,
        attempt: open.attempt,
        term: open.term,
        visibleAtMs: nowMs,
        delayMs: 0,
        isFailed: true,
        onlyIfUntilMs: open.untilMs,
        error: "the visibility timeout passed",
      } as const;
      this.#broker.proposer.propose(machine.shard, operation).catch((error: unknown) => {
        this.#broker.logger.debug({ shard: machine.shard, err: error }, "an expired delivery waits for the next try");
      });
    }
    if (topic !== undefined) this.#broker.counters.onVisibilityExpired(topic.name, dispatcher.group, expired.length);
  }

  #read(entry: Entry, ref: TopicPartitionRef, offset: number): RecordCursor | undefined {
    try {
      const record = entry.reader.find(offset);
      if (record === undefined) {
        entry.dispatcher.noteMissing(offset);
        this.#scheduleRecord(entry);
      }
      return record;
    } catch (error) {
      if (!(error instanceof PartitionDamagedError)) throw error;
      // Neither delivered nor acknowledged: a repaired replica delivers it later.
      this.#broker.logger.error(
        { topic: ref.topic.name, partition: ref.partition, offset, err: error },
        "message is damaged",
      );
      return undefined;
    }
  }

  #deathReason(dispatcher: Dispatcher, topic: Topic, record: RecordCursor): DeadLetterReason | undefined {
    const { messageTtlMs, maxDeliveries } = topic.settings;
    const ttlMs = record.ttlMs ?? (messageTtlMs === 0 ? undefined : messageTtlMs);
    if (ttlMs !== undefined && record.timestampMs + ttlMs <= this.#broker.clock.nowMs()) return "expired";
    const failures = dispatcher.delivery.open.get(record.offset)?.failures ?? 0;
    return maxDeliveries > 0 && failures >= maxDeliveries ? "max_deliveries_exceeded" : undefined;
  }

  #bury(
    entry: Entry,
    ref: TopicPartitionRef,
    message: { readonly offset: number; readonly priority: Priority },
    reason: DeadLetterReason,
  ): void {
    const { dispatcher } = entry;
    const open = dispatcher.delivery.open.get(message.offset);
    const name = { offset: message.offset, attempt: open?.attempt ?? 0, term: open?.term ?? 0 };
    this.deadLetter(dispatcher, ref, { ...name, reason, error: undefined, open }).then(
      ({ result }) => {
        dispatcher.noteBuried(message.offset);
        if (result.kind !== "deadLettered" && result.kind !== "dropped") return;
        const action = result.kind === "dropped" ? "dropped" : "dead_lettered";
        this.#broker.counters.onSettled(ref.topic.name, dispatcher.group, action);
        this.noteOutcome(dispatcher, ref.topic, true);
      },
      (error: unknown) => {
        dispatcher.putBack(message);
        this.#broker.logger.warn(
          { topic: ref.topic.name, offset: message.offset, err: error },
          "dead letter not moved yet",
        );
      },
    );
  }

  #hold(
    entry: Entry,
    ref: TopicPartitionRef,
    candidate: { readonly offset: number; readonly priority: Priority },
    record: RecordCursor,
    options: DeliverOptions & { readonly nowMs: number; readonly receiptKey: ReceiptKey },
  ): DeliveredMessage {
    const { dispatcher, machine } = entry;
    const visibilityMs = options.visibilityMs ?? ref.topic.settings.visibilityTimeoutMs;
    const hold = { memberId: options.memberId, term: machine.term, atMs: options.nowMs, visibilityMs };
    const { attempt, term, untilMs } = dispatcher.reserve(candidate, hold);
    const open = dispatcher.delivery.open.get(candidate.offset);
    this.#deliveredByPriority[candidate.priority] += 1;
    return {
      topic: ref.topic.name,
      partition: ref.partition,
      offset: candidate.offset,
      timestampMs: record.timestampMs,
      priority: record.priority,
      key: record.key,
      isKeyBinary: record.isKeyBinary,
      value: record.value,
      isBinary: record.isBinary,
      isPayload: record.isPayload,
      headers: open === undefined ? record.headers() : [...record.headers(), ...headersOfRetry(attempt, open)],
      deliveryCount: attempt,
      receiptHandle: encodeReceipt(
        {
          group: dispatcher.group,
          topicNumber: ref.topicNumber,
          partition: ref.partition,
          offset: candidate.offset,
          attempt,
          term,
        },
        options.receiptKey,
      ),
      visibleUntilMs: this.toWallMs(untilMs),
    };
  }

  /** A time of the steady clock as people read it. */
  toWallMs(steadyMs: number): number {
    return steadyMs - this.#broker.steadyMs() + this.#broker.clock.nowMs();
  }

  #delivered(entry: Entry, ref: TopicPartitionRef, messages: DeliveredMessage[], bytes: number): DeliveredMessage[] {
    if (entry.dispatcher.hasUnrecorded) this.#scheduleRecord(entry);
    if (messages.length === 0) return messages;
    this.#schedule.set(entry, entry.dispatcher.nextTimeMs());
    this.#broker.counters.onConsumed(ref.topic.name, entry.dispatcher.group, messages.length, bytes);
    return messages;
  }

  #scheduleRecord(entry: Entry): void {
    this.#unrecorded.add(entry);
    this.#recordTimer ??= this.#broker.timers.after(recordDelayMsMax, () => {
      this.#recordTimer = undefined;
      this.recordAll();
    });
  }

  #record(entry: Entry): void {
    this.#unrecorded.delete(entry);
    const { dispatcher, machine } = entry;
    for (const group of dispatcher.takeUnrecorded()) {
      const { memberId, atMs, visibilityMs, runs, missing, reservations } = group;
      const operation = {
        kind: "acquire",
        group: dispatcher.group,
        topicNumber: dispatcher.partition.topicNumber,
        partition: dispatcher.partition.partition,
        memberId,
        atMs,
        visibilityMs,
        runs,
        missing,
      } as const;
      this.#broker.proposer.propose(machine.shard, operation).then(
        () => {
          dispatcher.forgetReservations(reservations);
          if (entry.isHeldBack) this.wakeUps.wake(wakeKey(dispatcher.group, dispatcher.partition.key));
        },
        (error: unknown) => {
          this.#broker.logger.debug({ shard: machine.shard, err: error }, "acquisitions could not be recorded");
          this.#returnLater(dispatcher, reservations, visibilityMs);
        },
      );
    }
  }

  /** The members hold these messages although nothing says so: they go out again when the time is up. */
  #returnLater(
    dispatcher: Dispatcher,
    reservations: Parameters<Dispatcher["forgetReservations"]>[0],
    visibilityMs: number,
  ): void {
    this.#broker.timers.after(
      visibilityMs,
      () => {
        dispatcher.forgetReservations(reservations);
        for (const { offset, priority } of reservations) dispatcher.putBack({ offset, priority });
        this.wakeUps.wake(wakeKey(dispatcher.group, dispatcher.partition.key));
      },
      { isBackground: true },
    );
  }
}

function headersOfRetry(attempt: number, open: Readonly<OpenMessage>): readonly (readonly [string, string])[] {
  const lastError = open.errors.at(-1);
  return [
    [retryHeaders.count, String(attempt)],
    [retryHeaders.firstDelivery, formatInstant(open.firstDeliveryMs)],
    ...(lastError === undefined ? [] : ([[retryHeaders.lastError, lastError]] as const)),
  ];
}

function entryKey(group: string, partitionKey: string): string {
  return `${partitionKey} ${group}`;
}

function roomKey(group: string): string {
  return `room ${group}`;
}

function wakeKey(group: string, partitionKey: string): string {
  return `delivery ${partitionKey} ${group}`;
}

function addTo(index: Map<string, Set<Entry>>, key: string, entry: Entry): void {
  const entries = index.get(key);
  if (entries === undefined) index.set(key, new Set([entry]));
  else entries.add(entry);
}

function removeFrom(index: Map<string, Set<Entry>>, key: string, entry: Entry): void {
  const entries = index.get(key);
  entries?.delete(entry);
  if (entries?.size === 0) index.delete(key);
}
