import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import t from "tap";
import { decodeErrorInfo, statusDetailsTrailer } from "../../../src/platform/grpc/status-details.ts";
import { queue } from "../../../src/queue/gen/queue.js";
import { type PublishRequestInit, queueDefinition } from "../../../src/queue/grpc/definition.ts";
import { RequestFeed, Responses, startServerFixture } from "../../support/queue/server-fixture.ts";

const { v1 } = queue;
const fixture = await startServerFixture();
t.teardown(() => fixture[Symbol.asyncDispose]());
const { service } = fixture.server;
await service.createTopic({ name: "orders", partitions: 3 });
await service.createTopic({ name: "one", partitions: 1 });

async function publishAll(requests: readonly PublishRequestInit[]) {
  const feed = new RequestFeed<PublishRequestInit>();
  feed.send(...requests);
  feed.end();
  return await new Responses(fixture.client.publishStream(feed)).rest();
}

const payload = Buffer.from("hello");

t.test("every message is confirmed once, in order, neighbours together", async (t) => {
  const count = 1000;
  const responses = await publishAll(
    Array.from({ length: count }, (_, index) => ({ topic: "one", payload, correlationId: index + 1 })),
  );
  let confirmed = 0;
  let offset = 0;
  for (const response of responses) {
    t.notOk(response.error);
    t.equal(response.partition, 0);
    t.equal(response.offset, offset);
    confirmed += response.count;
    offset += response.count;
    t.equal(response.correlationId, confirmed, "the last of those that it confirms");
  }
  t.equal(confirmed, count);
  t.ok(responses.length < count / 2, `${responses.length} responses`);
});

t.test("a refused message is an error in the stream, the others go through", async (t) => {
  const responses = await publishAll([
    { topic: "one", payload, correlationId: 1 },
    { topic: "nope", payload, correlationId: 2 },
    { topic: "one", payload, correlationId: 3, partition: 9 },
    { topic: "one", payload, correlationId: 4, priority: 77 as queue.v1.Priority },
    { topic: "one", payload, correlationId: 5, delay: { seconds: -1 } },
    { topic: "one", payload: Buffer.alloc(2 * 1024 * 1024), correlationId: 6 },
    { topic: "one", payload, correlationId: 7, transactionId: "t" },
    { topic: "one", payload, correlationId: 8, key: Buffer.alloc(70_000) },
    { topic: "one", payload, correlationId: 9 },
  ]);
  const errors = new Map(responses.map((response) => [response.correlationId, response.error]));
  t.notOk(errors.get(1));
  t.notOk(errors.get(9));
  t.match(errors.get(2), {
    reason: "TOPIC_NOT_FOUND",
    code: v1.ErrorCode.ERROR_CODE_TOPIC_NOT_FOUND,
    details: { topic: "nope" },
  });
  t.match(errors.get(3), { reason: "INVALID_PARTITION", code: 103 });
  t.match(errors.get(4), { reason: "INVALID_PRIORITY" });
  t.match(errors.get(5), { reason: "INVALID_DELAY" });
  t.match(errors.get(6), { reason: "MESSAGE_TOO_LARGE", code: 300 });
  t.match(errors.get(7), { reason: "TRANSACTION_NOT_FOUND", code: 400 });
  t.match(errors.get(8), { reason: "INVALID_MESSAGE" });
});

t.test("a batch has one response; results only when there is more to tell", async (t) => {
  const batch = Array.from({ length: 5 }, (_, index) => ({ payload: Buffer.from(String(index)), partition: 0 }));
  const responses = await publishAll([
    { topic: "orders", correlationId: 1, batch },
    {
      topic: "orders",
      correlationId: 2,
      batch: [
        { payload, partition: 1 },
        { topic: "one", payload },
        { topic: "nope", payload },
      ],
    },
    { topic: "orders", correlationId: 3, batch: [{ payload }, { payload, partition: 99 }] },
    { topic: "orders", correlationId: 4, batch: [{ payload, batch: [{ payload }] }] },
  ]);
  const [plain, mixed, refused, nested] = [1, 2, 3, 4].map((id) => responses.find((item) => item.correlationId === id));
  t.equal(plain?.results.length, 0);
  t.equal(plain?.partition, 0);
  t.equal(plain?.offset, 0);
  t.equal(mixed?.results.length, 3);
  t.strictSame(
    mixed?.results.map((result) => [result.topic, result.partition, result.error?.reason]),
    [
      ["orders", 1, undefined],
      ["one", 0, undefined],
      ["nope", 0, "TOPIC_NOT_FOUND"],
    ],
  );
  t.equal(refused?.error?.reason, "INVALID_PARTITION", "all or nothing within a topic");
  t.equal(nested?.error?.reason, "INVALID_MESSAGE");
});

