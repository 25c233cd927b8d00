import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { assert, unreachable } from "../../../platform/errors/assert.ts";
import {
  decodeShardCommand,
  type GroupPartitionRef,
  type PartitionRef,
  type ShardOperation,
} from "../../model/commands/shard-command.ts";
import { DeliveryState, type OpenMessage } from "../../model/delivery/delivery-state.ts";
import { BatchView, batchHeaderSize, type RecordBatch } from "../../model/record-batch.ts";
import { partitionKey } from "../../model/topics/topic.ts";
import type { DelayStore } from "../delay-store.ts";
import type { PartitionId, ShardStorage } from "../partition-log.ts";
import type { CommittedEntry, ShardId, ShardStateMachine } from "../ports.ts";
import { type PartitionImage, PartitionState } from "./partition-state.ts";
import type { DeliveryProgress, KnownKey, SettleOutcome, ShardResult } from "./shard-result.ts";
import { encodeSnapshot, readSnapshot } from "./shard-snapshot.ts";

/**
 * Everything about the partitions of one shard: logs, delivery, idempotence, delayed messages, and the records of the
 * groups that the shard coordinates. The only writer of all of it; pure in the log: times and random values come with
 * the entries. One entry changes several of these parts at once, which is what makes "dead-letter and acknowledge",
 * "fire a delayed message" and "redrive" atomic.
 */
export interface ShardEvents {
  onAppended(partition: PartitionState): void;
  /** The group's state in this partition changed; `waiting` are messages that now wait for their next delivery. */
  onDelivery(group: string, partition: PartitionState, waiting: readonly Readonly<OpenMessage>[]): void;
  onDelayed(partition: PartitionState): void;
  onGroup(group: string): void;
  onTopicDropped(topicNumber: number): void;
  onLeadership(isLeader: boolean): void;
}

export interface GroupEntry {
  readonly version: number;
  /** JSON, see model/groups. */
  readonly record: string;
}

/** The group that remembers which dead letters went back; never listed. */
export const redriveGroup = "__redrive";

interface MachineImage {
  readonly version: 1;
  readonly lastTimeMs: number;
  readonly partitions: readonly PartitionImage[];
  readonly groups: readonly (readonly [string, GroupEntry])[];
  readonly delays: string;
}

interface EntryTime {
  readonly nowMs: number;
  readonly steadyMs: number;
  readonly term: number;
}

export interface ShardMachineOptions {
  readonly shard: ShardId;
  readonly storage: ShardStorage;
  readonly delays: DelayStore;
}

export class ShardMachine implements ShardStateMachine {
  readonly shard: ShardId;
  readonly storage: ShardStorage;
  readonly delays: DelayStore;
  readonly #partitions = new Map<string, PartitionState>();
  readonly #groups = new Map<string, GroupEntry>();
  readonly #events: ShardEvents[] = [];
  #lastIndex = 0;
  #lastTerm = 0;
  #lastTimeMs = 0;
  #isLeader = false;
  #term = 0;

  constructor(options: ShardMachineOptions) {
    this.shard = options.shard;
    this.storage = options.storage;
    this.delays = options.delays;
    const checkpoint = options.storage.lastCheckpoint;
    if (checkpoint === undefined) this.delays.restore(undefined);
    else {
      this.#restore(parseImage(checkpoint.state));
      this.#lastIndex = checkpoint.index;
      this.#lastTerm = checkpoint.term;
    }
  }

  addEvents(events: ShardEvents): void {
    this.#events.push(events);
  }

  get isLeader(): boolean {
    return this.#isLeader;
  }
  /** Term of the leadership, for telling acquisitions of different leaders apart. */
  get term(): number {
    return this.#term;
  }
  /** The latest time that an entry carried. */
  get lastTimeMs(): number {
    return this.#lastTimeMs;
  }
  get partitions(): ReadonlyMap<string, PartitionState> {
    return this.#partitions;
  }
  get groups(): ReadonlyMap<string, GroupEntry> {
    return this.#groups;
  }
  findPartition(ref: PartitionRef): PartitionState | undefined {
    return this.#partitions.get(partitionKey(ref.topicNumber, ref.partition));
  }
  findDelivery(ref: GroupPartitionRef): DeliveryState | undefined {
    return this.findPartition(ref)?.groups.get(ref.group);
  }
  /** Creates what is not there yet, without any effect that another replica would have to know. */
  ensurePartition(ref: PartitionRef): PartitionState {
    const key = partitionKey(ref.topicNumber, ref.partition);
    let partition = this.#partitions.get(key);
    if (partition === undefined) {
      partition = new PartitionState(ref.topicNumber, ref.partition, this.storage.partitions);
      this.#partitions.set(key, partition);
    }
    return partition;
  }

