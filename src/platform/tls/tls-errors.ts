import { createErrorFactory, type ErrorCatalogue } from "../errors/domain-error.ts";

export type TlsErrorCode = "TLS_CERTIFICATE_UNUSABLE";

export const tlsErrorCatalogue: ErrorCatalogue<TlsErrorCode> = {
  TLS_CERTIFICATE_UNUSABLE: { kind: "failed_precondition" },
};

export const createTlsError = createErrorFactory(tlsErrorCatalogue);
