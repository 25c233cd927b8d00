import type { Compression } from "../record-batch.ts";

/**
 * A topic as the metadata group keeps it. Its number is never used again: logs, offsets, receipts and delayed messages
 * are all filed under the number, so a topic of the same name that comes later cannot meet them.
 */
export interface Topic {
  readonly number: number;
  readonly name: string;
  /** Shard of each partition. Only grows. */
  readonly shards: readonly number[];
  readonly createdAtMs: number;
  readonly settings: TopicSettings;
}

export type CleanupPolicy = "delete" | "compact" | "compact,delete";
export type Durability = "fsync" | "async";
export type PriorityWeights = readonly [number, number, number, number, number];

/** Properties of a topic that may be set at creation and changed later. */
export interface TopicSettings {
  /** 0 keeps for ever. */
  readonly retentionMs: number;
  /** Per partition; 0 is unlimited. */
  readonly retentionBytes: number;
  readonly cleanupPolicy: CleanupPolicy;
  readonly maxMessageBytes: number;
  readonly replicationFactor: number;
  readonly minInsyncReplicas: number;
  readonly durability: Durability;
  readonly visibilityTimeoutMs: number;
  /** 0 is unlimited. */
  readonly maxDeliveries: number;
  readonly retryInitialDelayMs: number;
  readonly retryMultiplier: number;
  readonly retryMaxDelayMs: number;
  readonly isDlqEnabled: boolean;
  readonly dlqTopic: string;
  /** A group pauses on a partition when more than this per cent of the last deliveries were dead-lettered; 0 is off. */
  readonly dlqPauseThreshold: number;
  /** Age at which a message without its own ttl expires for groups; 0 is never. */
  readonly messageTtlMs: number;
  readonly schemaSubject: string | undefined;
  readonly schemaValidation: "off" | "value";
  readonly priorityWeights: PriorityWeights;
  readonly compression: Compression;
}

export const partitionCountMax = 1024;
export const messageBytesMax = 16 * 1024 * 1024;
export const visibilityTimeoutMsMax = 12 * 3_600_000;
const hourMs = 3_600_000;
const topicNamePattern = /^[a-zA-Z0-9._-]{1,249}$/;
const deadLetterSuffix = "-dlq";

/** Key of a topic's partition in the maps of a state machine. */
export function partitionKey(topicNumber: number, partition: number): string {
  return `${topicNumber}/${partition}`;
}

/** The internal id under which storage files the topic. */
export function topicIdText(topicNumber: number): string {
  return `t${topicNumber}`;
}

/** What is wrong with the name, or undefined. */
export function findTopicNameProblem(name: string): string | undefined {
  if (!topicNamePattern.test(name) || name === "." || name === "..") {
    return "wanted are 1 to 249 of the characters a-z A-Z 0-9 . _ -";
  }
  return name.startsWith("__") ? 'names that begin with "__" are reserved' : undefined;
}

export function isDeadLetterName(name: string): boolean {
  return name.endsWith(deadLetterSuffix);
}

export interface TopicDefaults {
  readonly replicationFactor: number;
  readonly retentionMs: number;
  readonly maxMessageBytes: number;
}

export function defaultSettings(name: string, defaults: TopicDefaults): TopicSettings {
  return {
    retentionMs: defaults.retentionMs,
    retentionBytes: 0,
    cleanupPolicy: "delete",
    maxMessageBytes: defaults.maxMessageBytes,
    replicationFactor: defaults.replicationFactor,
    minInsyncReplicas: Math.floor(defaults.replicationFactor / 2) + 1,
    durability: "fsync",
    visibilityTimeoutMs: 30_000,
    // A dead letter has nowhere further to go.
    maxDeliveries: isDeadLetterName(name) ? 0 : 3,
    retryInitialDelayMs: 100,
    retryMultiplier: 2,
    retryMaxDelayMs: 30_000,
    isDlqEnabled: !isDeadLetterName(name),
    dlqTopic: isDeadLetterName(name) ? name : `${name.slice(0, 249 - deadLetterSuffix.length)}${deadLetterSuffix}`,
    dlqPauseThreshold: 0,
    messageTtlMs: 0,
    schemaSubject: undefined,
    schemaValidation: "off",
    priorityWeights: [50, 25, 15, 7, 3],
    compression: "none",
  };
}

/** Settings of a dead-letter topic that the broker creates by itself. */
export function deadLetterSettings(name: string, source: TopicSettings, defaults: TopicDefaults): TopicSettings {
  return {
    ...defaultSettings(name, defaults),
    retentionMs: 14 * 24 * hourMs,
    maxDeliveries: 0,
    isDlqEnabled: false,
    dlqTopic: name,
    // A dead letter carries its reason in headers on top of the largest message.
    maxMessageBytes: messageBytesMax,
    replicationFactor: source.replicationFactor,
    minInsyncReplicas: source.minInsyncReplicas,
    durability: source.durability,
    compression: source.compression,
  };
}

interface Range {
  readonly min: number;
  readonly max: number;
  readonly isWhole: boolean;
}
const whole = (min: number, max: number): Range => ({ min, max, isWhole: true });
const ranges: Partial<Record<keyof TopicSettings, Range>> = {
  retentionMs: whole(0, 100 * 365 * 24 * hourMs),
  retentionBytes: whole(0, Number.MAX_SAFE_INTEGER),
  maxMessageBytes: whole(1, messageBytesMax),
  replicationFactor: whole(1, 7),
  minInsyncReplicas: whole(1, 7),
  visibilityTimeoutMs: whole(1, visibilityTimeoutMsMax),
  maxDeliveries: whole(0, 1000),
  retryInitialDelayMs: whole(0, 30 * 24 * hourMs),
  retryMultiplier: { min: 1, max: 100, isWhole: false },
  retryMaxDelayMs: whole(0, 30 * 24 * hourMs),
  dlqPauseThreshold: { min: 0, max: 100, isWhole: false },
  messageTtlMs: whole(0, 100 * 365 * 24 * hourMs),
};

/** What is wrong with a topic's settings: field and text, or undefined. */
export function findSettingsProblem(
  name: string,
  settings: TopicSettings,
): { field: string; text: string } | undefined {
  for (const [field, range] of Object.entries(ranges)) {
    const value = settings[field as keyof TopicSettings];
    const isGood =
      typeof value === "number" &&
      value >= range.min &&
      value <= range.max &&
      (!range.isWhole || Number.isSafeInteger(value));
    if (!isGood) {
      return {
        field,
        text: `${field} is ${String(value)}, wanted is ${range.isWhole ? "a whole number" : "a number"} from ${range.min} to ${range.max}`,
      };
    }
  }
  if (settings.minInsyncReplicas > settings.replicationFactor) {
    return { field: "minInsyncReplicas", text: "minInsyncReplicas is larger than replicationFactor" };
  }
  if (
    settings.priorityWeights.length !== 5 ||
    settings.priorityWeights.some((weight) => !(weight >= 1 && weight <= 1000))
  ) {
    return { field: "priorityWeights", text: "priorityWeights are five numbers from 1 to 1000" };
  }
  if (settings.isDlqEnabled) {
    if (settings.dlqTopic === name) return { field: "dlqTopic", text: "a topic cannot be its own dead-letter topic" };
    const problem = findTopicNameProblem(settings.dlqTopic);
    if (problem !== undefined) return { field: "dlqTopic", text: `dlqTopic "${settings.dlqTopic}": ${problem}` };
  }
  return undefined;
}
