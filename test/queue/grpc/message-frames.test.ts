import fc from "fast-check";
import t from "tap";
import { queue } from "../../../src/queue/gen/queue.js";
import { FrameBuffers, MessageFrames } from "../../../src/queue/grpc/message-frames.ts";
import { BatchView, type Priority } from "../../../src/queue/model/record-batch.ts";
import { RecordBatchBuilder } from "../../../src/queue/model/record-batch-builder.ts";
import { RecordCursor } from "../../../src/queue/model/record-cursor.ts";

const record = fc.record({
  key: fc.option(fc.uint8Array({ maxLength: 300 }), { nil: undefined }),
  value: fc.option(fc.uint8Array({ maxLength: 70_000, size: "large" }), { nil: undefined }),
  headers: fc.dictionary(fc.string({ minLength: 1, unit: "grapheme" }), fc.string({ unit: "grapheme" }), {
    maxKeys: 4,
  }),
  priority: fc.constantFrom<Priority>(0, 1, 2, 3, 4),
});

t.test("frames decode to the records they came from, whatever these hold", async (t) => {
  fc.assert(
    fc.property(
      fc.array(record, { minLength: 1, maxLength: 20 }),
      fc.string({ minLength: 1 }),
      fc.nat(1023),
      fc.nat(4_000_000_000_000),
      (records, topic, partition, timestampMs) => {
        const builder = new RecordBatchBuilder({ timestampMs });
        for (const item of records) builder.append(item);
        const { header, body } = builder.finish();
        const cursor = new RecordCursor(BatchView.at(Buffer.concat([header, body])));
        const frames = new MessageFrames(topic, partition, new FrameBuffers());
        while (cursor.next()) frames.append(cursor);
        const decoded = decodeFrames(frames.take().frames);
        t.equal(decoded.length, records.length);
        return records.every((item, index) => {
          const message = decoded[index];
          const { seconds = 0, nanos = 0 } = message?.timestamp ?? {};
          return (
            message?.topic === topic &&
            message.partition === partition &&
            message.offset === index &&
            Number(seconds) * 1000 + Number(nanos) / 1e6 === timestampMs &&
            Buffer.from(message.key).equals(Buffer.from(item.key ?? [])) &&
            Buffer.from(message.payload).equals(Buffer.from(item.value ?? [])) &&
            message.tombstone === (item.value === undefined) &&
            message.priority === item.priority + 1 &&
            JSON.stringify(Object.entries(message.headers).sort()) ===
              JSON.stringify(Object.entries(item.headers).sort())
          );
        });
      },
    ),
    { numRuns: 60 },
  );
});

function decodeFrames(bytes: Uint8Array): queue.v1.Message[] {
  const buffer = Buffer.from(bytes);
  const messages: queue.v1.Message[] = [];
  for (let at = 0; at < buffer.length; ) {
    const size = buffer.readUInt32BE(at + 1);
    messages.push(queue.v1.Message.decode(buffer.subarray(at + 5, at + 5 + size)));
    at += 5 + size;
  }
  return messages;
}

t.test("buffers are used again once written, grown ones are not kept", (t) => {
  const buffers = new FrameBuffers();
  const first = buffers.take();
  const second = buffers.take();
  t.not(first, second, "two in use are two buffers");
  buffers.giveBack(first);
  t.equal(buffers.take(), first);
  const grown = Buffer.alloc(first.length * 2);
  buffers.giveBack(grown);
  t.not(buffers.take(), grown);
  t.end();
});
