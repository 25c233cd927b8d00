import type { DomainError } from "../../../platform/errors/domain-error.ts";
import { isDomainError } from "../../../platform/errors/domain-error.ts";
import { queueError } from "../../errors.ts";
import type { AckRun } from "../../model/commands/shard-command.ts";
import { backOffMs } from "../../model/delivery/back-off.ts";
import { truncateError } from "../../model/delivery/delivery-state.ts";
import { decodeReceipt } from "../../model/delivery/receipt-handle.ts";
import { visibilityTimeoutMsMax } from "../../model/topics/topic.ts";
import { type Broker, partitionOf, type TopicPartitionRef } from "../broker.ts";
import type {
  AckResult,
  DeliveryRef,
  DeliveryUseCases,
  ExtendResult,
  InFlightStatus,
  NackOptions,
  NackResult,
  Outcome,
} from "../queue-service.ts";
import { redriveGroup } from "../state-machines/shard-machine.ts";
import type { SettleOutcome, ShardResult } from "../state-machines/shard-result.ts";
import type { DispatchService } from "./dispatch-service.ts";
import type { Dispatcher, HeldMessage } from "./dispatcher.ts";

/**
 * Settling deliveries: acknowledge, give back, dead-letter, extend. A delivery is named by its receipt, which fences a
 * late consumer, or by topic, partition and offset, which is resolved to the one group that holds it.
 */
const nackDelayMsMax = 30 * 24 * 3_600_000;

interface Target {
  readonly group: string;
  readonly ref: TopicPartitionRef;
  readonly offset: number;
  readonly attempt: number;
  readonly term: number;
}
type Resolved =
  | { readonly kind: "target"; readonly target: Target }
  | { readonly kind: "done"; readonly target: Target };

export class SettleService implements DeliveryUseCases {
  readonly #broker: Broker;
  readonly #dispatch: DispatchService;

  constructor(broker: Broker, dispatch: DispatchService) {
    this.#broker = broker;
    this.#dispatch = dispatch;
  }

