import { isUtf8 } from "node:buffer";
import { parseInstant } from "../../platform/time/clock.ts";
import { parseDuration } from "../../platform/time/duration.ts";
import { type QueueErrorCode, queueError } from "../errors.ts";
import type { Priority } from "../model/record-batch.ts";

/**
 * One message of a publish request, from JSON to a typed value. Both dialects of field names are taken; nothing is
 * guessed: a field of the wrong type is refused with its name, and the whole request with it. Written by hand because
 * every published message passes here.
 */
export interface ParsedMessage {
  readonly key: string | Uint8Array | undefined;
  /** Undefined is a tombstone: `"value": null`. */
  readonly value: string | Uint8Array | undefined;
  readonly isPayload: boolean;
  readonly isBinary: boolean;
  readonly isKeyBinary: boolean;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly partition: number | undefined;
  readonly priority: Priority | undefined;
  readonly delayMs: number | undefined;
  readonly deliverAtMs: number | undefined;
  readonly ttlMs: number | undefined;
  readonly producerId: number | undefined;
  readonly producerEpoch: number | undefined;
  readonly sequence: number | undefined;
  readonly idempotencyKey: string | undefined;
}

export const keyBytesMax = 65_535;
export const headerBytesMax = 65_536;
export const idempotencyKeyLengthMax = 256;

const priorityNames: readonly string[] = ["critical", "high", "normal", "low", "background"];
const jsonContentType = "application/json";
/** The client's own time of the event; the broker's time of the append is the message's timestamp. */
export const eventTimeHeader = "x-queue-event-time";

type Fields = Readonly<Record<string, unknown>>;

/**
 * @param index position in the request, for `details.index`; undefined for a single message
 * @throws DomainError INVALID_MESSAGE, INVALID_PARTITION, INVALID_PRIORITY, INVALID_DELAY, TRANSACTION_NOT_FOUND
 */
export function parseMessage(input: unknown, index: number | undefined): ParsedMessage {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw refuse("INVALID_MESSAGE", "a message must be a JSON object", index);
  }
  const fields = input as Fields;
  if (given(fields["transaction_id"])) {
    throw refuse("TRANSACTION_NOT_FOUND", `no transaction "${String(fields["transaction_id"])}" is open`, index);
  }
  const { value, isPayload, isJson } = readValue(fields, index);
  const key = readKey(fields, index);
  const producer = readProducer(fields, index);
  return {
    key,
    value,
    isPayload,
    isBinary: value instanceof Uint8Array && !isUtf8(value),
    isKeyBinary: key instanceof Uint8Array && !isUtf8(key),
    headers: readHeaders(fields, isJson, index),
    partition: readPartition(fields["partition"], index),
    priority: readPriority(fields["priority"], index),
    ...readDelay(fields, index),
    ttlMs: readDuration(fields, "ttl", "INVALID_MESSAGE", index),
    ...producer,
    idempotencyKey: readIdempotencyKey(fields["idempotency_key"], index),
  };
}

function given(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function refuse(code: QueueErrorCode, problem: string, index: number | undefined, field?: string): Error {
  const what = index === undefined ? "the message" : `message ${index}`;
  return queueError(code, `Cannot publish ${what}: ${problem}`, {
    details: { ...(index === undefined ? {} : { index }), ...(field === undefined ? {} : { field }) },
  });
}

interface ReadValue {
  readonly value: string | Uint8Array | undefined;
  readonly isPayload: boolean;
  readonly isJson: boolean;
}

function readValue(fields: Fields, index: number | undefined): ReadValue {
  const { value, payload } = fields;
  const encoded = fields["value_base64"] ?? fields["payload_base64"];
  const isPayload = value === undefined && (payload !== undefined || given(fields["payload_base64"]));
  if (given(encoded)) {
    if (
      value !== undefined ||
      payload !== undefined ||
      (given(fields["value_base64"]) && given(fields["payload_base64"]))
    ) {
      throw refuse("INVALID_MESSAGE", "give one of value, payload, value_base64 and payload_base64", index);
    }
    return {
      value: decodeBase64(encoded, isPayload ? "payload_base64" : "value_base64", index),
      isPayload,
      isJson: false,
    };
  }
  if (value === undefined && payload === undefined) {
    throw refuse("INVALID_MESSAGE", 'it has neither "value" nor "payload"; a deletion mark is "value": null', index);
  }
  const [text, isJson] = toText(value === undefined ? payload : value);
  if (value !== undefined && payload !== undefined && text !== toText(payload)[0]) {
    throw refuse("INVALID_MESSAGE", '"value" and "payload" differ; give one of them', index);
  }
  return { value: text, isPayload, isJson };
}

function toText(value: unknown): [string | undefined, boolean] {
  if (typeof value === "string") return [value, false];
  return value === null ? [undefined, false] : [JSON.stringify(value), true];
}

function decodeBase64(value: unknown, field: string, index: number | undefined): Uint8Array {
  if (typeof value === "string" && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value)) {
    return Buffer.from(value, "base64");
  }
  throw refuse("INVALID_MESSAGE", `"${field}" must be padded base64 text`, index, field);
}

