import type { CallContext } from "nice-grpc-common";
import protobuf from "protobufjs/light.js";
import { createErrorFactory, type ErrorCatalogue } from "../errors/domain-error.ts";

/**
 * The standard service grpc.health.v1, which load balancers and orchestrators ask. The name "" stands for the whole
 * server; other names are those of the services that were told of.
 */
export type ServingStatus = "SERVING" | "NOT_SERVING";

type HealthErrorCode = "SERVICE_UNKNOWN" | "TOO_MANY_WATCHERS";

const catalogue: ErrorCatalogue<HealthErrorCode> = {
  SERVICE_UNKNOWN: { kind: "not_found" },
  TOO_MANY_WATCHERS: { kind: "resource_exhausted", isRetryable: true },
};
const createHealthError = createErrorFactory(catalogue);

const statusNumbers = { UNKNOWN: 0, SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 } as const;
const maxWatchers = 1000;

interface HealthRequest {
  service: string;
}

interface HealthResponse {
  status: number;
}

const root = protobuf.Root.fromJSON({
  nested: {
    HealthCheckRequest: { fields: { service: { type: "string", id: 1 } } },
    HealthCheckResponse: { fields: { status: { type: "int32", id: 1 } } },
  },
});
const requestType = root.lookupType("HealthCheckRequest");
const responseType = root.lookupType("HealthCheckResponse");

const codec = {
  requestSerialize: (request: HealthRequest) => Buffer.from(requestType.encode(request).finish()),
  requestDeserialize: (bytes: Buffer) =>
    requestType.toObject(requestType.decode(bytes), { defaults: true }) as HealthRequest,
  responseSerialize: (response: HealthResponse) => Buffer.from(responseType.encode(response).finish()),
  responseDeserialize: (bytes: Buffer) =>
    responseType.toObject(responseType.decode(bytes), { defaults: true }) as HealthResponse,
  requestStream: false,
} as const;

export const healthDefinition = {
  check: { path: "/grpc.health.v1.Health/Check", responseStream: false, ...codec },
  watch: { path: "/grpc.health.v1.Health/Watch", responseStream: true, ...codec },
} as const;

export class GrpcHealth {
  readonly #statuses = new Map<string, ServingStatus>([["", "NOT_SERVING"]]);
  readonly #wakers = new Set<() => void>();

  set(service: string, status: ServingStatus): void {
    this.#statuses.set(service, status);
    this.#wake();
  }

  setAll(status: ServingStatus): void {
    for (const service of this.#statuses.keys()) this.#statuses.set(service, status);
    this.#wake();
  }

  check(request: HealthRequest): Promise<HealthResponse> {
    const status = this.#statuses.get(request.service);
    if (status !== undefined) return Promise.resolve({ status: statusNumbers[status] });
    throw createHealthError("SERVICE_UNKNOWN", `Cannot check "${request.service}": this server has no such service`);
  }

  /** The status now, then each change, until the client leaves. An unknown service may become known later. */
  async *watch(request: HealthRequest, context: Pick<CallContext, "signal">): AsyncGenerator<HealthResponse> {
    if (this.#wakers.size >= maxWatchers) {
      throw createHealthError("TOO_MANY_WATCHERS", `Cannot watch: ${maxWatchers} watches are open already`);
    }
    let lastSent: number | undefined;
    while (!context.signal.aborted) {
      const changed = Promise.withResolvers<void>();
      this.#wakers.add(changed.resolve);
      context.signal.addEventListener("abort", () => changed.resolve(), { once: true });
      try {
        const status = statusNumbers[this.#statuses.get(request.service) ?? "SERVICE_UNKNOWN"];
        if (status !== lastSent) yield { status };
        lastSent = status;
        await changed.promise;
      } finally {
        this.#wakers.delete(changed.resolve);
      }
    }
  }

  #wake(): void {
    for (const wake of this.#wakers) wake();
  }
}