  async ack(deliveries: readonly DeliveryRef[]): Promise<readonly Outcome<AckResult>[]> {
    const outcomes: Outcome<AckResult>[] = [];
    const lanes = new Map<string, { readonly target: Target; readonly items: { index: number; target: Target }[] }>();
    for (const [index, delivery] of deliveries.entries()) {
      const resolved = this.#tryResolve(delivery);
      if (resolved.kind === "error") outcomes[index] = resolved;
      else if (resolved.value.kind === "done") outcomes[index] = ok(this.#ackedBefore(resolved.value.target));
      else {
        const { target } = resolved.value;
        const key = `${target.ref.topicNumber}/${target.ref.partition} ${target.group}`;
        const lane = lanes.get(key) ?? { target, items: [] };
        lane.items.push({ index, target });
        lanes.set(key, lane);
      }
    }
    await Promise.all([...lanes.values()].map(({ target, items }) => this.#ackLane(target, items, outcomes)));
    return outcomes;
  }

  async nack(deliveries: readonly DeliveryRef[], options: NackOptions = {}): Promise<readonly Outcome<NackResult>[]> {
    const { delayMs } = options;
    if (delayMs !== undefined && !(delayMs >= 0 && delayMs <= nackDelayMsMax)) {
      throw queueError(
        "INVALID_DELAY",
        `Cannot delay a redelivery by ${delayMs} ms: wanted are 0 to ${nackDelayMsMax}`,
      );
    }
    return Promise.all(
      deliveries.map((delivery) => this.#settle(delivery, (target) => this.#nackOne(target, options))),
    );
  }

  reject(deliveries: readonly DeliveryRef[], reason?: string): Promise<readonly Outcome<NackResult>[]> {
    return this.nack(deliveries, { isRequeue: false, reason });
  }

  async extendVisibility(
    deliveries: readonly DeliveryRef[],
    timeoutMs: number,
  ): Promise<readonly Outcome<ExtendResult>[]> {
    if (!(timeoutMs >= 0 && timeoutMs <= visibilityTimeoutMsMax)) {
      throw queueError(
        "INVALID_ARGUMENT",
        `Cannot extend the visibility to ${timeoutMs} ms: wanted are 0 to ${visibilityTimeoutMsMax}`,
      );
    }
    return Promise.all(
      deliveries.map((delivery) => this.#settle(delivery, (target) => this.#extendOne(target, timeoutMs))),
    );
  }

  async listInFlight(topic: string): Promise<readonly InFlightStatus[]> {
    const found = this.#broker.topic(topic);
    const steadyMs = this.#broker.steadyMs();
    return found.shards.map((_, partition) => {
      const ref = partitionOf(found, partition);
      const dispatchers = this.#dispatch.dispatchersOfPartition(`${ref.topicNumber}/${partition}`);
      const oldest = Math.min(steadyMs, ...dispatchers.map((dispatcher) => dispatcher.oldestInFlightMs() ?? steadyMs));
      const inFlightCount = dispatchers.reduce((total, dispatcher) => total + dispatcher.inFlightCount, 0);
      return { topic, partition, inFlightCount, oldestInFlightAgeMs: steadyMs - oldest };
    });
  }

  // ── Naming ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #tryResolve(delivery: DeliveryRef): Outcome<Resolved> {
    try {
      return ok(
        delivery.kind === "receipt" ? this.#resolveReceipt(delivery.receiptHandle) : this.#resolvePosition(delivery),
      );
    } catch (error) {
      if (isDomainError(error)) return { kind: "error", error };
      throw error;
    }
  }

  #resolveReceipt(handle: string): Resolved {
    const receipt = decodeReceipt(handle, this.#dispatch.receiptKey());
    if (receipt === undefined) {
      throw queueError(
        "INVALID_RECEIPT_HANDLE",
        "Cannot read the receipt handle: it was not given out by this cluster",
      );
    }
    const topic = this.#broker.metadata.findTopicByNumber(receipt.topicNumber);
    if (topic === undefined) {
      throw queueError("RECEIPT_HANDLE_EXPIRED", "Cannot settle the delivery: its topic was deleted");
    }
    const { group, offset, attempt, term } = receipt;
    return { kind: "target", target: { group, ref: partitionOf(topic, receipt.partition), offset, attempt, term } };
  }

  #resolvePosition(delivery: Extract<DeliveryRef, { kind: "position" }>): Resolved {
    const ref = this.#broker.partition(delivery.topic, delivery.partition);
    const { offset } = delivery;
    if (!Number.isSafeInteger(offset) || offset < 0) {
      throw queueError("INVALID_OFFSET", `Cannot settle offset ${offset}: it is no whole number from 0 on`);
    }
    const partition = this.#broker.leading(ref.shard).findPartition(ref);
    const groups = delivery.group === undefined ? [...(partition?.groups.keys() ?? [])] : [delivery.group];
    const holders: { readonly group: string; readonly held: HeldMessage }[] = [];
    let doneBy: string | undefined;
    for (const group of groups) {
      if (group === redriveGroup) continue;
      const held = this.#dispatch.find(group, ref)?.findHeld(offset);
      if (held !== undefined) holders.push({ group, held });
      else if (partition?.groups.get(group)?.isDone(offset)) doneBy ??= group;
    }
    if (holders.length > 1) {
      const names = holders.map((holder) => holder.group).sort();
      throw queueError("AMBIGUOUS_GROUP", `Cannot settle offset ${offset}: ${names.length} groups hold it; name one`, {
        details: { groups: names, topic: delivery.topic, partition: delivery.partition, offset },
      });
    }
    const holder = holders[0];
    if (holder === undefined) {
      if (doneBy !== undefined) return { kind: "done", target: { group: doneBy, ref, offset, attempt: 0, term: 0 } };
      throw messageNotFound(ref, offset);
    }
    const { memberId } = delivery;
    if (memberId !== undefined && memberId !== holder.held.memberId) {
      throw queueError("RECEIPT_HANDLE_EXPIRED", `Cannot settle offset ${offset}: another member holds it now`, {
        details: { topic: delivery.topic, partition: delivery.partition, offset },
      });
    }
    const { attempt, term } = holder.held;
    return { kind: "target", target: { group: holder.group, ref, offset, attempt, term } };
  }

  // ── Acknowledging ─────────────────────────────────────────────────────────────────────────────────────────────────

  async #ackLane(
    target: Target,
    items: readonly { readonly index: number; readonly target: Target }[],
    outcomes: Outcome<AckResult>[],
  ): Promise<void> {
    const { group, ref } = target;
    const fail = (error: DomainError): void => {
      for (const { index } of items) outcomes[index] = { kind: "error", error };
    };
    let dispatcher: Dispatcher | undefined;
    let loose: readonly number[] = [];
    try {
      dispatcher = this.#dispatch.find(group, ref);
      if (dispatcher !== undefined) this.#dispatch.record(dispatcher);
      loose = dispatcher?.beginSettle(items.map((item) => item.target.offset)) ?? [];
      const result = await this.#broker.proposer.propose(ref.shard, {
        kind: "ack",
        group,
        topicNumber: ref.topicNumber,
        partition: ref.partition,
        runs: toRuns(items.map((item) => item.target)),
      });
      if (result.kind !== "acked") {
        for (const item of items)
          outcomes[item.index] = { kind: "error", error: messageNotFound(ref, item.target.offset) };
        return;
      }
      for (const [position, item] of items.entries()) {
        const settled = result.settled[position] ?? "unknown";
        outcomes[item.index] = this.#ackOutcome(item.target, settled, result);
        if (settled !== "acked") continue;
        this.#broker.counters.onSettled(ref.topic.name, group, "acked");
        if (dispatcher !== undefined) this.#dispatch.noteOutcome(dispatcher, ref.topic, false);
      }
    } catch (error) {
      if (!isDomainError(error)) throw error;
      fail(error);
    } finally {
      dispatcher?.endSettle(loose);
      if (dispatcher !== undefined && loose.length > 0) this.#dispatch.wake(dispatcher);
      this.#dispatch.noteRoom(group);
    }
  }

