import type { DomainError } from "../../platform/errors/domain-error.ts";

/** What the platform refuses for its size is, here, a batch of messages. */
export function errorBody(error: DomainError): object {
  const code = error.code === "PAYLOAD_TOO_LARGE" ? "BATCH_TOO_LARGE" : error.code;
  return { error: { code, message: error.message, details: error.details } };
}
