/**
 * Files as a port, synchronous and at the level that durability is decided on, so that storage code can run on a
 * simulated disk that forgets unsynced writes, tears, flips bits and fills up. Paths are relative to the disk's root.
 */
export interface DiskFile {
  readonly path: string;
  size(): number;
  /** Writes all buffers one after the other from `position`; throws ENOSPC, EIO as Node does (`error.code`). */
  write(position: number, buffers: readonly Uint8Array[]): void;
  /** Reads up to `length` bytes; fewer at the end of the file. */
  read(position: number, length: number): Uint8Array;
  /** fdatasync: data and the size survive a power failure when this returns. */
  sync(): void;
  truncate(size: number): void;
  /** Reserves and zeroes space so that later writes inside it need no size change. */
  preallocate(size: number): void;
  close(): void;
}

export interface Disk {
  open(path: string, mode: "create" | "read-write" | "read"): DiskFile;
  exists(path: string): boolean;
  /** Names in a folder, sorted; empty when there is no such folder. */
  list(path: string): readonly string[];
  makeFolder(path: string): void;
  remove(path: string): void;
  removeTree(path: string): void;
  rename(from: string, to: string): void;
  /** Makes creations, renames and removals in the folder durable. */
  syncFolder(path: string): void;
  freeBytes(): number;
}
