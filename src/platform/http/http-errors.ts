import { createErrorFactory, DomainError, type ErrorCatalogue } from "../errors/domain-error.ts";

/** What HTTP itself can refuse, before a feature sees the request. */
export type HttpErrorCode =
  | "NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "INVALID_JSON"
  | "INVALID_ARGUMENT"
  | "PAYLOAD_TOO_LARGE"
  | "UNSUPPORTED_MEDIA_TYPE"
  | "REQUEST_TIMEOUT"
  | "TIMEOUT"
  | "INTERNAL";

export const httpErrorCatalogue: ErrorCatalogue<HttpErrorCode> = {
  NOT_FOUND: { kind: "not_found" },
  METHOD_NOT_ALLOWED: { kind: "method_not_allowed" },
  INVALID_JSON: { kind: "invalid_argument" },
  INVALID_ARGUMENT: { kind: "invalid_argument" },
  PAYLOAD_TOO_LARGE: { kind: "payload_too_large" },
  UNSUPPORTED_MEDIA_TYPE: { kind: "unsupported_media_type" },
  REQUEST_TIMEOUT: { kind: "request_timeout", isRetryable: true },
  TIMEOUT: { kind: "deadline_exceeded", isRetryable: true },
  INTERNAL: { kind: "internal" },
};

export const createHttpError = createErrorFactory(httpErrorCatalogue);

/** The client went away while its body was read: nobody is left to answer. */
export class ClientGoneError extends Error {
  constructor() {
    super("the client closed the connection before its request was complete");
    this.name = "ClientGoneError";
  }
}

/** The error as the outside may see it: the text of an internal one is hidden. */
export function toPublicError(error: unknown): DomainError {
  if (error instanceof DomainError && error.kind !== "internal") return error;
  return createHttpError("INTERNAL", "internal error", { cause: error });
}
