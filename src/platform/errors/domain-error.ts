/**
 * The one kind of operating error. A feature lists its codes once, in `<feature>/errors.ts`; code and kind are
 * contract, the text is not. Only `status-map.ts` turns a kind into an HTTP status, a gRPC status or an exit code.
 */
export type ErrorKind =
  | "invalid_argument"
  | "out_of_range"
  | "unauthenticated"
  | "permission_denied"
  | "not_found"
  | "already_exists"
  | "failed_precondition"
  | "fenced"
  | "resource_exhausted"
  | "payload_too_large"
  | "unsupported_media_type"
  | "unprocessable"
  | "method_not_allowed"
  | "misdirected"
  | "request_timeout"
  | "bad_gateway"
  | "unavailable"
  | "not_leader"
  | "deadline_exceeded"
  | "internal";

export interface ErrorDefinition {
  readonly kind: ErrorKind;
  /** True when the same call may succeed later without a change by the caller. */
  readonly isRetryable?: boolean;
}

export type ErrorCatalogue<Code extends string> = Readonly<Record<Code, ErrorDefinition>>;

export interface DomainErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
  /** Seconds for a Retry-After header. */
  readonly retryAfterSeconds?: number;
}

export class DomainError extends Error {
  readonly code: string;
  readonly kind: ErrorKind;
  readonly isRetryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: string, definition: ErrorDefinition, message: string, options: DomainErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "DomainError";
    this.code = code;
    this.kind = definition.kind;
    this.isRetryable = definition.isRetryable ?? false;
    this.details = options.details ?? {};
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

export type ErrorFactory<Code extends string> = (
  code: Code,
  message: string,
  options?: DomainErrorOptions,
) => DomainError;

/** Turns a feature's catalogue into the function that makes its errors. */
export function createErrorFactory<Code extends string>(catalogue: ErrorCatalogue<Code>): ErrorFactory<Code> {
  return (code, message, options) => new DomainError(code, catalogue[code], message, options);
}

export function isDomainError(error: unknown): error is DomainError {
  return error instanceof DomainError;
}
