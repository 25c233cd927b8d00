import { createErrorFactory, type ErrorCatalogue } from "../platform/errors/domain-error.ts";

export type CatalogErrorCode = "DATABASE_UNAVAILABLE";

export const catalogErrorCatalogue: ErrorCatalogue<CatalogErrorCode> = {
  DATABASE_UNAVAILABLE: { kind: "unavailable", isRetryable: true },
};

export const createCatalogError = createErrorFactory(catalogErrorCatalogue);
