import { assert, unreachable } from "../../../platform/errors/assert.ts";
import type { RecordBatch } from "../record-batch.ts";
import { batchHeaderSize } from "../record-batch.ts";
import { ByteReader, ByteWriter } from "./byte-writer.ts";

/**
 * What a shard's log holds. One entry is a version, the proposer's time and any number of operations, which are applied
 * one after the other and answered one by one. The format is binary because publishing and acknowledging are the hot
 * path; a batch inside is the very bytes that the edge encoded. An unknown version or operation is a broken invariant:
 * the log would mean something else on another replica.
 */
export const shardCommandVersion = 1;

export interface PartitionRef {
  readonly topicNumber: number;
  readonly partition: number;
}
export interface GroupPartitionRef extends PartitionRef {
  readonly group: string;
}
/** A key that makes a record of a batch unique in its partition for a while. */
export interface RecordKey {
  /** Ordinal in the batch. */
  readonly index: number;
  readonly key: string;
}
export interface OffsetRun {
  readonly offset: number;
  readonly count: number;
}
export interface AcquireRun extends OffsetRun {
  readonly priority: number;
}
export interface AckRun extends OffsetRun {
  /** 0: whatever the attempt is. */
  readonly attempt: number;
  readonly term: number;
}
interface SettleTarget extends GroupPartitionRef {
  readonly offset: number;
  readonly attempt: number;
  readonly term: number;
}

export type ShardOperation =
  | ({ readonly kind: "append"; readonly batch: RecordBatch; readonly keys: readonly RecordKey[] } & PartitionRef)
  | ({
      readonly kind: "acquire";
      readonly memberId: string;
      readonly atMs: number;
      readonly visibilityMs: number;
      readonly runs: readonly AcquireRun[];
      /** Offsets that do not exist (compacted away, the broker's own): done without a delivery. */
      readonly missing: readonly OffsetRun[];
    } & GroupPartitionRef)
  | ({ readonly kind: "ack"; readonly runs: readonly AckRun[] } & GroupPartitionRef)
  | ({
      readonly kind: "retry";
      readonly visibleAtMs: number;
      readonly delayMs: number;
      readonly isFailed: boolean;
      /** Only if it is still in flight past this time; 0: always. */
      readonly onlyIfUntilMs: number;
      readonly error: string;
    } & SettleTarget)
  | ({ readonly kind: "deadLetter"; readonly dlqTopicNumber: number; readonly batch: RecordBatch } & SettleTarget)
  | ({ readonly kind: "drop" } & SettleTarget)
  | ({ readonly kind: "extend"; readonly untilMs: number; readonly visibilityMs: number } & SettleTarget)
  | ({ readonly kind: "extendMember"; readonly memberId: string; readonly atMs: number } & GroupPartitionRef)
  | ({ readonly kind: "openGroup"; readonly floor: number } & GroupPartitionRef)
  | ({ readonly kind: "commit"; readonly offset: number; readonly metadata: string } & GroupPartitionRef)
  | ({ readonly kind: "reset"; readonly offset: number } & GroupPartitionRef)
  | { readonly kind: "releaseMember"; readonly group: string; readonly memberId: string; readonly isFailed: boolean }
  | { readonly kind: "dropGroup"; readonly group: string }
  | { readonly kind: "dropTopic"; readonly topicNumber: number }
  | ({ readonly kind: "trim"; readonly offset: number } & PartitionRef)
  | {
      readonly kind: "putGroup";
      readonly group: string;
      /** The version it replaces; 0 when there is none. */
      readonly expectedVersion: number;
      /** JSON; empty deletes. */
      readonly record: string;
    }
  | ({
      readonly kind: "delayAdd";
      readonly dueMs: number;
      /** One record each. */
      readonly batch: RecordBatch;
      readonly key: string;
    } & PartitionRef)
  | ({ readonly kind: "delayFire"; readonly sequences: readonly number[] } & PartitionRef)
  | ({ readonly kind: "delayCancel"; readonly sequence: number } & PartitionRef)
  | ({
      readonly kind: "redrive";
      readonly dlqTopicNumber: number;
      readonly dlqPartition: number;
      readonly dlqOffset: number;
      /** Left out when the record was appended to another shard before. */
      readonly batch: RecordBatch | undefined;
    } & PartitionRef);

export type ShardOperationKind = ShardOperation["kind"];

/** Position is the code on disk: only ever add at the end. */
const kinds: readonly ShardOperationKind[] = [
  "append",
  "acquire",
  "ack",
  "retry",
  "deadLetter",
  "drop",
  "extend",
  "extendMember",
  "openGroup",
  "commit",
  "reset",
  "releaseMember",
  "dropGroup",
  "dropTopic",
  "trim",
  "putGroup",
  "delayAdd",
  "delayFire",
  "delayCancel",
  "redrive",
];
const codes = new Map(kinds.map((kind, code) => [kind, code]));

