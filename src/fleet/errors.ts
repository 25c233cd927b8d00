import { createErrorFactory, type ErrorCatalogue } from "../platform/errors/domain-error.ts";

/** Codes are contract; each is defined once. */
export const fleetErrorCatalogue = {
  target_invalid: { kind: "unprocessable" },
  knowledge_base_invalid: { kind: "unprocessable" },
  team_map_invalid: { kind: "invalid_argument" },
  ignore_config_invalid: { kind: "unprocessable" },
} as const satisfies ErrorCatalogue<string>;

export type FleetErrorCode = keyof typeof fleetErrorCatalogue;

export const fleetError = createErrorFactory<FleetErrorCode>(fleetErrorCatalogue);
