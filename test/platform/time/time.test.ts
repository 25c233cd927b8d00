import t from "tap";
import { createSeededRandom, randomBase62, systemRandom } from "../../../src/platform/random/random.ts";
import {
  formatInstant,
  formatInstantSeconds,
  parseInstant,
  sleep,
  systemTimers,
} from "../../../src/platform/time/clock.ts";
import { formatDuration, parseDuration } from "../../../src/platform/time/duration.ts";

t.test("parseDuration() and formatDuration() agree", async (t) => {
  for (const [text, ms] of [
    ["300ms", 300],
    ["30s", 30_000],
    ["5m", 300_000],
    ["1h30m", 5_400_000],
    ["7d", 604_800_000],
    ["0s", 0],
  ] as const) {
    t.equal(parseDuration(text), ms, text);
    t.equal(formatDuration(ms), text);
  }
  t.equal(parseDuration("1.5h"), 5_400_000);
  t.equal(parseDuration("42"), 42_000);
  for (const bad of ["", "-1s", "1x", "s", "1h-3m", "1s 2s", "NaN", "1e3s"])
    t.equal(parseDuration(bad), undefined, bad);
});

t.test("instants are RFC 3339", async (t) => {
  t.equal(formatInstant(0), "1970-01-01T00:00:00.000Z");
  t.equal(formatInstantSeconds(1999), "1970-01-01T00:00:01Z");
  t.equal(parseInstant("1970-01-01T01:00:00+01:00"), 0);
  for (const bad of ["yesterday", "1970-01-01", "1970-13-01T00:00:00Z", "0"])
    t.equal(parseInstant(bad), undefined, bad);
});

t.test("sleep() ends early when aborted", async (t) => {
  const controller = new AbortController();
  const sleeping = sleep(60_000, controller.signal);
  controller.abort(new Error("enough"));
  await t.rejects(sleeping, { message: "enough" });
  await t.rejects(sleep(1, controller.signal), { message: "enough" });
  await sleep(1);
  let calls = 0;
  const timer = systemTimers.every(1, () => {
    calls++;
    if (calls === 2) timer.cancel();
  });
  await sleep(20);
  t.equal(calls, 2);
});

t.test("random values", async (t) => {
  const first = createSeededRandom(7);
  const second = createSeededRandom(7);
  t.strictSame(
    Array.from({ length: 5 }, () => first.fraction()),
    Array.from({ length: 5 }, () => second.fraction()),
  );
  t.not(createSeededRandom(8).fraction(), createSeededRandom(9).fraction());
  t.match(first.uuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  t.match(randomBase62(systemRandom, 43), /^[0-9A-Za-z]{43}$/);
  t.not(randomBase62(systemRandom, 43), randomBase62(systemRandom, 43));
});
