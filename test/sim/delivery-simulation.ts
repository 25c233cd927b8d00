import { isDomainError } from "../../src/platform/errors/domain-error.ts";
import { recordDelayMsMax, unconfirmedMsMax } from "../../src/queue/service/delivery/dispatch-service.ts";
import type { DeliveredMessage, DeliveryRef, QueueService } from "../../src/queue/service/queue-service.ts";
import { type Anomaly, DeliveryModel, type DeliveryName } from "./delivery-model.ts";
import { DeliveryNode } from "./delivery-node.ts";
import { Network } from "./network.ts";
import { World } from "./world.ts";

/**
 * Consumers of one group against a cluster whose nodes crash, are cut off and lose their leadership; the model judges
 * what they saw. Then all is healed, everything is consumed, and every acknowledged publish must have been settled.
 */
const group = "g";
const topic = "orders";
const partitions = 2;
const members = ["a", "b"];
const faultyMs = 12_000;
const settledMs = 60_000;
const visibilityTimeoutMs = 2_000;
const silence: unique symbol = Symbol("no answer");
const silenceMs = 3_000;
/** What a leader may have handed out without a trace: up to its last deliveries, and one sync of the disk. */
const forgottenMsMax = unconfirmedMsMax + recordDelayMsMax + 50;

export interface DeliverySimulationResult {
  readonly seed: number;
  readonly anomalies: readonly Anomaly[];
  readonly deliveredCount: number;
  readonly leaderCount: number;
  readonly deadLetterCount: number;
  readonly log: readonly string[];
}

export async function simulateDelivery(seed: number): Promise<DeliverySimulationResult> {
  const run = new DeliveryRun(seed);
  await run.play();
  return run.result();
}

