import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as sea from "node:sea";

/** True inside the packed executable, false when the sources run. */
export const isPacked: boolean = sea.isSea();

/**
 * Bytes of a file that travels inside the executable. Packed, they are a view of read-only memory: writing to them
 * ends the process, so copy before changing.
 *
 * @param name path below `src/`, for example `platform/http/docs.html`
 */
export function readAsset(name: string): Buffer {
  if (isPacked) return Buffer.from(sea.getRawAsset(name) as ArrayBuffer);
  return readFileSync(join(import.meta.dirname, "..", "..", name));
}
