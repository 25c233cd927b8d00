import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { ZodType } from "zod";
import type { DomainError } from "../errors/domain-error.ts";
import { systemTimers } from "../time/clock.ts";
import type { HttpContext } from "./http-env.ts";
import { ClientGoneError, createHttpError } from "./http-errors.ts";
import { findJsonError } from "./json-position.ts";

/**
 * Request bodies, always bounded in size and time. Handlers read bodies only through these functions: the limit of the
 * route is known here, with a declared length as well as without one, and the body is taken straight from the
 * connection instead of through a web stream.
 */
export interface ReadBodyOptions {
  /** Lower than the limit of the router for this route. */
  readonly limitBytes?: number;
}

export interface ReadJsonOptions<T> extends ReadBodyOptions {
  readonly schema: ZodType<T>;
  /** Media types taken beside `application/json` and `…+json`; a request without one is taken as JSON. */
  readonly mediaTypes?: readonly string[];
  /** Stands for an absent body, for example `{}`. */
  readonly emptyBody?: unknown;
}

/** @throws DomainError PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT; ClientGoneError */
export async function readBody(context: HttpContext, options: ReadBodyOptions = {}): Promise<Uint8Array> {
  const limitBytes = Math.min(options.limitBytes ?? Number.POSITIVE_INFINITY, context.get("bodyLimitBytes"));
  assertDeclaredLength(context.req.header("content-length"), limitBytes);
  const incoming = context.env?.incoming;
  if (incoming) return await readIncomingBody(incoming, { limitBytes, timeoutMs: context.env?.bodyTimeoutMs });
  return await readStreamBody(context.req.raw.body, limitBytes);
}

/** @throws as `readBody`, and DomainError UNSUPPORTED_MEDIA_TYPE, INVALID_JSON, INVALID_ARGUMENT */
export async function readJson<T>(context: HttpContext, options: ReadJsonOptions<T>): Promise<T> {
  assertMediaType(context, options.mediaTypes ?? []);
  const bytes = await readBody(context, options);
  const value = bytes.length === 0 && options.emptyBody !== undefined ? options.emptyBody : parseJsonBody(bytes);
  return checkBody(value, options.schema);
}

/** @throws DomainError UNSUPPORTED_MEDIA_TYPE unless the request is JSON, one of `mediaTypes` or says nothing */
export function assertMediaType(context: HttpContext, mediaTypes: readonly string[]): void {
  const text = context.req.header("content-type");
  if (text === undefined || text === "") return;
  const mediaType = (text.split(";", 1)[0] ?? "").trim().toLowerCase();
  if (mediaType === "application/json" || mediaType.endsWith("+json") || mediaTypes.includes(mediaType)) return;
  throw createHttpError(
    "UNSUPPORTED_MEDIA_TYPE",
    `Cannot read the request body: its content type is "${mediaType}", not "application/json"`,
    { details: { content_type: mediaType } },
  );
}

/** @throws DomainError INVALID_JSON with the line and column of the first mistake */
export function parseJsonBody(bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw createHttpError("INVALID_JSON", "Cannot read the request body: it is empty");
  if (!isUtf8(bytes)) throw createHttpError("INVALID_JSON", "Cannot read the request body: it is not valid UTF-8");
  const text = decoder.decode(bytes);
  try {
    return JSON.parse(text);
  } catch {
    const { line, column, found } = findJsonError(text);
    throw createHttpError(
      "INVALID_JSON",
      `Cannot read the request body: not valid JSON at line ${line}, column ${column}: unexpected ${found}`,
      { details: { line, column } },
    );
  }
}

/** @throws DomainError INVALID_ARGUMENT that lists every problem under `details.issues` */
export function checkBody<T>(value: unknown, schema: ZodType<T>): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.map((issue) => ({ path: formatPath(issue.path), message: issue.message }));
  const listed = issues.map(({ path, message }) => (path === "" ? message : `"${path}": ${message}`));
  throw createHttpError("INVALID_ARGUMENT", `Cannot accept the request: ${listed.join("; ")}`, {
    details: { issues },
  });
}

/**
 * The query parameters through a schema: a name given more than once is a list of texts.
 *
 * @throws DomainError INVALID_ARGUMENT
 */
export function checkQuery<T>(context: HttpContext, schema: ZodType<T>): T {
  const entries = Object.entries(context.req.queries()).map(([name, values]) => [
    name,
    values.length === 1 ? values[0] : values,
  ]);
  return checkBody(Object.fromEntries(entries), schema);
}

const decoder = new TextDecoder("utf-8");

function formatPath(path: readonly PropertyKey[]): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else text += text === "" ? String(part) : `.${String(part)}`;
  }
  return text;
}

/** Refuses a body by its declared length, before a byte of it is read. */
export function assertDeclaredLength(header: string | undefined, limitBytes: number): void {
  if (header !== undefined && Number(header) > limitBytes) throw tooLarge(limitBytes);
}

function tooLarge(limitBytes: number): DomainError {
  return createHttpError(
    "PAYLOAD_TOO_LARGE",
    `Cannot read the request body: it is larger than the limit of ${limitBytes} bytes`,
    { details: { limit_bytes: limitBytes } },
  );
}

export interface IncomingBodyLimits {
  readonly limitBytes: number;
  readonly timeoutMs?: number | undefined;
}

/** The whole body of a raw request; for `readBody` and for hot paths in front of the router. */
export function readIncomingBody(incoming: IncomingMessage, limits: IncomingBodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    const timer =
      limits.timeoutMs === undefined
        ? undefined
        : systemTimers.after(limits.timeoutMs, () => finish(bodyTimeout(limits.timeoutMs ?? 0)));
    const onData = (chunk: Buffer): void => {
      sizeBytes += chunk.length;
      if (sizeBytes > limits.limitBytes) finish(tooLarge(limits.limitBytes));
      else chunks.push(chunk);
    };
    const onEnd = (): void => finish(undefined);
    const onClose = (): void => finish(new ClientGoneError());
    const finish = (error: Error | undefined): void => {
      timer?.cancel();
      incoming.off("data", onData).off("end", onEnd).off("error", onClose).off("close", onClose);
      if (error === undefined) {
        resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
        return;
      }
      incoming.on("error", ignore).pause();
      reject(error);
    };
    if (incoming.destroyed && !incoming.readable) return finish(new ClientGoneError());
    incoming.on("data", onData).on("end", onEnd).on("error", onClose).on("close", onClose);
  });
}

function ignore(): void {}

function bodyTimeout(timeoutMs: number): DomainError {
  return createHttpError(
    "REQUEST_TIMEOUT",
    `Cannot read the request body: it did not arrive within ${timeoutMs / 1000} s`,
  );
}

async function readStreamBody(stream: ReadableStream<Uint8Array> | null, limitBytes: number): Promise<Uint8Array> {
  if (stream === null) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    sizeBytes += chunk.length;
    if (sizeBytes > limitBytes) throw tooLarge(limitBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