function readKey(fields: Fields, index: number | undefined): string | Uint8Array | undefined {
  const { key } = fields;
  if (given(fields["key_base64"])) {
    if (given(key)) throw refuse("INVALID_MESSAGE", "give one of key and key_base64", index);
    return assertKeySize(decodeBase64(fields["key_base64"], "key_base64", index), index);
  }
  if (key === undefined || key === null) return undefined;
  if (typeof key !== "string") throw refuse("INVALID_MESSAGE", '"key" must be a string', index, "key");
  return assertKeySize(key, index);
}

function assertKeySize<Key extends string | Uint8Array>(key: Key, index: number | undefined): Key {
  // A character takes at most three bytes in UTF-8, so that short keys need no count.
  const isShort = key.length * 3 <= keyBytesMax;
  const sizeBytes = isShort ? 0 : typeof key === "string" ? Buffer.byteLength(key) : key.length;
  if (sizeBytes > keyBytesMax) {
    throw refuse("INVALID_MESSAGE", `its key has ${sizeBytes} bytes, at most ${keyBytesMax} are allowed`, index, "key");
  }
  return key;
}

function readHeaders(fields: Fields, isJson: boolean, index: number | undefined): ParsedMessage["headers"] {
  const { headers, timestamp } = fields;
  if (!given(headers) && !given(timestamp) && !isJson) return undefined;
  const read: Record<string, string> = {};
  if (given(headers)) copyHeaders(headers, read, index);
  if (isJson && !Object.keys(read).some((name) => name.toLowerCase() === "content-type")) {
    read["content-type"] = jsonContentType;
  }
  if (given(timestamp)) read[eventTimeHeader] = readEventTime(timestamp, index);
  return read;
}

function copyHeaders(headers: unknown, into: Record<string, string>, index: number | undefined): void {
  if (typeof headers !== "object" || Array.isArray(headers)) {
    throw refuse("INVALID_MESSAGE", '"headers" must be an object of strings', index, "headers");
  }
  let sizeBytes = 0;
  for (const [name, value] of Object.entries(headers as Fields)) {
    if (typeof value !== "string")
      throw refuse("INVALID_MESSAGE", `header "${name}" must be a string`, index, "headers");
    if (name === "") throw refuse("INVALID_MESSAGE", "a header has no name", index, "headers");
    sizeBytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    Object.defineProperty(into, name, { value, enumerable: true, writable: true, configurable: true });
  }
  if (sizeBytes > headerBytesMax) {
    throw refuse(
      "INVALID_MESSAGE",
      `its headers have ${sizeBytes} bytes, at most ${headerBytesMax} are allowed`,
      index,
    );
  }
}

function readEventTime(timestamp: unknown, index: number | undefined): string {
  if (typeof timestamp === "number" && Number.isSafeInteger(timestamp) && timestamp >= 0) return String(timestamp);
  if (typeof timestamp === "string" && parseInstant(timestamp) !== undefined) return timestamp;
  throw refuse("INVALID_MESSAGE", '"timestamp" must be RFC 3339 text or whole milliseconds', index, "timestamp");
}

function readPartition(value: unknown, index: number | undefined): number | undefined {
  if (!given(value)) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  // Clients of the other dialect send −1 for "choose one".
  if (value === -1) return undefined;
  throw refuse("INVALID_PARTITION", '"partition" must be a whole number from 0', index, "partition");
}

