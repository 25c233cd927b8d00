import {
  findSettingsProblem,
  findTopicNameProblem,
  partitionCountMax,
  type Topic,
  type TopicSettings,
} from "./topic.ts";

/**
 * The metadata group's state and its one transition function. Topics refer to shards, never to nodes: which node leads
 * a shard is the replication's business.
 *
 * Invariant: partition i of a dead-letter topic lies in the shard of partition i of every topic that sends there, so
 * that "dead-letter and acknowledge" is one entry of one log.
 */
export interface MetadataState {
  readonly topics: ReadonlyMap<string, Topic>;
  /** Numbers given out so far; the next topic gets the next one. */
  readonly lastTopicNumber: number;
  readonly lastProducerId: number;
  readonly producers: ReadonlyMap<string, { readonly producerId: number; readonly producerEpoch: number }>;
  /** Base64; signs receipt handles. Set once. */
  readonly receiptKey: string | undefined;
}

export type MetadataCommand =
  | {
      readonly kind: "createTopic";
      readonly name: string;
      readonly partitions: number;
      readonly settings: TopicSettings;
      readonly nowMs: number;
      readonly partitionCountLimit: number;
    }
  | {
      readonly kind: "patchTopic";
      readonly name: string;
      readonly partitions: number | undefined;
      readonly settings: Partial<TopicSettings>;
      readonly partitionCountLimit: number;
    }
  | { readonly kind: "deleteTopic"; readonly name: string }
  | { readonly kind: "ensureReceiptKey"; readonly key: string }
  | { readonly kind: "initProducer"; readonly transactionalId: string | undefined };

export type MetadataResult =
  | { readonly kind: "topic"; readonly topic: Topic }
  | { readonly kind: "producer"; readonly producerId: number; readonly producerEpoch: number }
  | { readonly kind: "done" }
  | {
      readonly kind: "refused";
      readonly code: MetadataRefusal;
      readonly message: string;
      readonly details: Record<string, unknown>;
    };

export type MetadataRefusal =
  | "TOPIC_ALREADY_EXISTS"
  | "TOPIC_NOT_FOUND"
  | "PARTITION_DECREASE_NOT_ALLOWED"
  | "INVALID_PARTITION"
  | "INVALID_TOPIC_NAME"
  | "INVALID_ARGUMENT"
  | "RATE_LIMITED";

/** Transactional ids are kept for ever until this many; the oldest then goes. */
const transactionalIdCountMax = 100_000;

export function emptyMetadata(): MetadataState {
  return { topics: new Map(), lastTopicNumber: 0, lastProducerId: 0, producers: new Map(), receiptKey: undefined };
}

/** The next state and the answer. The state given is not changed. */
export function applyMetadata(
  state: MetadataState,
  command: MetadataCommand,
  shardCount: number,
): { state: MetadataState; result: MetadataResult } {
  switch (command.kind) {
    case "createTopic":
      return createTopic(state, command, shardCount);
    case "patchTopic":
      return patchTopic(state, command, shardCount);
    case "deleteTopic":
      return deleteTopic(state, command.name);
    case "ensureReceiptKey":
      return { state: { ...state, receiptKey: state.receiptKey ?? command.key }, result: { kind: "done" } };
    case "initProducer":
      return initProducer(state, command.transactionalId);
    default:
      return { state, result: command satisfies never };
  }
}

type Step = { state: MetadataState; result: MetadataResult };