  #ackOutcome(
    target: Target,
    settled: SettleOutcome,
    result: Extract<ShardResult, { kind: "acked" }>,
  ): Outcome<AckResult> {
    const { group, ref, offset } = target;
    if (settled === "expired") return { kind: "error", error: receiptExpired(target) };
    if (settled === "unknown") return { kind: "error", error: messageNotFound(ref, offset) };
    return ok({
      topic: ref.topic.name,
      partition: ref.partition,
      offset,
      group,
      isAlreadyAcked: settled === "done",
      committedOffset: result.progress.committedOffset,
      isOffsetAdvanced: settled === "acked" && result.progress.isOffsetAdvanced,
      inFlightCount: result.progress.inFlightCount,
    });
  }

  #ackedBefore({ group, ref, offset }: Target): AckResult {
    const delivery = this.#broker.findPartition(ref)?.groups.get(group);
    return {
      topic: ref.topic.name,
      partition: ref.partition,
      offset,
      group,
      isAlreadyAcked: true,
      committedOffset: delivery?.floor ?? 0,
      isOffsetAdvanced: false,
      inFlightCount: this.#dispatch.find(group, ref)?.inFlightCount ?? 0,
    };
  }

  // ── Giving back ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Resolves to a delivery that is held now, then settles it. */
  async #settle<T>(
    delivery: DeliveryRef,
    settle: (held: { target: Target; dispatcher: Dispatcher; held: HeldMessage }) => Promise<T>,
  ): Promise<Outcome<T>> {
    try {
      const resolved = this.#tryResolve(delivery);
      if (resolved.kind === "error") return resolved;
      const { target } = resolved.value;
      const dispatcher = this.#dispatch.find(target.group, target.ref);
      const held = dispatcher?.findHeld(target.offset);
      const isHeld = held !== undefined && held.attempt === target.attempt && held.term === target.term;
      if (dispatcher !== undefined && isHeld) return ok(await settle({ target, dispatcher, held }));
      return {
        kind: "error",
        error: resolved.value.kind === "done" ? messageNotFound(target.ref, target.offset) : receiptExpired(target),
      };
    } catch (error) {
      if (isDomainError(error)) return { kind: "error", error };
      throw error;
    }
  }

  async #nackOne(
    { target, dispatcher, held }: { target: Target; dispatcher: Dispatcher; held: HeldMessage },
    options: NackOptions,
  ): Promise<NackResult> {
    const { ref } = target;
    const { settings } = ref.topic;
    const isFailed = options.isFailed ?? true;
    const failures = held.failures + (isFailed ? 1 : 0);
    const isExhausted = isFailed && settings.maxDeliveries > 0 && failures >= settings.maxDeliveries;
    const error = options.reason === undefined ? undefined : truncateError(options.reason);
    if (options.isRequeue === false || isExhausted) {
      return this.#bury(
        target,
        dispatcher,
        held,
        options.isRequeue === false ? "rejected" : "max_deliveries_exceeded",
        error,
      );
    }
    const random = this.#broker.random.fraction();
    const delayMs = options.delayMs ?? (isFailed ? backOffMs(settings, failures, random) : 0);
    return this.#requeue(target, dispatcher, { delayMs, isFailed, error: error ?? "" });
  }

  async #requeue(
    target: Target,
    dispatcher: Dispatcher,
    options: { readonly delayMs: number; readonly isFailed: boolean; readonly error: string },
  ): Promise<NackResult> {
    const { group, ref, offset, attempt, term } = target;
    const visibleAtMs = this.#broker.steadyMs() + options.delayMs;
    this.#dispatch.record(dispatcher);
    const result = await this.#broker.proposer.propose(ref.shard, {
      kind: "retry",
      group,
      topicNumber: ref.topicNumber,
      partition: ref.partition,
      offset,
      attempt,
      term,
      visibleAtMs,
      onlyIfUntilMs: 0,
      ...options,
    });
    if (result.kind !== "retrying") throw receiptExpired(target);
    this.#broker.counters.onSettled(ref.topic.name, group, "requeued");
    this.#dispatch.noteOutcome(dispatcher, ref.topic, false);
    return {
      ...positionOf(target),
      action: "requeued",
      deliveryCount: result.attempt,
      nextVisibleAtMs: this.#dispatch.toWallMs(visibleAtMs),
    };
  }

  async #bury(
    target: Target,
    dispatcher: Dispatcher,
    held: HeldMessage,
    reason: "rejected" | "max_deliveries_exceeded",
    error: string | undefined,
  ): Promise<NackResult> {
    const { ref, offset, attempt, term } = target;
    const open = {
      attempt,
      memberId: held.memberId,
      firstFailureMs: held.open?.firstFailureMs ?? 0,
      errors: held.open?.errors ?? [],
    };
    const { result, dlqTopic } = await this.#dispatch.deadLetter(dispatcher, ref, {
      offset,
      attempt,
      term,
      reason,
      error,
      open,
    });
    if (result.kind !== "deadLettered" && result.kind !== "dropped") throw receiptExpired(target);
    this.#dispatch.noteRoom(target.group);
    const action = result.kind === "dropped" ? "dropped" : "dead_lettered";
    this.#broker.counters.onSettled(ref.topic.name, target.group, action);
    this.#dispatch.noteOutcome(dispatcher, ref.topic, true);
    return {
      ...positionOf(target),
      action,
      deliveryCount: attempt,
      ...(result.kind === "deadLettered" && dlqTopic !== undefined
        ? { dlqTopic: dlqTopic.name, dlqPartition: ref.partition, dlqOffset: result.dlqOffset }
        : {}),
    };
  }

  async #extendOne(
    { target, dispatcher }: { target: Target; dispatcher: Dispatcher },
    timeoutMs: number,
  ): Promise<ExtendResult> {
    const { group, ref, offset, attempt, term } = target;
    const untilMs = this.#broker.steadyMs() + timeoutMs;
    if (timeoutMs === 0) {
      await this.#requeue(target, dispatcher, { delayMs: 0, isFailed: false, error: "" });
      return { ...positionOf(target), deadlineMs: this.#dispatch.toWallMs(untilMs) };
    }
    this.#dispatch.record(dispatcher);
    const partition = { topicNumber: ref.topicNumber, partition: ref.partition };
    const result = await this.#broker.proposer.propose(ref.shard, {
      kind: "extend",
      group,
      ...partition,
      offset,
      attempt,
      term,
      untilMs,
      visibilityMs: timeoutMs,
    });
    if (result.kind !== "extended") throw receiptExpired(target);
    dispatcher.noteDeadline(untilMs);
    this.#dispatch.reschedule(dispatcher);
    return { ...positionOf(target), deadlineMs: this.#dispatch.toWallMs(untilMs) };
  }
}