/** The command in parts that are written one after the other; the batches are not copied. */
export function encodeShardCommand(time: CommandTime, operations: readonly ShardOperation[]): readonly Uint8Array[] {
  const writer = new ByteWriter();
  writer.u8(shardCommandVersion);
  writer.varint(time.nowMs);
  writer.varint(time.steadyMs);
  for (const operation of operations) {
    writer.u8(codes.get(operation.kind) ?? 255);
    writeOperation(writer, operation);
  }
  return writer.finish();
}

export interface CommandTime {
  /** Wall clock: for what people see and ask for. */
  readonly nowMs: number;
  /** The same clock as it was when the proposer started, plus the span since: never jumps. For windows and waits. */
  readonly steadyMs: number;
}
export interface ShardCommand extends CommandTime {
  readonly operations: readonly ShardOperation[];
}

/** The command; batches in it are views of `payload`. */
export function decodeShardCommand(payload: Uint8Array): ShardCommand {
  const reader = new ByteReader(payload);
  const version = reader.u8();
  assert(version === shardCommandVersion, `shard command version ${version} is unknown`);
  const nowMs = reader.varint();
  const steadyMs = reader.varint();
  const operations: ShardOperation[] = [];
  while (!reader.isAtEnd) {
    const code = reader.u8();
    const kind = kinds[code];
    assert(kind !== undefined, `shard operation ${code} is unknown`);
    operations.push(readOperation(reader, kind));
  }
  return { nowMs, steadyMs, operations };
}

function writeOperation(writer: ByteWriter, operation: ShardOperation): void {
  switch (operation.kind) {
    case "append":
      writePartition(writer, operation);
      writer.varint(operation.keys.length);
      for (const { index, key } of operation.keys) {
        writer.varint(index);
        writer.text(key);
      }
      writeBatch(writer, operation.batch);
      return;
    case "acquire":
      writeGroupPartition(writer, operation);
      writer.text(operation.memberId);
      writer.varint(operation.atMs);
      writer.varint(operation.visibilityMs);
      writeList(writer, operation.runs, (run) => {
        writeRun(writer, run);
        writer.u8(run.priority);
      });
      writeList(writer, operation.missing, (run) => writeRun(writer, run));
      return;
    case "ack":
      writeGroupPartition(writer, operation);
      writeList(writer, operation.runs, (run) => {
        writeRun(writer, run);
        writer.varint(run.attempt);
        writer.varint(run.term);
      });
      return;
    case "retry":
      writeTarget(writer, operation);
      writer.varint(operation.visibleAtMs);
      writer.varint(operation.delayMs);
      writer.u8(operation.isFailed ? 1 : 0);
      writer.varint(operation.onlyIfUntilMs);
      writer.text(operation.error);
      return;
    case "deadLetter":
      writeTarget(writer, operation);
      writer.varint(operation.dlqTopicNumber);
      writeBatch(writer, operation.batch);
      return;
    case "drop":
      writeTarget(writer, operation);
      return;
    case "extend":
      writeTarget(writer, operation);
      writer.varint(operation.untilMs);
      writer.varint(operation.visibilityMs);
      return;
    case "extendMember":
      writeGroupPartition(writer, operation);
      writer.text(operation.memberId);
      writer.varint(operation.atMs);
      return;
    case "openGroup":
      writeGroupPartition(writer, operation);
      writer.varint(operation.floor);
      return;
    case "commit":
      writeGroupPartition(writer, operation);
      writer.varint(operation.offset);
      writer.text(operation.metadata);
      return;
    case "reset":
      writeGroupPartition(writer, operation);
      writer.varint(operation.offset);
      return;
    case "releaseMember":
      writer.text(operation.group);
      writer.text(operation.memberId);
      writer.u8(operation.isFailed ? 1 : 0);
      return;
    case "dropGroup":
      writer.text(operation.group);
      return;
    case "dropTopic":
      writer.varint(operation.topicNumber);
      return;
    case "trim":
      writePartition(writer, operation);
      writer.varint(operation.offset);
      return;
    case "putGroup":
      writer.text(operation.group);
      writer.varint(operation.expectedVersion);
      writer.text(operation.record);
      return;
    case "delayAdd":
      writePartition(writer, operation);
      writer.varint(operation.dueMs);
      writer.text(operation.key);
      writeBatch(writer, operation.batch);
      return;
    case "delayFire":
      writePartition(writer, operation);
      writeList(writer, operation.sequences, (sequence) => writer.varint(sequence));
      return;
    case "delayCancel":
      writePartition(writer, operation);
      writer.varint(operation.sequence);
      return;
    case "redrive":
      writePartition(writer, operation);
      writer.varint(operation.dlqTopicNumber);
      writer.varint(operation.dlqPartition);
      writer.varint(operation.dlqOffset);
      if (operation.batch === undefined) writer.parts([]);
      else writeBatch(writer, operation.batch);
      return;
    default:
      unreachable(operation);
  }
}

