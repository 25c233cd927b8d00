import { crc32 } from "node:zlib";
import { type BatchView, encodeBatchHeader, type RecordBatch } from "./record-batch.ts";
import { compressBody } from "./record-batch-compression.ts";
import { RecordCursor } from "./record-cursor.ts";
import { varintSize, writeVarint } from "./varint.ts";

/**
 * A batch without some of its records: the others keep offset, time and bytes, and the batch keeps the range of offsets
 * it covers. Returns the batch itself when all are kept, undefined when none is.
 */
export function filterBatch(batch: BatchView, isKept: (record: RecordCursor) => boolean): RecordBatch | undefined {
  const cursor = new RecordCursor(batch);
  const parts: Uint8Array[] = [];
  let count = 0;
  let priorities = 0;
  while (cursor.next()) {
    if (!isKept(cursor)) continue;
    parts.push(...encodeSparse(cursor, batch.baseOffset));
    count += 1;
    priorities |= 1 << cursor.priority;
  }
  if (count === batch.recordCount) return batch;
  if (count === 0) return undefined;
  const raw = Buffer.concat(parts);
  const { body, compression } = compressBody(raw, batch.compression);
  const header = encodeBatchHeader({
    ...batch.fields(),
    recordCount: count,
    priorities,
    compression,
    bodySize: body.length,
    bodyCrc: crc32(body),
    rawBodySize: raw.length,
    isSparse: true,
  });
  return { header, body };
}

function encodeSparse(cursor: RecordCursor, baseOffset: number): readonly Uint8Array[] {
  const { encodedHead, encodedRest } = cursor;
  const delta = cursor.offset - baseOffset;
  const size = encodedHead.length + varintSize(delta) + encodedRest.length;
  const head = new Uint8Array(varintSize(size) + encodedHead.length + varintSize(delta));
  const at = writeVarint(head, 0, size);
  head.set(encodedHead, at);
  writeVarint(head, at + encodedHead.length, delta);
  return [head, encodedRest];
}
