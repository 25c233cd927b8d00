import t from "tap";
import { type Answer, openRestFixture } from "../../support/queue/rest-fixture.ts";

const rest = await openRestFixture();
t.teardown(() => rest[Symbol.asyncDispose]());
let topicCount = 0;

/** A topic of its own with one message per value, and a member of a group of its own. */
async function setUp(values: readonly string[], settings: object = {}) {
  topicCount += 1;
  const topic = `topic-${topicCount}`;
  const group = `group-${topicCount}`;
  await rest.request("POST", "/topics", { name: topic, partitions: 1, ...settings });
  if (values.length > 0) {
    await rest.request(
      "POST",
      `/topics/${topic}/messages`,
      values.map((value) => ({ value })),
    );
  }
  const { body: member } = await rest.request("POST", `/groups/${group}/join`, {
    client_id: "worker",
    topics: [topic],
  });
  const poll = async (query = "timeout=100ms") =>
    await rest.request("GET", `/groups/${group}/poll?member_id=${member.member_id}&${query}`);
  return { topic, group, member, poll };
}
const receipts = (answer: Answer): string[] =>
  answer.body.messages.map((message: { receipt_handle: string }) => message.receipt_handle);
const values = (answer: Answer): string[] => answer.body.messages.map((message: { value: string }) => message.value);

t.test("join: both dialects of the body, an assignment at once", async (t) => {
  const { topic, group, member } = await setUp([]);
  t.match(member.member_id, /^worker-[0-9a-f]{8}$/);
  t.equal(member.generation, 1);
  t.strictSame(member.assigned_partitions, { [topic]: [0] });
  t.equal(member.leader, true);
  const fixed = await rest.request("POST", `/groups/${group}/join`, {
    member_id: "fixed",
    topics: [topic],
    session_timeout_ms: 10_000,
  });
  t.equal(fixed.body.member_id, "fixed");
  t.equal(fixed.body.session_timeout_ms, 10_000);
  t.equal(fixed.body.generation, 2);
  const again = await rest.request("POST", `/groups/${group}/join`, { member_id: "fixed", topics: [topic] });
  t.equal(again.body.generation, 2, "a member that comes back changes nothing");
});

const joinRefusals: readonly { name: string; body: object; status: number; code: string }[] = [
  { name: "no id", body: { topics: ["topic-1"] }, status: 400, code: "INVALID_ARGUMENT" },
  { name: "no topics", body: { client_id: "a" }, status: 400, code: "INVALID_ARGUMENT" },
  { name: "an empty list of topics", body: { client_id: "a", topics: [] }, status: 400, code: "INVALID_ARGUMENT" },
  { name: "an unknown topic", body: { client_id: "a", topics: ["nope"] }, status: 404, code: "TOPIC_NOT_FOUND" },
  {
    name: "a session of 5 s",
    body: { client_id: "a", topics: ["topic-1"], session_timeout: "5s" },
    status: 400,
    code: "INVALID_ARGUMENT",
  },
  {
    name: "an unknown mode",
    body: { client_id: "a", topics: ["topic-1"], mode: "all" },
    status: 400,
    code: "INVALID_ARGUMENT",
  },
];
for (const { name, body, status, code } of joinRefusals) {
  t.test(`join refuses ${name}`, async (t) => {
    const answer = await rest.request("POST", "/groups/refused/join", body);
    t.equal(answer.status, status);
    t.equal(answer.body.error.code, code);
  });
}

t.test("poll delivers, counts and hides; both names of the count", async (t) => {
  const { group, poll, topic } = await setUp(["a", "b", "c"]);
  const first = await poll("max_messages=2&timeout=1s");
  t.strictSame(values(first), ["a", "b"]);
  t.match(first.body.messages[0], { group, topic, partition: 0, offset: 0, delivery_count: 1 });
  t.strictSame(values(await poll("limit=5&timeout=100ms")), ["c"]);
  t.strictSame(values(await poll()), []);
  const inFlight = await rest.request("GET", `/topics/${topic}/inflight`);
  t.equal(inFlight.body.partitions["0"].in_flight_count, 3);
});

