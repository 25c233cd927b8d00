import type { StorageContext } from "../storage-context.ts";

/**
 * When each sequence of a partition is due: one slot of 8 bytes per sequence, in files of 2^20 slots, read and written a
 * page at a time. A slot is written once and never with another value, so it does not matter that a page may be newer
 * than the checkpoint: whether an entry exists, its bucket says.
 *
 *   slot = due ms u48 · check u16; zero: never written
 */
export interface SlotFileState {
  readonly chunk: number;
  readonly fileSequence: number;
  readonly liveCount: number;
}

const slotSize = 8;
const slotsPerPage = 512;
const slotsPerFile = 1024 * 1024;
const pageSize = slotSize * slotsPerPage;
const cleanPagesMax = 32;

interface SlotFile {
  readonly fileSequence: number;
  liveCount: number;
  hasFile: boolean;
}

export class DueSlots {
  readonly #context: StorageContext;
  readonly #folder: string;
  readonly #files = new Map<number, SlotFile>();
  readonly #pages = new Map<number, Buffer>();
  readonly #dirty = new Set<number>();

  constructor(context: StorageContext, folder: string, states: readonly SlotFileState[]) {
    this.#context = context;
    this.#folder = folder;
    for (const { chunk, fileSequence, liveCount } of states) {
      this.#files.set(chunk, { fileSequence, liveCount, hasFile: true });
    }
  }

  get unwrittenBytes(): number {
    return this.#dirty.size * pageSize;
  }

  set(sequence: number, dueMs: number): void {
    const file = this.#fileOf(sequence);
    file.liveCount += 1;
    const pageNumber = Math.floor(sequence / slotsPerPage);
    const page = this.#page(pageNumber);
    const at = (sequence % slotsPerPage) * slotSize;
    page.writeUIntLE(dueMs, at, 6);
    page.writeUInt16LE(checkOf(sequence, dueMs), at + 6);
    this.#dirty.add(pageNumber);
  }

  /** Undefined when it was never written; "damaged" when it cannot be told. */
  get(sequence: number): number | "damaged" | undefined {
    if (!this.#files.has(Math.floor(sequence / slotsPerFile))) return undefined;
    const page = this.#page(Math.floor(sequence / slotsPerPage));
    const at = (sequence % slotsPerPage) * slotSize;
    const dueMs = page.readUIntLE(at, 6);
    const check = page.readUInt16LE(at + 6);
    if (dueMs === 0 && check === 0) return undefined;
    return check === checkOf(sequence, dueMs) ? dueMs : "damaged";
  }

  /** The entry is gone; returns the file that nobody needs any more, if that was its last one. */
  release(sequence: number, isCurrent: (chunk: number) => boolean): string | undefined {
    const chunk = Math.floor(sequence / slotsPerFile);
    const file = this.#files.get(chunk);
    if (file === undefined) return undefined;
    file.liveCount -= 1;
    if (file.liveCount > 0 || isCurrent(chunk)) return undefined;
    this.#files.delete(chunk);
    const first = (chunk * slotsPerFile) / slotsPerPage;
    for (const page of [...this.#pages.keys()]) {
      if (page >= first && page < first + slotsPerFile / slotsPerPage) this.#forget(page);
    }
    return file.hasFile ? this.#path(file) : undefined;
  }

  chunkOf(sequence: number): number {
    return Math.floor(sequence / slotsPerFile);
  }

  /** @throws what the disk says; what was not written stays */
  flush(): void {
    for (const pageNumber of this.#dirty) {
      const page = this.#pages.get(pageNumber);
      const firstSlot = pageNumber * slotsPerPage;
      const file = this.#fileOf(firstSlot);
      if (page !== undefined) {
        const path = this.#path(file);
        const opened = file.hasFile ? this.#context.files.get(path) : this.#context.createFile(path);
        file.hasFile = true;
        opened.write((firstSlot % slotsPerFile) * slotSize, [page]);
        this.#context.dirtyFiles.add(path);
      }
      this.#dirty.delete(pageNumber);
    }
    this.#limitPages();
  }

  paths(): readonly string[] {
    return [...this.#files.values()].filter((file) => file.hasFile).map((file) => this.#path(file));
  }

  states(): readonly SlotFileState[] {
    return [...this.#files].map(([chunk, { fileSequence, liveCount }]) => ({ chunk, fileSequence, liveCount }));
  }

  #fileOf(sequence: number): SlotFile {
    const chunk = Math.floor(sequence / slotsPerFile);
    let file = this.#files.get(chunk);
    if (file === undefined) {
      file = { fileSequence: this.#context.takeSequence(), liveCount: 0, hasFile: false };
      this.#files.set(chunk, file);
    }
    return file;
  }

  #page(pageNumber: number): Buffer {
    const present = this.#pages.get(pageNumber);
    if (present !== undefined) return present;
    const page = Buffer.alloc(pageSize);
    const firstSlot = pageNumber * slotsPerPage;
    const file = this.#files.get(Math.floor(firstSlot / slotsPerFile));
    if (file?.hasFile) {
      page.set(this.#context.files.get(this.#path(file)).read((firstSlot % slotsPerFile) * slotSize, pageSize));
    }
    this.#pages.set(pageNumber, page);
    this.#limitPages();
    return page;
  }

  #limitPages(): void {
    for (const page of this.#pages.keys()) {
      if (this.#pages.size - this.#dirty.size <= cleanPagesMax) return;
      if (!this.#dirty.has(page)) this.#pages.delete(page);
    }
  }

  #forget(page: number): void {
    this.#pages.delete(page);
    this.#dirty.delete(page);
  }

  #path(file: SlotFile): string {
    return `${this.#folder}/${file.fileSequence}.slots`;
  }
}

function checkOf(sequence: number, dueMs: number): number {
  const mixed = Math.imul((sequence % 4_294_967_291) ^ Math.floor(dueMs / 4_294_967_296), 0x9e37_79b1) ^ dueMs;
  return ((mixed ^ (mixed >>> 16)) & 0xffff) | 1;
}
