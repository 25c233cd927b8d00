import { ClientError, Status } from "nice-grpc-common";
import t from "tap";
import type { GroupRequestInit, GroupResponseMessage } from "../../../src/queue/grpc/definition.ts";
import { RequestFeed, Responses, startServerFixture } from "../../support/queue/server-fixture.ts";

const fixture = await startServerFixture();
t.teardown(() => fixture[Symbol.asyncDispose]());
const { service } = fixture.server;

type Response = Awaited<ReturnType<Responses<GroupResponseMessage>["next"]>>;

/** A member on a stream of its own. Responses of different kinds come in any order, so each is looked for. */
function openMember(group: string, topics: readonly string[], options: object = {}) {
  const feed = new RequestFeed<GroupRequestInit>();
  const abort = new AbortController();
  const seen: Response[] = [];
  const wakers = new Set<() => void>();
  let isEnded = false;
  const responses = new Responses(fixture.client.groupStream(feed, { signal: abort.signal }));
  const reading = (async () => {
    try {
      for (;;) {
        seen.push(await responses.next());
        for (const wake of wakers) wake();
      }
    } finally {
      isEnded = true;
      for (const wake of wakers) wake();
    }
  })();
  const ended = reading.then(
    () => undefined,
    (error: unknown) => error,
  );
  const find = async (isWanted: (response: Response) => boolean): Promise<Response> => {
    for (;;) {
      const index = seen.findIndex(isWanted);
      const [found] = index === -1 ? [] : seen.splice(index, 1);
      if (found !== undefined) return found;
      if (isEnded) throw new Error("the stream ended");
      await new Promise<void>((resolve) => wakers.add(resolve));
    }
  };
  feed.send({ join: { group, memberId: "", clientId: "c", topics: [...topics], ...options } });
  return {
    feed,
    abort,
    seen,
    ended,
    find,
    assignment: async () => (await find((response) => Boolean(response.assignment))).assignment,
    messages: async () =>
      (await find((response) => Boolean(response.messages?.messages?.length))).messages?.messages ?? [],
    result: async (correlationId: number) => await find((response) => response.correlationId === correlationId),
    leave: async () => {
      feed.end();
      await ended;
    },
  };
}

async function createTopic(name: string, values: readonly string[], settings = {}) {
  await service.createTopic({ name, partitions: 1, settings });
  if (values.length > 0) await service.publish({ topic: name, messages: values.map((value) => ({ value })) });
}
const texts = (messages: readonly { payload?: Uint8Array | null }[]) =>
  messages.map(({ payload }) => Buffer.from(payload ?? []).toString());
const receiptsOf = (messages: readonly { receipt?: Uint8Array | null }[]) =>
  messages.map(({ receipt }) => receipt ?? new Uint8Array(0));

t.test("nothing comes without credit, and never more than the credit", async (t) => {
  await createTopic("credit", ["a", "b", "c"]);
  const member = openMember("g-credit", ["credit"]);
  const assignment = await member.assignment();
  t.strictSame(
    assignment?.partitions?.map(({ topic, partitions }) => [topic, [...(partitions ?? [])]]),
    [["credit", [0]]],
  );
  t.equal(assignment?.generation, 1);
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.equal((await service.getGroup("g-credit")).members[0]?.inFlightCount, 0);
  member.feed.send({ credit: { messages: 2 } });
  t.strictSame(texts(await member.messages()), ["a", "b"]);
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.equal((await service.getGroup("g-credit")).members[0]?.inFlightCount, 2);
  member.feed.send({ credit: { messages: 5 } });
  t.strictSame(texts(await member.messages()), ["c"]);
  await member.leave();
});

t.test("acks that arrive together are answered one by one, by correlation id", async (t) => {
  await createTopic("acks", ["a", "b", "c", "d"]);
  const member = openMember("g-acks", ["acks"]);
  member.feed.send({ credit: { messages: 10 } });
  const [one, two, three] = receiptsOf(await member.messages());
  const positions = [{ topic: "acks", partition: 0, offset: 3 }];
  member.feed.send(
    { ack: { receipts: [one ?? Buffer.alloc(0), two ?? Buffer.alloc(0)] }, correlationId: 11 },
    { ack: { receipts: [Buffer.from("nonsense")], positions }, correlationId: 12 },
    { ack: {}, correlationId: 13 },
  );
  const answers = new Map<number, Response>();
  for (const id of [11, 12, 13]) answers.set(id, await member.result(id));
  t.equal(answers.get(11)?.result?.succeeded, 2);
  t.equal(answers.get(12)?.result?.succeeded, 1);
  t.match(answers.get(12)?.result?.errors, [{ index: 0, error: { reason: "INVALID_RECEIPT_HANDLE" } }]);
  t.equal(answers.get(13)?.error?.reason, "INVALID_ARGUMENT");
  const progress = (await service.getGroup("g-acks")).progress[0];
  t.equal(progress?.committedOffset, 2);
  t.equal(progress?.inFlightCount, 1, "the third is still held");
  t.ok(three);
  await member.leave();
});

