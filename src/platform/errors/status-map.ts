import type { ErrorKind } from "./domain-error.ts";

export interface StatusRow {
  readonly http: number;
  /** Numeric gRPC status code, as grpc-js names them. */
  readonly grpc: number;
  readonly exit: number;
}

/** The only place where an error kind becomes a status. */
export const statusByKind: Readonly<Record<ErrorKind, StatusRow>> = {
  invalid_argument: { http: 400, grpc: 3, exit: 64 },
  out_of_range: { http: 400, grpc: 11, exit: 64 },
  unauthenticated: { http: 401, grpc: 16, exit: 77 },
  permission_denied: { http: 403, grpc: 7, exit: 77 },
  not_found: { http: 404, grpc: 5, exit: 1 },
  already_exists: { http: 409, grpc: 6, exit: 1 },
  failed_precondition: { http: 409, grpc: 9, exit: 1 },
  fenced: { http: 409, grpc: 10, exit: 1 },
  resource_exhausted: { http: 429, grpc: 8, exit: 75 },
  payload_too_large: { http: 413, grpc: 8, exit: 64 },
  unsupported_media_type: { http: 415, grpc: 3, exit: 64 },
  unprocessable: { http: 422, grpc: 3, exit: 64 },
  method_not_allowed: { http: 405, grpc: 12, exit: 64 },
  misdirected: { http: 421, grpc: 3, exit: 64 },
  request_timeout: { http: 408, grpc: 4, exit: 75 },
  bad_gateway: { http: 502, grpc: 14, exit: 75 },
  unavailable: { http: 503, grpc: 14, exit: 75 },
  not_leader: { http: 503, grpc: 14, exit: 75 },
  deadline_exceeded: { http: 504, grpc: 4, exit: 75 },
  internal: { http: 500, grpc: 13, exit: 70 },
};
