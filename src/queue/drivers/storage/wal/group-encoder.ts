import { crc32 } from "node:zlib";
import {
  type FileHeader,
  groupHeaderSize,
  payloadOf,
  recordHeaderSize,
  type StoredRecord,
  writeGroupHeader,
  writeRecordHeader,
} from "./wal-format.ts";

/**
 * Puts the records of one device write together. Small parts are copied into one staging buffer, large payloads are
 * passed on as they are, so that a write is a few buffers however many records it has. The staging buffer is used again
 * for the next group: only one group is being written at a time.
 */
const copyBytesMax = 64 * 1024;

export interface EncodedGroup {
  readonly buffers: readonly Uint8Array[];
  readonly size: number;
  readonly chain: number;
  /** Position in the file of each record, in order. */
  readonly positions: readonly number[];
}

export interface GroupTarget {
  readonly header: FileHeader;
  readonly position: number;
  readonly durablePosition: number;
  readonly chain: number;
}

export class GroupEncoder {
  #staging: Buffer;

  constructor(stagingSize: number) {
    this.#staging = Buffer.allocUnsafeSlow(stagingSize);
  }

  encode(records: readonly StoredRecord[], target: GroupTarget): EncodedGroup {
    const payloads = records.map(payloadOf);
    this.#reserve(payloads);
    const staging = this.#staging;
    const buffers: Uint8Array[] = [];
    const positions: number[] = [];
    let chain = target.chain;
    let size = groupHeaderSize;
    let start = 0;
    let at = groupHeaderSize;
    for (const [ordinal, record] of records.entries()) {
      const payload = payloads[ordinal] ?? [];
      let payloadSize = 0;
      let payloadCrc = 0;
      for (const part of payload) {
        payloadCrc = crc32(part, payloadCrc);
        payloadSize += part.length;
      }
      positions.push(target.position + size);
      chain = writeRecordHeader(staging, at, record, { size: payloadSize, crc: payloadCrc }, chain);
      at += recordHeaderSize;
      size += recordHeaderSize + payloadSize;
      for (const part of payload) {
        if (part.length <= copyBytesMax) {
          staging.set(part, at);
          at += part.length;
          continue;
        }
        buffers.push(staging.subarray(start, at), part);
        start = at;
      }
    }
    if (at > start) buffers.push(staging.subarray(start, at));
    writeGroupHeader(staging, 0, target.header, target.position, {
      durablePosition: target.durablePosition,
      bodySize: size - groupHeaderSize,
      chainBefore: target.chain,
    });
    return { buffers, size, chain, positions };
  }

  #reserve(payloads: readonly (readonly Uint8Array[])[]): void {
    let needed = groupHeaderSize;
    for (const payload of payloads) {
      needed += recordHeaderSize;
      for (const part of payload) if (part.length <= copyBytesMax) needed += part.length;
    }
    if (needed > this.#staging.length) this.#staging = Buffer.allocUnsafeSlow(needed);
  }
}
