import type { Disk, DiskFile } from "../../../platform/files/disk.ts";

/** A bounded number of open files, the least recently used closed first: ten thousand partitions need few descriptors. */
export class FileCache {
  readonly #disk: Disk;
  readonly #limit: number;
  readonly #open = new Map<string, DiskFile>();

  constructor(disk: Disk, limit: number) {
    this.#disk = disk;
    this.#limit = limit;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** Valid until the next call: use it at once. */
  get(path: string): DiskFile {
    const present = this.#open.get(path);
    if (present !== undefined) {
      this.#open.delete(path);
      this.#open.set(path, present);
      return present;
    }
    return this.#keep(path, this.#disk.open(path, "read-write"));
  }

  /** A new empty file; what a crash left under that name is removed. */
  create(path: string): DiskFile {
    this.forget(path);
    this.#disk.remove(path);
    return this.#keep(path, this.#disk.open(path, "create"));
  }

  forget(path: string): void {
    this.#open.get(path)?.close();
    this.#open.delete(path);
  }

  closeAll(): void {
    for (const file of this.#open.values()) file.close();
    this.#open.clear();
  }

  #keep(path: string, file: DiskFile): DiskFile {
    this.#open.set(path, file);
    for (const [oldest] of this.#open) {
      if (this.#open.size <= this.#limit) break;
      this.forget(oldest);
    }
    return file;
  }
}
