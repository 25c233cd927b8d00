import type { BatchView } from "../../model/record-batch.ts";
import { RecordCursor } from "../../model/record-cursor.ts";
import type { PartitionLog } from "../partition-log.ts";

const readBytesMax = 256 * 1024;
const readRecordsMax = 1_000;

/** Finds records by offset; neighbours asked for one after the other cost one read of the log. */
export class RecordReader {
  readonly #log: PartitionLog;
  #batches: readonly BatchView[] = [];
  #current: RecordCursor | undefined;
  #currentBatch: BatchView | undefined;
  /** The current cursor while it has not stepped yet. */
  #fresh: RecordCursor | undefined;

  constructor(log: PartitionLog) {
    this.#log = log;
  }

  /**
   * A cursor that stands on the record, valid until the next call; undefined when there is none at this offset.
   *
   * @throws PartitionDamagedError, CorruptBatchError
   */
  find(offset: number): RecordCursor | undefined {
    const cursor = this.#cursorBefore(offset);
    if (cursor === undefined) return undefined;
    if (cursor.offset === offset && cursor !== this.#fresh) return cursor;
    this.#fresh = undefined;
    return cursor.seek(offset) && cursor.offset === offset ? cursor : undefined;
  }

  #cursorBefore(offset: number): RecordCursor | undefined {
    const { logStartOffset, logEndOffset } = this.#log;
    if (offset < logStartOffset || offset >= logEndOffset) return undefined;
    const isInCurrent = this.#currentBatch !== undefined && holds(this.#currentBatch, offset);
    if (
      isInCurrent &&
      this.#current !== undefined &&
      (this.#current === this.#fresh || this.#current.offset <= offset)
    ) {
      return this.#current;
    }
    const batch = this.#findBatch(offset);
    if (batch === undefined) return undefined;
    this.#currentBatch = batch;
    this.#current = new RecordCursor(batch);
    this.#fresh = this.#current;
    return this.#current;
  }

  #findBatch(offset: number): BatchView | undefined {
    const known = searchBatch(this.#batches, offset);
    if (known !== undefined) return known;
    this.#batches = this.#log.read({ offset, maxBytes: readBytesMax, maxRecords: readRecordsMax });
    return searchBatch(this.#batches, offset);
  }
}

/** Batches come in the order of their offsets. */
function searchBatch(batches: readonly BatchView[], offset: number): BatchView | undefined {
  let low = 0;
  let high = batches.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const batch = batches[middle];
    if (batch === undefined || batch.nextOffset <= offset) low = middle + 1;
    else high = middle;
  }
  const batch = batches[low];
  return batch !== undefined && holds(batch, offset) ? batch : undefined;
}

function holds(batch: BatchView, offset: number): boolean {
  return offset >= batch.baseOffset && offset < batch.nextOffset;
}
