import type { Disk } from "../../../platform/files/disk.ts";

/** Makes a folder with its parents, such that they are there after a power failure. */
export function makeDurableFolder(disk: Disk, path: string): void {
  disk.makeFolder(path);
  const parts = path.split("/");
  for (let count = 0; count < parts.length; count += 1) disk.syncFolder(parts.slice(0, count).join("/"));
}
