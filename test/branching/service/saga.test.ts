import t from "tap";
import { KeyedLock } from "../../../src/branching/service/keyed-lock.ts";
import { runSaga, type Step } from "../../../src/branching/service/saga.ts";
import { silentLogger } from "../../../src/platform/log/logger.ts";

const names = ["one", "two", "three", "four"] as const;

interface Recorder {
  readonly steps: readonly Step[];
  readonly events: string[];
}

function record(failingRun: number | undefined, failingUndo?: number): Recorder {
  const events: string[] = [];
  const steps = names.map((name, index) => ({
    name,
    run: async () => {
      events.push(`run ${name}`);
      if (index === failingRun) throw new Error(`${name} failed`);
    },
    undo: async () => {
      events.push(`undo ${name}`);
      if (index === failingUndo) throw new Error(`undo ${name} failed`);
    },
  }));
  return { steps, events };
}

const signal = new AbortController().signal;

t.test("runSaga() undoes what was begun, in reverse, for a failure at every step", async (t) => {
  for (const [index, failing] of names.entries()) {
    const { steps, events } = record(index);
    await t.rejects(runSaga(steps, { operation: "op", signal, logger: silentLogger, hooks: {} }), {
      message: `${failing} failed`,
    });
    const begun = names.slice(0, index + 1);
    t.strictSame(
      events,
      [...begun.map((name) => `run ${name}`), ...begun.toReversed().map((name) => `undo ${name}`)],
      failing,
    );
  }
});

t.test("an undo that fails is reported and does not stop the others", async (t) => {
  const { steps, events } = record(3, 1);
  const failed: string[] = [];
  const hooks = { onUndoFailed: (step: string) => failed.push(step) };
  await t.rejects(runSaga(steps, { operation: "op", signal, logger: silentLogger, hooks }), { message: "four failed" });
  t.strictSame(failed, ["two"]);
  t.strictSame(events.slice(-2), ["undo two", "undo one"]);
});

t.test("nothing is undone behind a commit", async (t) => {
  const { steps, events } = record(3);
  const committing = steps.map((step, index) => (index === 1 ? { ...step, isCommit: true as const } : step));
  await t.rejects(runSaga(committing, { operation: "op", signal, logger: silentLogger, hooks: {} }), {
    message: "four failed",
  });
  t.strictSame(events.slice(-2), ["undo four", "undo three"], "only what came after it");
});

t.test("an abort between steps stops and undoes", async (t) => {
  const controller = new AbortController();
  const { steps, events } = record(undefined);
  const reason = new Error("stop");
  const hooks = {
    onStep: (point: string) => {
      if (point === "op.two") controller.abort(reason);
    },
  };
  await t.rejects(runSaga(steps, { operation: "op", signal: controller.signal, logger: silentLogger, hooks }), reason);
  t.strictSame(events, ["run one", "run two", "undo two", "undo one"]);
});

t.test("a saga without a failure undoes nothing and names its steps", async (t) => {
  const { steps, events } = record(undefined);
  const points: string[] = [];
  await runSaga(steps, {
    operation: "op",
    signal,
    logger: silentLogger,
    hooks: { onStep: (point) => points.push(point) },
  });
  t.strictSame(
    events,
    names.map((name) => `run ${name}`),
  );
  t.strictSame(points.slice(0, 2), ["op.one.before", "op.one"]);
});

t.test("KeyedLock runs one after the other per key, and forgets", async (t) => {
  const lock = new KeyedLock();
  const events: string[] = [];
  const work = (name: string) => async (): Promise<void> => {
    events.push(`${name} begins`);
    await Promise.resolve();
    events.push(`${name} ends`);
    if (name === "a1") throw new Error("a1 failed");
  };
  const results = await Promise.allSettled([
    lock.run("k/a", work("a1")),
    lock.run("k/a", work("a2")),
    lock.run("k/b", work("b")),
  ]);
  t.strictSame(
    results.map((result) => result.status),
    ["rejected", "fulfilled", "fulfilled"],
  );
  t.ok(events.indexOf("a1 ends") < events.indexOf("a2 begins"));
  t.ok(events.indexOf("b begins") < events.indexOf("a2 begins"), "keys do not wait for each other");
  t.strictSame(lock.listKeys("k/"), []);
});
