import { createErrorFactory, type ErrorCatalogue } from "../platform/errors/domain-error.ts";

/** Codes are contract; each is defined once. */
export const fleetErrorCatalogue = {
  target_invalid: { kind: "unprocessable" },
  knowledge_base_invalid: { kind: "unprocessable" },
  team_map_invalid: { kind: "invalid_argument" },
  ignore_config_invalid: { kind: "unprocessable" },
  manifest_invalid: { kind: "unprocessable" },
  manifest_limit_exceeded: { kind: "payload_too_large" },
  manifest_missing: { kind: "unprocessable" },
  scan_input_invalid: { kind: "invalid_argument" },
  baseline_unreadable: { kind: "failed_precondition" },
  kubeconfig_invalid: { kind: "invalid_argument" },
  query_invalid: { kind: "unprocessable" },
  read_credential_missing: { kind: "unauthenticated" },
  host_refused: { kind: "misdirected" },
  busy: { kind: "unavailable", isRetryable: true },
  cluster_unreachable: { kind: "unavailable" },
} as const satisfies ErrorCatalogue<string>;

export type FleetErrorCode = keyof typeof fleetErrorCatalogue;

export const fleetError = createErrorFactory<FleetErrorCode>(fleetErrorCatalogue);
