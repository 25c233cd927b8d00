import { branchingError } from "../../errors.ts";

interface DockerFailure {
  readonly statusCode?: number;
  readonly reason?: string;
  readonly code?: string;
  readonly message?: string;
  readonly json?: { readonly message?: string };
}

const unreachableCodes = new Set([
  "ECONNREFUSED",
  "ENOENT",
  "EACCES",
  "ENOTFOUND",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
]);

export function statusOf(error: unknown): number | undefined {
  return (error as DockerFailure | undefined)?.statusCode;
}

export function textOf(error: unknown): string {
  const failure = error as DockerFailure | undefined;
  return (failure?.json?.message ?? failure?.message ?? String(error)).trim();
}

/** One error of ours for each way in which the engine fails. */
export function toRuntimeError(action: string, error: unknown): Error {
  const failure = error as DockerFailure;
  const text = textOf(error);
  if (failure.statusCode === undefined) {
    if (!unreachableCodes.has(failure.code ?? "")) return error instanceof Error ? error : new Error(text);
    const hint = failure.code === "EACCES" ? "permission denied on its socket" : (failure.code ?? "no connection");
    return branchingError("runtime_unreachable", `Cannot ${action}: the Docker engine does not answer (${hint})`, {
      cause: error,
    });
  }
  if (/port is already allocated|address already in use/i.test(text)) {
    return branchingError("port_taken", `Cannot ${action}: the port is taken on the container host`, { cause: error });
  }
  if (failure.statusCode === 409) {
    return branchingError("held_by_runtime", `Cannot ${action}: ${text}`, { cause: error });
  }
  return branchingError(
    "runtime_failed",
    `Cannot ${action}: the Docker engine answered ${failure.statusCode}: ${text}`,
    {
      cause: error,
    },
  );
}
