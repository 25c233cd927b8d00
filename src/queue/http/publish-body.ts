import type { HttpContext } from "../../platform/http/http-env.ts";
import { assertMediaType, parseJsonBody, readBody } from "../../platform/http/read-body.ts";
import { queueError } from "../errors.ts";
import type { Acks } from "../service/ports.ts";
import type { PublishMessage } from "../service/queue-service.ts";
import {
  cloudEventBatchMediaType,
  cloudEventMediaType,
  fromBinaryEvent,
  fromStructuredEvent,
  isBinaryEvent,
} from "./cloud-events.ts";
import { idempotencyKeyLengthMax, parseMessage } from "./parse-message.ts";
import { findQuery } from "./query.ts";

/** A publish request body in any of its forms: one message, `{messages: […]}`, an array, or CloudEvents. */
export const publishBodyBytesMax = 16 * 1024 * 1024;
export const publishCountMax = 10_000;

export interface PublishBody {
  readonly messages: readonly PublishMessage[];
  readonly acks: Acks | undefined;
  /** The answer repeats the result of a single message at the top. */
  readonly isSingle: boolean;
}

/** @throws DomainError as the platform's body reader, and INVALID_MESSAGE, INVALID_ARGUMENT, BATCH_TOO_LARGE, … */
export async function readPublishBody(context: HttpContext): Promise<PublishBody> {
  const bytes = await readBody(context, { limitBytes: publishBodyBytesMax });
  const body = await readForm(context, bytes);
  const key = context.req.header("idempotency-key");
  const query = findQuery(context, "acks");
  return { ...withIdempotencyKey(body, key), acks: parseAcks(query ?? body.acks) };
}

export interface UncheckedBody {
  readonly messages: readonly PublishMessage[];
  readonly acks: unknown;
  readonly isSingle: boolean;
}

async function readForm(context: HttpContext, bytes: Uint8Array): Promise<UncheckedBody> {
  const mediaType = (context.req.header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType === cloudEventMediaType) {
    const event = fromStructuredEvent(parseJsonBody(bytes), undefined);
    return { messages: [parseMessage(event, undefined)], acks: undefined, isSingle: true };
  }
  if (mediaType === cloudEventBatchMediaType) {
    const events = parseJsonBody(bytes);
    if (!Array.isArray(events)) throw refuse("a batch of events must be a JSON array");
    const messages = assertCount(events).map((event, index) => parseMessage(fromStructuredEvent(event, index), index));
    return { messages, acks: undefined, isSingle: false };
  }
  if (isBinaryEvent((name) => context.req.header(name))) {
    const event = fromBinaryEvent(Object.entries(context.req.header()), bytes);
    return { messages: [parseMessage(event, undefined)], acks: undefined, isSingle: true };
  }
  assertMediaType(context, []);
  return parsePublishJson(parseJsonBody(bytes));
}

/** Also for paths in front of the router. */
export function parsePublishJson(body: unknown): UncheckedBody {
  if (Array.isArray(body)) return { messages: parseMessages(body), acks: undefined, isSingle: false };
  const fields = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : undefined;
  const list = fields?.["messages"];
  if (Array.isArray(list)) return { messages: parseMessages(list), acks: fields?.["acks"], isSingle: false };
  if (list !== undefined) throw refuse('"messages" must be an array');
  return { messages: [parseMessage(body, undefined)], acks: fields?.["acks"], isSingle: true };
}

function parseMessages(list: readonly unknown[]): readonly PublishMessage[] {
  return assertCount(list).map((item, index) => parseMessage(item, index));
}

function assertCount<Item>(list: readonly Item[]): readonly Item[] {
  if (list.length === 0) throw refuse("there is no message in it");
  if (list.length <= publishCountMax) return list;
  throw queueError(
    "BATCH_TOO_LARGE",
    `Cannot publish ${list.length} messages in one request: at most ${publishCountMax} are allowed`,
    { details: { count: list.length, limit: publishCountMax } },
  );
}

export function parseAcks(value: unknown): Acks | undefined {
  if (value === undefined || value === null) return undefined;
  if (value === "all" || value === "leader" || value === "none") return value;
  // Kafka's numbers for the same three.
  if (value === -1 || value === "-1") return "all";
  if (value === 1 || value === "1") return "leader";
  if (value === 0 || value === "0") return "none";
  throw queueError("INVALID_ARGUMENT", `Cannot publish: "acks" must be all, leader or none, not "${String(value)}"`, {
    details: { parameter: "acks" },
  });
}

function withIdempotencyKey(body: UncheckedBody, key: string | undefined): UncheckedBody {
  if (key === undefined) return body;
  if (key === "" || key.length > idempotencyKeyLengthMax) {
    throw refuse(`the header Idempotency-Key must have 1 to ${idempotencyKeyLengthMax} characters`);
  }
  const messages = body.messages.map((message, index) => ({
    ...message,
    idempotencyKey: message.idempotencyKey ?? (body.isSingle ? key : `${key}/${index}`),
  }));
  return { ...body, messages };
}

function refuse(problem: string): Error {
  return queueError("INVALID_ARGUMENT", `Cannot publish: ${problem}`);
}
