import t from "tap";
import { createMetrics } from "../../../src/platform/metrics/metrics.ts";

const lines = (text: string): readonly string[] =>
  text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

t.test("counters count by label, and a bound one is there before its first event", async (t) => {
  const metrics = createMetrics();
  const counter = metrics.counter({ name: "test_events_total", help: "Events.", labels: ["kind"] });
  const quiet = counter.bind({ kind: "quiet" });
  counter.increment({ kind: "loud" });
  counter.increment({ kind: "loud" }, 2);
  const text = await metrics.render();
  t.match(text, "# HELP test_events_total Events.\n# TYPE test_events_total counter\n");
  t.strictSame(lines(text), ['test_events_total{kind="quiet"} 0', 'test_events_total{kind="loud"} 3']);
  quiet.increment();
  quiet.increment(4);
  t.match(await metrics.render(), 'test_events_total{kind="quiet"} 5');
  const plain = metrics.counter({ name: "test_plain_total", help: "Plain." });
  plain.increment();
  plain.bind().increment(2);
  t.match(await metrics.render(), "test_plain_total 3");
});

t.test("gauges are set, moved, removed, and filled at the scrape", async (t) => {
  const metrics = createMetrics();
  const gauge = metrics.gauge({ name: "test_level", help: "Level.", labels: ["tank"] });
  gauge.set({ tank: "a" }, 5);
  gauge.add({ tank: "a" }, -2);
  gauge.set({ tank: "b" }, 1);
  t.strictSame(lines(await metrics.render()), ['test_level{tank="a"} 3', 'test_level{tank="b"} 1']);
  gauge.remove({ tank: "b" });
  t.strictSame(lines(await metrics.render()), ['test_level{tank="a"} 3']);
  let sources = ["x", "y"];
  const collected = createMetrics();
  collected.gauge({
    name: "test_sources",
    help: "Sources.",
    labels: ["name"],
    collect: async (self) => {
      self.reset();
      for (const name of sources) self.set({ name }, 1);
    },
  });
  t.strictSame(lines(await collected.render()), ['test_sources{name="x"} 1', 'test_sources{name="y"} 1']);
  sources = ["y"];
  t.strictSame(lines(await collected.render()), ['test_sources{name="y"} 1'], "what is gone is not shown again");
});

t.test("histograms sort into their buckets", async (t) => {
  const metrics = createMetrics();
  const histogram = metrics.histogram({ name: "test_seconds", help: "Time.", labels: ["route"], buckets: [0.1, 1] });
  histogram.observe({ route: "/a" }, 0.1);
  histogram.bind({ route: "/a" }).observe(0.5);
  histogram.observe({ route: "/a" }, 2);
  t.strictSame(lines(await metrics.render()), [
    'test_seconds_bucket{le="0.1",route="/a"} 1',
    'test_seconds_bucket{le="1",route="/a"} 2',
    'test_seconds_bucket{le="+Inf",route="/a"} 3',
    'test_seconds_sum{route="/a"} 2.6',
    'test_seconds_count{route="/a"} 3',
  ]);
});

t.test("servers in one process do not share figures", async (t) => {
  const [first, second] = [createMetrics(), createMetrics({ hasProcessMetrics: true })];
  first.counter({ name: "test_total", help: "x" }).increment();
  second.counter({ name: "test_total", help: "x" });
  t.strictSame(lines(await first.render()), ["test_total 1"]);
  const text = await second.render();
  t.match(text, "test_total 0");
  for (const name of ["process_resident_memory_bytes", "nodejs_eventloop_lag_seconds", "process_start_time_seconds"]) {
    t.match(text, name);
  }
  t.equal(first.contentType, "text/plain; version=0.0.4; charset=utf-8");
});

t.test("names, labels and label values that do not fit are refused or escaped", async (t) => {
  const metrics = createMetrics();
  t.throws(() => metrics.counter({ name: "not a name", help: "x" }));
  metrics.counter({ name: "test_total", help: "x", labels: ["kind"] });
  t.throws(() => metrics.counter({ name: "test_total", help: "x" }), "a name is given once");
  const gauge = metrics.gauge({ name: "test_gauge", help: "x", labels: ["text"] });
  t.throws(() => gauge.set({ other: "x" }, 1));
  gauge.set({ text: 'a"b\\c\nd' }, 1);
  t.match(await metrics.render(), 'test_gauge{text="a\\"b\\\\c\\nd"} 1');
});
