import { formatInstant } from "../../platform/time/clock.ts";
import type { Priority } from "../model/record-batch.ts";
import { RecordCursor } from "../model/record-cursor.ts";
import type { DeadLetter, DeliveredMessage, FetchResult } from "../service/queue-service.ts";
import { formatPriority } from "./parse-message.ts";

/** A stored record as REST shows it. Text stays text; what is no UTF-8 comes in base64 under another name. */
export interface MessageParts {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly priority: Priority;
  readonly key: Uint8Array | undefined;
  readonly isKeyBinary: boolean;
  readonly value: Uint8Array | undefined;
  readonly isBinary: boolean;
  readonly isPayload: boolean;
  readonly headers: readonly (readonly [string, string])[];
}

export function formatMessage(parts: MessageParts): Record<string, unknown> {
  const message: Record<string, unknown> = {
    topic: parts.topic,
    partition: parts.partition,
    offset: parts.offset,
    timestamp: formatInstant(parts.timestampMs),
    key: parts.key === undefined || parts.isKeyBinary ? null : decode(parts.key),
  };
  if (parts.key !== undefined && parts.isKeyBinary) message["key_base64"] = toBase64(parts.key);
  if (parts.value === undefined) message["value"] = null;
  else if (parts.isBinary) message["value_base64"] = toBase64(parts.value);
  else {
    const text = decode(parts.value);
    message["value"] = text;
    if (parts.isPayload) message["payload"] = text;
  }
  message["headers"] = Object.fromEntries(parts.headers);
  message["priority"] = formatPriority(parts.priority);
  const traceId = findTraceId(parts.headers);
  if (traceId !== undefined) message["trace_id"] = traceId;
  return message;
}

export function formatDelivery(group: string, message: DeliveredMessage): Record<string, unknown> {
  return {
    ...formatMessage(message),
    group,
    receipt_handle: message.receiptHandle,
    delivery_count: message.deliveryCount,
    visible_until: formatInstant(message.visibleUntilMs),
  };
}

export function formatDeadLetter(message: DeadLetter, dlqTopic: string): Record<string, unknown> {
  return {
    ...formatMessage({ ...message, topic: dlqTopic }),
    reason: message.reason,
    original_topic: message.originalTopic,
    original_partition: message.originalPartition,
    original_offset: message.originalOffset,
  };
}

export function formatFetchResult(result: FetchResult): object {
  return {
    topic: result.topic,
    partition: result.partition,
    messages: formatRecords(result),
    next_offset: result.nextOffset,
    high_watermark: result.highWatermark,
    earliest_offset: result.earliestOffset,
  };
}

function formatRecords(result: FetchResult): readonly object[] {
  const messages: object[] = [];
  for (const batch of result.batches) {
    if (batch.isControl) continue;
    const cursor = new RecordCursor(batch);
    while (cursor.next()) {
      if (cursor.offset < result.startOffset) continue;
      if (cursor.offset >= result.nextOffset) return messages;
      messages.push(formatMessage(partsOf(cursor, result)));
    }
  }
  return messages;
}

function partsOf(cursor: RecordCursor, result: FetchResult): MessageParts {
  return {
    topic: result.topic,
    partition: result.partition,
    offset: cursor.offset,
    timestampMs: cursor.timestampMs,
    priority: cursor.priority,
    key: cursor.key,
    isKeyBinary: cursor.isKeyBinary,
    value: cursor.value,
    isBinary: cursor.isBinary,
    isPayload: cursor.isPayload,
    headers: cursor.headers(),
  };
}

const traceparentPattern = /^[0-9a-f]{2}-([0-9a-f]{32})-/;

function findTraceId(headers: MessageParts["headers"]): string | undefined {
  for (const [name, value] of headers) if (name === "traceparent") return traceparentPattern.exec(value)?.[1];
  return undefined;
}

export function decode(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("utf8");
}

export function toBase64(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("base64");
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
