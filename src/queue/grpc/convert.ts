import { isUtf8 } from "node:buffer";
import { type DomainError, isDomainError } from "../../platform/errors/domain-error.ts";
import { type QueueErrorCode, queueError } from "../errors.ts";
import { queue } from "../gen/queue.js";
import type { Priority } from "../model/record-batch.ts";
import type { Acks } from "../service/ports.ts";
import type { PublishMessage } from "../service/queue-service.ts";
import type { PublishRequest, PublishRequestInit, WireError } from "./definition.ts";

/** Between the wire types and those of the services. */
interface Span {
  readonly seconds?: number | null;
  readonly nanos?: number | null;
}

const keyBytesMax = 65_535;
const headerBytesMax = 65_536;
const idempotencyKeyLengthMax = 256;

export function toTimestamp(epochMs: number): { seconds: number; nanos: number } {
  const seconds = Math.floor(epochMs / 1000);
  return { seconds, nanos: (epochMs - seconds * 1000) * 1_000_000 };
}

export function toDuration(durationMs: number): { seconds: number; nanos: number } {
  return toTimestamp(durationMs);
}

/** Milliseconds, rounded up so that nothing happens early. */
export function toMilliseconds(span: Span): number {
  return (span.seconds ?? 0) * 1000 + Math.ceil((span.nanos ?? 0) / 1_000_000);
}

export function toPriority(priority: number): Priority | undefined {
  if (priority === 0) return undefined;
  const level = priority - 1;
  if (level === 0 || level === 1 || level === 2 || level === 3 || level === 4) return level;
  throw queueError("INVALID_PRIORITY", `Cannot publish the message: there is no priority ${priority}`);
}

export function fromPriority(priority: Priority): number {
  return priority + 1;
}

export function toAcks(acks: number): Acks | undefined {
  switch (acks) {
    case 0:
      return undefined;
    case 1:
      return "all";
    case 2:
      return "leader";
    case 3:
      return "none";
    default:
      throw queueError("INVALID_ARGUMENT", `Cannot publish the message: there is no acks ${acks}`);
  }
}

/** @throws DomainError INVALID_MESSAGE, INVALID_PRIORITY, INVALID_DELAY, INVALID_PARTITION, TRANSACTION_NOT_FOUND */
export function toPublishMessage(request: PublishRequest | PublishRequestInit): PublishMessage {
  const { payload, key, headers, delay, deliverAt, partition } = request;
  if (request.transactionId) throw refuse("TRANSACTION_NOT_FOUND", `no transaction "${request.transactionId}" is open`);
  if (delay && deliverAt) throw refuse("INVALID_DELAY", "give one of delay and deliver_at");
  if (partition !== undefined && partition !== null && partition < 0) {
    throw refuse("INVALID_PARTITION", `there is no partition ${partition}`);
  }
  const hasKey = key !== undefined && key !== null && key.length > 0;
  const value = payload ?? new Uint8Array(0);
  return {
    key: hasKey ? assertKey(key) : undefined,
    value,
    isBinary: !isUtf8(value),
    isKeyBinary: hasKey && !isUtf8(key),
    headers: toHeaders(headers),
    partition: partition ?? undefined,
    priority: toPriority(request.priority ?? 0),
    delayMs: delay ? toDelay(delay) : undefined,
    deliverAtMs: deliverAt ? toMilliseconds(deliverAt) : undefined,
    idempotencyKey: toIdempotencyKey(request.idempotencyKey),
    ...(request.producerId ? toProducer(request) : undefined),
  };
}

function toHeaders(headers: Readonly<Record<string, string>> | null | undefined): PublishMessage["headers"] {
  if (headers === undefined || headers === null) return undefined;
  let sizeBytes = 0;
  let count = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (name === "") throw refuse("INVALID_MESSAGE", "a header has no name");
    sizeBytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    count += 1;
  }
  if (sizeBytes <= headerBytesMax) return count === 0 ? undefined : headers;
  throw refuse("INVALID_MESSAGE", `its headers have ${sizeBytes} bytes, at most ${headerBytesMax} are allowed`);
}

function assertKey(key: Uint8Array): Uint8Array {
  if (key.length <= keyBytesMax) return key;
  throw refuse("INVALID_MESSAGE", `its key has ${key.length} bytes, at most ${keyBytesMax} are allowed`);
}

function toDelay(delay: Span): number {
  const delayMs = toMilliseconds(delay);
  if (delayMs >= 0) return delayMs;
  throw refuse("INVALID_DELAY", "the delay is negative");
}

function toIdempotencyKey(key: string | null | undefined): string | undefined {
  if (!key) return undefined;
  if (key.length <= idempotencyKeyLengthMax) return key;
  throw refuse("INVALID_MESSAGE", `its idempotency_key is longer than ${idempotencyKeyLengthMax} characters`);
}

function toProducer(
  request: PublishRequestInit,
): Required<Pick<PublishMessage, "producerId" | "producerEpoch" | "sequence">> {
  const producerId = request.producerId ?? 0;
  const producerEpoch = request.producerEpoch ?? 0;
  const sequence = request.sequence ?? 0;
  if (producerId > 0 && producerEpoch >= 0 && sequence >= 0) return { producerId, producerEpoch, sequence };
  throw refuse("INVALID_MESSAGE", "producer_id, producer_epoch and sequence must not be negative");
}

function refuse(code: QueueErrorCode, problem: string): DomainError {
  return queueError(code, `Cannot publish the message: ${problem}`);
}

/** What travels inside a stream; the text of an internal error stays here. */
export function toWireError(error: unknown): WireError {
  const shown =
    isDomainError(error) && error.kind !== "internal"
      ? error
      : queueError("INTERNAL", "internal error", { cause: error });
  return {
    code: errorNumber(shown.code),
    reason: shown.code,
    message: shown.message,
    details: toTexts(shown.details),
    ...(shown.retryAfterSeconds === undefined ? {} : { retryAfter: toDuration(shown.retryAfterSeconds * 1000) }),
  };
}

const numbers: Readonly<Record<string, number>> = queue.v1.ErrorCode as unknown as Record<string, number>;

/** The number of a code in the contract; a code that has none counts as internal. */
export function errorNumber(code: string): number {
  return numbers[`ERROR_CODE_${code}`] ?? queue.v1.ErrorCode.ERROR_CODE_INTERNAL;
}

function toTexts(details: Readonly<Record<string, unknown>>): Record<string, string> {
  const entries = Object.entries(details).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  );
}