function createTopic(
  state: MetadataState,
  command: Extract<MetadataCommand, { kind: "createTopic" }>,
  shardCount: number,
): Step {
  const { name, partitions, settings } = command;
  const nameProblem = findTopicNameProblem(name);
  if (nameProblem !== undefined) {
    return refuse(state, "INVALID_TOPIC_NAME", `Cannot create topic "${name}": ${nameProblem}`, { topic: name });
  }
  if (state.topics.has(name)) {
    return refuse(state, "TOPIC_ALREADY_EXISTS", `Cannot create topic "${name}": it exists`, { topic: name });
  }
  const problem = findPartitionProblem(name, partitions) ?? findSettingsProblem(name, settings);
  if (problem !== undefined) return refuseField(state, `Cannot create topic "${name}"`, problem);
  if (partitionTotal(state) + partitions > command.partitionCountLimit) {
    return refuseFull(state, name, command.partitionCountLimit);
  }
  const number = state.lastTopicNumber + 1;
  const topic: Topic = { number, name, shards: [], createdAtMs: command.nowMs, settings };
  const topics = new Map(state.topics).set(name, topic);
  const placed = placePartitions(topics, name, partitions, shardCount);
  if (placed === undefined) return refusePlacement(state, `Cannot create topic "${name}"`, settings.dlqTopic);
  return answer({ ...state, topics: placed, lastTopicNumber: number }, name);
}

function patchTopic(
  state: MetadataState,
  command: Extract<MetadataCommand, { kind: "patchTopic" }>,
  shardCount: number,
): Step {
  const topic = state.topics.get(command.name);
  if (topic === undefined) return refuseMissing(state, "change", command.name);
  const partitions = command.partitions ?? topic.shards.length;
  if (partitions < topic.shards.length) {
    return refuse(
      state,
      "PARTITION_DECREASE_NOT_ALLOWED",
      `Cannot change topic "${topic.name}" to ${partitions} partitions: it has ${topic.shards.length}, and partitions can only be added`,
      { topic: topic.name, partitions: topic.shards.length },
    );
  }
  const settings: TopicSettings = { ...topic.settings, ...command.settings };
  const problem = findPartitionProblem(topic.name, partitions) ?? findSettingsProblem(topic.name, settings);
  if (problem !== undefined) return refuseField(state, `Cannot change topic "${topic.name}"`, problem);
  if (
    partitions > topic.shards.length &&
    partitionTotal(state) + partitions - topic.shards.length > command.partitionCountLimit
  ) {
    return refuseFull(state, topic.name, command.partitionCountLimit);
  }
  const topics = new Map(state.topics).set(topic.name, { ...topic, settings });
  const placed = placePartitions(topics, topic.name, partitions, shardCount);
  if (placed === undefined) return refusePlacement(state, `Cannot change topic "${topic.name}"`, settings.dlqTopic);
  return answer({ ...state, topics: placed }, topic.name);
}

function deleteTopic(state: MetadataState, name: string): Step {
  const topic = state.topics.get(name);
  if (topic === undefined) return refuseMissing(state, "delete", name);
  const topics = new Map(state.topics);
  topics.delete(name);
  return { state: { ...state, topics }, result: { kind: "topic", topic } };
}

function initProducer(state: MetadataState, transactionalId: string | undefined): Step {
  const known = transactionalId === undefined ? undefined : state.producers.get(transactionalId);
  const producer =
    known === undefined
      ? { producerId: state.lastProducerId + 1, producerEpoch: 0 }
      : { producerId: known.producerId, producerEpoch: known.producerEpoch + 1 };
  const producers = new Map(state.producers);
  if (transactionalId !== undefined) {
    producers.delete(transactionalId);
    producers.set(transactionalId, producer);
    const oldest = producers.keys().next();
    if (producers.size > transactionalIdCountMax && !oldest.done) producers.delete(oldest.value);
  }
  const lastProducerId = Math.max(state.lastProducerId, producer.producerId);
  return { state: { ...state, producers, lastProducerId }, result: { kind: "producer", ...producer } };
}

/**
 * Gives a topic its shards, and every topic that must lie beside it. All topics linked by dead-lettering share one
 * sequence of shards; each has a prefix of it. Undefined when two of them lie differently already.
 */
