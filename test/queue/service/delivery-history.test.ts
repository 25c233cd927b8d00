import fc from "fast-check";
import t from "tap";
import { recordDelayMsMax } from "../../../src/queue/service/delivery/dispatch-service.ts";
import type { DeliveredMessage } from "../../../src/queue/service/queue-service.ts";
import { type Anomaly, type DeliveryEvent, DeliveryModel, type DeliveryName } from "../../sim/delivery-model.ts";
import { QueueFixture } from "../../support/queue/queue-fixture.ts";

/** Random histories against the real services; the model then judges what clients saw. */
type Action =
  | { readonly kind: "publish"; readonly count: number; readonly partition: number }
  | { readonly kind: "poll"; readonly member: number; readonly count: number }
  | {
      readonly kind: "ack" | "nack" | "reject" | "extend" | "uncounted";
      readonly pick: number;
      readonly delayMs: number;
    }
  | { readonly kind: "wait"; readonly spanMs: number }
  | { readonly kind: "crash" | "crashAfterCheckpoint" | "stop" }
  | { readonly kind: "join" | "leave" | "drain" | "undrain"; readonly member: number }
  | { readonly kind: "jump"; readonly jumpMs: number };

const partitions = 2;
const members = ["a", "b", "c"];
const topic = "orders";
const group = "g";

interface Held {
  readonly message: DeliveredMessage;
  readonly memberId: string;
}

class Run {
  readonly fixture: QueueFixture;
  readonly model = new DeliveryModel();
  readonly held: Held[] = [];
  readonly joined = new Set<string>();
  published: DeliveryName[] = [];

  constructor(fixture: QueueFixture) {
    this.fixture = fixture;
  }

  async apply(action: Action): Promise<void> {
    switch (action.kind) {
      case "publish": {
        const messages = Array.from({ length: action.count }, () => ({ value: "x", partition: action.partition }));
        for (const offset of await this.fixture.publish(topic, messages)) {
          this.published.push({ group, topic, partition: action.partition, offset });
        }
        return;
      }
      case "poll":
        await this.poll(members[action.member] ?? "a", action.count);
        return;
      case "ack":
      case "nack":
      case "reject":
      case "extend":
      case "uncounted":
        await this.#settle(action.kind, action.pick, action.delayMs);
        return;
      case "wait":
        for (let left = action.spanMs; left > 0; left -= 2_000) {
          await this.fixture.advance(Math.min(left, 2_000), 50);
          for (const memberId of this.joined) await this.fixture.service.heartbeat({ group, memberId });
        }
        return;
      case "crash":
      case "crashAfterCheckpoint":
        this.model.apply({ kind: "crash", atMs: this.#nowMs(), windowMs: recordDelayMsMax + 50 });
        await this.fixture.restart({ withCheckpoint: action.kind === "crashAfterCheckpoint" });
        return;
      case "stop":
        await this.fixture.restart({ isClean: true });
        return;
      case "join":
        await this.join(members[action.member] ?? "a");
        return;
      case "leave":
        await this.#leave(members[action.member] ?? "a");
        return;
      case "drain":
      case "undrain": {
        const memberId = members[action.member] ?? "a";
        if (this.joined.has(memberId)) await this.fixture.service[action.kind]({ group, memberId });
        return;
      }
      case "jump":
        this.fixture.jumpMs = action.jumpMs;
        return;
      default:
        action satisfies never;
    }
  }

  async join(memberId: string): Promise<void> {
    await this.fixture.service.join({ group, memberId, topics: [topic], rebalanceTimeoutMs: 1_000 });
    this.joined.add(memberId);
  }

  async poll(memberId: string, count: number): Promise<number> {
    if (!this.joined.has(memberId)) return 0;
    const { messages } = await this.fixture.poll(group, memberId, count);
    const atMs = this.#nowMs();
    for (const message of messages) {
      const untilMs = message.visibleUntilMs - this.fixture.clock.nowMs() + atMs;
      this.held.push({ message, memberId });
      this.model.apply({
        kind: "delivered",
        ...nameOf(message),
        memberId,
        attempt: message.deliveryCount,
        atMs,
        untilMs,
      });
    }
    await this.#noteFloors();
    return messages.length;
  }

  async #settle(
    kind: "ack" | "nack" | "reject" | "extend" | "uncounted",
    pick: number,
    delayMs: number,
  ): Promise<void> {
    const index = this.held.length === 0 ? -1 : pick % this.held.length;
    const chosen = this.held[index];
    if (chosen === undefined) return;
    const { message } = chosen;
    const ref = { kind: "receipt", receiptHandle: message.receiptHandle } as const;
    const name = { ...nameOf(message), attempt: message.deliveryCount };
    const { service } = this.fixture;
    if (kind !== "extend") this.held.splice(index, 1);
    if (kind === "ack") {
      const [outcome] = await service.ack([ref]);
      if (outcome?.kind === "ok") this.#note({ kind: "acked", ...name, isAlreadyAcked: outcome.value.isAlreadyAcked });
    } else if (kind === "extend") {
      const [outcome] = await service.extendVisibility([ref], 1 + delayMs);
      if (outcome?.kind === "ok") this.#note({ kind: "extended", ...name, untilMs: this.#nowMs() + 1 + delayMs });
    } else {
      const isRequeue = kind !== "reject";
      const [outcome] = await service.nack([ref], { isRequeue, delayMs, isFailed: kind !== "uncounted" });
      if (outcome?.kind !== "ok") return;
      if (outcome.value.action === "requeued")
        this.#note({ kind: "returned", ...name, visibleAtMs: this.#nowMs() + delayMs });
      else this.#note({ kind: outcome.value.action === "dropped" ? "dropped" : "deadLettered", ...name });
    }
    await this.#noteFloors();
  }

  async #leave(memberId: string): Promise<void> {
    if (!this.joined.has(memberId) || this.joined.size === 1) return;
    await this.fixture.service.leave({ group, memberId });
    this.joined.delete(memberId);
    this.#note({ kind: "memberGone", group, memberId });
  }

