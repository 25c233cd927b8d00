import { parseInstant } from "../../platform/time/clock.ts";
import { queueError } from "../errors.ts";

/**
 * CloudEvents 1.0 over HTTP: an event becomes a message. Attributes become headers `ce-<name>`, the data becomes the
 * value, its content type the header `content-type`, and the extension `partitionkey` the key.
 */
export const cloudEventMediaType = "application/cloudevents+json";
export const cloudEventBatchMediaType = "application/cloudevents-batch+json";

const attributePrefix = "ce-";
const attributePattern = /^[a-z0-9]{1,40}$/;
const requiredAttributes = ["id", "source", "type"] as const;

type Fields = Readonly<Record<string, unknown>>;

/** A structured event as the fields of a message. @throws DomainError INVALID_MESSAGE */
export function fromStructuredEvent(event: unknown, index: number | undefined): Fields {
  if (typeof event !== "object" || event === null || Array.isArray(event)) {
    throw refuse("an event must be a JSON object", index);
  }
  const { data, data_base64: dataBase64, datacontenttype: contentType, ...attributes } = event as Fields;
  if (data !== undefined && dataBase64 !== undefined) throw refuse("give one of data and data_base64", index);
  const headers = attributeHeaders(attributes, index);
  if (contentType !== undefined && typeof contentType !== "string") throw refuse("datacontenttype must be text", index);
  headers["content-type"] = contentType ?? "application/json";
  const value =
    dataBase64 === undefined
      ? { value: data === undefined ? null : toText(data, headers["content-type"]) }
      : { value_base64: dataBase64 };
  return { ...value, headers, ...keyOf(attributes) };
}

/** In binary mode the attributes are request headers and the body is the data. */
export function isBinaryEvent(header: (name: string) => string | undefined): boolean {
  return header("ce-specversion") !== undefined;
}

/** @throws DomainError INVALID_MESSAGE */
export function fromBinaryEvent(requestHeaders: Iterable<readonly [string, string]>, body: Uint8Array): Fields {
  const attributes: Record<string, unknown> = {};
  let contentType: string | undefined;
  for (const [name, value] of requestHeaders) {
    if (name.startsWith(attributePrefix)) attributes[name.slice(attributePrefix.length)] = decodePercent(value);
    else if (name === "content-type") contentType = value;
  }
  const headers = attributeHeaders(attributes, undefined);
  if (contentType !== undefined) headers["content-type"] = contentType;
  const value = body.length === 0 ? { value: null } : { value_base64: Buffer.from(body).toString("base64") };
  return { ...value, headers, ...keyOf(attributes) };
}

/** JSON data that is a string stays JSON text when the event says that its data is JSON, as the standard asks. */
function toText(data: unknown, contentType: string): string {
  const isJson = /[/+]json\b/i.test(contentType);
  return typeof data === "string" && !isJson ? data : JSON.stringify(data);
}

function keyOf(attributes: Fields): Fields {
  return typeof attributes["partitionkey"] === "string" ? { key: attributes["partitionkey"] } : {};
}

function attributeHeaders(attributes: Fields, index: number | undefined): Record<string, string> {
  if (attributes["specversion"] !== "1.0") throw refuse('specversion must be "1.0"', index);
  for (const name of requiredAttributes) {
    const value = attributes[name];
    if (typeof value !== "string" || value === "") throw refuse(`attribute "${name}" is required`, index);
  }
  const { time } = attributes;
  if (time !== undefined && (typeof time !== "string" || parseInstant(time) === undefined)) {
    throw refuse('attribute "time" must be RFC 3339 text', index);
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (!attributePattern.test(name))
      throw refuse(`attribute name "${name}" must be lower-case letters and digits`, index);
    if (typeof value === "object") throw refuse(`attribute "${name}" must be text, a number or a boolean`, index);
    headers[attributePrefix + name] = String(value);
  }
  return headers;
}

/** Header values carry what is not printable ASCII percent-encoded; a stray percent sign stays as it is. */
function decodePercent(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function refuse(problem: string, index: number | undefined): Error {
  const what = index === undefined ? "the event" : `event ${index}`;
  return queueError("INVALID_MESSAGE", `Cannot publish ${what}: ${problem}`, {
    details: index === undefined ? {} : { index },
  });
}
