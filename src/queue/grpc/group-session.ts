import type { Clock, TimerHandle, Timers } from "../../platform/time/clock.ts";
import { queueError } from "../errors.ts";
import type { queue } from "../gen/queue.js";
import type {
  DeliveredMessage,
  DeliveryRef,
  JoinRequest,
  JoinResult,
  MemberView,
  Outcome,
  QueueService,
  TopicPartition,
} from "../service/queue-service.ts";
import { fromPriority, toDuration, toMilliseconds, toTimestamp, toWireError } from "./convert.ts";
import type { GroupRequest, GroupResponse, WireMessage } from "./definition.ts";
import { Gate, type StreamSession, type StreamSink } from "./stream-session.ts";

/**
 * One GroupStream: the stream is a member of a group. Messages are polled for only against credit that the client gave.
 * The session lives while pings are answered; a stream that breaks is not a leave, its session runs out by itself.
 * Acknowledgements that arrive together are settled together.
 */
export const pingIntervalMs = 3000;
const pollTimeoutMs = 30_000;
const pollMessagesMax = 1000;
const settleRefsMax = 10_000;
const creditMax = 1_000_000;
const bytesPerMessageCredit = 16 * 1024 * 1024;

export interface GroupSessionOptions {
  readonly service: QueueService;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Calls back when the requests that are waiting have been received. */
  readonly schedule: (callback: () => void) => void;
  readonly sink: StreamSink<GroupResponse>;
  readonly clientHost: string | undefined;
}

interface PendingAck {
  readonly correlationId: number;
  readonly refs: readonly DeliveryRef[];
}

type Refs = { readonly receipts: Uint8Array[]; readonly positions: queue.v1.Position.$Properties[] };

export class GroupSession implements StreamSession<GroupRequest> {
  readonly #options: GroupSessionOptions;
  readonly #abort = new AbortController();
  readonly #creditGate = new Gate();
  #member: JoinResult | undefined;
  #hasJoinStarted = false;
  #isOver = false;
  #isLeaving = false;
  #creditMessages = 0;
  #creditBytes = 0;
  #acks: PendingAck[] = [];
  #isAckScheduled = false;
  #openCalls = 0;
  #timer: TimerHandle | undefined;
  #stopWatching: (() => void) | undefined;
  #lastPongMs = 0;
  #pingNonce = 0;
  #lastAssignment = "";
  #lastRevocation = "";

  constructor(options: GroupSessionOptions) {
    this.#options = options;
  }

