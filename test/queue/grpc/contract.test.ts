import { readFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import { findStaleFiles } from "../../../scripts/generate-proto.ts";
import { queueError, queueErrorCatalogue } from "../../../src/queue/errors.ts";
import { queue } from "../../../src/queue/gen/queue.js";
import { errorNumber, toMilliseconds, toTimestamp, toWireError } from "../../../src/queue/grpc/convert.ts";
import { queueDefinition } from "../../../src/queue/grpc/definition.ts";

t.test("generated code is what the proto files give", async (t) => {
  t.strictSame(findStaleFiles(), [], "run: node scripts/generate-proto.ts");
});

t.test("every error code has a number of its own in the contract", async (t) => {
  const numbers = Object.keys(queueErrorCatalogue).map((code) => [code, errorNumber(code)] as const);
  for (const [code, number] of numbers) if (code !== "INTERNAL") t.not(number, errorNumber("INTERNAL"), code);
  t.equal(new Set(numbers.map(([, number]) => number)).size, numbers.length);
});

t.test("numbers that other clients know stay as they are", async (t) => {
  const known = {
    TOPIC_NOT_FOUND: 100,
    TOPIC_ALREADY_EXISTS: 101,
    PARTITION_NOT_FOUND: 102,
    INVALID_PARTITION: 103,
    GROUP_NOT_FOUND: 200,
    MEMBER_NOT_FOUND: 201,
    REBALANCE_IN_PROGRESS: 202,
    STALE_GENERATION: 203,
    MESSAGE_TOO_LARGE: 300,
    INVALID_MESSAGE: 301,
    INVALID_RECEIPT_HANDLE: 302,
    RECEIPT_HANDLE_EXPIRED: 303,
    MESSAGE_NOT_FOUND: 304,
    TRANSACTION_NOT_FOUND: 400,
    PRODUCER_FENCED: 402,
    NOT_LEADER: 500,
    LEADER_NOT_AVAILABLE: 501,
  };
  for (const [code, number] of Object.entries(known)) t.equal(errorNumber(code), number, code);
});

t.test("the service has the three methods of the contract", async (t) => {
  const proto = readFileSync("proto/queue/v1/queue.proto", "utf8");
  const methods = [...proto.matchAll(/rpc (\w+)\((stream )?\w+\) returns \((stream )?\w+\)/g)];
  t.strictSame(
    methods.map(([, name, requestStream, responseStream]) => [
      `/queue.v1.Queue/${name}`,
      requestStream !== undefined,
      responseStream !== undefined,
    ]),
    Object.values(queueDefinition).map((method) => [method.path, method.requestStream, method.responseStream]),
  );
});

t.test("64-bit fields are plain numbers, exact to ±(2^53 − 1), and refused beyond", async (t) => {
  const { encode, decode } = queue.v1.PublishRequest;
  const safe = fc.maxSafeInteger();
  fc.assert(
    fc.property(safe, safe.map(Math.abs), (signed, unsigned) => {
      const bytes = encode({ sequence: signed, correlationId: unsigned }).finish();
      const decoded = decode(bytes);
      return decoded.sequence === signed && decoded.correlationId === unsigned;
    }),
  );
  const beyond = Uint8Array.from([0x50, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]);
  t.throws(() => decode(beyond), RangeError, "2^53 in correlation_id");
  t.throws(() => decode(Uint8Array.from([0x50, 0x80])), RangeError, "cut off");
  t.throws(() => decode(Uint8Array.from([0x50, ...new Array(11).fill(0x80), 0x01])), RangeError, "too long");
});

t.test("random bytes never hang or crash the decoder, they are decoded or refused", async () => {
  const { deserialize } = { deserialize: queueDefinition.publishStream.requestDeserialize };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        deserialize(Buffer.from(bytes));
      } catch (error) {
        return error instanceof Error;
      }
      return true;
    }),
  );
});

t.test("times keep their milliseconds; parts of one are never early", async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4e12 }), (epochMs) => toMilliseconds(toTimestamp(epochMs)) === epochMs),
  );
  t.equal(toMilliseconds({ seconds: 1, nanos: 1 }), 1001);
});

t.test("an internal error keeps its text to itself", async (t) => {
  t.match(toWireError(new Error("password is hunter2")), { reason: "INTERNAL", message: "internal error", code: 900 });
  const wire = toWireError(
    queueError("NOT_LEADER", "m", { details: { leader: "n2", list: [1] }, retryAfterSeconds: 1.5 }),
  );
  t.match(wire, { details: { leader: "n2", list: "[1]" }, retryAfter: { seconds: 1, nanos: 500_000_000 } });
});