t.test("poll is woken by a publish", async (t) => {
  const { poll, topic } = await setUp([]);
  const waiting = poll("timeout=20s");
  await rest.request("POST", `/topics/${topic}/messages`, { value: "now" });
  t.strictSame(values(await waiting), ["now"]);
});

t.test("poll refuses strangers, stale generations and bad queries", async (t) => {
  const { group, member, poll, topic } = await setUp([]);
  const path = `/groups/${group}/poll`;
  t.equal((await rest.request("GET", path)).body.error.code, "INVALID_ARGUMENT");
  t.equal((await rest.request("GET", `${path}?member_id=x`)).body.error.code, "MEMBER_NOT_FOUND");
  t.equal((await rest.request("GET", "/groups/nope/poll?member_id=x")).status, 404);
  t.equal((await poll("timeout=soon")).body.error.code, "INVALID_ARGUMENT");
  t.equal((await poll("max_messages=0")).body.error.code, "INVALID_ARGUMENT");
  await rest.request("POST", `/groups/${group}/join`, { member_id: "other", topics: [topic] });
  const stale = await poll(`generation=${member.generation}`);
  t.equal(stale.status, 409);
  t.equal(stale.body.error.code, "STALE_GENERATION");
  t.equal(stale.body.error.details.current_generation, 2);
});

t.test("ack: by receipt, by position, in a batch; again is no mistake; a stranger's is", async (t) => {
  const { group, poll, topic } = await setUp(["a", "b", "c", "d"]);
  const [one, two, three] = receipts(await poll());
  const first = await rest.request("POST", "/messages/ack", { receipt_handle: one });
  t.match(first.body, {
    success: true,
    acknowledged: true,
    topic,
    offset: 0,
    group,
    committed_offset: 1,
    offset_advanced: true,
  });
  const byPosition = await rest.request("POST", "/messages/ack", { topic, partition: 0, offset: 1 });
  t.equal(byPosition.body.committed_offset, 2);
  const again = await rest.request("POST", "/messages/ack", { topic, partition: 0, offset: 1 });
  t.equal(again.body.already_acked, true);
  const batch = await rest.request("POST", "/messages/ack", {
    messages: [{ receipt_handle: three }, { receipt_handle: "nonsense" }],
  });
  t.equal(batch.status, 200);
  t.equal(batch.body.success, false);
  t.equal(batch.body.results[0].success, true);
  t.equal(batch.body.results[1].error.code, "INVALID_RECEIPT_HANDLE");
  const bad = await rest.request("POST", "/messages/ack", { receipt_handle: "nonsense" });
  t.equal(bad.status, 400);
  const nowhere = await rest.request("POST", "/messages/ack", { topic, partition: 0, offset: 99 });
  t.equal(nowhere.body.error.code, "MESSAGE_NOT_FOUND");
  t.equal((await rest.request("POST", "/messages/ack", { topic })).body.error.code, "INVALID_ARGUMENT");
  t.equal((await rest.request("POST", "/messages/ack", { messages: [] })).body.error.code, "INVALID_ARGUMENT");
  t.ok(two);
});

t.test("an ack without a group that two groups could mean is refused", async (t) => {
  const { topic, group, poll } = await setUp(["a"]);
  const other = `${group}-other`;
  const { body: member } = await rest.request("POST", `/groups/${other}/join`, { member_id: "m", topics: [topic] });
  await poll();
  await rest.request("GET", `/groups/${other}/poll?member_id=${member.member_id}&timeout=1s`);
  const ambiguous = await rest.request("POST", "/messages/ack", { topic, partition: 0, offset: 0 });
  t.equal(ambiguous.status, 409);
  t.equal(ambiguous.body.error.code, "AMBIGUOUS_GROUP");
  t.strictSame([...ambiguous.body.error.details.groups].sort(), [group, other].sort());
  t.equal((await rest.request("POST", "/messages/ack", { topic, partition: 0, offset: 0, group })).status, 200);
});

