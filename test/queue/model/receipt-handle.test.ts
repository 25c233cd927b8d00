import { createHmac } from "node:crypto";
import fc from "fast-check";
import t from "tap";
import { createReceiptKey, decodeReceipt, encodeReceipt } from "../../../src/queue/model/delivery/receipt-handle.ts";

const secret = Buffer.alloc(32, 7);
const key = createReceiptKey(secret);
const receipt = { group: "g", topicNumber: 3, partition: 2, offset: 1_000_000, attempt: 4, term: 9 };

t.test("a handle is signed with an HMAC-SHA-256 over its fields", async (t) => {
  const bytes = Buffer.from(encodeReceipt(receipt, key), "base64url");
  const expected = createHmac("sha256", secret).update(bytes.subarray(0, -16)).digest().subarray(0, 16);
  t.strictSame(bytes.subarray(-16), expected);
});

t.test("what was encoded is decoded, for any field", async (t) => {
  const number = fc.nat(Number.MAX_SAFE_INTEGER);
  fc.assert(
    fc.property(
      fc.record({
        group: fc.string({ minLength: 1 }),
        topicNumber: number,
        partition: fc.nat(1024),
        offset: number,
        attempt: number,
        term: number,
      }),
      (given) => {
        const group = Buffer.from(given.group).toString("utf8");
        t.strictSame(decodeReceipt(encodeReceipt({ ...given, group }, key), key), { ...given, group });
      },
    ),
    { numRuns: 200 },
  );
});

t.test("any other text is refused", async (t) => {
  const handle = encodeReceipt(receipt, key);
  for (let at = 0; at < handle.length; at += 1) {
    const other = handle[at] === "A" ? "B" : "A";
    const changed = handle.slice(0, at) + other + handle.slice(at + 1);
    // The last character may hold bits that mean nothing.
    if (Buffer.from(changed, "base64url").equals(Buffer.from(handle, "base64url"))) continue;
    t.equal(decodeReceipt(changed, key), undefined, `character ${at}`);
  }
  t.equal(decodeReceipt(handle, createReceiptKey(Buffer.alloc(32, 8))), undefined, "another cluster's key");
  for (const text of ["", "AQ", "x".repeat(3000), handle.slice(0, -4)])
    t.equal(decodeReceipt(text, key), undefined, text.slice(0, 10));
});
