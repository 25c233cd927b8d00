import { type DomainError, isDomainError } from "../../platform/errors/domain-error.ts";
import { branchingError } from "../errors.ts";
import { callerBytesMax, clipToolOutput, journalText } from "../model/failure-text.ts";
import type { Branch, Source } from "../model/records.ts";

export function branchNotFound(name: string): DomainError {
  return branchingError("branch_not_found", `Cannot find branch "${name}": there is none of that name`);
}

export function sourceNotFound(name: string): DomainError {
  return branchingError("source_not_found", `Cannot find source "${name}": there is none of that name`);
}

export function wrongState(verb: string, branch: Branch, wanted: string): DomainError {
  return branchingError(
    "wrong_state",
    `Cannot ${verb} branch "${branch.name}": it is ${branch.state}, but must be ${wanted}`,
  );
}

export function sourceNotReady(verb: string, source: Source): DomainError {
  return branchingError(
    "wrong_state",
    `Cannot ${verb} source "${source.name}": it is ${source.state}, but must be ready`,
  );
}

/** One line for the journal: message, and what the tools said when that is known. */
export function describeFailure(error: unknown): string {
  return journalText(withOutput(error));
}

/** The same error with the end of the tools' output in its text, fit for the caller. */
export function withToolOutput(error: unknown): unknown {
  if (!isDomainError(error) || typeof error.details["output"] !== "string") return error;
  return branchingError(error.code as "start_failed", withOutput(error), { cause: error });
}

function withOutput(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const output = isDomainError(error) ? error.details["output"] : undefined;
  if (typeof output !== "string" || output.trim() === "") return message;
  return `${message}: ${clipToolOutput(output, callerBytesMax)}`;
}