function ok<T>(value: T): Outcome<T> {
  return { kind: "ok", value };
}

function positionOf(target: Target): { topic: string; partition: number; offset: number; group: string } {
  return { topic: target.ref.topic.name, partition: target.ref.partition, offset: target.offset, group: target.group };
}

/** Neighbours of the same attempt share a run; the order of the items is kept. */
function toRuns(targets: readonly Target[]): readonly AckRun[] {
  const runs: AckRun[] = [];
  for (const { offset, attempt, term } of targets) {
    const last = runs.at(-1);
    if (last !== undefined && last.offset + last.count === offset && last.attempt === attempt && last.term === term) {
      runs[runs.length - 1] = { ...last, count: last.count + 1 };
    } else {
      runs.push({ offset, count: 1, attempt, term });
    }
  }
  return runs;
}

function messageNotFound(ref: TopicPartitionRef, offset: number): DomainError {
  return queueError("MESSAGE_NOT_FOUND", `Cannot settle offset ${offset} of "${ref.topic.name}": nobody holds it`, {
    details: { topic: ref.topic.name, partition: ref.partition, offset },
  });
}

function receiptExpired(target: Target): DomainError {
  const details = { topic: target.ref.topic.name, partition: target.ref.partition, offset: target.offset };
  return queueError(
    "RECEIPT_HANDLE_EXPIRED",
    `Cannot settle offset ${target.offset} of "${target.ref.topic.name}": this delivery is over`,
    { details },
  );
}
