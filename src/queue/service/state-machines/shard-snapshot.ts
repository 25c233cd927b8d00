import { assert } from "../../../platform/errors/assert.ts";
import { ByteReader, ByteWriter } from "../../model/commands/byte-writer.ts";
import type { PartitionRef } from "../../model/commands/shard-command.ts";
import { BatchView } from "../../model/record-batch.ts";
import type { DelayedEntry, DelayStore } from "../delay-store.ts";
import type { PartitionState } from "./partition-state.ts";

/**
 * The image of a shard for a follower that is too far behind: frames of a size (four bytes) and a body, cut into chunks
 * for transport wherever they come to lie. First the state, then each partition with its batches, then the delayed
 * messages. Where each partition ends is noted when the snapshot begins, so the shard may go on meanwhile.
 */
const chunkSizeMax = 1024 * 1024;
const readBytesMax = 512 * 1024;
const delayedPageSize = 500;
const frameKinds = { image: 1, partition: 2, batch: 3, delayed: 4 } as const;

export async function* encodeSnapshot(
  image: Uint8Array,
  partitions: readonly PartitionState[],
  delays: DelayStore,
): AsyncIterable<Uint8Array> {
  const ends = partitions.map((partition) => partition.log.logEndOffset);
  const delayed = delays
    .partitions()
    .flatMap((ref) => [...scanAll(delays, ref)].map((entry) => encodeDelayed(ref, entry)));
  let pending: Uint8Array[] = [];
  let pendingSize = 0;
  const frames = (function* (): Iterable<readonly Uint8Array[]> {
    yield frame(frameKinds.image, [image]);
    for (const [index, partition] of partitions.entries()) yield* partitionFrames(partition, ends[index] ?? 0);
    for (const parts of delayed) yield frame(frameKinds.delayed, parts);
  })();
  for (const parts of frames) {
    for (const part of parts) {
      pending.push(part);
      pendingSize += part.length;
    }
    if (pendingSize < chunkSizeMax) continue;
    const bytes = Buffer.concat(pending);
    const whole = bytes.length - (bytes.length % chunkSizeMax);
    for (let at = 0; at < whole; at += chunkSizeMax) yield bytes.subarray(at, at + chunkSizeMax);
    pending = [bytes.subarray(whole)];
    pendingSize = bytes.length - whole;
  }
  if (pendingSize > 0) yield Buffer.concat(pending);
}

export interface SnapshotVisitor {
  onImage(bytes: Uint8Array): void;
  onPartition(ref: PartitionRef, startOffset: number): void;
  onBatch(ref: PartitionRef, batch: BatchView): void;
  onDelayed(ref: PartitionRef, entry: DelayedEntry): void;
}

export async function readSnapshot(chunks: AsyncIterable<Uint8Array>, visitor: SnapshotVisitor): Promise<void> {
  let rest: Uint8Array = new Uint8Array();
  let current: PartitionRef | undefined;
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      if (rest.length < 4) break;
      const size = new DataView(rest.buffer, rest.byteOffset).getUint32(0, true);
      if (rest.length < 4 + size) break;
      current = visitFrame(rest.subarray(4, 4 + size), current, visitor);
      rest = rest.subarray(4 + size);
    }
  }
  assert(rest.length === 0, "snapshot is cut off");
}

function visitFrame(
  body: Uint8Array,
  current: PartitionRef | undefined,
  visitor: SnapshotVisitor,
): PartitionRef | undefined {
  const content = body.subarray(1);
  switch (body[0]) {
    case frameKinds.image:
      visitor.onImage(content);
      return undefined;
    case frameKinds.partition: {
      const reader = new ByteReader(content);
      const ref = { topicNumber: reader.varint(), partition: reader.varint() };
      visitor.onPartition(ref, reader.varint());
      return ref;
    }
    case frameKinds.batch:
      assert(current !== undefined, "a batch without its partition");
      visitor.onBatch(current, BatchView.at(content));
      return current;
    case frameKinds.delayed: {
      const reader = new ByteReader(content);
      const ref = { topicNumber: reader.varint(), partition: reader.varint() };
      visitor.onDelayed(ref, { sequence: reader.varint(), dueMs: reader.varint(), batch: reader.bytes() });
      return undefined;
    }
    default:
      throw new Error(`Cannot read snapshot: frame kind ${body[0]} is unknown`);
  }
}

function* partitionFrames(partition: PartitionState, endOffset: number): Iterable<readonly Uint8Array[]> {
  const { log } = partition;
  const writer = new ByteWriter();
  writer.varint(partition.topicNumber);
  writer.varint(partition.partition);
  writer.varint(log.logStartOffset);
  yield frame(frameKinds.partition, writer.finish());
  for (let offset = log.logStartOffset; offset < endOffset; ) {
    const batches = log.read({ offset, maxBytes: readBytesMax });
    if (batches.length === 0) return;
    for (const batch of batches) {
      if (batch.baseOffset >= endOffset) return;
      offset = batch.nextOffset;
      yield frame(frameKinds.batch, [batch.bytes]);
    }
  }
}

function* scanAll(delays: DelayStore, ref: PartitionRef): Iterable<DelayedEntry> {
  for (let skip = 0; ; skip += delayedPageSize) {
    const page = delays.scan(ref, { skip, limit: delayedPageSize });
    yield* page;
    if (page.length < delayedPageSize) return;
  }
}

function encodeDelayed(ref: PartitionRef, entry: DelayedEntry): readonly Uint8Array[] {
  const writer = new ByteWriter();
  writer.varint(ref.topicNumber);
  writer.varint(ref.partition);
  writer.varint(entry.sequence);
  writer.varint(entry.dueMs);
  writer.parts([entry.batch]);
  return writer.finish();
}

function frame(kind: number, parts: readonly Uint8Array[]): readonly Uint8Array[] {
  const head = Buffer.allocUnsafe(5);
  head.writeUInt32LE(1 + parts.reduce((total, part) => total + part.length, 0), 0);
  head[4] = kind;
  return [head, ...parts];
}
