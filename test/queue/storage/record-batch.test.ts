import fc from "fast-check";
import t from "tap";
import {
  BatchView,
  batchHeaderSize,
  CorruptBatchError,
  type Priority,
  placeBatchHeader,
  type RecordBatch,
} from "../../../src/queue/model/record-batch.ts";
import { RecordBatchBuilder, type RecordInput } from "../../../src/queue/model/record-batch-builder.ts";
import { filterBatch } from "../../../src/queue/model/record-batch-filter.ts";
import { RecordCursor } from "../../../src/queue/model/record-cursor.ts";
import {
  foldSign,
  getUint53,
  setUint53,
  unfoldSign,
  varintSize,
  writeVarint,
} from "../../../src/queue/model/varint.ts";

const startMs = 1_700_000_000_000;
const bytesArbitrary = fc.uint8Array({ maxLength: 300 });
const recordArbitrary: fc.Arbitrary<RecordInput> = fc.record({
  key: fc.option(fc.oneof(fc.string({ unit: "grapheme" }), bytesArbitrary), { nil: undefined }),
  value: fc.option(fc.oneof(fc.string({ unit: "grapheme", maxLength: 200 }), bytesArbitrary), { nil: undefined }),
  headers: fc.option(fc.dictionary(fc.string({ unit: "grapheme" }), fc.string()), { nil: undefined }),
  priority: fc.option(
    fc.integer({ min: 0, max: 4 }).map((one) => one as Priority),
    { nil: undefined },
  ),
  timestampMs: fc.option(fc.integer({ min: startMs - 1e6, max: startMs + 1e9 }), { nil: undefined }),
  ttlMs: fc.option(fc.nat({ max: 2 ** 40 }), { nil: undefined }),
  isPayload: fc.boolean(),
  isBinary: fc.boolean(),
  isKeyBinary: fc.boolean(),
});
const compressionArbitrary = fc.constantFrom("none" as const, "gzip" as const, "zstd" as const);

function joined(batch: RecordBatch): Buffer {
  return Buffer.concat([batch.header, batch.body]);
}

function build(records: readonly RecordInput[], compression: "none" | "gzip" | "zstd" = "none"): RecordBatch {
  const builder = new RecordBatchBuilder({ timestampMs: startMs, compression });
  for (const record of records) builder.append(record);
  return builder.finish();
}

function bytesOf(part: string | Uint8Array | undefined): string | undefined {
  return part === undefined ? undefined : Buffer.from(part as Uint8Array).toString("hex");
}

function decoded(batch: BatchView): object[] {
  const found: object[] = [];
  const cursor = new RecordCursor(batch);
  while (cursor.next()) {
    found.push({
      offset: cursor.offset,
      key: bytesOf(cursor.key),
      value: bytesOf(cursor.value),
      headers: Object.fromEntries(cursor.headers()),
      priority: cursor.priority,
      timestampMs: cursor.timestampMs,
      ttlMs: cursor.ttlMs,
      flags: [cursor.isPayload, cursor.isBinary, cursor.isKeyBinary, cursor.isTombstone],
    });
  }
  return found;
}

function wanted(record: RecordInput, offset: number, shiftMs = 0): object {
  return {
    offset,
    key: bytesOf(record.key),
    value: bytesOf(record.value),
    headers: { ...record.headers },
    priority: record.priority ?? 2,
    timestampMs: (record.timestampMs ?? startMs) + shiftMs,
    ttlMs: record.ttlMs,
    flags: [record.isPayload, record.isBinary, record.isKeyBinary, record.value === undefined],
  };
}

t.test("varints hold every whole number below 2^53", (t) => {
  const bytes = new Uint8Array(16);
  fc.assert(
    fc.property(fc.oneof(fc.maxSafeNat(), fc.integer({ min: 0, max: 300 })), (value) => {
      t.equal(writeVarint(bytes, 3, value), 3 + varintSize(value));
      let read = 0;
      for (let at = 3, scale = 1; ; at += 1, scale *= 128) {
        const byte = bytes[at] ?? 0;
        read += (byte & 127) * scale;
        if (byte < 128) break;
      }
      t.equal(read, value);
      const view = new DataView(bytes.buffer);
      setUint53(view, 0, value);
      t.equal(getUint53(view, 0), value);
    }),
  );
  t.strictSame([127, 128, 16_383, 16_384, 2 ** 31, 2 ** 35 - 1, 2 ** 35].map(varintSize), [1, 2, 2, 3, 5, 5, 6]);
  t.strictSame([0, -1, 1, -2, 2 ** 40, -(2 ** 40)].map(foldSign), [0, 1, 2, 3, 2 ** 41, 2 ** 41 - 1]);
  for (const value of [0, -1, 1, -77, 2 ** 40, -(2 ** 40)]) t.equal(unfoldSign(foldSign(value)), value);
  t.end();
});