class DeliveryRun {
  readonly #seed: number;
  readonly #world: World;
  readonly #network: Network;
  readonly #nodes: DeliveryNode[];
  readonly #model = new DeliveryModel();
  readonly #published: DeliveryName[] = [];
  readonly #log: string[] = [];
  readonly #faults: Anomaly[] = [];
  #isOver = false;
  #isFaulty = true;
  #leader = "";
  #leaderCount = 0;
  #lastDeliveryMs = 0;
  #deliveredCount = 0;
  #deadLetterCount = 0;
  #idlePolls = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.#world = new World(seed);
    this.#network = new Network(this.#world);
    const ids = this.#world.chance(0.25) ? ["n1"] : ["n1", "n2", "n3"];
    this.#nodes = ids.map((id) => new DeliveryNode({ id, voters: ids, world: this.#world, network: this.#network }));
  }

  result(): DeliverySimulationResult {
    return {
      seed: this.#seed,
      anomalies: [...this.#faults, ...this.#model.anomalies] as readonly Anomaly[],
      deliveredCount: this.#deliveredCount,
      leaderCount: this.#leaderCount,
      deadLetterCount: this.#deadLetterCount,
      log: this.#log,
    };
  }

  async play(): Promise<void> {
    const world = this.#world;
    for (const node of this.#nodes) node.start();
    let isReady = false;
    void this.#prepare().then(() => {
      isReady = true;
    });
    if (!(await world.runUntil(20_000, () => isReady))) throw new Error("the cluster did not come up");
    const startMs = world.nowMs;
    void this.#produce();
    for (const member of members) void this.#consume(member);
    this.#scheduleFault();
    this.#scheduleReunion();
    await world.runUntil(startMs + faultyMs);
    this.#isFaulty = false;
    this.#say("heal");
    this.#network.heal();
    for (const node of this.#nodes) node.start();
    const isDrained = await world.runUntil(startMs + faultyMs + settledMs, () => this.#idlePolls > 12);
    if (!isDrained) this.#say("not drained");
    let isFinished = false;
    void this.#finish().then(() => {
      isFinished = true;
    });
    if (!(await world.runUntil(world.nowMs + 30_000, () => isFinished))) throw new Error("no end");
    this.#isOver = true;
  }

  async #prepare(): Promise<void> {
    const settings = { visibilityTimeoutMs, maxDeliveries: 4, retryInitialDelayMs: 50 };
    await this.#insist((service) => service.createTopic({ name: topic, partitions, settings }));
    await this.#insist((service) => service.createTopic({ name: `${topic}-dlq`, partitions }));
    for (const memberId of members) await this.#insist((service) => this.#join(service, memberId));
  }

  #join(service: QueueService, memberId: string): Promise<unknown> {
    return service.join({ group, memberId, topics: [topic], mode: "share", sessionTimeoutMs: 1_800_000 });
  }

  /** Until it succeeds; the outcome of a failed try is unknown. */
  async #insist<T>(act: (service: QueueService) => Promise<T>): Promise<T> {
    for (;;) {
      const service = this.#service();
      if (service !== undefined) {
        try {
          const answer = await this.#orSilence(act(service));
          if (answer !== silence) return answer;
        } catch (error) {
          if (isDomainError(error) && error.code === "TOPIC_ALREADY_EXISTS") return undefined as T;
        }
      }
      await this.#sleep(50);
    }
  }

  async #produce(): Promise<void> {
    while (!this.#isOver && this.#isFaulty) {
      const partition = this.#world.wholeBetween(0, partitions - 1);
      const messages = Array.from({ length: this.#world.wholeBetween(1, 4) }, () => ({ value: "x", partition }));
      const service = this.#service();
      const results =
        service === undefined ? [] : await this.#orSilence(service.publish({ topic, messages }).catch(() => []));
      for (const { offset, error } of results === silence ? [] : results) {
        if (error === undefined && offset >= 0) this.#published.push({ group, topic, partition, offset });
      }
      await this.#sleep(this.#world.between(5, 60));
    }
  }

  async #consume(memberId: string): Promise<void> {
    while (!this.#isOver) {
      const node = this.#nodes.find((candidate) => candidate.service !== undefined);
      const polled = await node?.service
        ?.poll({ group, memberId, timeoutMs: 0, maxMessages: this.#isFaulty ? 5 : 100 })
        .catch(() => undefined);
      if (node !== undefined && polled !== undefined) {
        this.#noteLeader(node);
        for (const message of polled.messages) this.#noteDelivered(message, memberId);
        this.#idlePolls = polled.messages.length === 0 && !this.#isFaulty ? this.#idlePolls + 1 : 0;
        // Late settlements are part of the game.
        for (const message of polled.messages) {
          if (this.#isFaulty && this.#world.chance(0.1))
            await this.#sleep(this.#world.between(0, 2 * visibilityTimeoutMs));
          await this.#settle(message);
        }
      }
      await this.#sleep(this.#isFaulty ? this.#world.between(1, 40) : 500);
    }
  }

  async #settle(message: DeliveredMessage): Promise<void> {
    const name = { ...nameOf(message), attempt: message.deliveryCount };
    const ref: DeliveryRef = { kind: "receipt", receiptHandle: message.receiptHandle };
    const node = this.#nodes.find((candidate) => candidate.service !== undefined);
    const service = node?.service;
    if (node !== undefined) this.#noteLeader(node);
    // A member that goes away without a word.
    if (service === undefined || (this.#isFaulty && this.#world.chance(0.1))) return;
    const dice = this.#isFaulty ? this.#world.random.fraction() : 0;
    if (dice < 0.6) {
      const answer = await this.#orSilence(service.ack([ref]));
      const outcome = answer === silence ? undefined : answer[0];
      if (outcome === undefined) this.#model.apply({ kind: "unknown", ...name });
      else if (outcome.kind === "ok")
        this.#model.apply({ kind: "acked", ...name, isAlreadyAcked: outcome.value.isAlreadyAcked });
      else if (outcome !== undefined && isOutcomeUnknown(outcome.error.code))
        this.#model.apply({ kind: "unknown", ...name });
      return;
    }
    const delayMs = 300;
    const beganMs = this.#world.nowMs;
    const answer = await this.#orSilence(service.nack([ref], { isRequeue: dice < 0.95, delayMs }));
    const outcome = answer === silence ? undefined : answer[0];
    if (outcome === undefined) this.#model.apply({ kind: "unknown", ...name });
    else if (outcome.kind === "ok") {
      if (outcome.value.action === "requeued")
        this.#model.apply({ kind: "returned", ...name, visibleAtMs: beganMs + delayMs - 1 });
      else this.#model.apply({ kind: "deadLettered", ...name });
    } else if (outcome !== undefined && isOutcomeUnknown(outcome.error.code))
      this.#model.apply({ kind: "unknown", ...name });
  }

  /** A node that died does not answer. */
  #orSilence<T>(answer: Promise<T>): Promise<T | typeof silence> {
    const waited = this.#sleep(silenceMs).then((): typeof silence => silence);
    return Promise.race([answer, waited]);
  }

  #noteDelivered(message: DeliveredMessage, memberId: string): void {
    const atMs = this.#world.nowMs;
    this.#lastDeliveryMs = atMs;
    this.#deliveredCount += 1;
    const untilMs = atMs + visibilityTimeoutMs - 1;
    this.#model.apply({
      kind: "delivered",
      ...nameOf(message),
      memberId,
      attempt: message.deliveryCount,
      atMs,
      untilMs,
    });
  }

  #noteLeader(node: DeliveryNode): void {
    const leader = `${node.id} term ${node.term}`;
    if (leader === this.#leader) return;
    this.#say(`deliveries from ${leader}`);
    if (this.#leader !== "") this.#model.apply({ kind: "crash", atMs: this.#lastDeliveryMs, windowMs: forgottenMsMax });
    this.#leader = leader;
    this.#leaderCount += 1;
  }

  #scheduleFault(): void {
    this.#world.after(this.#world.between(200, 2_500), () => {
      if (!this.#isFaulty) return;
      this.#fault();
      this.#scheduleFault();
    });
  }

  /** The metadata follow the data shard: only a node that leads both is asked here. */
  #scheduleReunion(): void {
    this.#world.after(200, () => {
      const leader = this.#nodes.find((node) => node.host?.isLeader(1));
      const holder = this.#nodes.find((node) => node.host?.isLeader(0));
      if (leader !== undefined && holder !== undefined && leader !== holder) {
        holder.host?.transferLeadership(0, leader.id);
      }
      if (!this.#isOver) this.#scheduleReunion();
    });
  }

  #fault(): void {
    const world = this.#world;
    const leading = this.#nodes.find((node) => node.service !== undefined);
    const node = world.chance(0.6) ? leading : world.pick(this.#nodes);
    if (node === undefined) return;
    const kind = world.pick(["crash", "crash", "cut", "transfer"] as const);
    const others = this.#nodes.filter((other) => other !== node);
    this.#say(`${kind} ${node.id}`);
    if (kind === "crash") {
      node.crash();
      world.after(world.between(10, 1_500), () => node.start());
    } else if (kind === "cut") {
      for (const other of others) {
        this.#network.cut(node.id, other.id);
        if (world.chance(0.7)) this.#network.cut(other.id, node.id);
      }
      world.after(world.between(100, 2_500), () => this.#network.heal());
    } else {
      const to = world.pick(others);
      if (to !== undefined) for (const shard of [0, 1]) node.host?.transferLeadership(shard, to.id);
    }
  }

  async #finish(): Promise<void> {
    const { messages } = await this.#insist((service) => service.peekDlq({ topic, limit: 100_000 }));
    this.#deadLetterCount = messages.length;
    const letters = messages.map((letter) => ({
      group,
      topic: letter.originalTopic,
      partition: letter.originalPartition,
      offset: letter.originalOffset,
    }));
    const moved = new Set(letters.map((letter) => `${letter.partition}/${letter.offset}`));
    this.#model.finish(
      this.#published.filter((name) => !moved.has(`${name.partition}/${name.offset}`)),
      letters,
    );
  }

  /** The node that says it leads; a cut off one may say so for a while. */
  #service(): QueueService | undefined {
    return this.#nodes.find((node) => node.service !== undefined)?.service;
  }
  #sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#world.after(delayMs, resolve));
  }
  #say(text: string): void {
    this.#log.push(`${this.#world.nowMs.toFixed(1)} ${text}`);
  }
}

function nameOf(message: DeliveredMessage): DeliveryName {
  return { group, topic: message.topic, partition: message.partition, offset: message.offset };
}

function isOutcomeUnknown(code: string): boolean {
  return code !== "RECEIPT_HANDLE_EXPIRED" && code !== "MESSAGE_NOT_FOUND";
}
