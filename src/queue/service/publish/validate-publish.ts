import { queueError } from "../../errors.ts";
import type { Topic } from "../../model/topics/topic.ts";
import type { QueueLimits } from "../broker.ts";
import type { PublishMessage } from "../queue-service.ts";

export const keyBytesMax = 65_535;
export const headerBytesMax = 65_536;
export const idempotencyKeyBytesMax = 512;

/** Checks a whole request, so that one bad message means that nothing is written. */
export function validatePublish(topic: Topic, messages: readonly PublishMessage[], limits: QueueLimits): void {
  if (messages.length === 0) {
    throw queueError("INVALID_ARGUMENT", `Cannot publish to "${topic.name}": the request holds no message`);
  }
  if (messages.length > limits.messagesPerRequestMax) {
    throw queueError(
      "BATCH_TOO_LARGE",
      `Cannot publish ${messages.length} messages at once: the limit is ${limits.messagesPerRequestMax}`,
      { details: { max_messages: limits.messagesPerRequestMax } },
    );
  }
  let totalBytes = 0;
  for (const [index, message] of messages.entries()) totalBytes += validateMessage(topic, message, index, limits);
  if (totalBytes > limits.bytesPerRequestMax) {
    throw queueError(
      "BATCH_TOO_LARGE",
      `Cannot publish ${totalBytes} bytes at once: the limit is ${limits.bytesPerRequestMax}`,
      { details: { max_bytes: limits.bytesPerRequestMax } },
    );
  }
}

/** Size of key, value and headers. */
function validateMessage(topic: Topic, message: PublishMessage, index: number, limits: QueueLimits): number {
  const refuse = (code: Parameters<typeof queueError>[0], text: string): Error =>
    queueError(code, `Cannot publish message ${index} to "${topic.name}": ${text}`, {
      details: { index, topic: topic.name },
    });
  const keySize = sizeOf(message.key);
  const valueSize = sizeOf(message.value);
  if (keySize > keyBytesMax)
    throw refuse("INVALID_MESSAGE", `its key has ${keySize} bytes, the limit is ${keyBytesMax}`);
  let headerBytes = 0;
  for (const [name, value] of Object.entries(message.headers ?? {})) headerBytes += sizeOf(name) + sizeOf(value);
  if (headerBytes > headerBytesMax) {
    throw refuse("INVALID_MESSAGE", `its headers have ${headerBytes} bytes, the limit is ${headerBytesMax}`);
  }
  const { maxMessageBytes } = topic.settings;
  if (keySize + valueSize + headerBytes > maxMessageBytes) {
    throw refuse(
      "MESSAGE_TOO_LARGE",
      `it has ${keySize + valueSize + headerBytes} bytes, the limit is ${maxMessageBytes}`,
    );
  }
  const { partition, priority, ttlMs, sequence, producerId, producerEpoch, idempotencyKey } = message;
  if (partition !== undefined && topic.shards[partition] === undefined) {
    throw refuse("INVALID_PARTITION", `there is no partition ${partition}, only 0 to ${topic.shards.length - 1}`);
  }
  if (priority !== undefined && ![0, 1, 2, 3, 4].includes(priority)) {
    throw refuse("INVALID_PRIORITY", `priority ${String(priority)} is none of 0 to 4`);
  }
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs > 0)) {
    throw refuse("INVALID_MESSAGE", "its ttl is not a positive duration");
  }
  if ((producerId === undefined) !== (sequence === undefined)) {
    throw refuse("INVALID_MESSAGE", "producer id and sequence go together");
  }
  const isProducerGood =
    producerId === undefined ||
    (isCount(producerId, 1) &&
      isCount(sequence, 0) &&
      (producerEpoch === undefined || (isCount(producerEpoch, 0) && producerEpoch < 2 ** 32)));
  if (!isProducerGood) {
    throw refuse("INVALID_MESSAGE", "producer id, epoch or sequence is no whole number in range");
  }
  if (idempotencyKey !== undefined && (idempotencyKey === "" || sizeOf(idempotencyKey) > idempotencyKeyBytesMax)) {
    throw refuse("INVALID_MESSAGE", `its idempotency key has not 1 to ${idempotencyKeyBytesMax} bytes`);
  }
  const delayProblem = findDelayProblem(message, limits.maxDelayMs);
  if (delayProblem !== undefined) throw refuse("INVALID_DELAY", delayProblem);
  return keySize + valueSize + headerBytes;
}

function findDelayProblem(message: PublishMessage, maxDelayMs: number): string | undefined {
  const { delayMs, deliverAtMs } = message;
  if (deliverAtMs !== undefined && !Number.isSafeInteger(deliverAtMs)) return "its delivery time is no time";
  if (delayMs === undefined) return undefined;
  if (!(delayMs >= 0)) return "its delay is negative";
  return delayMs > maxDelayMs ? `its delay is ${delayMs} ms, the limit is ${maxDelayMs} ms` : undefined;
}

/** When a message becomes due; undefined when that is now. */
export function dueTimeOf(message: PublishMessage, nowMs: number): number | undefined {
  const dueMs = message.deliverAtMs ?? (message.delayMs === undefined ? undefined : nowMs + message.delayMs);
  return dueMs === undefined || dueMs <= nowMs ? undefined : Math.ceil(dueMs);
}

function isCount(value: number | undefined, min: number): boolean {
  return value !== undefined && Number.isSafeInteger(value) && value >= min;
}

export function sizeOf(part: string | Uint8Array | undefined): number {
  if (part === undefined) return 0;
  return typeof part === "string" ? Buffer.byteLength(part) : part.length;
}