t.test("keys, headers, priority, idempotency and delay reach the log", async (t) => {
  await service.createTopic({ name: "fields", partitions: 1 });
  const message = {
    topic: "fields",
    payload: Buffer.from([0xff, 0]),
    key: Buffer.from("k"),
    headers: { a: "1" },
    priority: v1.Priority.PRIORITY_CRITICAL,
    idempotencyKey: "x",
  };
  const [first] = await publishAll([{ ...message, correlationId: 1 }]);
  const [again] = await publishAll([{ ...message, correlationId: 1 }]);
  t.equal(first?.duplicate, false);
  t.equal(again?.duplicate, true);
  t.equal(again?.offset, first?.offset);
  const [stored] = await new Responses(fixture.client.consumeStream({ topic: "fields", stopAtEnd: true })).rest();
  t.strictSame(Buffer.from(stored?.payload ?? []), message.payload);
  t.equal(Buffer.from(stored?.key ?? []).toString(), "k");
  t.strictSame({ ...stored?.headers }, { a: "1" });
  t.equal(stored?.priority, v1.Priority.PRIORITY_CRITICAL);
});

t.test("an idempotent producer's repetition is stored once; an old epoch is fenced", async (t) => {
  await service.createTopic({ name: "idempotent", partitions: 1 });
  const { producerId, producerEpoch } = await service.initProducer({ transactionalId: "p" });
  const send = (sequence: number, epoch = producerEpoch) => ({
    ...{ topic: "idempotent", payload, correlationId: sequence + 1 },
    ...{ producerId, producerEpoch: epoch, sequence },
  });
  t.strictSame((await publishAll([send(0), send(1), send(2)])).at(-1)?.error ?? undefined, undefined);
  const repeated = await publishAll([send(2)]);
  t.equal(repeated[0]?.duplicate, true);
  t.equal(repeated[0]?.offset, 2);
  t.equal((await publishAll([send(5)]))[0]?.error?.reason, "OUT_OF_ORDER_SEQUENCE");
  const next = await service.initProducer({ transactionalId: "p" });
  t.equal(next.producerId, producerId);
  t.notOk((await publishAll([send(0, next.producerEpoch)]))[0]?.error);
  t.equal((await publishAll([send(3)]))[0]?.error?.reason, "PRODUCER_FENCED");
});

t.test("a client that stops reading confirmations is not read any further, and loses nothing", async (t) => {
  await service.createTopic({ name: "window", partitions: 1 });
  const count = 30_000;
  let sent = 0;
  const requests = async function* () {
    for (; sent < count; sent += 1) yield { topic: "window", payload, correlationId: sent + 1 };
  };
  let confirmed = 0;
  for await (const response of fixture.client.publishStream(requests())) confirmed += response.count;
  t.equal(confirmed, count);
  t.equal((await service.getTopic("window")).totalMessages, count);
});

t.test("a shutdown ends streams with UNAVAILABLE and ErrorInfo", async (t) => {
  const own = await startServerFixture();
  await own.server.service.createTopic({ name: "t", partitions: 1 });
  const client = new Client(own.server.grpcAddress, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = queueDefinition.publishStream;
  const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, new Metadata());
  const ended = new Promise<ServiceError>((resolve) => {
    call.on("error", (error) => resolve(error as ServiceError));
  });
  const confirmed = new Promise((resolve) => call.once("data", resolve));
  call.write({ topic: "t", payload, correlationId: 1 });
  await confirmed;
  await own[Symbol.asyncDispose]();
  const { code, metadata } = await ended;
  t.equal(code, status.UNAVAILABLE);
  const [details] = metadata.get(statusDetailsTrailer);
  t.match(decodeErrorInfo(details as Buffer), { reason: "SHUTTING_DOWN", domain: "queue" });
  client.close();
});