  receive(request: GroupRequest): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    try {
      return this.#dispatch(request);
    } catch (error) {
      this.#send({ error: toWireError(error), correlationId: request.correlationId });
      return undefined;
    }
  }

  halfClose(): void {
    if (!this.#isLeaving) void this.#leave(undefined);
  }

  cancel(): void {
    this.#isOver = true;
    this.#stop();
  }

  shutDown(): void {
    this.#fail(queueError("SHUTTING_DOWN", "Cannot serve the group any further: the server is shutting down"));
  }

  #dispatch(request: GroupRequest): Promise<void> | undefined {
    const { correlationId } = request;
    if (request.join) return this.#join(request.join);
    if (!this.#hasJoinStarted) {
      this.#fail(queueError("INVALID_ARGUMENT", "Cannot serve the stream: its first message must be a join"));
    } else if (request.credit) this.#addCredit(request.credit);
    else if (request.ack) this.#queueAck({ correlationId, refs: this.#toRefs(request.ack) });
    else if (request.nack) void this.#nack(correlationId, request.nack);
    else if (request.extend) void this.#extend(correlationId, request.extend);
    else if (request.commit) void this.#commit(correlationId, request.commit);
    else if (request.leave) void this.#leave(correlationId);
    else if (request.pong) this.#lastPongMs = this.#options.clock.monotonicMs();
    else throw queueError("INVALID_ARGUMENT", "Cannot serve the request: it is empty or of an unknown kind");
    return undefined;
  }

  /** Later requests wait until the member exists. */
  async #join(join: queue.v1.Join.$Properties): Promise<void> {
    if (this.#hasJoinStarted) {
      this.#fail(queueError("INVALID_ARGUMENT", "Cannot join: the stream has joined a group already"));
      return;
    }
    this.#hasJoinStarted = true;
    const { service, timers, clock, clientHost } = this.#options;
    try {
      const member = await service.join({ ...toJoin(join), clientHost });
      if (this.#isOver) return;
      this.#member = member;
      this.#lastPongMs = clock.monotonicMs();
      this.#announce(member);
      this.#stopWatching = service.watchMember(member.group, member.memberId, (view) => this.#onChange(view));
      this.#timer = timers.every(pingIntervalMs, () => this.#tick(), { isBackground: true });
      this.#poll(member).catch((error: unknown) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  #addCredit(credit: queue.v1.Credit.$Properties): void {
    const messages = credit.messages ?? 0;
    const bytes = credit.bytes ?? 0;
    if (messages < 0 || bytes < 0) throw queueError("INVALID_ARGUMENT", "Cannot add credit: it is negative");
    this.#creditMessages = Math.min(this.#creditMessages + messages, creditMax);
    this.#creditBytes += bytes > 0 ? bytes : messages * bytesPerMessageCredit;
    this.#creditGate.open();
  }

  async #poll(member: JoinResult): Promise<void> {
    const { service } = this.#options;
    const { group, memberId } = member;
    while (!this.#isOver && !this.#isLeaving) {
      if (this.#creditMessages <= 0 || this.#creditBytes <= 0) {
        await this.#creditGate.wait();
        continue;
      }
      const result = await service.poll({
        group,
        memberId,
        timeoutMs: pollTimeoutMs,
        maxMessages: Math.min(this.#creditMessages, pollMessagesMax),
        maxBytes: Math.min(this.#creditBytes, bytesPerMessageCredit),
        signal: this.#abort.signal,
      });
      if (this.#isOver) return;
      this.#announce(result);
      if (result.messages.length > 0) await this.#deliver(result.messages);
    }
  }

  async #deliver(messages: readonly DeliveredMessage[]): Promise<void> {
    this.#creditMessages -= messages.length;
    for (const message of messages) this.#creditBytes -= (message.value?.length ?? 0) + (message.key?.length ?? 0);
    const hasRoom = this.#send({ messages: { messages: messages.map(toWireDelivery) } });
    if (!hasRoom) await new Promise<void>((resolve) => this.#options.sink.onDrain(resolve));
  }

  #onChange(view: MemberView | undefined): void {
    if (this.#isOver || this.#isLeaving) return;
    if (view !== undefined) this.#announce(view);
    else {
      const name = this.#member?.memberId ?? "";
      this.#fail(
        queueError("MEMBER_NOT_FOUND", `Cannot serve member "${name}" any further: it is no longer in the group`),
      );
    }
  }

  /** Tells of an assignment or revocation that the client does not know yet. */
  #announce(view: MemberView): void {
    const member = this.#member;
    if (member === undefined) return;
    const partitions = toTopicPartitions(view.assignedPartitions);
    const assignment = JSON.stringify([view.generation, partitions, view.isDraining]);
    if (assignment !== this.#lastAssignment) {
      this.#lastAssignment = assignment;
      const { group, memberId, leaderId, sessionTimeoutMs } = member;
      const sessionTimeout = toDuration(sessionTimeoutMs);
      const { generation, isDraining: draining } = view;
      this.#send({ assignment: { group, memberId, leaderId, generation, draining, partitions, sessionTimeout } });
    }
    const leaving = toTopicPartitions(view.partitionsToRevoke);
    const revocation = JSON.stringify([view.revocationDeadlineMs, leaving]);
    if (revocation === this.#lastRevocation) return;
    this.#lastRevocation = revocation;
    if (leaving.length === 0) return;
    const deadline = view.revocationDeadlineMs === undefined ? null : toTimestamp(view.revocationDeadlineMs);
    this.#send({ revoke: { generation: view.generation, partitions: leaving, deadline } });
  }

  #tick(): void {
    const member = this.#member;
    if (member === undefined || this.#isOver || this.#isLeaving) return;
    const { clock, service } = this.#options;
    const silentMs = clock.monotonicMs() - this.#lastPongMs;
    if (silentMs >= member.sessionTimeoutMs) {
      this.#fail(
        queueError("MEMBER_NOT_FOUND", `Cannot keep the session: no pong for ${Math.round(silentMs / 1000)} s`),
      );
      return;
    }
    this.#pingNonce += 1;
    this.#send({ ping: { nonce: this.#pingNonce, timestamp: toTimestamp(clock.nowMs()) } });
    if (silentMs > 2 * pingIntervalMs) return;
    service.heartbeat({ group: member.group, memberId: member.memberId }).then(
      (view) => this.#announce(view),
      (error: unknown) => this.#fail(error),
    );
  }

  #queueAck(ack: PendingAck): void {
    this.#acks.push(ack);
    if (this.#isAckScheduled) return;
    this.#isAckScheduled = true;
    this.#options.schedule(() => {
      this.#isAckScheduled = false;
      void this.#settleAcks();
    });
  }

  async #settleAcks(): Promise<void> {
    const acks = this.#acks;
    this.#acks = [];
    const refs = acks.flatMap((ack) => ack.refs);
    await this.#call(
      acks.map((ack) => ack.correlationId),
      async () => {
        const outcomes = await this.#options.service.ack(refs);
        let start = 0;
        for (const ack of acks) {
          this.#answer(ack.correlationId, outcomes.slice(start, start + ack.refs.length));
          start += ack.refs.length;
        }
      },
    );
  }

  async #nack(correlationId: number, nack: queue.v1.Nack.$Properties): Promise<void> {
    await this.#call([correlationId], async () => {
      const outcomes = await this.#options.service.nack(this.#toRefs(nack), {
        isRequeue: nack.requeue ?? undefined,
        delayMs: nack.delay ? toMilliseconds(nack.delay) : undefined,
        reason: nack.reason || undefined,
        isFailed: nack.failed ?? undefined,
      });
      this.#answer(correlationId, outcomes);
    });
  }

  async #extend(correlationId: number, extend: queue.v1.Extend.$Properties): Promise<void> {
    await this.#call([correlationId], async () => {
      const timeoutMs = extend.timeout ? toMilliseconds(extend.timeout) : 0;
      this.#answer(correlationId, await this.#options.service.extendVisibility(this.#toRefs(extend), timeoutMs));
    });
  }

  async #commit(correlationId: number, commit: queue.v1.Commit.$Properties): Promise<void> {
    await this.#call([correlationId], async () => {
      const offsets = (commit.offsets ?? []).map((item) => ({
        topic: item.topic ?? "",
        partition: item.partition ?? 0,
        offset: item.offset ?? 0,
        metadata: item.metadata || undefined,
      }));
      const { group = "", memberId } = this.#member ?? {};
      const committed = await this.#options.service.commitOffsets({ group, memberId, offsets });
      this.#send({ result: { succeeded: committed.length }, correlationId });
    });
  }

  async #leave(correlationId: number | undefined): Promise<void> {
    this.#isLeaving = true;
    this.#abort.abort();
    this.#creditGate.open();
    if (this.#acks.length > 0) await this.#settleAcks();
    while (this.#openCalls > 0 && !this.#isOver) await this.#callsDone.wait();
    const member = this.#member;
    try {
      if (member !== undefined && !this.#isOver) {
        await this.#options.service.leave({ group: member.group, memberId: member.memberId });
      }
      if (correlationId !== undefined) this.#send({ result: { succeeded: 1 }, correlationId });
      this.#finish();
    } catch (error) {
      this.#fail(error);
    }
  }

  readonly #callsDone = new Gate();

  /** Runs a call whose failure is an answer, one for each of the requests that it serves. */
  async #call(correlationIds: readonly number[], run: () => Promise<void>): Promise<void> {
    this.#openCalls += 1;
    try {
      await run();
    } catch (error) {
      for (const correlationId of correlationIds) this.#send({ error: toWireError(error), correlationId });
    } finally {
      this.#openCalls -= 1;
      if (this.#openCalls === 0) this.#callsDone.open();
    }
  }

  #answer(correlationId: number, outcomes: readonly Outcome<unknown>[]): void {
    const errors: queue.v1.ItemError.$Properties[] = [];
    outcomes.forEach((outcome, index) => {
      if (outcome.kind === "error") errors.push({ index, error: toWireError(outcome.error) });
    });
    this.#send({ result: { succeeded: outcomes.length - errors.length, errors }, correlationId });
  }

  #toRefs({ receipts, positions }: Partial<Refs> | queue.v1.Ack.$Properties): readonly DeliveryRef[] {
    const member = this.#member;
    const refs: DeliveryRef[] = [];
    for (const receipt of receipts ?? []) refs.push({ kind: "receipt", receiptHandle: toHandle(receipt) });
    for (const { topic, partition, offset } of positions ?? []) {
      const position = { topic: topic ?? "", partition: partition ?? 0, offset: offset ?? 0 };
      refs.push({ kind: "position", ...position, group: member?.group, memberId: member?.memberId });
    }
    if (refs.length > 0 && refs.length <= settleRefsMax) return refs;
    const limits = `1 to ${settleRefsMax} are allowed`;
    throw queueError("INVALID_ARGUMENT", `Cannot settle ${refs.length} deliveries in one request: ${limits}`);
  }

  #send(response: GroupResponse): boolean {
    return this.#isOver || this.#options.sink.send(response);
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stop();
    this.#options.sink.end();
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stop();
    this.#options.sink.fail(error);
  }

  #stop(): void {
    this.#abort.abort();
    this.#timer?.cancel();
    this.#stopWatching?.();
    this.#creditGate.open();
    this.#callsDone.open();
  }
}