  async #noteFloors(): Promise<void> {
    const { progress } = await this.fixture.service.getOffsets({ group });
    for (const { partition, committedOffset } of progress) {
      if (committedOffset !== undefined)
        this.#note({ kind: "floor", group, topic, partition, offset: committedOffset });
    }
  }

  /** Settles everything that is left and asks the model for its verdict. */
  async finish(): Promise<readonly Anomaly[]> {
    for (const memberId of this.joined) await this.fixture.service.undrain({ group, memberId });
    for (let idle = 0; idle < 4; ) {
      await this.apply({ kind: "wait", spanMs: 4_000 });
      let count = 0;
      for (const memberId of [...this.joined]) count += await this.poll(memberId, 1_000);
      while (this.held.length > 0) await this.#settle("ack", 0, 0);
      idle = count === 0 ? idle + 1 : 0;
    }
    await this.#noteDeadLetters();
    return this.model.anomalies;
  }

  async #noteDeadLetters(): Promise<void> {
    const { messages } = await this.fixture.service.peekDlq({ topic, limit: 100_000 });
    const letters = messages.map((letter) => ({
      group,
      topic: letter.originalTopic,
      partition: letter.originalPartition,
      offset: letter.originalOffset,
    }));
    // What ran out of attempts while nobody looked was dead-lettered by the broker itself.
    const moved = new Set(letters.map((letter) => `${letter.partition}/${letter.offset}`));
    this.model.finish(
      this.published.filter((name) => !moved.has(`${name.partition}/${name.offset}`)),
      letters,
    );
  }

  #note(event: DeliveryEvent): void {
    this.model.apply(event);
  }
  /** Steady time, in which spans are promised. */
  #nowMs(): number {
    return this.fixture.time.nowMs;
  }
}

function nameOf(message: DeliveredMessage): DeliveryName {
  return { group, topic: message.topic, partition: message.partition, offset: message.offset };
}

const member = fc.integer({ min: 0, max: 2 });
const settle = (kind: "ack" | "nack" | "reject" | "extend" | "uncounted"): fc.Arbitrary<Action> =>
  fc.record({ kind: fc.constant(kind), pick: fc.nat(50), delayMs: fc.constantFrom(0, 10, 500, 2_500) });
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("publish" as const),
      count: fc.integer({ min: 1, max: 4 }),
      partition: fc.nat(partitions - 1),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("poll" as const), member, count: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 5, arbitrary: settle("ack") },
  { weight: 3, arbitrary: settle("nack") },
  { weight: 1, arbitrary: settle("reject") },
  { weight: 1, arbitrary: settle("extend") },
  { weight: 1, arbitrary: settle("uncounted") },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), spanMs: fc.constantFrom(1, 15, 30, 600, 3_100) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom("crash" as const, "crashAfterCheckpoint" as const, "stop" as const) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("join" as const, "leave" as const, "drain" as const, "undrain" as const),
      member,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("jump" as const), jumpMs: fc.constantFrom(0, 3_600_000, -3_600_000) }),
  },
);

