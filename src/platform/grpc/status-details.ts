import protobuf from "protobufjs/light.js";
import type { DomainError } from "../errors/domain-error.ts";
import { statusByKind } from "../errors/status-map.ts";

/**
 * The rich form of a gRPC error: `google.rpc.Status` in the trailer `grpc-status-details-bin`, with an ErrorInfo that
 * carries our code and details, and a RetryInfo when a wait is known. Clients of any language decode it with their
 * standard library for it.
 */
export const statusDetailsTrailer = "grpc-status-details-bin";

export interface ErrorInfo {
  /** Our error code, for example TOPIC_NOT_FOUND. */
  readonly reason: string;
  readonly domain: string;
  readonly metadata: Readonly<Record<string, string>>;
}

const root = protobuf.Root.fromJSON({
  nested: {
    Any: { fields: { type_url: { type: "string", id: 1 }, value: { type: "bytes", id: 2 } } },
    Status: {
      fields: {
        code: { type: "int32", id: 1 },
        message: { type: "string", id: 2 },
        details: { rule: "repeated", type: "Any", id: 3 },
      },
    },
    ErrorInfo: {
      fields: {
        reason: { type: "string", id: 1 },
        domain: { type: "string", id: 2 },
        metadata: { keyType: "string", type: "string", id: 3 } as protobuf.IMapField,
      },
    },
    Duration: { fields: { seconds: { type: "int32", id: 1 }, nanos: { type: "int32", id: 2 } } },
    RetryInfo: { fields: { retry_delay: { type: "Duration", id: 1 } } },
  },
});
const anyType = root.lookupType("Any");
const statusType = root.lookupType("Status");
const errorInfoType = root.lookupType("ErrorInfo");
const retryInfoType = root.lookupType("RetryInfo");
const typePrefix = "type.googleapis.com/google.rpc.";

export function encodeStatusDetails(error: DomainError, domain: string): Uint8Array {
  const info = { reason: error.code, domain, metadata: toTexts(error.details) };
  const details = [pack("ErrorInfo", errorInfoType, info)];
  if (error.retryAfterSeconds !== undefined) {
    const seconds = Math.floor(error.retryAfterSeconds);
    const nanos = Math.round((error.retryAfterSeconds - seconds) * 1e9);
    details.push(pack("RetryInfo", retryInfoType, { retry_delay: { seconds, nanos } }));
  }
  return statusType.encode({ code: statusByKind[error.kind].grpc, message: error.message, details }).finish();
}

/** For clients: what `encodeStatusDetails` put in, or undefined when the bytes hold no ErrorInfo. */
export function decodeErrorInfo(bytes: Uint8Array): ErrorInfo | undefined {
  const status = statusType.decode(bytes) as unknown as { details?: { type_url: string; value: Uint8Array }[] };
  const packed = status.details?.find((detail) => detail.type_url === `${typePrefix}ErrorInfo`);
  if (packed === undefined) return undefined;
  const { reason, domain, metadata } = errorInfoType.decode(packed.value) as unknown as ErrorInfo;
  return { reason, domain, metadata: { ...metadata } };
}

function pack(name: string, type: protobuf.Type, value: Record<string, unknown>): protobuf.Message {
  return anyType.create({ type_url: `${typePrefix}${name}`, value: type.encode(value).finish() });
}

function toTexts(details: Readonly<Record<string, unknown>>): Record<string, string> {
  const entries = Object.entries(details).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  );
}
