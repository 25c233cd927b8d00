import type { BoundCounter, Counter, Metrics } from "../../../platform/metrics/metrics.ts";
import type { QueueCounters, StatsUseCases } from "../../service/queue-service.ts";

/**
 * The broker's metrics. Counters are told of events, batch by batch; gauges are read from the service at each scrape,
 * so that they cost nothing in between.
 */
export class QueueMetrics implements QueueCounters {
  readonly #published: PerLabels;
  readonly #publishedBytes: PerLabels;
  readonly #consumed: PerLabels;
  readonly #consumedBytes: PerLabels;
  readonly #settled: Readonly<Record<"acked" | "requeued" | "dead_lettered" | "dropped", PerLabels>>;
  readonly #expired: PerLabels;
  readonly #scheduled: PerLabels;
  readonly #fired: PerLabels;
  readonly #lateness: { observe(value: number): void };
  readonly #rebalances: PerLabels;
  #service: StatsUseCases | undefined;

  constructor(metrics: Metrics) {
    const counter = (name: string, help: string, labels: readonly string[]): PerLabels =>
      new PerLabels(metrics.counter({ name, help, labels }), labels);
    this.#published = counter("queue_messages_published_total", "Messages stored.", ["topic"]);
    this.#publishedBytes = counter("queue_broker_bytes_published_total", "Bytes of messages stored.", ["topic"]);
    this.#consumed = counter("queue_messages_consumed_total", "Messages delivered; group is empty for raw readers.", [
      "topic",
      "group",
    ]);
    this.#consumedBytes = counter("queue_broker_bytes_consumed_total", "Bytes of messages delivered.", [
      "topic",
      "group",
    ]);
    const settled = (name: string, help: string): PerLabels => counter(name, help, ["topic", "group"]);
    this.#settled = {
      acked: settled("queue_broker_messages_acked_total", "Deliveries acknowledged."),
      requeued: settled("queue_broker_messages_nacked_total", "Deliveries given back for a retry."),
      dead_lettered: settled("queue_broker_messages_rejected_total", "Deliveries moved to a dead-letter topic."),
      dropped: settled("queue_broker_messages_dropped_total", "Deliveries given up where dead-lettering is off."),
    };
    this.#expired = settled("queue_broker_visibility_expired_total", "Deliveries that nobody settled in time.");
    this.#scheduled = counter("queue_broker_delayed_messages_scheduled_total", "Delayed messages accepted.", ["topic"]);
    this.#fired = counter("queue_broker_delayed_messages_fired_total", "Delayed messages delivered to their topic.", [
      "topic",
    ]);
    this.#lateness = metrics
      .histogram({
        name: "queue_broker_delayed_lateness_seconds",
        help: "Time from due to stored, of delayed messages.",
      })
      .bind();
    this.#rebalances = counter("queue_rebalances_total", "Changes of a group's assignment.", ["group"]);
    this.#addGauges(metrics);
  }

  /** Gauges read from this; before it is set they have no series. */
  observe(service: StatsUseCases): void {
    this.#service = service;
  }

  onPublished(topic: string, _partition: number, messages: number, bytes: number): void {
    this.#published.add(messages, topic);
    this.#publishedBytes.add(bytes, topic);
  }
  onConsumed(topic: string, group: string | undefined, messages: number, bytes: number): void {
    this.#consumed.add(messages, topic, group ?? "");
    this.#consumedBytes.add(bytes, topic, group ?? "");
  }
  onSettled(topic: string, group: string, action: "acked" | "requeued" | "dead_lettered" | "dropped"): void {
    this.#settled[action].add(1, topic, group);
  }
  onVisibilityExpired(topic: string, group: string, messages: number): void {
    this.#expired.add(messages, topic, group);
  }
  onDelayedScheduled(topic: string, messages: number): void {
    this.#scheduled.add(messages, topic);
  }
  onDelayedFired(topic: string, messages: number, latenessMs: number): void {
    this.#fired.add(messages, topic);
    this.#lateness.observe(latenessMs / 1000);
  }
  onRebalance(group: string): void {
    this.#rebalances.add(1, group);
  }

  #addGauges(metrics: Metrics): void {
    const position = ["topic", "partition"];
    metrics.gauge({
      name: "queue_consumer_lag",
      help: "Messages between a group's committed offset and the end of the partition.",
      labels: ["group", ...position],
      collect: (gauge) => {
        gauge.reset();
        for (const item of this.#service?.groupProgress() ?? []) {
          gauge.set({ group: item.group, topic: item.topic, partition: item.partition }, item.lag);
        }
      },
    });
    metrics.gauge({
      name: "queue_partition_size_bytes",
      help: "Bytes stored in a partition.",
      labels: position,
      collect: (gauge) => {
        gauge.reset();
        for (const { topic, partition, sizeBytes } of this.#service?.partitionSizes() ?? []) {
          gauge.set({ topic, partition }, sizeBytes);
        }
      },
    });
    metrics.gauge({
      name: "queue_storage_log_end_offset",
      help: "Next offset of a partition.",
      labels: position,
      collect: (gauge) => {
        gauge.reset();
        for (const { topic, partition, latestOffset } of this.#service?.partitionSizes() ?? []) {
          gauge.set({ topic, partition }, latestOffset);
        }
      },
    });
    this.#addTotals(metrics);
  }

  #addTotals(metrics: Metrics): void {
    const total = (name: string, help: string, read: (service: StatsUseCases) => number): void => {
      metrics.gauge({
        name,
        help,
        collect: (gauge) => {
          if (this.#service !== undefined) gauge.set({}, read(this.#service));
        },
      });
    };
    total("queue_broker_topic_count", "Topics.", (service) => service.stats().topicCount);
    total("queue_broker_topic_partitions", "Partitions of all topics.", (service) => service.stats().partitionCount);
    total("queue_broker_active_consumers", "Members of all groups.", (service) => service.stats().memberCount);
    total("queue_broker_messages_in_flight", "Deliveries not settled.", (service) => service.stats().inFlightCount);
    total(
      "queue_broker_delayed_messages_pending",
      "Delayed messages that wait.",
      (service) => service.stats().delayedCount,
    );
  }
}

/** A counter whose series are kept bound: adding to one costs a map lookup. */
class PerLabels {
  readonly #counter: Counter;
  readonly #names: readonly string[];
  readonly #bound = new Map<string, BoundCounter>();

  constructor(counter: Counter, names: readonly string[]) {
    this.#counter = counter;
    this.#names = names;
  }

  add(value: number, ...labels: readonly string[]): void {
    // Names of topics and groups hold no line feed.
    const key = labels.length === 1 ? (labels[0] ?? "") : labels.join("\n");
    let bound = this.#bound.get(key);
    if (bound === undefined) {
      bound = this.#counter.bind(Object.fromEntries(this.#names.map((name, index) => [name, labels[index] ?? ""])));
      this.#bound.set(key, bound);
    }
    bound.increment(value);
  }
}
