import * as fs from "node:fs";
import { join } from "node:path";
import { assert } from "../errors/assert.ts";
import { type Disk, type DiskCallback, type DiskFile, errorCode } from "./disk.ts";

/**
 * The real disk below a folder. `writeDurably` writes through a second descriptor opened with O_DSYNC: one trip to the
 * thread pool and one system call instead of a write and a fdatasync one after the other.
 */
export function createNodeDisk(root: string): Disk {
  fs.mkdirSync(root, { recursive: true });
  const at = (path: string): string => join(root, path);
  return {
    open: (path, mode) => new NodeFile(path, at(path), fs.openSync(at(path), openFlags[mode], 0o600)),
    exists: (path) => fs.existsSync(at(path)),
    list: (path) => listFolder(at(path)),
    makeFolder: (path) => {
      fs.mkdirSync(at(path), { recursive: true, mode: 0o700 });
    },
    remove: (path) => fs.rmSync(at(path), { force: true }),
    removeTree: (path) => fs.rmSync(at(path), { force: true, recursive: true }),
    rename: (from, to) => fs.renameSync(at(from), at(to)),
    syncFolder: (path) => syncFolder(at(path)),
    syncFolderLater: (path, onDone) => syncFolderLater(at(path), onDone),
    freeBytes: () => {
      const { bavail, bsize } = fs.statfsSync(root);
      return bavail * bsize;
    },
  };
}

const openFlags = { create: "wx+", "read-write": "r+", read: "r" } as const;
const zeros = new Uint8Array(1024 * 1024);

class NodeFile implements DiskFile {
  readonly path: string;
  readonly #fullPath: string;
  readonly #fd: number;
  #durableFd: number | undefined;
  #pending = 0;
  #isClosing = false;

  constructor(path: string, fullPath: string, fd: number) {
    this.path = path;
    this.#fullPath = fullPath;
    this.#fd = fd;
  }

  size(): number {
    return fs.fstatSync(this.#fd).size;
  }

  write(position: number, buffers: readonly Uint8Array[]): void {
    let rest = buffers;
    let at = position;
    while (rest.length > 0) {
      const written = fs.writevSync(this.#fd, rest, at);
      at += written;
      rest = withoutFirst(rest, written);
    }
  }

  writeDurably(position: number, buffers: readonly Uint8Array[], onDone: DiskCallback): void {
    try {
      this.#durableFd ??= fs.openSync(this.#fullPath, fs.constants.O_RDWR | fs.constants.O_DSYNC);
    } catch (error) {
      queueMicrotask(() => onDone(asError(error)));
      return;
    }
    this.#pending += 1;
    writeAll(this.#durableFd, position, buffers, (error) => this.#settle(error, onDone));
  }

  read(position: number, length: number): Uint8Array {
    const bytes = Buffer.allocUnsafeSlow(length);
    const size = this.readInto(position, bytes);
    return size === length ? bytes : bytes.subarray(0, size);
  }

  readInto(position: number, target: Uint8Array): number {
    let size = 0;
    while (size < target.length) {
      const count = fs.readSync(this.#fd, target, size, target.length - size, position + size);
      if (count === 0) break;
      size += count;
    }
    return size;
  }

  sync(): void {
    fs.fdatasyncSync(this.#fd);
  }

  syncLater(onDone: DiskCallback): void {
    this.#pending += 1;
    fs.fdatasync(this.#fd, (error) => this.#settle(error ?? undefined, onDone));
  }

  truncate(size: number): void {
    fs.ftruncateSync(this.#fd, size);
  }

  preallocate(size: number): void {
    for (let at = this.size(); at < size; at += zeros.length) {
      this.write(at, [zeros.subarray(0, Math.min(zeros.length, size - at))]);
    }
  }

  preallocateLater(size: number, onDone: DiskCallback): void {
    this.#pending += 1;
    const step = (at: number): void => {
      if (at >= size) {
        fs.fdatasync(this.#fd, (error) => this.#settle(error ?? undefined, onDone));
        return;
      }
      const chunk = zeros.subarray(0, Math.min(zeros.length, size - at));
      writeAll(this.#fd, at, [chunk], (error) => (error ? this.#settle(error, onDone) : step(at + chunk.length)));
    };
    step(this.size());
  }

  /** Descriptors in use by the thread pool are closed when it is done with them. */
  close(): void {
    assert(!this.#isClosing, `file "${this.path}" is closed once`);
    this.#isClosing = true;
    if (this.#pending === 0) this.#closeNow();
  }

  #settle(error: Error | undefined, onDone: DiskCallback): void {
    this.#pending -= 1;
    if (this.#isClosing && this.#pending === 0) this.#closeNow();
    onDone(error);
  }

  #closeNow(): void {
    fs.closeSync(this.#fd);
    if (this.#durableFd !== undefined) fs.closeSync(this.#durableFd);
  }
}

function writeAll(fd: number, position: number, buffers: readonly Uint8Array[], onDone: DiskCallback): void {
  fs.writev(fd, buffers, position, (error, written) => {
    if (error) return onDone(error);
    const rest = withoutFirst(buffers, written);
    return rest.length === 0 ? onDone(undefined) : writeAll(fd, position + written, rest, onDone);
  });
}

function withoutFirst(buffers: readonly Uint8Array[], size: number): readonly Uint8Array[] {
  let skip = size;
  for (const [index, buffer] of buffers.entries()) {
    if (skip < buffer.length) return [buffer.subarray(skip), ...buffers.slice(index + 1)];
    skip -= buffer.length;
  }
  return [];
}

function listFolder(path: string): readonly string[] {
  try {
    return fs.readdirSync(path).sort();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}

function syncFolder(path: string): void {
  const fd = fs.openSync(path, "r");
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

function syncFolderLater(path: string, onDone: DiskCallback): void {
  fs.open(path, "r", (openError, fd) => {
    if (openError) return onDone(openError);
    fs.fsync(fd, (syncError) => fs.close(fd, (closeError) => onDone(syncError ?? closeError ?? undefined)));
  });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