t.test("nack: again at once, with its headers; the old receipt is fenced; then a dead letter", async (t) => {
  const { poll, topic } = await setUp(["a"], { max_deliveries: 2 });
  const [first] = receipts(await poll());
  const nacked = await rest.request("POST", "/messages/nack", { receipt_handle: first, delay: "0s", reason: "oops" });
  t.match(nacked.body, { success: true, action: "requeued", requeued: true, delivery_count: 1 });
  const second = await poll("timeout=2s");
  t.equal(second.body.messages[0].delivery_count, 2);
  t.match(second.body.messages[0].headers, { "x-queue-delivery-count": "2", "x-queue-last-error": "oops" });
  const late = await rest.request("POST", "/messages/ack", { receipt_handle: first });
  t.equal(late.status, 409);
  t.equal(late.body.error.code, "RECEIPT_HANDLE_EXPIRED");
  const dead = await rest.request("POST", "/messages/nack", { receipt_handle: receipts(second)[0], reason: "twice" });
  t.match(dead.body, { action: "dead_lettered", requeued: false, dlq_topic: `${topic}-dlq`, dlq_offset: 0 });
  const letters = await rest.request("GET", `/topics/${topic}/dlq`);
  t.equal(letters.body.total, 1);
  t.match(letters.body.data[0], {
    value: "a",
    reason: "max_deliveries_exceeded",
    original_topic: topic,
    original_offset: 0,
  });
});

t.test("reject, peek by reason, redrive once, replay, purge", async (t) => {
  const { poll, topic } = await setUp(["a", "b", "c"]);
  const handles = receipts(await poll());
  await rest.request("POST", "/messages/reject", {
    messages: handles.map((handle) => ({ receipt_handle: handle })),
    reason: "broken",
  });
  const peek = async (query = "") => (await rest.request("GET", `/topics/${topic}/dlq${query}`)).body;
  t.equal((await peek("?reason=rejected")).data.length, 3);
  t.equal((await peek("?reason=expired")).data.length, 0);
  t.equal((await peek("?limit=1&skip=1")).data[0].value, "b");
  const redrive = async (body: object) => (await rest.request("POST", `/topics/${topic}/dlq/redrive`, body)).body;
  t.equal((await redrive({ messages: [{ partition: 0, offset: 0 }] })).redriven, 1);
  const again = await redrive({ messages: [{ partition: 0, offset: 0 }] });
  t.equal(again.redriven, 0, "each at most once");
  const replay = { dlq_topic: `${topic}-dlq`, partition: 0, offset: 1 };
  t.equal((await rest.request("POST", "/messages/dlq/replay", replay)).body.redriven, 1);
  const back = await poll("timeout=2s");
  t.strictSame(values(back).sort(), ["a", "b"]);
  t.equal(back.body.messages[0].delivery_count, 1, "attempts begin anew");
  t.ok(back.body.messages[0].headers["x-queue-redriven-from"]);
  t.equal((await rest.request("DELETE", `/topics/${topic}/dlq`)).body.purged, true);
  t.equal((await peek()).total, 0);
  t.equal((await rest.request("GET", "/topics/nope/dlq")).status, 404);
});

t.test("visibility: extended, given back by 0, both field names", async (t) => {
  const { poll } = await setUp(["a"]);
  const [handle] = receipts(await poll());
  const extended = await rest.request("POST", "/messages/visibility", { receipt_handle: handle, timeout: "10m" });
  t.ok(Date.parse(extended.body.new_deadline) > Date.now() + 500_000);
  t.equal(
    (await rest.request("POST", "/messages/visibility", { receipt_handle: handle })).body.error.code,
    "INVALID_ARGUMENT",
  );
  const alias = { receipt_handle: handle, timeout_seconds: 0 };
  t.equal((await rest.request("POST", "/messages/extend-visibility", alias)).status, 200);
  const again = await poll("timeout=2s");
  t.strictSame(values(again), ["a"], "given back at once");
});

