import { gunzipSync, gzipSync, constants as zlibConstants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { type BatchView, type Compression, CorruptBatchError } from "./record-batch.ts";

/** Below this, compression costs more than it saves. */
const compressBytesMin = 256;
/** No batch unpacks to more than this, whatever its header claims. */
const rawBodyBytesMax = 64 * 1024 * 1024;

/** Compresses a body when that makes it smaller; says which form it returned. */
export function compressBody(raw: Uint8Array, wanted: Compression): { body: Uint8Array; compression: Compression } {
  if (wanted === "none" || raw.length < compressBytesMin) return { body: raw, compression: "none" };
  const body =
    wanted === "gzip"
      ? gzipSync(raw, { level: 6 })
      : zstdCompressSync(raw, { params: { [zlibConstants.ZSTD_c_compressionLevel]: 3 } });
  return body.length < raw.length ? { body, compression: wanted } : { body: raw, compression: "none" };
}

/**
 * The body with its records readable: the stored bytes themselves when they are not compressed.
 *
 * @throws CorruptBatchError when it does not unpack to the size in its header
 */
export function unpackBody(batch: BatchView): Uint8Array {
  const { body, compression, rawBodySize } = batch;
  if (compression === "none") return body;
  if (rawBodySize > rawBodyBytesMax) throw new CorruptBatchError(`unpacked size ${rawBodySize} is beyond the limit`);
  try {
    const limits = { maxOutputLength: Math.max(rawBodySize, 1) };
    const raw = compression === "gzip" ? gunzipSync(body, limits) : zstdDecompressSync(body, limits);
    if (raw.length === rawBodySize) return raw;
    throw new CorruptBatchError(`unpacks to ${raw.length} instead of ${rawBodySize} bytes`);
  } catch (error) {
    if (error instanceof CorruptBatchError) throw error;
    throw new CorruptBatchError(`${compression} body does not unpack`);
  }
}