function toJoin(join: queue.v1.Join.$Properties): Omit<JoinRequest, "clientHost"> {
  return {
    group: join.group ?? "",
    memberId: join.memberId || undefined,
    clientId: join.clientId || undefined,
    topics: join.topics ?? [],
    mode: toChoice("mode", join.mode, ["consumer", "share"]),
    autoOffsetReset: toChoice("auto_offset_reset", join.autoOffsetReset, ["earliest", "latest", "none"]),
    sessionTimeoutMs: toSpan(join.sessionTimeout),
    rebalanceTimeoutMs: toSpan(join.rebalanceTimeout),
    visibilityTimeoutMs: toSpan(join.visibilityTimeout),
    isAutoExtend: join.autoExtend ?? undefined,
  };
}

function toSpan(duration: { seconds?: number | null; nanos?: number | null } | null | undefined): number | undefined {
  return duration ? toMilliseconds(duration) : undefined;
}

function toChoice<const Choice extends string>(
  name: string,
  value: string | null | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  if (!value) return undefined;
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  throw queueError("INVALID_ARGUMENT", `Cannot join: ${name} must be one of ${choices.join(", ")}, not "${value}"`);
}

function toTopicPartitions(partitions: readonly TopicPartition[]): { topic: string; partitions: number[] }[] {
  const grouped = new Map<string, number[]>();
  for (const { topic, partition } of partitions) grouped.set(topic, [...(grouped.get(topic) ?? []), partition]);
  return [...grouped].map(([topic, list]) => ({ topic, partitions: list.sort((a, b) => a - b) }));
}

const noBytes = new Uint8Array(0);

function toWireDelivery(message: DeliveredMessage): WireMessage {
  return {
    topic: message.topic,
    partition: message.partition,
    offset: message.offset,
    timestamp: toTimestamp(message.timestampMs),
    key: message.key ?? noBytes,
    payload: message.value ?? noBytes,
    headers: Object.fromEntries(message.headers),
    priority: fromPriority(message.priority),
    deliveryCount: message.deliveryCount,
    receipt: Buffer.from(message.receiptHandle, "base64url"),
    visibleUntil: toTimestamp(message.visibleUntilMs),
    tombstone: message.value === undefined,
  };
}

function toHandle(receipt: Uint8Array): string {
  return Buffer.from(receipt.buffer, receipt.byteOffset, receipt.length).toString("base64url");
}