t.test("what goes into a batch comes out, placed and compressed or not", (t) => {
  const records = fc.array(recordArbitrary, { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(
      records,
      compressionArbitrary,
      fc.nat({ max: 2 ** 51 }),
      fc.integer({ min: -1e6, max: 1e6 }),
      (given, compression, baseOffset, shiftMs) => {
        const batch = build(given, compression);
        const header = placeBatchHeader(batch.header, baseOffset, startMs + shiftMs);
        const noise = Buffer.from("noise");
        const view = BatchView.at(Buffer.concat([noise, header, batch.body, noise]), noise.length);
        view.assertBodyIntact();
        t.strictSame(
          decoded(view),
          given.map((record, i) => wanted(record, baseOffset + i, shiftMs)),
        );
        t.strictSame(
          [view.baseOffset, view.lastOffset, view.nextOffset, view.recordCount],
          [baseOffset, baseOffset + given.length - 1, baseOffset + given.length, given.length],
        );
        t.equal(
          view.priorities,
          given.reduce((bits, record) => bits | (1 << (record.priority ?? 2)), 0),
        );
        const latest = Math.max(startMs, ...given.map((record) => record.timestampMs ?? startMs)) + shiftMs;
        t.equal(view.maxTimestampMs, latest);
      },
    ),
    { numRuns: 150 },
  );
  t.end();
});

t.test("any flipped bit and any cut is noticed", (t) => {
  const bytes = joined(build([{ key: "k", value: "some value", headers: { a: "b" } }, { value: "other" }]));
  const isRefused = (damaged: Uint8Array): boolean => {
    try {
      BatchView.at(damaged).assertBodyIntact();
      return false;
    } catch (error) {
      return error instanceof CorruptBatchError;
    }
  };
  t.equal(isRefused(bytes), false);
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const damaged = Buffer.from(bytes);
    damaged[bit >>> 3] = (damaged[bit >>> 3] ?? 0) ^ (1 << (bit & 7));
    if (!isRefused(damaged)) t.fail(`bit ${bit} passed`);
  }
  for (let size = 0; size < bytes.length; size += 1)
    if (!isRefused(bytes.subarray(0, size))) t.fail(`size ${size} passed`);
  t.equal(BatchView.sizeAt(bytes, 0), bytes.length);
  t.equal(BatchView.sizeAt(bytes, 1), undefined);
  t.equal(BatchView.sizeAt(bytes.subarray(0, batchHeaderSize), 0), bytes.length, "the header alone tells the size");
  t.end();
});

t.test("a body made by someone else cannot make the cursor run away", (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 60 }), fc.integer({ min: 1, max: 1000 }), (body, count) => {
      const builder = new RecordBatchBuilder({ timestampMs: startMs });
      builder.append({ value: "x" });
      const { header } = builder.finish();
      const view = new DataView(header.buffer, header.byteOffset);
      view.setUint32(32, count, true);
      view.setUint32(36, body.length, true);
      const batch = BatchView.at(Buffer.concat([placeBatchHeader(header, 0), body]));
      const cursor = new RecordCursor(batch);
      let steps = 0;
      try {
        while (cursor.next()) {
          steps += 1;
          cursor.headers();
        }
      } catch (error) {
        if (!(error instanceof CorruptBatchError)) throw error;
      }
      t.ok(steps <= body.length);
    }),
  );
  t.end();
});

t.test("a compressed body that unpacks to another size is refused", (t) => {
  const batch = build([{ value: "abc".repeat(1000) }], "zstd");
  for (const size of [10, 3000, 4_000_000_000]) {
    const header = Buffer.from(batch.header);
    header.writeUInt32LE(size, 44);
    const view = BatchView.at(Buffer.concat([placeBatchHeader(header, 0), batch.body]));
    t.throws(() => new RecordCursor(view), CorruptBatchError);
  }
  t.end();
});

t.test("filterBatch() keeps offsets, times and bytes of what stays, again and again", (t) => {
  fc.assert(
    fc.property(
      fc.array(recordArbitrary, { minLength: 1, maxLength: 30 }),
      compressionArbitrary,
      fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }),
      fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }),
      (given, compression, first, second) => {
        const base = 1000;
        const placed = placeBatchHeader(build(given, compression).header, base);
        const batch = BatchView.at(Buffer.concat([placed, build(given, compression).body]));
        let current: BatchView | undefined = batch;
        const kept = given.map(() => true);
        for (const choice of [first, second]) {
          if (current === undefined) break;
          const filtered = filterBatch(current, (record) => choice[record.offset - base] ?? true);
          for (const [i, isKept] of choice.entries()) if (!isKept) kept[i] = false;
          current = filtered === undefined ? undefined : BatchView.at(joined(filtered));
        }
        const expected = given.map((record, i) => wanted(record, base + i)).filter((_, i) => kept[i]);
        t.strictSame(current === undefined ? [] : decoded(current), expected);
        if (current === undefined) return;
        current.assertBodyIntact();
        t.equal(current.nextOffset, base + given.length, "the range of offsets stays covered");
        t.equal(current.isSparse, kept.includes(false) && kept.slice(0, given.length).includes(false));
      },
    ),
    { numRuns: 100 },
  );
  t.end();
});

t.test("seek() and the text accessors", (t) => {
  const batch = BatchView.at(joined(build([{ value: "a" }, { key: "ключ", value: "välue" }, { value: undefined }])));
  const cursor = new RecordCursor(batch);
  t.equal(cursor.seek(1), true);
  t.strictSame([cursor.keyText, cursor.valueText, cursor.keySize, cursor.valueSize], ["ключ", "välue", 8, 6]);
  t.equal(cursor.seek(2), true);
  t.strictSame(
    [cursor.isTombstone, cursor.value, cursor.valueText, cursor.key],
    [true, undefined, undefined, undefined],
  );
  t.equal(cursor.seek(3), false);
  t.end();
});

t.test("producer and control marks", (t) => {
  const producer = { producerId: 2 ** 40, producerEpoch: 7, baseSequence: 12_345 };
  const builder = new RecordBatchBuilder({ timestampMs: startMs, producer, isControl: true, baseOffset: 9 });
  t.throws(() => builder.finish(), /at least one record/);
  builder.append({ value: "x" });
  const view = BatchView.at(joined(builder.finish()));
  t.strictSame(view.producer, producer);
  t.equal(view.isControl, true);
  t.equal(view.baseOffset, 9);
  t.equal(BatchView.at(joined(build([{ value: "" }]))).producer, undefined);
  t.throws(() => build([{ value: "x", timestampMs: startMs + 2 ** 32 }]), /49 days/);
  t.end();
});