function readOperation(reader: ByteReader, kind: ShardOperationKind): ShardOperation {
  switch (kind) {
    case "append": {
      const partition = readPartition(reader);
      const keys = readList(reader, () => ({ index: reader.varint(), key: reader.text() }));
      return { kind, ...partition, keys, batch: readBatch(reader) };
    }
    case "acquire":
      return {
        kind,
        ...readGroupPartition(reader),
        memberId: reader.text(),
        atMs: reader.varint(),
        visibilityMs: reader.varint(),
        runs: readList(reader, () => ({ ...readRun(reader), priority: reader.u8() })),
        missing: readList(reader, () => readRun(reader)),
      };
    case "ack":
      return {
        kind,
        ...readGroupPartition(reader),
        runs: readList(reader, () => ({ ...readRun(reader), attempt: reader.varint(), term: reader.varint() })),
      };
    case "retry":
      return {
        kind,
        ...readTarget(reader),
        visibleAtMs: reader.varint(),
        delayMs: reader.varint(),
        isFailed: reader.u8() === 1,
        onlyIfUntilMs: reader.varint(),
        error: reader.text(),
      };
    case "deadLetter":
      return { kind, ...readTarget(reader), dlqTopicNumber: reader.varint(), batch: readBatch(reader) };
    case "drop":
      return { kind, ...readTarget(reader) };
    case "extend":
      return { kind, ...readTarget(reader), untilMs: reader.varint(), visibilityMs: reader.varint() };
    case "extendMember":
      return { kind, ...readGroupPartition(reader), memberId: reader.text(), atMs: reader.varint() };
    case "openGroup":
      return { kind, ...readGroupPartition(reader), floor: reader.varint() };
    case "commit":
      return { kind, ...readGroupPartition(reader), offset: reader.varint(), metadata: reader.text() };
    case "reset":
      return { kind, ...readGroupPartition(reader), offset: reader.varint() };
    case "releaseMember":
      return { kind, group: reader.text(), memberId: reader.text(), isFailed: reader.u8() === 1 };
    case "dropGroup":
      return { kind, group: reader.text() };
    case "dropTopic":
      return { kind, topicNumber: reader.varint() };
    case "trim":
      return { kind, ...readPartition(reader), offset: reader.varint() };
    case "putGroup":
      return { kind, group: reader.text(), expectedVersion: reader.varint(), record: reader.text() };
    case "delayAdd": {
      const partition = readPartition(reader);
      return { kind, ...partition, dueMs: reader.varint(), key: reader.text(), batch: readBatch(reader) };
    }
    case "delayFire":
      return { kind, ...readPartition(reader), sequences: readList(reader, () => reader.varint()) };
    case "delayCancel":
      return { kind, ...readPartition(reader), sequence: reader.varint() };
    case "redrive": {
      const partition = readPartition(reader);
      const dlq = { dlqTopicNumber: reader.varint(), dlqPartition: reader.varint(), dlqOffset: reader.varint() };
      const bytes = reader.bytes();
      return { kind, ...partition, ...dlq, batch: bytes.length === 0 ? undefined : splitBatch(bytes) };
    }
    default:
      return unreachable(kind);
  }
}

function writePartition(writer: ByteWriter, ref: PartitionRef): void {
  writer.varint(ref.topicNumber);
  writer.varint(ref.partition);
}
function readPartition(reader: ByteReader): PartitionRef {
  return { topicNumber: reader.varint(), partition: reader.varint() };
}
function writeGroupPartition(writer: ByteWriter, ref: GroupPartitionRef): void {
  writer.text(ref.group);
  writePartition(writer, ref);
}
function readGroupPartition(reader: ByteReader): GroupPartitionRef {
  return { group: reader.text(), topicNumber: reader.varint(), partition: reader.varint() };
}
function writeTarget(writer: ByteWriter, target: SettleTarget): void {
  writeGroupPartition(writer, target);
  writer.varint(target.offset);
  writer.varint(target.attempt);
  writer.varint(target.term);
}
function readTarget(reader: ByteReader): SettleTarget {
  return { ...readGroupPartition(reader), offset: reader.varint(), attempt: reader.varint(), term: reader.varint() };
}
function writeRun(writer: ByteWriter, run: OffsetRun): void {
  writer.varint(run.offset);
  writer.varint(run.count);
}
function readRun(reader: ByteReader): OffsetRun {
  return { offset: reader.varint(), count: reader.varint() };
}
function writeBatch(writer: ByteWriter, batch: RecordBatch): void {
  writer.parts([batch.header, batch.body]);
}
function readBatch(reader: ByteReader): RecordBatch {
  return splitBatch(reader.bytes());
}
function splitBatch(bytes: Uint8Array): RecordBatch {
  return { header: bytes.subarray(0, batchHeaderSize), body: bytes.subarray(batchHeaderSize) };
}
function writeList<T>(writer: ByteWriter, items: readonly T[], write: (item: T) => void): void {
  writer.varint(items.length);
  for (const item of items) write(item);
}
function readList<T>(reader: ByteReader, read: () => T): readonly T[] {
  const count = reader.varint();
  const items: T[] = [];
  for (let i = 0; i < count; i += 1) items.push(read());
  return items;
}