async function runHistory(actions: readonly Action[], isOnDisk: boolean): Promise<readonly Anomaly[]> {
  const fixture = await QueueFixture.create({ shardCount: 2, isOnDisk });
  const settings = { visibilityTimeoutMs: 3_000, maxDeliveries: 4, retryInitialDelayMs: 50 };
  await fixture.service.createTopic({ name: topic, partitions, settings });
  const run = new Run(fixture);
  await run.join("a");
  for (const step of actions) await run.apply(step);
  const anomalies = await run.finish();
  await fixture.close();
  return anomalies;
}

t.test("random histories are legal", async (t) => {
  const count = Number(process.env["QUEUE_HISTORY_RUNS"] ?? 60);
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 40 }), fc.boolean(), async (actions, isOnDisk) => {
      const anomalies = await runHistory(actions, isOnDisk);
      if (anomalies.length > 0) throw new Error(anomalies.map(({ kind, text }) => `${kind}: ${text}`).join("\n"));
    }),
    { numRuns: count, seed: Number(process.env["QUEUE_HISTORY_SEED"] ?? 20261121) },
  );
  t.pass(`${count} histories`);
});

t.test("the model names every illegal step", async (t) => {
  const name = { group, topic, partition: 0, offset: 0 };
  const delivered = (attempt: number, atMs: number, memberId = "a"): DeliveryEvent => ({
    kind: "delivered",
    ...name,
    memberId,
    attempt,
    atMs,
    untilMs: atMs + 100,
  });
  const acked = (attempt: number): DeliveryEvent => ({ kind: "acked", ...name, attempt, isAlreadyAcked: false });
  const cases: readonly { name: string; events: readonly DeliveryEvent[]; expected: readonly string[] }[] = [
    { name: "legal", events: [delivered(1, 0), delivered(2, 100, "b"), acked(2)], expected: [] },
    { name: "after done", events: [delivered(1, 0), acked(1), delivered(2, 500)], expected: ["delivered-after-done"] },
    { name: "two at once", events: [delivered(1, 0), delivered(2, 99, "b")], expected: ["held-by-two"] },
    { name: "attempt skipped", events: [delivered(1, 0), delivered(3, 500)], expected: ["attempt-not-next"] },
    { name: "attempt repeated", events: [delivered(1, 0), delivered(1, 500)], expected: ["attempt-not-next"] },
    {
      name: "repeated by a crash",
      events: [delivered(1, 0), { kind: "crash", atMs: 10, windowMs: 20 }, delivered(1, 11)],
      expected: [],
    },
    {
      name: "too long before the crash",
      events: [delivered(1, 0), { kind: "crash", atMs: 30, windowMs: 20 }, delivered(2, 31)],
      expected: ["held-by-two"],
    },
    { name: "settled twice", events: [delivered(1, 0), acked(1), acked(1)], expected: ["settled-twice"] },
    {
      name: "late consumer",
      events: [delivered(1, 0), delivered(2, 200), acked(1)],
      expected: ["stale-attempt-settled"],
    },
    {
      name: "too early",
      events: [delivered(1, 0), { kind: "returned", ...name, attempt: 1, visibleAtMs: 50 }, delivered(2, 49)],
      expected: ["delivered-too-early"],
    },
    {
      name: "floor",
      events: [
        { kind: "floor", group, topic, partition: 0, offset: 5 },
        { kind: "floor", group, topic, partition: 0, offset: 4 },
      ],
      expected: ["floor-moved-back"],
    },
  ];
  for (const { name: title, events, expected } of cases) {
    const model = new DeliveryModel();
    for (const event of events) model.apply(event);
    t.strictSame(
      model.anomalies.map((anomaly) => anomaly.kind),
      expected,
      title,
    );
  }
  const model = new DeliveryModel();
  model.apply(delivered(1, 0));
  model.apply({ kind: "deadLettered", ...name, attempt: 1 });
  model.finish(
    [name, { ...name, offset: 1 }],
    [
      { ...name, offset: 2 },
      { ...name, offset: 2 },
    ],
  );
  t.strictSame(
    model.anomalies.map((anomaly) => anomaly.kind),
    ["never-done", "dead-letter-twice", "dead-letter-missing"],
  );
});