export function readPriority(value: unknown, index: number | undefined): Priority | undefined {
  if (!given(value)) return undefined;
  const level = typeof value === "string" ? priorityNames.indexOf(value.toLowerCase()) : value;
  const number = level === -1 && typeof value === "string" && /^[0-4]$/.test(value) ? Number(value) : level;
  if (number === 0 || number === 1 || number === 2 || number === 3 || number === 4) return number;
  throw refuse(
    "INVALID_PRIORITY",
    `"priority" must be one of ${priorityNames.join(", ")} or 0 to 4`,
    index,
    "priority",
  );
}

export function formatPriority(priority: Priority): string {
  return priorityNames[priority] ?? "normal";
}

function readDelay(
  fields: Fields,
  index: number | undefined,
): { readonly delayMs: number | undefined; readonly deliverAtMs: number | undefined } {
  const delayMs = readDuration(fields, "delay", "INVALID_DELAY", index);
  const deliverAt = fields["deliver_at"] ?? fields["deliverAt"];
  if (!given(deliverAt)) return { delayMs, deliverAtMs: undefined };
  if (delayMs !== undefined) throw refuse("INVALID_DELAY", "give one of delay and deliver_at", index);
  const deliverAtMs = typeof deliverAt === "string" ? parseInstant(deliverAt) : undefined;
  if (deliverAtMs === undefined) {
    throw refuse(
      "INVALID_DELAY",
      '"deliver_at" must be RFC 3339 text such as 2026-01-31T12:00:00Z',
      index,
      "deliver_at",
    );
  }
  return { delayMs: undefined, deliverAtMs };
}

/** `30s`, whole seconds as number or text, or the same field with `_ms` in milliseconds. */
function readDuration(
  fields: Fields,
  name: string,
  code: QueueErrorCode,
  index: number | undefined,
): number | undefined {
  const value = fields[name];
  if (given(value)) {
    const durationMs =
      typeof value === "string" ? parseDuration(value) : Number.isSafeInteger(value) ? Number(value) * 1000 : undefined;
    if (durationMs !== undefined && durationMs >= 0 && Number.isSafeInteger(durationMs)) return durationMs;
    throw refuse(code, `"${name}" must be a duration such as 30s, 5m or 1h30m, or whole seconds`, index, name);
  }
  const milliseconds = fields[`${name}_ms`];
  if (!given(milliseconds)) return undefined;
  if (typeof milliseconds === "number" && Number.isSafeInteger(milliseconds) && milliseconds >= 0) return milliseconds;
  throw refuse(code, `"${name}_ms" must be whole milliseconds`, index, `${name}_ms`);
}

function readProducer(
  fields: Fields,
  index: number | undefined,
): Pick<ParsedMessage, "producerId" | "producerEpoch" | "sequence"> {
  const producerId = readCount(fields["producer_id"], "producer_id", 1, index);
  const producerEpoch = readCount(fields["producer_epoch"] ?? fields["epoch"], "producer_epoch", 0, index);
  const sequence = readCount(fields["sequence"], "sequence", 0, index);
  const isPartly = [producerId, producerEpoch, sequence].some((part) => part !== undefined);
  if (isPartly && (producerId === undefined || producerEpoch === undefined || sequence === undefined)) {
    throw refuse("INVALID_MESSAGE", "producer_id, producer_epoch and sequence must be given together", index);
  }
  return { producerId, producerEpoch, sequence };
}

function readCount(value: unknown, name: string, min: number, index: number | undefined): number | undefined {
  if (!given(value)) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min) return value;
  throw refuse("INVALID_MESSAGE", `"${name}" must be a whole number from ${min}`, index, name);
}

function readIdempotencyKey(value: unknown, index: number | undefined): string | undefined {
  if (!given(value)) return undefined;
  if (typeof value === "string" && value !== "" && value.length <= idempotencyKeyLengthMax) return value;
  const wanted = `must be text of 1 to ${idempotencyKeyLengthMax} characters`;
  throw refuse("INVALID_MESSAGE", `"idempotency_key" ${wanted}`, index, "idempotency_key");
}
