import { DomainError, type ErrorKind } from "../../platform/errors/domain-error.ts";
import { statusByKind } from "../../platform/errors/status-map.ts";
import { queueErrorCatalogue } from "../errors.ts";

/** The REST API for our own command line and tests: bodies as they are on the wire, errors as domain errors. */
export interface QueueClientOptions {
  /** `http://127.0.0.1:8080`, without a slash at the end. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type JsonBody = Readonly<Record<string, unknown>>;
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface PublishedResult {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly delayed_id?: string;
  readonly duplicate?: boolean;
  readonly error?: { readonly code: string; readonly message: string };
}

export interface ReceivedMessage {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestamp: string;
  readonly key: string | null;
  readonly key_base64?: string;
  readonly value?: string | null;
  readonly value_base64?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly priority: string;
  readonly receipt_handle?: string;
  readonly delivery_count?: number;
}

export interface TopicBody {
  readonly name: string;
  readonly partitions: number;
  readonly total_messages: number;
  readonly total_size_bytes: number;
  readonly retention_hours: number;
  readonly created_at: string;
  readonly partition_offsets: Readonly<Record<string, { readonly earliest: number; readonly latest: number }>>;
  readonly [field: string]: unknown;
}

interface Page<Item> {
  readonly data: readonly Item[];
  readonly pagination: { readonly total_pages: number };
}

const perPage = 500;

export class QueueClient {
  readonly #options: QueueClientOptions;

  constructor(options: QueueClientOptions) {
    this.#options = options;
  }

  async get<Body>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Body> {
    return (await this.#request("GET", withQuery(path, query), undefined, signal)) as Body;
  }
  async post<Body>(path: string, body: unknown = {}): Promise<Body> {
    return (await this.#request("POST", path, body)) as Body;
  }
  async patch<Body>(path: string, body: unknown): Promise<Body> {
    return (await this.#request("PATCH", path, body)) as Body;
  }
  async delete<Body>(path: string, query: Query = {}): Promise<Body> {
    return (await this.#request("DELETE", withQuery(path, query), undefined)) as Body;
  }

  /** Every page. */
  async *list<Item>(path: string): AsyncGenerator<Item> {
    for (let page = 1; ; page += 1) {
      const { data, pagination } = await this.get<Page<Item>>(path, { page, per_page: perPage });
      yield* data;
      if (page >= pagination.total_pages) return;
    }
  }

  async publish(topic: string, messages: readonly JsonBody[], acks?: string): Promise<readonly PublishedResult[]> {
    const path = withQuery(`/topics/${encodeURIComponent(topic)}/messages/batch`, { acks });
    const { results } = (await this.#request("POST", path, { messages })) as { results: readonly PublishedResult[] };
    return results;
  }

  async #request(method: string, path: string, body: unknown, signal = this.#options.signal): Promise<unknown> {
    const { baseUrl, apiKey } = this.#options;
    const headers: Record<string, string> = { accept: "application/json" };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (apiKey !== undefined) headers["x-api-key"] = apiKey;
    let response: Response;
    try {
      response = await fetch(baseUrl + path, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw unreachable(baseUrl, error);
    }
    const text = await response.text();
    const parsed = parse(text);
    if (response.ok && parsed !== undefined) return parsed;
    throw toError(response.status, parsed, baseUrl);
  }
}

function withQuery(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? path : `${path}?${search}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unreachable(baseUrl: string, error: unknown): DomainError {
  const { cause } = error as { cause?: { code?: string; message?: string } };
  const reason = cause?.code ?? cause?.message ?? (error instanceof Error ? error.message : String(error));
  return new DomainError(
    "UNREACHABLE",
    { kind: "unavailable", isRetryable: true },
    `Cannot reach the broker at ${baseUrl}: ${reason}; start it with "slipway queue serve", or set QUEUE_SERVER`,
    { cause: error },
  );
}

function toError(status: number, body: unknown, baseUrl: string): DomainError {
  const { error } = (body ?? {}) as { error?: { code?: unknown; message?: unknown; details?: unknown } };
  if (typeof error?.code !== "string" || typeof error.message !== "string") {
    const message = `Cannot use ${baseUrl}: it answered ${status} in a form that is not the broker's`;
    return new DomainError("UNEXPECTED_ANSWER", { kind: kindOf(status, undefined) }, message);
  }
  const details = typeof error.details === "object" && error.details !== null ? { ...error.details } : {};
  return new DomainError(error.code, { kind: kindOf(status, error.code) }, error.message, { details });
}

function kindOf(status: number, code: string | undefined): ErrorKind {
  const known = Object.entries(queueErrorCatalogue).find(([name]) => name === code)?.[1].kind;
  if (known !== undefined) return known;
  const kinds = Object.entries(statusByKind) as [ErrorKind, { readonly http: number }][];
  return kinds.find(([, row]) => row.http === status)?.[0] ?? "internal";
}
