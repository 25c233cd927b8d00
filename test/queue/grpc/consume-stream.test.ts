import { ClientError, Status } from "nice-grpc-common";
import t from "tap";
import { queue } from "../../../src/queue/gen/queue.js";
import { Responses, startServerFixture } from "../../support/queue/server-fixture.ts";

const { Start } = queue.v1;
const fixture = await startServerFixture();
t.teardown(() => fixture[Symbol.asyncDispose]());
const { client } = fixture;
const { service } = fixture.server;
await service.createTopic({ name: "orders", partitions: 2 });
const values = (messages: readonly { payload: Uint8Array }[]) =>
  messages.map(({ payload }) => Buffer.from(payload).toString());
for (const partition of [0, 1]) {
  const messages = Array.from({ length: 500 }, (_, index) => ({ value: `${partition}-${index}`, partition }));
  await service.publish({ topic: "orders", messages });
}

t.test("stop_at_end gives all partitions, each in order, then ends", async (t) => {
  const all = await new Responses(client.consumeStream({ topic: "orders", stopAtEnd: true })).rest();
  t.equal(all.length, 1000);
  for (const partition of [0, 1]) {
    const own = all.filter((message) => message.partition === partition);
    t.strictSame(
      own.map((message) => message.offset),
      Array.from({ length: 500 }, (_, index) => index),
    );
    t.equal(values(own)[499], `${partition}-499`);
  }
});

t.test("starts: offset, latest, timestamp; only the partitions asked for", async (t) => {
  const ask = { topic: "orders", partitions: [1], stopAtEnd: true };
  const tail = await new Responses(client.consumeStream({ ...ask, start: Start.START_OFFSET, offset: 498 })).rest();
  t.strictSame(values(tail), ["1-498", "1-499"]);
  const none = await new Responses(client.consumeStream({ ...ask, start: Start.START_LATEST })).rest();
  t.strictSame(none, []);
  const timestamp = { seconds: 0 };
  const all = await new Responses(client.consumeStream({ ...ask, start: Start.START_TIMESTAMP, timestamp })).rest();
  t.equal(all.length, 500);
});

t.test("a follower gets what is published later, without asking again", async (t) => {
  const abort = new AbortController();
  const responses = new Responses(
    client.consumeStream({ topic: "orders", partitions: [0], start: Start.START_LATEST }, { signal: abort.signal }),
  );
  const next = responses.next();
  // The stream reads from the end that it finds; publish until it is there.
  const timer = setInterval(
    () => void service.publish({ topic: "orders", messages: [{ value: "late", partition: 0 }] }),
    20,
  );
  t.equal(values([await next])[0], "late");
  clearInterval(timer);
  abort.abort();
  await t.rejects(responses.rest());
});

t.test("a slow reader holds the server back, and gets everything", async (t) => {
  await service.createTopic({ name: "large", partitions: 1, settings: {} });
  const value = "x".repeat(100_000);
  for (let round = 0; round < 10; round += 1) {
    await service.publish({ topic: "large", messages: Array.from({ length: 20 }, () => ({ value })) });
  }
  let count = 0;
  for await (const message of client.consumeStream({ topic: "large", stopAtEnd: true, maxInFlight: 10 })) {
    if (count % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    t.equal(message.offset, count);
    count += 1;
  }
  t.equal(count, 200);
});

const refusals: readonly { name: string; request: object; code: Status }[] = [
  { name: "an unknown topic", request: { topic: "nope" }, code: Status.NOT_FOUND },
  { name: "a partition beyond the last", request: { topic: "orders", partitions: [2] }, code: Status.NOT_FOUND },
  { name: "a negative offset", request: { topic: "orders", start: 3, offset: -1 }, code: Status.INVALID_ARGUMENT },
  {
    name: "an offset beyond the end",
    request: { topic: "orders", start: 3, offset: 10_000 },
    code: Status.OUT_OF_RANGE,
  },
  { name: "an unknown start", request: { topic: "orders", start: 9 }, code: Status.INVALID_ARGUMENT },
  { name: "a start in time without one", request: { topic: "orders", start: 4 }, code: Status.INVALID_ARGUMENT },
];
for (const { name, request, code } of refusals) {
  t.test(`${name} ends the call with ${Status[code]}`, async (t) => {
    const failure = await new Responses(client.consumeStream(request)).rest().catch((error: unknown) => error);
    t.ok(failure instanceof ClientError);
    t.equal((failure as ClientError).code, code);
  });
}
