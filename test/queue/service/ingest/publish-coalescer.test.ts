import t from "tap";
import { queueError } from "../../../../src/queue/errors.ts";
import {
  PublishCoalescer,
  roundBytesMax,
  roundMessagesMax,
} from "../../../../src/queue/service/ingest/publish-coalescer.ts";
import type { PublishRequest, PublishResult, PublishUseCases } from "../../../../src/queue/service/queue-service.ts";

/** A service whose calls end when the test says so. */
function createService() {
  const calls: {
    request: PublishRequest;
    resolve: (results: readonly PublishResult[]) => void;
    reject: (error: unknown) => void;
  }[] = [];
  const publish = (request: PublishRequest) =>
    new Promise<readonly PublishResult[]>((resolve, reject) => calls.push({ request, resolve, reject }));
  return { calls, service: { publish } as unknown as PublishUseCases };
}

function createCoalescer() {
  const { calls, service } = createService();
  const rounds: (() => void)[] = [];
  const settled: string[] = [];
  const coalescer = new PublishCoalescer({
    service,
    schedule: (callback) => rounds.push(callback),
    validate: (topic) => {
      if (topic === "bad") throw queueError("TOPIC_NOT_FOUND", "no such topic");
    },
  });
  const submit = (
    name: string,
    options: { topic?: string; acks?: "leader"; count?: number; sizeBytes?: number } = {},
  ) =>
    coalescer.submit({
      topic: options.topic ?? "t",
      acks: options.acks,
      messages: Array.from({ length: options.count ?? 1 }, () => ({ value: name })),
      sizeBytes: options.sizeBytes ?? 10,
      onSettled: (results, error) =>
        settled.push(
          error === undefined ? `${name}@${results?.map((result) => result.offset).join(",")}` : `${name} failed`,
        ),
    });
  return { calls, rounds, settled, submit, coalescer };
}

const results = (base: number, count: number): PublishResult[] =>
  Array.from({ length: count }, (_, index) => ({
    partition: 0,
    offset: base + index,
    timestampMs: 1,
    priority: 2,
    isDuplicate: false,
  }));
const turn = () => new Promise((resolve) => setImmediate(resolve));

t.test("what arrives together is one call, and each gets its own part of the answer", async (t) => {
  const { calls, rounds, settled, submit } = createCoalescer();
  submit("a");
  submit("b", { count: 2 });
  submit("c");
  t.equal(calls.length, 0, "nothing before the round ends");
  t.equal(rounds.length, 1, "one round");
  rounds[0]?.();
  t.strictSame(
    calls.map((call) => call.request.messages.map((message) => message.value)),
    [["a", "b", "b", "c"]],
  );
  calls[0]?.resolve(results(7, 4));
  await turn();
  t.strictSame(settled, ["a@7", "b@8,9", "c@10"]);
});

t.test("topics and acks are kept apart", async (t) => {
  const { calls, rounds, submit } = createCoalescer();
  submit("a");
  submit("b", { topic: "u" });
  submit("c", { acks: "leader" });
  rounds[0]?.();
  t.strictSame(
    calls.map(({ request }) => [request.topic, request.acks]),
    [
      ["t", undefined],
      ["u", undefined],
      ["t", "leader"],
    ],
  );
});

t.test("a submission that is refused alone takes nobody along", async (t) => {
  const { calls, rounds, settled, submit } = createCoalescer();
  submit("a", { topic: "bad" });
  t.strictSame(settled, ["a failed"]);
  t.equal(rounds.length, 0);
  submit("b");
  rounds[0]?.();
  t.equal(calls.length, 1);
});

t.test("a failed call fails all that were in it", async (t) => {
  const { calls, rounds, settled, submit } = createCoalescer();
  submit("a");
  submit("b");
  rounds[0]?.();
  calls[0]?.reject(new Error("disk"));
  await turn();
  t.strictSame(settled, ["a failed", "b failed"]);
});

t.test("rounds of a topic report in their order, whichever is done first", async (t) => {
  const { calls, rounds, settled, submit } = createCoalescer();
  for (const [index, name] of ["a", "b", "c"].entries()) {
    submit(name);
    rounds[index]?.();
  }
  submit("x", { topic: "u" });
  rounds[3]?.();
  calls[2]?.resolve(results(2, 1));
  calls[3]?.resolve(results(0, 1));
  await turn();
  t.strictSame(settled, ["x@0"], "another topic does not wait");
  calls[1]?.reject(new Error("disk"));
  await turn();
  t.strictSame(settled, ["x@0"]);
  calls[0]?.resolve(results(0, 1));
  await turn();
  t.strictSame(settled, ["x@0", "a@0", "b failed", "c@2"]);
});

t.test("a round is bounded by messages and by bytes", async (t) => {
  const { calls, rounds, submit } = createCoalescer();
  submit("a", { count: roundMessagesMax });
  t.equal(calls.length, 0);
  submit("b");
  t.equal(calls.length, 1, "one more than the limit starts another round");
  submit("c", { sizeBytes: roundBytesMax - 10 });
  t.equal(calls.length, 1, "exactly the limit still fits");
  submit("d", { sizeBytes: 1 });
  t.equal(calls.length, 2);
  rounds[0]?.();
  t.equal(calls.length, 3);
  t.equal(rounds.length, 1);
});