  // ── ShardStateMachine ─────────────────────────────────────────────────────────────────────────────────────────────

  apply(entry: CommittedEntry): readonly ShardResult[] {
    assert(entry.index > this.#lastIndex, `entry ${entry.index} was applied before`);
    this.#lastIndex = entry.index;
    this.#lastTerm = entry.term;
    const command = decodeShardCommand(entry.payload);
    if (command.nowMs > this.#lastTimeMs) this.#lastTimeMs = command.nowMs;
    const results: ShardResult[] = [];
    for (const operation of command.operations) {
      results.push(
        this.#applyOperation(operation, { nowMs: command.nowMs, steadyMs: command.steadyMs, term: entry.term }),
      );
    }
    return results;
  }

  noteSkipped(index: number, term: number): void {
    this.#lastIndex = index;
    this.#lastTerm = term;
  }

  lastAppliedIndex(): number {
    return this.#lastIndex;
  }

  async checkpoint(): Promise<number> {
    const index = this.#lastIndex;
    const delays = this.delays.prepareCheckpoint();
    const state = [encodeImage(this.#image(delays))];
    await this.storage.writeCheckpoint({ index, term: this.#lastTerm, state });
    this.delays.commitCheckpoint(delays);
    return index;
  }

  createSnapshot(): AsyncIterable<Uint8Array> {
    const image = encodeImage(this.#image(""));
    return encodeSnapshot(image, [...this.#partitions.values()], this.delays);
  }

  async installSnapshot(index: number, term: number, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    this.#partitions.clear();
    this.#groups.clear();
    this.delays.restore(undefined);
    await readSnapshot(chunks, {
      onImage: (bytes) => this.#restore(parseImage([bytes])),
      onPartition: (ref, startOffset) => this.ensurePartition(ref).log.resetTo(startOffset),
      onBatch: (ref, batch) => this.ensurePartition(ref).log.appendPlaced(batch),
      onDelayed: (ref, entry) => this.delays.add(ref, entry),
    });
    const kept = new Set([...this.#partitions.values()].map((partition) => logKey(partition.log.id)));
    for (const id of this.storage.partitions.list()) if (!kept.has(logKey(id))) this.storage.partitions.delete(id);
    for (const partition of this.#partitions.values()) partition.forgetBatches();
    this.#lastIndex = index;
    this.#lastTerm = term;
    for (const events of this.#events) for (const partition of this.#partitions.values()) events.onAppended(partition);
  }

  onLeadership(isLeader: boolean, term: number): void {
    this.#isLeader = isLeader;
    this.#term = term;
    for (const events of this.#events) events.onLeadership(isLeader);
  }

  async close(): Promise<void> {
    this.delays.close();
    await this.storage.close();
  }

  // ── Operations ────────────────────────────────────────────────────────────────────────────────────────────────────

  #applyOperation(operation: ShardOperation, at: EntryTime): ShardResult {
    switch (operation.kind) {
      case "append":
        return this.#append(operation, at);
      case "acquire":
        return this.#acquire(operation, at.term);
      case "ack":
        return this.#ack(operation);
      case "retry":
        return this.#retry(operation, at);
      case "deadLetter":
      case "drop":
        return this.#settleForGood(operation, at.nowMs);
      case "extend":
        return this.#extend(operation, at.term);
      case "extendMember":
        this.findDelivery(operation)?.extendMember(operation.memberId, operation.atMs, at.term);
        return { kind: "done" };
      case "openGroup": {
        const partition = this.ensurePartition(operation);
        if (!partition.groups.has(operation.group)) {
          partition.groups.set(operation.group, new DeliveryState(operation.floor));
        }
        return { kind: "done" };
      }
      case "commit":
      case "reset":
        return this.#moveFloor(operation);
      case "releaseMember":
        return this.#releaseMember(operation, at.nowMs);
      case "dropGroup":
        for (const partition of this.#partitions.values()) {
          if (partition.groups.delete(operation.group)) this.#emitDelivery(operation.group, partition);
        }
        return { kind: "done" };
      case "dropTopic":
        return this.#dropTopic(operation.topicNumber);
      case "trim":
        return this.#trim(operation);
      case "putGroup":
        return this.#putGroup(operation);
      case "delayAdd":
        return this.#delayAdd(operation, at.steadyMs);
      case "delayFire":
        return this.#delayFire(operation, at.nowMs);
      case "delayCancel": {
        const entry = this.delays.find(operation, operation.sequence);
        if (entry === undefined || !this.delays.remove(operation, entry)) return { kind: "missing" };
        return { kind: "canceled", dueMs: entry.dueMs, batch: entry.batch };
      }
      case "redrive":
        return this.#redrive(operation, at.nowMs);
      default:
        return unreachable(operation);
    }
  }

  #append(operation: Extract<ShardOperation, { kind: "append" }>, at: EntryTime): ShardResult {
    const partition = this.ensurePartition(operation);
    const view = viewOf(operation.batch);
    const producer = view.producer;
    if (producer !== undefined) {
      const verdict = partition.ensureProducers().check(producer, view.recordCount);
      if (verdict.kind !== "new") return verdict;
    }
    const known = findKnownKeys(partition, operation.keys, at.steadyMs);
    if (known.length > 0) return { kind: "keysKnown", known };
    const { baseOffset, timestampMs } = this.#write(partition, operation.batch, at.nowMs, view.priorities);
    if (producer !== undefined) partition.ensureProducers().add(producer, view.recordCount, baseOffset, timestampMs);
    for (const { index, key } of operation.keys) {
      partition.ensureKeys().add(key, { offset: baseOffset + index, delayedSequence: undefined, atMs: at.steadyMs });
    }
    return { kind: "appended", baseOffset, timestampMs };
  }

  #write(
    partition: PartitionState,
    batch: RecordBatch,
    nowMs: number,
    priorities = viewOf(batch).priorities,
  ): { baseOffset: number; timestampMs: number } {
    const timestampMs = Math.max(nowMs, partition.lastTimestampMs);
    partition.lastTimestampMs = timestampMs;
    const baseOffset = partition.log.append(batch, timestampMs);
    partition.noteBatch(priorities, partition.log.logEndOffset - 1);
    for (const events of this.#events) events.onAppended(partition);
    return { baseOffset, timestampMs };
  }

  #acquire(operation: Extract<ShardOperation, { kind: "acquire" }>, term: number): ShardResult {
    const delivery = this.findDelivery(operation);
    if (delivery === undefined) return { kind: "missing" };
    const { memberId, atMs, visibilityMs } = operation;
    for (const run of operation.missing) {
      for (let i = 0; i < run.count; i += 1) delivery.finish(run.offset + i);
    }
    for (const { offset, count, priority } of operation.runs) {
      for (let i = 0; i < count; i += 1) {
        delivery.acquire({ memberId, atMs, visibilityMs, offset: offset + i, priority }, term);
      }
    }
    return { kind: "done" };
  }

  #ack(operation: Extract<ShardOperation, { kind: "ack" }>): ShardResult {
    const delivery = this.findDelivery(operation);
    if (delivery === undefined) return { kind: "missing" };
    const floor = delivery.floor;
    const settled: SettleOutcome[] = [];
    for (const { offset, count, attempt, term } of operation.runs) {
      for (let i = 0; i < count; i += 1) settled.push(delivery.ack({ offset: offset + i, attempt, term }));
    }
    return { kind: "acked", settled, progress: progressOf(delivery, floor) };
  }

  #retry(operation: Extract<ShardOperation, { kind: "retry" }>, at: EntryTime): ShardResult {
    const partition = this.findPartition(operation);
    const delivery = partition?.groups.get(operation.group);
    if (partition === undefined || delivery === undefined) return { kind: "missing" };
    const { onlyIfUntilMs, error, visibleAtMs, delayMs, isFailed } = operation;
    // An extension that came first keeps the message with its member.
    const untilMs = delivery.open.get(operation.offset)?.untilMs ?? 0;
    if (onlyIfUntilMs !== 0 && untilMs > onlyIfUntilMs) return { kind: "refusedSettle", problem: "expired" };
    const open = delivery.retry(operation, {
      visibleAtMs,
      delayMs,
      leaderTerm: at.term,
      isFailed,
      nowMs: at.nowMs,
      ...(error === "" ? {} : { error }),
    });
    if (typeof open === "string") return { kind: "refusedSettle", problem: open };
    this.#emitDelivery(operation.group, partition, [open]);
    return { kind: "retrying", attempt: open.attempt, visibleAtMs, progress: progressOf(delivery, delivery.floor) };
  }

  #extend(operation: Extract<ShardOperation, { kind: "extend" }>, leaderTerm: number): ShardResult {
    const extended = this.findDelivery(operation)?.extend(operation, { ...operation, leaderTerm });
    if (extended === undefined) return { kind: "missing" };
    if (typeof extended === "string") return { kind: "refusedSettle", problem: extended };
    return { kind: "extended", untilMs: extended.untilMs };
  }

  #settleForGood(operation: Extract<ShardOperation, { kind: "deadLetter" | "drop" }>, nowMs: number): ShardResult {
    const delivery = this.findDelivery(operation);
    if (delivery === undefined) return { kind: "missing" };
    const found = delivery.find(operation);
    // What expired before its first delivery is not open.
    const isNeverDelivered = "problem" in found && found.problem === "unknown" && operation.attempt === 0;
    if ("problem" in found && !isNeverDelivered) return { kind: "refusedSettle", problem: found.problem };
    const attempt = "open" in found ? found.open.attempt : 0;
    const floor = delivery.floor;
    let dlqOffset = -1;
    if (operation.kind === "deadLetter") {
      const dlq = this.ensurePartition({ topicNumber: operation.dlqTopicNumber, partition: operation.partition });
      dlqOffset = this.#write(dlq, operation.batch, nowMs).baseOffset;
    }
    delivery.finish(operation.offset);
    const progress = progressOf(delivery, floor);
    return operation.kind === "drop"
      ? { kind: "dropped", attempt, progress }
      : { kind: "deadLettered", dlqOffset, attempt, progress };
  }

  #moveFloor(operation: Extract<ShardOperation, { kind: "commit" | "reset" }>): ShardResult {
    const partition = this.ensurePartition(operation);
    let delivery = partition.groups.get(operation.group);
    if (delivery === undefined) {
      delivery = new DeliveryState(operation.offset);
      partition.groups.set(operation.group, delivery);
    }
    if (operation.kind === "reset") delivery.reset(operation.offset);
    else {
      delivery.commit(operation.offset);
      if (operation.metadata !== "") delivery.metadata = operation.metadata;
    }
    this.#emitDelivery(operation.group, partition);
    return { kind: "done" };
  }

  #releaseMember(operation: Extract<ShardOperation, { kind: "releaseMember" }>, nowMs: number): ShardResult {
    for (const partition of this.#partitions.values()) {
      const delivery = partition.groups.get(operation.group);
      if (delivery === undefined || delivery.inFlightCount === 0) continue;
      const released = delivery.releaseMember(operation.memberId, { isFailed: operation.isFailed, nowMs });
      if (released.length > 0) this.#emitDelivery(operation.group, partition, released);
    }
    return { kind: "done" };
  }

  #dropTopic(topicNumber: number): ShardResult {
    for (const [key, partition] of this.#partitions) {
      if (partition.topicNumber !== topicNumber) continue;
      this.#partitions.delete(key);
      this.storage.partitions.delete(partition.log.id);
    }
    this.delays.dropTopic(topicNumber);
    for (const events of this.#events) events.onTopicDropped(topicNumber);
    return { kind: "done" };
  }

  #trim(operation: Extract<ShardOperation, { kind: "trim" }>): ShardResult {
    const partition = this.findPartition(operation);
    if (partition === undefined) return { kind: "missing" };
    partition.log.trimTo(Math.min(operation.offset, partition.log.logEndOffset));
    for (const [group, delivery] of partition.groups) {
      if (delivery.floor >= partition.log.logStartOffset) continue;
      delivery.commit(partition.log.logStartOffset);
      this.#emitDelivery(group, partition);
    }
    return { kind: "done" };
  }

  #putGroup(operation: Extract<ShardOperation, { kind: "putGroup" }>): ShardResult {
    const { group, expectedVersion, record } = operation;
    const current = this.#groups.get(group)?.version ?? 0;
    if (current !== expectedVersion) return { kind: "conflict" };
    if (record === "") this.#groups.delete(group);
    else this.#groups.set(group, { version: expectedVersion + 1, record });
    for (const events of this.#events) events.onGroup(group);
    return { kind: "done" };
  }

  #delayAdd(operation: Extract<ShardOperation, { kind: "delayAdd" }>, steadyMs: number): ShardResult {
    const partition = this.ensurePartition(operation);
    const { dueMs, key, batch } = operation;
    const known = key === "" ? undefined : partition.keys?.find(key, steadyMs);
    if (known?.delayedSequence !== undefined && known.offset < 0) {
      return { kind: "delayed", sequence: known.delayedSequence, dueMs, isDuplicate: true };
    }
    if (known !== undefined) return { kind: "duplicate", baseOffset: known.offset, timestampMs: known.atMs };
    partition.lastDelayedSequence += 1;
    const sequence = partition.lastDelayedSequence;
    this.delays.add(operation, { sequence, dueMs, batch: Buffer.concat([batch.header, batch.body]) });
    if (key !== "") partition.ensureKeys().add(key, { offset: -1, delayedSequence: sequence, atMs: steadyMs });
    for (const events of this.#events) events.onDelayed(partition);
    return { kind: "delayed", sequence, dueMs, isDuplicate: false };
  }

  #delayFire(operation: Extract<ShardOperation, { kind: "delayFire" }>, nowMs: number): ShardResult {
    const partition = this.ensurePartition(operation);
    const fired: { sequence: number; offset: number; dueMs: number }[] = [];
    for (const sequence of operation.sequences) {
      const entry = this.delays.find(operation, sequence);
      if (entry === undefined) continue;
      this.delays.remove(operation, entry);
      const { baseOffset } = this.#write(partition, splitBatch(entry.batch), nowMs);
      fired.push({ sequence, offset: baseOffset, dueMs: entry.dueMs });
    }
    return { kind: "fired", fired };
  }

  #redrive(operation: Extract<ShardOperation, { kind: "redrive" }>, nowMs: number): ShardResult {
    const dlq = this.ensurePartition({ topicNumber: operation.dlqTopicNumber, partition: operation.dlqPartition });
    let done = dlq.groups.get(redriveGroup);
    if (done === undefined) {
      done = new DeliveryState(dlq.log.logStartOffset);
      dlq.groups.set(redriveGroup, done);
    }
    if (done.isDone(operation.dlqOffset)) return { kind: "missing" };
    done.finish(operation.dlqOffset);
    if (operation.batch === undefined) return { kind: "done" };
    const { baseOffset, timestampMs } = this.#write(this.ensurePartition(operation), operation.batch, nowMs);
    return { kind: "redriven", offset: baseOffset, timestampMs };
  }

  #emitDelivery(group: string, partition: PartitionState, waiting: readonly Readonly<OpenMessage>[] = []): void {
    for (const events of this.#events) events.onDelivery(group, partition, waiting);
  }

  #image(delays: string): MachineImage {
    return {
      version: 1,
      lastTimeMs: this.#lastTimeMs,
      partitions: [...this.#partitions.values()].map((partition) => partition.image()),
      groups: [...this.#groups],
      delays,
    };
  }

  #restore(image: MachineImage): void {
    this.#lastTimeMs = image.lastTimeMs;
    for (const partition of image.partitions) this.ensurePartition(partition).restore(partition);
    for (const [group, entry] of image.groups) this.#groups.set(group, entry);
    this.delays.restore(image.delays === "" ? undefined : image.delays);
  }
}

function viewOf(batch: RecordBatch): BatchView {
  return BatchView.at(joinBatch(batch));
}

/** Views of one payload lie side by side: no copy then. */
function joinBatch({ header, body }: RecordBatch): Uint8Array {
  const isAdjacent = header.buffer === body.buffer && header.byteOffset + batchHeaderSize === body.byteOffset;
  if (!isAdjacent) return Buffer.concat([header, body]);
  return new Uint8Array(header.buffer, header.byteOffset, batchHeaderSize + body.length);
}

function splitBatch(bytes: Uint8Array): RecordBatch {
  return { header: bytes.subarray(0, batchHeaderSize), body: bytes.subarray(batchHeaderSize) };
}

function findKnownKeys(
  partition: PartitionState,
  keys: readonly { readonly index: number; readonly key: string }[],
  nowMs: number,
): readonly KnownKey[] {
  if (keys.length === 0 || partition.keys === undefined) return [];
  const known: KnownKey[] = [];
  for (const { index, key } of keys) {
    const entry = partition.keys.find(key, nowMs);
    if (entry === undefined) continue;
    known.push({ index, offset: entry.offset, delayedSequence: entry.delayedSequence, timestampMs: entry.atMs });
  }
  return known;
}

function progressOf(delivery: DeliveryState, floorBefore: number): DeliveryProgress {
  return {
    committedOffset: delivery.floor,
    isOffsetAdvanced: delivery.floor > floorBefore,
    inFlightCount: delivery.inFlightCount,
  };
}

function logKey(id: PartitionId): string {
  return `${id.topicId}/${id.partition}`;
}

function encodeImage(image: MachineImage): Uint8Array {
  return zstdCompressSync(Buffer.from(JSON.stringify(image)));
}

function parseImage(parts: readonly Uint8Array[]): MachineImage {
  const image = JSON.parse(zstdDecompressSync(Buffer.concat(parts)).toString("utf8")) as MachineImage;
  assert(image.version === 1, `shard state version ${image.version} is unknown`);
  return image;
}