t.test("nack, extend and commit", async (t) => {
  await createTopic("settle", ["a", "b", "c"]);
  const member = openMember("g-settle", ["settle"]);
  member.feed.send({ credit: { messages: 10 } });
  const [one, two] = receiptsOf(await member.messages());
  const empty = Buffer.alloc(0);
  member.feed.send({ nack: { receipts: [one ?? empty], delay: { seconds: 0 }, reason: "oops" }, correlationId: 1 });
  t.equal((await member.result(1)).result?.succeeded, 1);
  const again = await member.messages();
  t.strictSame(texts(again), ["a"]);
  t.equal(again[0]?.deliveryCount, 2);
  t.equal(again[0]?.headers?.["x-queue-last-error"], "oops");
  member.feed.send({ nack: { receipts: [two ?? empty], requeue: false }, correlationId: 2 });
  t.equal((await member.result(2)).result?.succeeded, 1);
  t.equal((await service.peekDlq({ topic: "settle", limit: 5 })).total, 1);
  member.feed.send({ extend: { receipts: receiptsOf(again), timeout: { seconds: 600 } }, correlationId: 3 });
  t.equal((await member.result(3)).result?.succeeded, 1);
  member.feed.send({ commit: { offsets: [{ topic: "settle", partition: 0, offset: 3 }] }, correlationId: 4 });
  t.equal((await member.result(4)).result?.succeeded, 1);
  t.equal((await service.getGroup("g-settle")).progress[0]?.committedOffset, 3);
  await member.leave();
});

t.test("half-closing leaves the group after what is on its way is settled", async (t) => {
  await createTopic("leave", ["a"]);
  const member = openMember("g-leave", ["leave"]);
  member.feed.send({ credit: { messages: 1 } });
  const receipts = receiptsOf(await member.messages());
  member.feed.send({ ack: { receipts }, correlationId: 1 });
  await member.leave();
  t.equal(member.seen.find((response) => response.correlationId === 1)?.result?.succeeded, 1);
  const group = await service.getGroup("g-leave");
  t.equal(group.state, "empty");
  t.equal(group.progress[0]?.committedOffset, 1);
});

t.test("a stream that breaks keeps its session, and what it held is delivered again later", async (t) => {
  await createTopic("broken", ["a"]);
  const member = openMember("g-broken", ["broken"]);
  member.feed.send({ credit: { messages: 1 } });
  await member.messages();
  member.abort.abort();
  await member.ended;
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.equal((await service.getGroup("g-broken")).members.length, 1);
});

t.test("a second member: the first is told, partitions are shared, nobody gets a message twice", async (t) => {
  await service.createTopic({ name: "shared", partitions: 4 });
  const first = openMember("g-shared", ["shared"]);
  await first.assignment();
  const second = openMember("g-shared", ["shared"]);
  const told = await first.find((response) => response.assignment?.generation === 2);
  t.equal(told.assignment?.partitions?.[0]?.partitions?.length, 2);
  t.equal((await second.assignment())?.partitions?.[0]?.partitions?.length, 2);
  for (const member of [first, second]) member.feed.send({ credit: { messages: 100 } });
  const messages = Array.from({ length: 40 }, (_, index) => ({ value: String(index), partition: index % 4 }));
  await service.publish({ topic: "shared", messages });
  const seen: string[] = [];
  const collect = async (member: typeof first) => {
    let count = 0;
    while (count < 20) {
      const batch = await member.messages();
      count += batch.length;
      seen.push(...texts(batch));
    }
  };
  await Promise.all([collect(first), collect(second)]);
  t.equal(new Set(seen).size, 40);
  await Promise.all([first.leave(), second.leave()]);
});

t.test("a drained member is told and gets nothing more", async (t) => {
  await createTopic("drain", []);
  const member = openMember("g-drain", ["drain"], { memberId: "m" });
  await member.assignment();
  await service.drain({ group: "g-drain", memberId: "m" });
  const told = await member.find((response) => response.assignment?.draining === true);
  t.ok(told);
  await member.leave();
});

const broken: readonly { name: string; requests: readonly GroupRequestInit[]; code: Status }[] = [
  { name: "a first message that is no join", requests: [{ credit: { messages: 1 } }], code: Status.INVALID_ARGUMENT },
  {
    name: "an unknown topic",
    requests: [{ join: { group: "g", clientId: "c", topics: ["nope"] } }],
    code: Status.NOT_FOUND,
  },
  { name: "no id", requests: [{ join: { group: "g", topics: ["acks"] } }], code: Status.INVALID_ARGUMENT },
  {
    name: "an unknown mode",
    requests: [{ join: { group: "g", clientId: "c", topics: ["acks"], mode: "x" } }],
    code: Status.INVALID_ARGUMENT,
  },
  {
    name: "a second join",
    requests: [
      { join: { group: "g2", clientId: "c", topics: ["acks"] } },
      { join: { group: "g2", clientId: "c", topics: ["acks"] } },
    ],
    code: Status.INVALID_ARGUMENT,
  },
];
for (const { name, requests, code } of broken) {
  t.test(`${name} ends the stream with ${Status[code]}`, async (t) => {
    const feed = new RequestFeed<GroupRequestInit>();
    feed.send(...requests);
    const failure = await new Responses(fixture.client.groupStream(feed)).rest().catch((error: unknown) => error);
    t.ok(failure instanceof ClientError, String(failure));
    t.equal((failure as ClientError).code, code);
  });
}

t.test("negative credit and an empty request are errors in the stream", async (t) => {
  const member = openMember("g-errors", ["acks"]);
  await member.assignment();
  member.feed.send({ credit: { messages: -1 }, correlationId: 1 }, { correlationId: 2 });
  t.equal((await member.result(1)).error?.reason, "INVALID_ARGUMENT");
  t.equal((await member.result(2)).error?.reason, "INVALID_ARGUMENT");
  await member.leave();
});