function placePartitions(
  topics: ReadonlyMap<string, Topic>,
  name: string,
  partitions: number,
  shardCount: number,
): ReadonlyMap<string, Topic> | undefined {
  const family = findFamily(topics, name);
  const topic = topics.get(name);
  if (topic === undefined) return undefined;
  const longest = family.reduce((best, other) => (other.shards.length > best.shards.length ? other : best), topic);
  for (const other of [topic, ...family]) {
    if (other.shards.some((shard, index) => shard !== longest.shards[index])) return undefined;
  }
  const first = longest.shards[0] ?? 1 + ((topic.number - 1) % shardCount);
  const shards = [...longest.shards];
  while (shards.length < partitions) shards.push(1 + ((first - 1 + shards.length) % shardCount));
  const placed = new Map(topics).set(name, {
    ...topic,
    shards: shards.slice(0, Math.max(partitions, topic.shards.length)),
  });
  growDeadLetterTopic(placed, name, shards);
  return placed;
}

function growDeadLetterTopic(topics: Map<string, Topic>, name: string, shards: readonly number[]): void {
  const source = topics.get(name);
  if (source === undefined || !source.settings.isDlqEnabled) return;
  const target = topics.get(source.settings.dlqTopic);
  if (target === undefined || target.shards.length >= source.shards.length) return;
  topics.set(target.name, { ...target, shards: shards.slice(0, source.shards.length) });
  growDeadLetterTopic(topics, target.name, shards);
}

/** All topics reachable over "sends its dead letters to", in both directions, without the topic itself. */
function findFamily(topics: ReadonlyMap<string, Topic>, name: string): readonly Topic[] {
  const seen = new Set([name]);
  const pending = [name];
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    for (const topic of topics.values()) {
      if (!topic.settings.isDlqEnabled) continue;
      const { dlqTopic } = topic.settings;
      const neighbour = topic.name === current ? dlqTopic : dlqTopic === current ? topic.name : undefined;
      if (neighbour === undefined || seen.has(neighbour) || !topics.has(neighbour)) continue;
      seen.add(neighbour);
      pending.push(neighbour);
    }
  }
  seen.delete(name);
  return [...seen].flatMap((other) => topics.get(other) ?? []);
}

function findPartitionProblem(name: string, partitions: number): { field: string; text: string } | undefined {
  if (Number.isInteger(partitions) && partitions >= 1 && partitions <= partitionCountMax) return undefined;
  return { field: "partitions", text: `topic "${name}" has 1 to ${partitionCountMax} partitions, not ${partitions}` };
}

function partitionTotal(state: MetadataState): number {
  let total = 0;
  for (const topic of state.topics.values()) total += topic.shards.length;
  return total;
}

function answer(state: MetadataState, name: string): Step {
  const topic = state.topics.get(name);
  if (topic === undefined) return refuseMissing(state, "find", name);
  return { state, result: { kind: "topic", topic } };
}

function refuse(state: MetadataState, code: MetadataRefusal, message: string, details: Record<string, unknown>): Step {
  return { state, result: { kind: "refused", code, message, details } };
}

function refuseMissing(state: MetadataState, verb: string, name: string): Step {
  return refuse(state, "TOPIC_NOT_FOUND", `Cannot ${verb} topic "${name}": there is none`, { topic: name });
}

function refuseField(state: MetadataState, what: string, problem: { field: string; text: string }): Step {
  const code = problem.field === "partitions" ? "INVALID_PARTITION" : "INVALID_ARGUMENT";
  return refuse(state, code, `${what}: ${problem.text}`, { field: problem.field });
}

function refusePlacement(state: MetadataState, what: string, dlqTopic: string): Step {
  return refuse(
    state,
    "INVALID_ARGUMENT",
    `${what}: partitions of its dead-letter topic "${dlqTopic}" lie elsewhere already; name another one`,
    { field: "dlqTopic", dlq_topic: dlqTopic },
  );
}

function refuseFull(state: MetadataState, name: string, limit: number): Step {
  return refuse(
    state,
    "RATE_LIMITED",
    `Cannot add partitions for topic "${name}": the limit of ${limit} partitions is reached`,
    { topic: name, limit: "partitions", max: limit },
  );
}
