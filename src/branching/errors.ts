import { createErrorFactory, type ErrorCatalogue } from "../platform/errors/domain-error.ts";

/** Every operating error of the feature. Code and kind are contract, the text is not. */
const catalogue = {
  invalid_request: { kind: "invalid_argument" },
  version_mismatch: { kind: "invalid_argument" },
  endpoint_unsupported: { kind: "invalid_argument" },
  source_not_found: { kind: "not_found" },
  branch_not_found: { kind: "not_found" },
  name_taken: { kind: "already_exists" },
  wrong_state: { kind: "failed_precondition" },
  source_busy: { kind: "failed_precondition" },
  source_has_branches: { kind: "failed_precondition" },
  branch_in_use: { kind: "failed_precondition" },
  nothing_to_recover: { kind: "failed_precondition" },
  volume_exists: { kind: "failed_precondition" },
  port_taken: { kind: "failed_precondition" },
  held_by_runtime: { kind: "failed_precondition" },
  quota_reached: { kind: "permission_denied" },
  layer_depth_reached: { kind: "permission_denied" },
  seed_failed: { kind: "unprocessable" },
  mask_failed: { kind: "unprocessable" },
  layout_unavailable: { kind: "unprocessable" },
  start_failed: { kind: "internal" },
  runtime_failed: { kind: "internal" },
  runtime_unreachable: { kind: "bad_gateway", isRetryable: true },
  operation_timed_out: { kind: "deadline_exceeded" },
  operation_stopped: { kind: "unavailable", isRetryable: true },
  home_locked: { kind: "unavailable", isRetryable: true },
  token_invalid: { kind: "unauthenticated" },
  secret_key_missing: { kind: "failed_precondition" },
  secret_key_invalid: { kind: "invalid_argument" },
  secret_unreadable: { kind: "failed_precondition" },
  diff_failed: { kind: "internal" },
  destroy_failed: { kind: "internal" },
} as const satisfies ErrorCatalogue<string>;

export type BranchingErrorCode = keyof typeof catalogue;

export const branchingErrors: ErrorCatalogue<BranchingErrorCode> = catalogue;

export const branchingError = createErrorFactory<BranchingErrorCode>(catalogue);
