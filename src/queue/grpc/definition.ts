import { Reader, type Writer } from "protobufjs/minimal.js";
import { assert } from "../../platform/errors/assert.ts";
import { FramedMessages } from "../../platform/grpc/framed-messages.ts";
import { queue } from "../gen/queue.js";

/** The service as libraries of gRPC want it described: paths, directions and codecs. */
const { v1 } = queue;

/** Received messages have every field; those to be sent may leave fields out. */
export type PublishRequest = queue.v1.PublishRequest;
export type PublishRequestInit = queue.v1.PublishRequest.$Properties;
export type PublishResponse = queue.v1.PublishResponse.$Properties;
export type ConsumeRequest = queue.v1.ConsumeRequest;
export type WireMessage = queue.v1.Message.$Properties;
/** Messages of a log go out in bulk, framed already; heartbeats one by one. */
export type ConsumeResponse = WireMessage | FramedMessages;
export type GroupRequest = queue.v1.GroupRequest;
export type GroupRequestInit = queue.v1.GroupRequest.$Properties;
export type GroupResponse = queue.v1.GroupResponse.$Properties;
export type GroupResponseMessage = queue.v1.GroupResponse;
export type WireError = queue.v1.Error.$Properties;

interface Codec<Init, Decoded> {
  encode(message: Init): Writer;
  decode(reader: Reader): Decoded;
}

function encodeWith<Init>(codec: Pick<Codec<Init, unknown>, "encode">): (message: Init) => Buffer {
  return (message) => {
    const bytes = codec.encode(message).finish();
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  };
}

function decodeWith<Decoded>(codec: Pick<Codec<never, Decoded>, "decode">): (bytes: Buffer) => Decoded {
  return (bytes) => {
    const reader = Reader.create(bytes);
    reader.discardUnknown = true;
    return codec.decode(reader);
  };
}

function encodeMessage(message: ConsumeResponse): Buffer {
  assert(!(message instanceof FramedMessages), "framed messages are written as they are");
  return encodeWith(v1.Message)(message);
}

export const queueServiceName = "queue.v1.Queue";

export const queueDefinition = {
  publishStream: {
    path: `/${queueServiceName}/PublishStream`,
    requestStream: true,
    responseStream: true,
    requestSerialize: encodeWith(v1.PublishRequest),
    requestDeserialize: decodeWith(v1.PublishRequest),
    responseSerialize: encodeWith(v1.PublishResponse),
    responseDeserialize: decodeWith(v1.PublishResponse),
    options: {},
  },
  consumeStream: {
    path: `/${queueServiceName}/ConsumeStream`,
    requestStream: false,
    responseStream: true,
    requestSerialize: encodeWith(v1.ConsumeRequest),
    requestDeserialize: decodeWith(v1.ConsumeRequest),
    responseSerialize: encodeMessage,
    responseDeserialize: decodeWith(v1.Message),
    options: {},
  },
  groupStream: {
    path: `/${queueServiceName}/GroupStream`,
    requestStream: true,
    responseStream: true,
    requestSerialize: encodeWith(v1.GroupRequest),
    requestDeserialize: decodeWith(v1.GroupRequest),
    responseSerialize: encodeWith(v1.GroupResponse),
    responseDeserialize: decodeWith(v1.GroupResponse),
    options: {},
  },
} as const;