t.test("offsets: commit in three forms, get, reset in four", async (t) => {
  const { topic, group, member, poll } = await setUp(["a", "b", "c", "d"]);
  await poll();
  const { member_id, generation } = member;
  const path = `/groups/${group}/offsets`;
  const commit = async (body: object) => await rest.request("POST", path, { member_id, generation, ...body });
  t.match((await commit({ offsets: { [topic]: { "0": 1 } } })).body, {
    status: "committed",
    offsets: { [topic]: { "0": 1 } },
  });
  t.equal((await commit({ offsets: [{ topic, partition: 0, offset: 2, metadata: "m" }] })).status, 200);
  const flat = await rest.request("POST", `${path}/commit`, { member_id, topic, partition: 0, offset: 3 });
  t.equal(flat.body.results[0].offset, 3);
  const offsets = await rest.request("GET", `${path}?topic=${topic}`);
  t.strictSame(offsets.body.offsets, { [topic]: { "0": 3 } });
  t.equal(offsets.body.details[0].lag, 1);
  t.equal((await commit({ offsets: { [topic]: { "0": 5 } } })).status, 400, "beyond the end");
  t.equal((await commit({})).body.error.code, "INVALID_ARGUMENT");
  const reset = async (body: object) => (await rest.request("POST", `${path}/reset`, { topic, ...body })).body;
  t.match(await reset({ to: "earliest", dry_run: true }), {
    dry_run: true,
    results: [{ partition: 0, old_offset: 3, new_offset: 0 }],
  });
  t.equal((await reset({ to: "latest" })).results[0].new_offset, 4);
  t.equal((await reset({ partition: 0, offset: 1 })).results[0].new_offset, 1);
  t.equal((await reset({ to_timestamp: "2020-01-01T00:00:00Z" })).results[0].new_offset, 0);
  t.equal((await reset({})).error.code, "INVALID_ARGUMENT");
  t.equal((await reset({ offset: 1 })).error.code, "INVALID_ARGUMENT", "an offset needs its partition");
  t.equal((await reset({ to: "earliest", offset: 1, partition: 0 })).error.code, "INVALID_ARGUMENT");
  t.strictSame(values(await poll("timeout=2s")), ["a", "b", "c", "d"], "delivered once more");
});

t.test("a commit by somebody who does not own the partition", async (t) => {
  const { topic, group } = await setUp(["a"]);
  await rest.request("POST", `/groups/${group}/join`, { member_id: "idle", topics: [topic] });
  const answer = await rest.request("POST", `/groups/${group}/offsets`, {
    member_id: "idle",
    offsets: { [topic]: { "0": 1 } },
  });
  t.equal(answer.status, 403);
  t.equal(answer.body.error.code, "NOT_ASSIGNED");
});

t.test("heartbeat, revoke, leave, list, describe, delete", async (t) => {
  const { topic, group, member, poll } = await setUp(["a"]);
  const { member_id, generation } = member;
  const beat = await rest.request("POST", `/groups/${group}/heartbeat`, { member_id, generation });
  t.match(beat.body, { status: "ok", generation, state: "stable", rebalance_required: false });
  const newer = await rest.request("POST", `/groups/${group}/heartbeat`, { member_id, generation: generation + 1 });
  t.equal(newer.status, 400);
  t.equal(
    (await rest.request("POST", `/groups/${group}/revoke`, { member_id, partitions: { [topic]: [0] } })).status,
    200,
  );
  await poll();
  const described = await rest.request("GET", `/groups/${group}`);
  t.match(described.body, { id: group, state: "stable", protocol: "cooperative-sticky" });
  t.equal(described.body.members[0].in_flight, 1);
  t.equal(described.body.offsets[topic]["0"].latest, 1);
  const list = await rest.request("GET", "/groups?per_page=1000");
  t.ok(list.body.data.some((item: { id: string }) => item.id === group));
  t.equal((await rest.request("DELETE", `/groups/${group}`)).body.error.code, "GROUP_NOT_EMPTY");
  t.strictSame((await rest.request("POST", `/groups/${group}/leave`, { member_id })).body.status, "left");
  t.equal((await rest.request("POST", `/groups/${group}/leave`, { member_id })).body.error.code, "MEMBER_NOT_FOUND");
  t.equal((await rest.request("GET", `/groups/${group}`)).body.state, "empty");
  t.equal((await rest.request("DELETE", `/groups/${group}?force=true`)).body.deleted, true);
  t.equal((await rest.request("GET", `/groups/${group}`)).body.error.code, "GROUP_NOT_FOUND");
});

