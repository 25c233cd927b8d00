import t from "tap";
import { isDomainError } from "../../../src/platform/errors/domain-error.ts";
import { promoteAfterMs, WeightedTurns } from "../../../src/queue/model/priority/weighted-turns.ts";
import type { Priority } from "../../../src/queue/model/record-batch.ts";
import type { DeliveredMessage, DeliveryRef, MemberView } from "../../../src/queue/service/queue-service.ts";
import { QueueFixture, startMs, text } from "../../support/queue/queue-fixture.ts";

function receipt(message: DeliveredMessage | undefined): DeliveryRef {
  return { kind: "receipt", receiptHandle: message?.receiptHandle ?? "" };
}
async function refused(run: Promise<unknown>): Promise<string> {
  try {
    await run;
    return "no error";
  } catch (error) {
    return isDomainError(error) ? error.code : String(error);
  }
}
function assigned(view: MemberView): string {
  return view.assignedPartitions.map(({ topic, partition }) => `${topic}/${partition}`).join(" ");
}

t.test("joining and leaving", async (t) => {
  await t.test("generations, leaders, static members", async (t) => {
    const fixture = await QueueFixture.create();
    const { service } = fixture;
    await service.createTopic({ name: "orders", partitions: 4 });
    const first = await service.join({ group: "g", memberId: "a", topics: ["orders"] });
    t.match(first, { generation: 1, leaderId: "a", state: "stable", memberIds: ["a"], sessionTimeoutMs: 30_000 });
    t.equal(assigned(first), "orders/0 orders/1 orders/2 orders/3");
    const again = await service.join({ group: "g", memberId: "a", topics: ["orders"] });
    t.equal(again.generation, 1, "the same member with the same topics changes nothing");
    const second = await service.join({ group: "g", clientId: "worker", topics: ["orders"] });
    t.match(second.memberId, /^worker-[0-9a-f]{8}$/);
    t.equal(second.generation, 2);
    t.equal(second.assignedPartitions.length, 2);
    t.equal(await refused(service.heartbeat({ group: "g", memberId: "a", generation: 1 })), "STALE_GENERATION");
    t.equal(await refused(service.heartbeat({ group: "g", memberId: "a", generation: 3 })), "INVALID_ARGUMENT");
    t.equal(
      (await service.heartbeat({ group: "g", memberId: "a" })).generation,
      2,
      "without a generation nothing is checked",
    );
    await fixture.restart();
    t.equal((await fixture.service.heartbeat({ group: "g", memberId: "a", generation: 2 })).generation, 2);
    await fixture.service.leave({ group: "g", memberId: second.memberId });
    const alone = await fixture.service.heartbeat({ group: "g", memberId: "a" });
    t.strictSame([alone.generation, alone.assignedPartitions.length], [3, 4]);
    await fixture.service.leave({ group: "g", memberId: "a" });
    t.equal((await fixture.service.getGroup("g")).state, "empty");
  });

  await t.test("refusals", async (t) => {
    const fixture = await QueueFixture.create();
    const { service } = fixture;
    await service.createTopic({ name: "orders", partitions: 1 });
    await service.join({ group: "g", memberId: "a", topics: ["orders"], mode: "share" });
    const join = (more: object) => refused(service.join({ group: "g", memberId: "b", topics: ["orders"], ...more }));
    t.equal(await join({ topics: ["none"] }), "TOPIC_NOT_FOUND");
    t.equal(await join({ topics: [] }), "INVALID_ARGUMENT");
    t.equal(await join({ memberId: undefined }), "INVALID_ARGUMENT");
    t.equal(await join({ group: "__g" }), "INVALID_ARGUMENT");
    t.equal(await join({ mode: "consumer" }), "INVALID_ARGUMENT");
    t.equal(await join({ sessionTimeoutMs: 5_999 }), "INVALID_ARGUMENT");
    t.equal(await join({ sessionTimeoutMs: 6_000 }), "no error");
    t.equal(await join({ memberId: "c", sessionTimeoutMs: 1_800_001 }), "INVALID_ARGUMENT");
    t.equal(await refused(service.heartbeat({ group: "x", memberId: "a" })), "GROUP_NOT_FOUND");
    t.equal(await refused(service.heartbeat({ group: "g", memberId: "x" })), "MEMBER_NOT_FOUND");
    t.equal(await refused(service.deleteGroup("g")), "GROUP_NOT_EMPTY");
    await service.deleteGroup("g", { isForced: true });
    t.equal(await refused(service.getGroup("g")), "GROUP_NOT_FOUND");
    t.equal(await join({ group: "none", autoOffsetReset: "none" }), "OFFSET_OUT_OF_RANGE");
  });

  await t.test("a leaver's messages come back uncounted, those of an ended session counted", async (t) => {
    const fixture = await QueueFixture.create();
    const { service } = fixture;
    await service.createTopic({ name: "orders", partitions: 1, settings: { maxDeliveries: 2 } });
    await fixture.publish("orders", ["x"]);
    await service.join({ group: "g", memberId: "a", topics: ["orders"], sessionTimeoutMs: 6_000 });
    await fixture.poll("g", "a");
    await service.leave({ group: "g", memberId: "a" });
    await service.join({ group: "g", memberId: "b", topics: ["orders"], sessionTimeoutMs: 6_000 });
    t.equal((await fixture.poll("g", "b")).messages[0]?.deliveryCount, 2);
    await fixture.advance(7_000);
    t.equal(await refused(fixture.poll("g", "b")), "MEMBER_NOT_FOUND");
    await service.join({ group: "g", memberId: "c", topics: ["orders"] });
    const { messages } = await fixture.poll("g", "c");
    t.equal(messages[0]?.deliveryCount, 3, "one failure so far: that of the ended session");
    await service.nack([receipt(messages[0])], { delayMs: 0 });
    t.equal((await service.peekDlq({ topic: "orders", limit: 1 })).total, 1, "the second was the last");
  });

  await t.test("a member in a long poll is alive, and auto-extends what it holds", async (t) => {
    const fixture = await QueueFixture.create();
    const { service } = fixture;
    await service.createTopic({ name: "orders", partitions: 1, settings: { visibilityTimeoutMs: 4_000 } });
    await fixture.publish("orders", ["x"]);
    await service.join({ group: "g", memberId: "a", topics: ["orders"], sessionTimeoutMs: 6_000, isAutoExtend: true });
    const { messages } = await fixture.poll("g", "a");
    for (let round = 0; round < 5; round += 1) {
      await fixture.advance(3_000);
      await service.heartbeat({ group: "g", memberId: "a" });
    }
    t.strictSame((await fixture.poll("g", "a")).messages, [], "still held after 15 s");
    const [outcome] = await service.ack([receipt(messages[0])]);
    t.equal(outcome?.kind, "ok");
    const waiting = service.poll({ group: "g", memberId: "a", timeoutMs: 20_000, maxMessages: 1 });
    await fixture.advance(19_000);
    await fixture.publish("orders", ["y"]);
    t.equal((await waiting).messages.length, 1);
  });
});

