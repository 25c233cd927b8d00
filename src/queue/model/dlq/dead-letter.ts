import { formatInstant } from "../../../platform/time/clock.ts";
import type { OpenMessage } from "../delivery/delivery-state.ts";
import type { RecordBatch } from "../record-batch.ts";
import { RecordBatchBuilder } from "../record-batch-builder.ts";
import type { RecordCursor } from "../record-cursor.ts";

/** Dead letters keep key, value, headers and priority, and say in headers why, from where and after what. */
export type DeadLetterReason = "max_deliveries_exceeded" | "rejected" | "expired" | "schema_invalid";

export const deadLetterHeaders = {
  reason: "x-queue-dlq-reason",
  topic: "x-queue-original-topic",
  partition: "x-queue-original-partition",
  offset: "x-queue-original-offset",
  timestamp: "x-queue-original-timestamp",
  group: "x-queue-group",
  attempts: "x-queue-delivery-attempts",
  firstFailure: "x-queue-first-failure",
  lastFailure: "x-queue-last-failure",
  errors: "x-queue-failure-errors",
  lastMember: "x-queue-last-member",
} as const;
export const redrivenFromHeader = "x-queue-redriven-from";
export const retryHeaders = {
  count: "x-queue-delivery-count",
  firstDelivery: "x-queue-first-delivery",
  lastError: "x-queue-last-error",
} as const;

/** Headers that the broker sets itself; a redriven message starts without those of its last life. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...Object.values(deadLetterHeaders),
  ...Object.values(retryHeaders),
  redrivenFromHeader,
]);

export interface DeadLetterContext {
  readonly reason: DeadLetterReason;
  readonly topic: string;
  readonly partition: number;
  readonly group: string;
  /** What is known of the deliveries; undefined when there was none. */
  readonly open: Readonly<Pick<OpenMessage, "attempt" | "memberId" | "firstFailureMs" | "errors">> | undefined;
  /** Why it fails now, if that is a failure of its own. */
  readonly error: string | undefined;
  readonly nowMs: number;
}

const errorCountMax = 10;

export function encodeDeadLetter(record: RecordCursor, context: DeadLetterContext): RecordBatch {
  const { open, nowMs } = context;
  const names = deadLetterHeaders;
  const errors = [...(open?.errors ?? []), ...(context.error === undefined ? [] : [context.error])];
  const firstFailureMs = open === undefined || open.firstFailureMs === 0 ? nowMs : open.firstFailureMs;
  const headers: Record<string, string> = {
    ...withoutOwnHeaders(record),
    [names.reason]: context.reason,
    [names.topic]: context.topic,
    [names.partition]: String(context.partition),
    [names.offset]: String(record.offset),
    [names.timestamp]: formatInstant(record.timestampMs),
    [names.group]: context.group,
    [names.attempts]: String(open?.attempt ?? 0),
    [names.firstFailure]: formatInstant(firstFailureMs),
    [names.lastFailure]: formatInstant(nowMs),
    [names.errors]: JSON.stringify(errors.slice(-errorCountMax)),
    ...(open === undefined || open.memberId === "" ? {} : { [names.lastMember]: open.memberId }),
  };
  return encodeCopy(record, headers, nowMs);
}

/** The message as it was first published, marked with the dead letter that it comes from. */
export function encodeRedriven(record: RecordCursor, from: string, nowMs: number): RecordBatch {
  return encodeCopy(record, { ...withoutOwnHeaders(record), [redrivenFromHeader]: from }, nowMs);
}

export function withoutOwnHeaders(record: RecordCursor): Record<string, string> {
  return Object.fromEntries(record.headers().filter(([name]) => !ownHeaders.has(name)));
}

function encodeCopy(record: RecordCursor, headers: Record<string, string>, nowMs: number): RecordBatch {
  const builder = new RecordBatchBuilder({ timestampMs: nowMs });
  builder.append({
    key: record.key,
    value: record.value,
    headers,
    priority: record.priority,
    isPayload: record.isPayload,
    isBinary: record.isBinary,
    isKeyBinary: record.isKeyBinary,
  });
  return builder.finish();
}
