import { createErrorFactory, type ErrorCatalogue } from "../platform/errors/domain-error.ts";

/** Every code that the broker answers with. Code and kind are contract; REST, gRPC and the command line map the kind. */
export type QueueErrorCode = keyof typeof catalogue;

const catalogue = {
  INVALID_JSON: { kind: "invalid_argument" },
  INVALID_ARGUMENT: { kind: "invalid_argument" },
  INVALID_TOPIC_NAME: { kind: "invalid_argument" },
  INVALID_PARTITION: { kind: "invalid_argument" },
  INVALID_OFFSET: { kind: "invalid_argument" },
  OFFSET_OUT_OF_RANGE: { kind: "out_of_range" },
  INVALID_PRIORITY: { kind: "invalid_argument" },
  INVALID_DELAY: { kind: "invalid_argument" },
  INVALID_MESSAGE: { kind: "invalid_argument" },
  PARTITION_DECREASE_NOT_ALLOWED: { kind: "invalid_argument" },
  INVALID_RECEIPT_HANDLE: { kind: "invalid_argument" },
  INVALID_TRANSACTION_STATE: { kind: "failed_precondition" },
  UNSUPPORTED_SCHEMA_TYPE: { kind: "invalid_argument" },

  UNAUTHENTICATED: { kind: "unauthenticated" },
  API_KEY_INVALID: { kind: "unauthenticated" },
  API_KEY_EXPIRED: { kind: "unauthenticated" },
  API_KEY_REVOKED: { kind: "unauthenticated" },
  TOKEN_INVALID: { kind: "unauthenticated" },
  TOKEN_EXPIRED: { kind: "unauthenticated" },
  FORBIDDEN: { kind: "permission_denied" },
  ACL_DENIED: { kind: "permission_denied" },
  NOT_ASSIGNED: { kind: "permission_denied" },

  TOPIC_NOT_FOUND: { kind: "not_found" },
  PARTITION_NOT_FOUND: { kind: "not_found" },
  GROUP_NOT_FOUND: { kind: "not_found" },
  MEMBER_NOT_FOUND: { kind: "not_found" },
  MESSAGE_NOT_FOUND: { kind: "not_found" },
  KEY_NOT_FOUND: { kind: "not_found" },
  ACL_NOT_FOUND: { kind: "not_found" },
  TRANSACTION_NOT_FOUND: { kind: "not_found" },
  PRODUCER_NOT_FOUND: { kind: "not_found" },
  DELAYED_MESSAGE_NOT_FOUND: { kind: "not_found" },
  NOT_FOUND: { kind: "not_found" },

  TOPIC_ALREADY_EXISTS: { kind: "already_exists" },
  STALE_GENERATION: { kind: "fenced" },
  REBALANCE_IN_PROGRESS: { kind: "fenced", isRetryable: true },
  RECEIPT_HANDLE_EXPIRED: { kind: "fenced" },
  AMBIGUOUS_GROUP: { kind: "failed_precondition" },
  PRODUCER_FENCED: { kind: "fenced" },
  OUT_OF_ORDER_SEQUENCE: { kind: "failed_precondition" },
  TRANSACTION_IN_PROGRESS: { kind: "failed_precondition" },
  TRANSACTION_TIMED_OUT: { kind: "failed_precondition" },
  GROUP_NOT_EMPTY: { kind: "failed_precondition" },
  SCHEMA_INCOMPATIBLE: { kind: "failed_precondition" },

  MESSAGE_TOO_LARGE: { kind: "payload_too_large" },
  BATCH_TOO_LARGE: { kind: "payload_too_large" },
  UNSUPPORTED_MEDIA_TYPE: { kind: "unsupported_media_type" },
  SCHEMA_VALIDATION_FAILED: { kind: "unprocessable" },
  RATE_LIMITED: { kind: "resource_exhausted", isRetryable: true },

  INTERNAL: { kind: "internal" },
  NOT_LEADER: { kind: "not_leader", isRetryable: true },
  LEADER_NOT_AVAILABLE: { kind: "unavailable", isRetryable: true },
  NOT_ENOUGH_REPLICAS: { kind: "unavailable", isRetryable: true },
  NOT_READY: { kind: "unavailable", isRetryable: true },
  SHUTTING_DOWN: { kind: "unavailable", isRetryable: true },
  DISK_FULL: { kind: "unavailable", isRetryable: true },
  TIMEOUT: { kind: "deadline_exceeded" },
} as const satisfies ErrorCatalogue<string>;

export const queueErrorCatalogue: ErrorCatalogue<QueueErrorCode> = catalogue;
export const queueError = createErrorFactory<QueueErrorCode>(queueErrorCatalogue);