t.test("drain: nothing more after the answer; what is held can be settled; undrain", async (t) => {
  const { group, member, poll, topic } = await setUp(["a", "b"]);
  const [first] = receipts(await poll("max_messages=1&timeout=1s"));
  const path = `/groups/${group}/members/${member.member_id}`;
  const drained = await rest.request("POST", `${path}/drain`);
  t.match(drained.body, { status: "draining", in_flight: 1 });
  const empty = await poll();
  t.strictSame(values(empty), []);
  t.equal(empty.body.draining, true);
  t.equal((await rest.request("POST", "/messages/ack", { receipt_handle: first })).status, 200);
  t.equal((await rest.request("POST", `${path}/drain`)).body.status, "drained");
  t.equal((await rest.request("POST", `${path}/undrain`)).body.status, "active");
  t.strictSame(values(await poll("timeout=2s")), ["b"]);
  t.equal((await rest.request("POST", `/groups/${group}/members/nope/drain`)).body.error.code, "MEMBER_NOT_FOUND");
  t.ok(topic);
});

t.test("delayed: listed, described, cancelled in both forms, delivered when due", async (t) => {
  const { topic, poll } = await setUp([]);
  const put = async (delay: string) =>
    (await rest.request("POST", `/topics/${topic}/messages`, { value: delay, delay })).body;
  const [first, second, third] = [await put("1h"), await put("2h"), await put("1s")];
  t.equal(first.offset, -1);
  t.equal(first.delayed, true);
  const list = await rest.request("GET", `/topics/${topic}/delayed`);
  t.strictSame(
    list.body.data.map((item: { delayed_id: string }) => item.delayed_id),
    [third, first, second].map((item) => item.delayed_id),
  );
  t.equal(list.body.pagination.total, 3);
  const skipped = await rest.request("GET", `/topics/${topic}/delayed?skip=1&limit=1`);
  t.equal(skipped.body.data[0].delayed_id, first.delayed_id);
  t.equal((await rest.request("GET", `/topics/${topic}/delayed/${first.delayed_id}`)).body.state, "pending");
  t.match((await rest.request("DELETE", `/topics/${topic}/delayed/${first.delayed_id}`)).body, {
    canceled: true,
    cancelled: true,
  });
  const [partition, number] = second.delayed_id.split("-");
  t.equal((await rest.request("DELETE", `/topics/${topic}/delayed/${partition}/${number}`)).status, 200);
  const gone = await rest.request("GET", `/topics/${topic}/delayed/${first.delayed_id}`);
  t.equal(gone.body.error.code, "DELAYED_MESSAGE_NOT_FOUND");
  const delivered = await poll("timeout=5s");
  t.strictSame(values(delivered), ["1s"]);
  t.ok(Date.parse(delivered.body.messages[0].timestamp) >= Date.parse(third.deliver_at), "never early");
});

t.test("statistics", async (t) => {
  t.ok((await rest.request("GET", "/stats")).body.topics > 5);
  t.ok((await rest.request("GET", "/priority/stats")).body.published[2] > 5);
  t.equal((await rest.request("GET", "/delay/stats")).body.pending, 0);
  t.equal((await rest.request("GET", "/reliability/stats")).status, 200);
  for (const path of ["/livez", "/readyz", "/healthz", "/version", "/metrics", "/docs", "/openapi.json"]) {
    await rest.request("GET", path);
  }
});

t.test("every documented operation was answered well at least once", async (t) => {
  await rest.request("POST", "/producers/init", {});
  await rest.request("GET", "/topics");
  await rest.request("GET", "/topics/topic-1");
  await rest.request("PATCH", "/topics/topic-1", { partitions: 2 });
  await rest.request("GET", "/topics/topic-1/partitions");
  await rest.request("GET", "/topics/topic-1/partitions/0/messages");
  await rest.request("POST", "/topics/topic-1/messages/batch", { messages: [{ value: "x" }] });
  await rest.request("DELETE", "/topics/topic-1");
  const expected = Object.entries(rest.document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const isAnswered = (operation: string) =>
    rest.answered.has(`${operation} 200`) || rest.answered.has(`${operation} 201`);
  t.strictSame(
    expected.filter((operation) => !isAnswered(operation)),
    [],
  );
});
