import { createErrorFactory, type ErrorCatalogue } from "../errors/domain-error.ts";

export type FileErrorCode = "FILE_LOCKED" | "FILE_UNUSABLE";

export const fileErrorCatalogue: ErrorCatalogue<FileErrorCode> = {
  FILE_LOCKED: { kind: "failed_precondition", isRetryable: true },
  FILE_UNUSABLE: { kind: "failed_precondition" },
};

export const createFileError = createErrorFactory(fileErrorCatalogue);