t.test("assignment and hand-over", async (t) => {
  await t.test("a moving partition waits for its old owner, the others do not pause", async (t) => {
    const fixture = await QueueFixture.create();
    const { service } = fixture;
    await service.createTopic({ name: "orders", partitions: 2 });
    const both = (value: string) =>
      fixture.publish(
        "orders",
        [0, 1].map((partition) => ({ value, partition })),
      );
    await service.join({ group: "g", memberId: "a", topics: ["orders"] });
    await both("1");
    const held = (await fixture.poll("g", "a")).messages;
    const joined = await service.join({ group: "g", memberId: "b", topics: ["orders"] });
    t.equal(joined.state, "rebalancing");
    const moving = joined.assignedPartitions[0]?.partition ?? -1;
    t.strictSame(joined.partitionsPending, joined.assignedPartitions);
    await both("2");
    const view = await fixture.poll("g", "a");
    t.strictSame(
      view.messages.map((message) => message.partition),
      [1 - moving],
      "what stays goes on",
    );
    t.strictSame(view.partitionsToRevoke, [{ topic: "orders", partition: moving }]);
    t.ok(view.isRebalanceRequired);
    t.equal(view.revocationDeadlineMs, startMs + fixture.time.nowMs + 60_000);
    t.strictSame((await fixture.poll("g", "b")).messages, [], "not yet");
    const waiting = service.poll({ group: "g", memberId: "b", timeoutMs: 10_000, maxMessages: 10 });
    await service.ack(held.filter((message) => message.partition === moving).map(receipt));
    await fixture.advance(100);
    t.strictSame(
      (await waiting).messages.map((message) => [message.partition, text(message.value)]),
      [[moving, "2"]],
    );
    t.equal((await service.getGroup("g")).state, "stable");
  });

  await t.test("the deadline and an early revocation end the wait", async (t) => {
    for (const isEarly of [false, true]) {
      const fixture = await QueueFixture.create();
      const { service } = fixture;
      await service.createTopic({ name: "orders", partitions: 1 });
      await service.createTopic({ name: "other", partitions: 1 });
      await service.join({ group: "g", memberId: "a", topics: ["orders", "other"], rebalanceTimeoutMs: 3_000 });
      await fixture.publish("orders", ["1"]);
      await fixture.publish("other", ["1"]);
      await fixture.poll("g", "a");
      const joined = await service.join({ group: "g", memberId: "b", topics: ["orders", "other"] });
      const topic = joined.assignedPartitions[0]?.topic ?? "";
      await fixture.publish(topic, ["2"]);
      if (isEarly) await service.revoke({ group: "g", memberId: "a" });
      else {
        await fixture.advance(2_900);
        t.strictSame((await fixture.poll("g", "b")).messages, []);
        await fixture.advance(200);
      }
      t.strictSame(
        (await fixture.poll("g", "b")).messages.map((message) => text(message.value)),
        ["2"],
        "what a still holds stays with a",
      );
    }
  });

  await t.test(
    "ten members over sixty partitions: nobody who stays misses a beat, everything is read once",
    async (t) => {
      const fixture = await QueueFixture.create({ shardCount: 8 });
      const { service } = fixture;
      await service.createTopic({ name: "orders", partitions: 60 });
      const members: string[] = [];
      const seen = new Map<string, number>();
      let published = 0;
      const lastServed = new Map<number, number>();
      let longestMs = 0;
      const round = async (): Promise<void> => {
        const before = new Map<string, readonly { partition: number }[]>();
        for (const member of members)
          before.set(member, (await service.heartbeat({ group: "g", memberId: member })).assignedPartitions);
        await fixture.publish(
          "orders",
          Array.from({ length: 60 }, (_, partition) => ({ value: `${published + partition}`, partition })),
        );
        published += 60;
        for (const member of members) {
          const { messages } = await fixture.poll("g", member, 1_000);
          for (const message of messages) {
            const value = text(message.value) ?? "";
            seen.set(value, (seen.get(value) ?? 0) + 1);
            const last = lastServed.get(message.partition) ?? fixture.time.nowMs;
            longestMs = Math.max(longestMs, fixture.time.nowMs - last);
            lastServed.set(message.partition, fixture.time.nowMs);
          }
          await service.ack(messages.map(receipt));
        }
        await fixture.advance(20);
      };
      for (let joined = 0; joined < 10; joined += 1) {
        const memberId = `m${joined}`;
        members.push(memberId);
        await service.join({ group: "g", memberId, topics: ["orders"] });
        for (let count = 0; count < 4; count += 1) await round();
        const counts = await Promise.all(
          members.map(
            async (member) => (await service.heartbeat({ group: "g", memberId: member })).assignedPartitions.length,
          ),
        );
        t.ok(Math.max(...counts) - Math.min(...counts) <= 1, `balanced with ${members.length}: ${counts.join(" ")}`);
      }
      for (let count = 0; count < 5; count += 1) await round();
      t.equal(seen.size, published, "nothing is missing");
      t.ok(
        [...seen.values()].every((count) => count === 1),
        "nothing came twice",
      );
      t.ok(longestMs <= 100, `longest pause of a partition ${longestMs} ms`);
    },
  );

  await t.test("topics that grow or go change the assignment", async (t) => {
    const fixture = await QueueFixture.create();
    const { service } = fixture;
    await service.createTopic({ name: "orders", partitions: 1 });
    await service.createTopic({ name: "other", partitions: 1 });
    await service.join({ group: "g", memberId: "a", topics: ["orders", "other"], autoOffsetReset: "latest" });
    await service.patchTopic({ name: "orders", partitions: 3 });
    await fixture.publish("orders", [{ value: "x", partition: 2 }]);
    await fixture.settle();
    t.equal(assigned(await service.heartbeat({ group: "g", memberId: "a" })), "orders/0 orders/1 orders/2 other/0");
    t.equal((await fixture.poll("g", "a")).messages.length, 1, "nothing is skipped in a partition that was added");
    await service.deleteTopic("other");
    await fixture.settle();
    t.equal(assigned(await service.heartbeat({ group: "g", memberId: "a" })), "orders/0 orders/1 orders/2");
  });

  await t.test("mode share: any member, never two at once", async (t) => {
    const fixture = await QueueFixture.create();
    const { service } = fixture;
    await service.createTopic({ name: "orders", partitions: 1 });
    for (const memberId of ["a", "b", "c"])
      await service.join({ group: "g", memberId, topics: ["orders"], mode: "share" });
    await fixture.publish(
      "orders",
      Array.from({ length: 9 }, (_, index) => String(index)),
    );
    const offsets: number[] = [];
    for (const memberId of ["a", "b", "c"]) {
      for (const message of (await fixture.poll("g", memberId, 3)).messages) offsets.push(message.offset);
    }
    t.strictSame(offsets, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  await t.test("draining: nothing new after the answer, what is held may be settled", async (t) => {
    const fixture = await QueueFixture.create();
    const { service } = fixture;
    await service.createTopic({ name: "orders", partitions: 2 });
    await service.join({ group: "g", memberId: "a", topics: ["orders"] });
    await service.join({ group: "g", memberId: "b", topics: ["orders"] });
    await fixture.publish(
      "orders",
      [0, 1].map((partition) => ({ value: "1", partition })),
    );
    const { messages } = await fixture.poll("g", "a");
    const generation = (await service.getGroup("g")).generation;
    const drained = await service.drain({ group: "g", memberId: "a" });
    t.match(drained, { state: "draining", inFlightCount: 1, generation: generation + 1 });
    t.equal((await service.drain({ group: "g", memberId: "a" })).generation, generation + 1, "once");
    await fixture.publish(
      "orders",
      [0, 1].map((partition) => ({ value: "2", partition })),
    );
    const empty = await fixture.poll("g", "a");
    t.strictSame([empty.messages, empty.isDraining, empty.assignedPartitions], [[], true, []]);
    await service.ack(messages.map(receipt));
    await fixture.advance(100);
    t.equal((await service.drain({ group: "g", memberId: "a" })).state, "drained");
    t.equal((await fixture.poll("g", "b")).messages.length, 3);
    const back = await service.undrain({ group: "g", memberId: "a" });
    t.match(back, { state: "active", generation: generation + 2 });
    t.equal((await service.heartbeat({ group: "g", memberId: "a" })).assignedPartitions.length, 1);
  });

  await t.test("watchMember() tells of changes until it is ended", async (t) => {
    const fixture = await QueueFixture.create();
    const { service } = fixture;
    await service.createTopic({ name: "orders", partitions: 2 });
    await service.join({ group: "g", memberId: "a", topics: ["orders"] });
    const views: (number | undefined)[] = [];
    const end = service.watchMember("g", "a", (view) => views.push(view?.assignedPartitions.length));
    await service.join({ group: "g", memberId: "b", topics: ["orders"] });
    t.equal(views.at(-1), 1);
    await service.leave({ group: "g", memberId: "a" });
    t.equal(views.at(-1), undefined);
    const count = views.length;
    end();
    await service.leave({ group: "g", memberId: "b" });
    t.equal(views.length, count);
  });
});

t.test("offsets of a group without members are kept for seven days", async (t) => {
  const fixture = await QueueFixture.create();
  const { service } = fixture;
  await service.createTopic({ name: "orders", partitions: 1 });
  await fixture.publish("orders", ["x"]);
  await service.join({ group: "g", memberId: "a", topics: ["orders"] });
  await service.commitOffsets({ group: "g", memberId: "a", offsets: [{ topic: "orders", partition: 0, offset: 1 }] });
  await service.leave({ group: "g", memberId: "a" });
  fixture.jumpMs = 7 * 86_400_000 - 1_000;
  await fixture.advance(600);
  t.equal((await service.getGroup("g")).progress[0]?.committedOffset, 1);
  fixture.jumpMs += 2_000;
  await fixture.advance(600);
  t.equal(await refused(service.getGroup("g")), "GROUP_NOT_FOUND");
  await service.join({ group: "g", memberId: "a", topics: ["orders"] });
  t.equal((await fixture.poll("g", "a")).messages.length, 1, "a group of that name begins anew");
});

t.test("statistics count what there is", async (t) => {
  const fixture = await QueueFixture.create();
  const { service } = fixture;
  await service.createTopic({ name: "orders", partitions: 2 });
  await fixture.publish(
    "orders",
    [0, 0, 1].map((partition) => ({ value: "x", partition, priority: partition === 0 ? 0 : 4 })),
  );
  await fixture.publish("orders", [{ value: "later", delayMs: 60_000 }]);
  await service.join({ group: "g", memberId: "a", topics: ["orders"] });
  const { messages } = await fixture.poll("g", "a");
  await service.nack([receipt(messages[0])], { delayMs: 60_000 });
  t.strictSame(service.stats(), {
    topicCount: 1,
    partitionCount: 2,
    groupCount: 1,
    memberCount: 1,
    inFlightCount: 2,
    retryCount: 1,
    delayedCount: 1,
  });
  t.strictSame(service.priorityStats(), { published: [2, 0, 1, 0, 1], delivered: [2, 0, 0, 0, 1] });
  t.equal(
    service.partitionSizes().reduce((total, size) => total + size.latestOffset, 0),
    3,
  );
  t.strictSame(
    service.groupProgress().map(({ group, lag }) => [group, lag]),
    [
      ["g", 2],
      ["g", 1],
    ],
  );
  const flying = await service.listInFlight("orders");
  t.equal(
    flying.reduce((total, status) => total + status.inFlightCount, 0),
    2,
  );
});

t.test("offsets", async (t) => {
  const fixture = await QueueFixture.create();
  const { service } = fixture;
  await service.createTopic({ name: "orders", partitions: 2 });
  await fixture.publish(
    "orders",
    Array.from({ length: 4 }, (_, index) => ({ value: `${index}`, partition: 0 })),
  );
  await fixture.advance(1_000);
  await fixture.publish("orders", [{ value: "4", partition: 0 }]);

  await t.test("commit: owners only, forward only, not beyond the end", async (t) => {
    await service.commitOffsets({
      group: "tool",
      offsets: [{ topic: "orders", partition: 0, offset: 2, metadata: "note" }],
    });
    const offsets = await service.getOffsets({ group: "tool" });
    t.match(offsets.progress[0], { topic: "orders", partition: 0, committedOffset: 2, lag: 3, metadata: "note" });
    await service.join({ group: "g", memberId: "a", topics: ["orders"] });
    await service.join({ group: "g", memberId: "b", topics: ["orders"] });
    await fixture.advance(100);
    const owned = (await service.heartbeat({ group: "g", memberId: "a" })).assignedPartitions[0]?.partition ?? 0;
    const commit = (partition: number, offset: number, more: object = {}) =>
      refused(
        service.commitOffsets({
          group: "g",
          memberId: "a",
          offsets: [{ topic: "orders", partition, offset }],
          ...more,
        }),
      );
    t.equal(await commit(1 - owned, 0), "NOT_ASSIGNED");
    t.equal(await commit(owned, 0), "no error");
    t.equal(await commit(owned, 99), "OFFSET_OUT_OF_RANGE");
    t.equal(await commit(owned, -1), "INVALID_OFFSET");
    t.equal(await commit(owned, 0, { generation: 1 }), "STALE_GENERATION");
    t.equal(await commit(owned, 0, { memberId: undefined }), "NOT_ASSIGNED");
    t.equal(await commit(owned, 0, { memberId: undefined, isAdmin: true }), "no error");
    await service.deleteGroup("g", { isForced: true });
  });

  await t.test("commit drops what is held below it", async (t) => {
    await service.join({ group: "c", memberId: "a", topics: ["orders"] });
    const { messages } = await fixture.poll("c", "a", 3);
    await service.commitOffsets({ group: "c", memberId: "a", offsets: [{ topic: "orders", partition: 0, offset: 2 }] });
    const [settled] = await service.ack([receipt(messages[0])]);
    t.equal(settled?.kind === "ok" && settled.value.isAlreadyAcked, true);
    t.equal((await service.getGroup("c")).members[0]?.inFlightCount, 1);
    t.strictSame(
      (await fixture.poll("c", "a")).messages.map((message) => message.offset),
      [3, 4],
    );
  });

  await t.test("reset: every target, dry run, members notice", async (t) => {
    const reset = (target: Parameters<typeof service.resetOffsets>[0]["target"], isDryRun = false) =>
      service.resetOffsets({ group: "c", topic: "orders", target, partition: 0, isDryRun });
    t.strictSame(await reset({ kind: "earliest" }, true), [{ partition: 0, oldOffset: 2, newOffset: 0 }]);
    t.equal((await service.getOffsets({ group: "c" })).progress[0]?.committedOffset, 2, "a dry run changes nothing");
    const { generation } = await service.getGroup("c");
    t.strictSame((await reset({ kind: "timestamp", timestampMs: startMs + 500 }))[0]?.newOffset, 4);
    t.equal((await service.getGroup("c")).generation, generation + 1);
    t.strictSame(
      (await fixture.poll("c", "a")).messages.map((message) => message.offset),
      [4],
    );
    await reset({ kind: "offset", partition: 0, offset: 1 });
    t.strictSame(
      (await fixture.poll("c", "a")).messages.map((message) => [message.offset, message.deliveryCount]),
      [
        [1, 1],
        [2, 1],
        [3, 1],
        [4, 1],
      ],
    );
    await reset({ kind: "latest" });
    t.strictSame((await fixture.poll("c", "a")).messages, []);
    t.equal(await refused(reset({ kind: "offset", partition: 0, offset: 6 })), "OFFSET_OUT_OF_RANGE");
    t.equal(
      await refused(service.resetOffsets({ group: "x", topic: "orders", target: { kind: "latest" } })),
      "GROUP_NOT_FOUND",
    );
  });
});

t.test("priorities", async (t) => {
  await t.test("shares within five per cent over any window of two hundred, all in offset order", async (t) => {
    const fixture = await QueueFixture.create();
    await fixture.service.createTopic({ name: "orders", partitions: 1 });
    await fixture.service.join({ group: "g", memberId: "a", topics: ["orders"] });
    for (let batch = 0; batch < 25; batch += 1) {
      await fixture.publish(
        "orders",
        Array.from({ length: 200 }, (_, index) => ({ value: "x", priority: (index % 5) as Priority })),
      );
    }
    const order: { priority: Priority; offset: number }[] = [];
    while (order.length < 1_800) {
      const { messages } = await fixture.poll("g", "a", 50);
      order.push(...messages);
      await fixture.service.ack(messages.map(receipt));
    }
    const weights = [50, 25, 15, 7, 3];
    for (let from = 0; from + 200 <= 1_800; from += 100) {
      for (const [priority, weight] of weights.entries()) {
        const share = order.slice(from, from + 200).filter((message) => message.priority === priority).length / 2;
        if (Math.abs(share - weight) > 5) t.fail(`priority ${priority} has ${share} % from ${from}`);
      }
    }
    for (const priority of weights.keys()) {
      const offsets = order.filter((message) => message.priority === priority).map((message) => message.offset);
      t.strictSame(
        offsets,
        [...offsets].sort((a, b) => a - b),
        `priority ${priority} in order`,
      );
    }
  });

  await t.test(
    "a priority behind a long backlog of another is found at once, and an empty one costs nothing",
    async (t) => {
      const fixture = await QueueFixture.create();
      await fixture.service.createTopic({ name: "orders", partitions: 1 });
      await fixture.service.join({ group: "g", memberId: "a", topics: ["orders"] });
      await fixture.publish(
        "orders",
        Array.from({ length: 5_000 }, () => ({ value: "low", priority: 4 as Priority })),
      );
      await fixture.publish("orders", [{ value: "urgent", priority: 0 }]);
      const { messages } = await fixture.poll("g", "a", 3);
      t.strictSame(
        messages.map((message) => text(message.value)),
        ["urgent", "low", "low"],
      );
      await fixture.restart();
      const again = await fixture.poll("g", "a", 3);
      t.strictSame(
        again.messages.map((message) => text(message.value)),
        ["urgent", "low", "low"],
        "also after a restart",
      );
    },
  );

  await t.test("retries keep their priority", async (t) => {
    const fixture = await QueueFixture.create();
    await fixture.service.createTopic({ name: "orders", partitions: 1 });
    await fixture.service.join({ group: "g", memberId: "a", topics: ["orders"] });
    await fixture.publish(
      "orders",
      [0, 0, 4].map((priority, index) => ({ value: `${index}`, priority: priority as Priority })),
    );
    const first = (await fixture.poll("g", "a", 1)).messages;
    await fixture.service.nack(first.map(receipt), { delayMs: 0 });
    const next = (await fixture.poll("g", "a", 2)).messages;
    t.strictSame(
      next.map((message) => message.offset),
      [0, 1],
      "before the background message, in offset order",
    );
  });

  await t.test("a message whose turn does not come for thirty seconds is next", async (t) => {
    const turns = new WeightedTurns([1000, 1, 1, 1, 1]);
    const has = (priority: Priority): boolean => priority === 0 || priority === 4;
    t.equal(turns.next(has, 0), 0);
    t.equal(turns.next(has, promoteAfterMs), 0, "not yet");
    t.equal(turns.next(has, promoteAfterMs + 1), 4);
    t.equal(turns.next(has, promoteAfterMs + 2), 0);
    t.equal(
      turns.next(() => false, 0),
      undefined,
    );
  });
});
