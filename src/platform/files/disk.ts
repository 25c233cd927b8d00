/**
 * Files as a port, synchronous and at the level that durability is decided on, so that storage code can run on a
 * simulated disk that forgets unsynced writes, tears, flips bits and fills up. Paths are relative to the disk's root.
 * Only what waits for the device for long has a second form, which calls back and does not hold up the thread.
 */
export type DiskCallback = (error: Error | undefined) => void;

export interface DiskFile {
  readonly path: string;
  size(): number;
  /** Writes all buffers one after the other from `position`; throws ENOSPC, EIO as Node does (`error.code`). */
  write(position: number, buffers: readonly Uint8Array[]): void;
  /** Reads up to `length` bytes; fewer at the end of the file. */
  read(position: number, length: number): Uint8Array;
  /** As `read`, into a buffer of the caller's; returns how many bytes there were. */
  readInto(position: number, target: Uint8Array): number;
  /**
   * Writes and calls back when the data is durable, as one step of the device. The buffers stay untouched until then.
   * Space that was preallocated and synced before makes this one device write. Never throws.
   */
  writeDurably(position: number, buffers: readonly Uint8Array[], onDone: DiskCallback): void;
  /** As `sync`, without holding up the caller. Never throws. */
  syncLater(onDone: DiskCallback): void;
  /** As `preallocate` followed by `sync`, without holding up the caller. Never throws. */
  preallocateLater(size: number, onDone: DiskCallback): void;
  /** fdatasync: data and the size survive a power failure when this returns. */
  sync(): void;
  truncate(size: number): void;
  /** Reserves and zeroes space so that later writes inside it need no size change. */
  preallocate(size: number): void;
  close(): void;
}

export interface Disk {
  /** "create" makes a new empty file and fails with EEXIST when there is one; the others fail with ENOENT. */
  open(path: string, mode: "create" | "read-write" | "read"): DiskFile;
  exists(path: string): boolean;
  /** Names in a folder, sorted; empty when there is no such folder. */
  list(path: string): readonly string[];
  /** With its parents; no error when it is there. */
  makeFolder(path: string): void;
  /** No error when there is no such file. */
  remove(path: string): void;
  removeTree(path: string): void;
  rename(from: string, to: string): void;
  /** Makes creations, renames and removals in the folder durable. */
  syncFolder(path: string): void;
  /** As `syncFolder`, without holding up the caller. Never throws. */
  syncFolderLater(path: string, onDone: DiskCallback): void;
  freeBytes(): number;
}

/** The system's name for what went wrong with a file: ENOSPC, EIO, ENOENT … */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** True when the system had no room for it: no space, no quota, no descriptors. The same call may succeed later. */
export function isOutOfRoom(error: unknown): boolean {
  return outOfRoomCodes.has(errorCode(error) ?? "");
}

const outOfRoomCodes: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EMFILE", "ENFILE"]);
