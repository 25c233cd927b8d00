import type { Random } from "../random/random.ts";
import type { Disk, DiskCallback, DiskFile } from "./disk.ts";

/**
 * A disk in memory that is as bad as a disk may be. It keeps what programs see and what a power failure would leave
 * apart, page by page: at a crash each page that was not synced is kept, lost or torn at a sector, a size that was not
 * synced is anything between old and new, and of the names not synced with their folder a random first part is kept.
 * A failed sync drops the dirty pages for good, as Linux does: syncing again succeeds and saves nothing.
 *
 * Every choice comes from the given Random; waiting goes through the given scheduler.
 */
export interface SimDiskOptions {
  readonly random: Random;
  /** Runs a callback later: an event queue in simulations. Never at once. */
  readonly schedule: (delayMs: number, run: () => void) => void;
  /** How long the next durable write or sync takes. */
  readonly latencyMs?: () => number;
  readonly capacityBytes?: number;
}

export const simPageSize = 4096;
const sectorSize = 512;
const zeroPage = new Uint8Array(simPageSize);
type Pages = Map<number, Uint8Array>;

interface Inode {
  readonly visible: Pages;
  readonly durable: Pages;
  visibleSize: number;
  durableSize: number;
  /** Pages that the next sync saves. */
  readonly dirty: Set<number>;
  /** Pages that a failed sync gave up: visible, not durable, never saved unless written again. */
  readonly abandoned: Set<number>;
}

type NameChange =
  | { readonly kind: "file"; readonly path: string; readonly inode: Inode }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "remove"; readonly path: string }
  | { readonly kind: "rename"; readonly from: string; readonly path: string };

interface Names {
  readonly files: Map<string, Inode>;
  readonly folders: Set<string>;
}

export class SimDisk implements Disk {
  readonly #random: Random;
  readonly #schedule: SimDiskOptions["schedule"];
  readonly #latencyMs: () => number;
  readonly #visible: Names = { files: new Map(), folders: new Set([""]) };
  readonly #durable: Names = { files: new Map(), folders: new Set([""]) };
  #unsynced: NameChange[] = [];
  #capacityBytes: number;
  #usedPages = 0;
  #life = 0;
  #syncFailures: { after: number; code: string } | undefined;

  constructor(options: SimDiskOptions) {
    this.#random = options.random;
    this.#schedule = options.schedule;
    this.#latencyMs = options.latencyMs ?? (() => 0.1);
    this.#capacityBytes = options.capacityBytes ?? Number.MAX_SAFE_INTEGER;
  }

  // --- faults

  /** Power failure: open files are dead, their callbacks never come, and only what was synced is certain. */
  crash(): void {
    this.#life += 1;
    this.#forgetNames();
    for (const inode of new Set(this.#durable.files.values())) this.#forgetPages(inode);
    copyNames(this.#durable, this.#visible);
    this.#recount();
  }

  /** The process dies and the machine lives: open files are dead, everything written is kept. */
  killProcess(): void {
    this.#life += 1;
  }

  /** The machine comes back with an empty disk. */
  wipe(): void {
    this.#life += 1;
    this.#unsynced = [];
    for (const names of [this.#visible, this.#durable]) {
      names.files.clear();
      names.folders.clear();
      names.folders.add("");
    }
    this.#recount();
  }

  setCapacity(capacityBytes: number): void {
    this.#capacityBytes = capacityBytes;
  }

  /** The sync after `after` more good ones fails with the code, once. */
  failSync(after = 0, code = "EIO"): void {
    this.#syncFailures = { after, code };
  }

  /** Latent damage: flips one bit of what is stored. */
  flipBit(path: string, position: number, bit: number): void {
    const inode = this.#inode(path);
    const index = Math.floor(position / simPageSize);
    for (const pages of [inode.visible, inode.durable]) {
      const page = pages.get(index);
      if (page === undefined) continue;
      const changed = page.slice();
      changed[position % simPageSize] = (changed[position % simPageSize] ?? 0) ^ (1 << bit);
      pages.set(index, changed);
    }
  }

  /** Flips a random bit in a random file that `isTarget` accepts; returns where, if there was anything to damage. */
  flipRandomBit(isTarget: (path: string) => boolean): { path: string; position: number } | undefined {
    const candidates = [...this.#visible.files].filter(([path, inode]) => isTarget(path) && inode.visibleSize > 0);
    const chosen = candidates[Math.floor(this.#random.fraction() * candidates.length)];
    if (chosen === undefined) return undefined;
    const [path, inode] = chosen;
    const position = Math.floor(this.#random.fraction() * inode.visibleSize);
    this.flipBit(path, position, Math.floor(this.#random.fraction() * 8));
    return { path, position };
  }

  /** All files as they look to programs, for inspection. */
  files(): readonly { readonly path: string; readonly size: number }[] {
    return [...this.#visible.files].map(([path, inode]) => ({ path, size: inode.visibleSize }));
  }

  /**
   * The disk as a process sees it that was started now: after a crash or kill this view is dead, so that what is left of
   * that process (a promise about to go on) can change nothing any more.
   */
  mount(): Disk {
    const life = this.#life;
    const alive = (): SimDisk => {
      if (life !== this.#life) throw diskError("EBADF", "disk crashed");
      return this;
    };
    return {
      open: (path, mode) => alive().open(path, mode),
      exists: (path) => alive().exists(path),
      list: (path) => alive().list(path),
      makeFolder: (path) => alive().makeFolder(path),
      remove: (path) => alive().remove(path),
      removeTree: (path) => alive().removeTree(path),
      rename: (from, to) => alive().rename(from, to),
      syncFolder: (path) => alive().syncFolder(path),
      syncFolderLater: (path, onDone) => {
        if (life === this.#life) this.syncFolderLater(path, onDone);
      },
      freeBytes: () => alive().freeBytes(),
    };
  }

  // --- Disk

  open(path: string, mode: "create" | "read-write" | "read"): DiskFile {
    const existing = this.#visible.files.get(path);
    if (mode === "create") {
      if (existing !== undefined) throw diskError("EEXIST", `file exists, open '${path}'`);
      if (!this.#visible.folders.has(parentOf(path))) throw diskError("ENOENT", `no such folder, open '${path}'`);
      const inode = emptyInode();
      this.#visible.files.set(path, inode);
      this.#unsynced.push({ kind: "file", path, inode });
      return this.#file(path, inode);
    }
    return this.#file(path, this.#inode(path));
  }

  exists(path: string): boolean {
    return this.#visible.files.has(path) || this.#visible.folders.has(path);
  }

  list(path: string): readonly string[] {
    const names = [...this.#visible.files.keys(), ...this.#visible.folders].filter(
      (entry) => entry !== "" && parentOf(entry) === path,
    );
    return names.map((entry) => entry.slice(entry.lastIndexOf("/") + 1)).sort();
  }

  makeFolder(path: string): void {
    const parts = path.split("/");
    for (let count = 1; count <= parts.length; count += 1) {
      const folder = parts.slice(0, count).join("/");
      if (this.#visible.folders.has(folder)) continue;
      this.#visible.folders.add(folder);
      this.#unsynced.push({ kind: "folder", path: folder });
    }
  }

  remove(path: string): void {
    if (!this.#visible.files.delete(path)) return;
    this.#unsynced.push({ kind: "remove", path });
    this.#recount();
  }

  removeTree(path: string): void {
    const isBelow = (entry: string): boolean => entry === path || entry.startsWith(`${path}/`);
    for (const file of [...this.#visible.files.keys()].filter(isBelow)) this.remove(file);
    for (const folder of [...this.#visible.folders].filter(isBelow)) {
      this.#visible.folders.delete(folder);
      this.#unsynced.push({ kind: "remove", path: folder });
    }
  }

  rename(from: string, to: string): void {
    const inode = this.#inode(from);
    this.#visible.files.delete(from);
    this.#visible.files.set(to, inode);
    this.#unsynced.push({ kind: "rename", from, path: to });
    this.#recount();
  }

  syncFolder(path: string): void {
    this.#failSyncIfDue();
    const [inside, outside] = partition(this.#unsynced, (change) => parentOf(change.path) === path);
    for (const change of inside) applyName(this.#durable, change);
    this.#unsynced = outside;
  }

  syncFolderLater(path: string, onDone: DiskCallback): void {
    const life = this.#life;
    this.#schedule(this.#latencyMs(), () => {
      if (life === this.#life) onDone(attempt(() => this.syncFolder(path)));
    });
  }

  freeBytes(): number {
    return Math.max(0, this.#capacityBytes - this.#usedPages * simPageSize);
  }

  // --- files

  #file(path: string, inode: Inode): DiskFile {
    const life = this.#life;
    let isOpen = true;
    const assertOpen = (): void => {
      if (life !== this.#life) throw diskError("EBADF", `disk crashed, '${path}'`);
      if (!isOpen) throw diskError("EBADF", `file is closed, '${path}'`);
    };
    const later = (act: () => void, onDone: DiskCallback): void => {
      const result = attempt(() => {
        assertOpen();
        act();
      });
      this.#schedule(this.#latencyMs(), () => {
        if (life !== this.#life) return;
        onDone(result ?? attempt(() => this.#sync(inode)));
      });
    };
    return {
      path,
      size: () => inode.visibleSize,
      write: (position, buffers) => {
        assertOpen();
        this.#write(inode, position, buffers);
      },
      writeDurably: (position, buffers, onDone) => later(() => this.#write(inode, position, buffers), onDone),
      read: (position, length) => {
        assertOpen();
        return readPages(inode, position, length);
      },
      readInto: (position, target) => {
        assertOpen();
        const bytes = readPages(inode, position, target.length);
        target.set(bytes);
        return bytes.length;
      },
      sync: () => {
        assertOpen();
        this.#sync(inode);
      },
      syncLater: (onDone) => later(() => undefined, onDone),
      truncate: (size) => {
        assertOpen();
        this.#truncate(inode, size);
      },
      preallocate: (size) => {
        assertOpen();
        this.#preallocate(inode, size);
      },
      preallocateLater: (size, onDone) => later(() => this.#preallocate(inode, size), onDone),
      close: () => {
        isOpen = false;
      },
    };
  }

  /** Fills what fits when the disk runs full half-way, as a real one does. */
  #write(inode: Inode, position: number, buffers: readonly Uint8Array[]): void {
    let at = position;
    for (const buffer of buffers) {
      let from = 0;
      while (from < buffer.length) {
        const inPage = at % simPageSize;
        const count = Math.min(buffer.length - from, simPageSize - inPage);
        const page = this.#writablePage(inode, Math.floor(at / simPageSize));
        page.set(buffer.subarray(from, from + count), inPage);
        from += count;
        at += count;
        inode.visibleSize = Math.max(inode.visibleSize, at);
      }
    }
  }

  #writablePage(inode: Inode, index: number): Uint8Array {
    const present = inode.visible.get(index);
    if (present === undefined) this.#takePage();
    const page = (present ?? zeroPage).slice();
    inode.visible.set(index, page);
    inode.dirty.add(index);
    inode.abandoned.delete(index);
    return page;
  }

  #takePage(): void {
    if ((this.#usedPages + 1) * simPageSize > this.#capacityBytes) throw diskError("ENOSPC", "no space left on device");
    this.#usedPages += 1;
  }

  #preallocate(inode: Inode, size: number): void {
    const last = Math.ceil(size / simPageSize);
    for (let index = Math.ceil(inode.visibleSize / simPageSize); index < last; index += 1) {
      if (inode.visible.has(index)) continue;
      this.#takePage();
      inode.visible.set(index, zeroPage);
      inode.dirty.add(index);
    }
    inode.visibleSize = Math.max(inode.visibleSize, size);
  }

  #truncate(inode: Inode, size: number): void {
    const last = Math.ceil(size / simPageSize);
    for (const index of [...inode.visible.keys()]) {
      if (index < last) continue;
      inode.visible.delete(index);
      inode.dirty.add(index);
    }
    if (size % simPageSize !== 0 && inode.visible.has(last - 1)) {
      this.#writablePage(inode, last - 1).fill(0, size % simPageSize);
    }
    inode.visibleSize = size;
    this.#recount();
  }

  #sync(inode: Inode): void {
    const failure = attempt(() => this.#failSyncIfDue());
    if (failure !== undefined) {
      for (const index of inode.dirty) inode.abandoned.add(index);
      inode.dirty.clear();
      throw failure;
    }
    for (const index of inode.dirty) copyPage(inode.visible, inode.durable, index);
    inode.dirty.clear();
    inode.durableSize = inode.visibleSize;
  }

  #failSyncIfDue(): void {
    const failure = this.#syncFailures;
    if (failure === undefined) return;
    if (failure.after > 0) {
      failure.after -= 1;
      return;
    }
    this.#syncFailures = undefined;
    throw diskError(failure.code, "sync failed");
  }

  #inode(path: string): Inode {
    const inode = this.#visible.files.get(path);
    if (inode === undefined) throw diskError("ENOENT", `no such file, '${path}'`);
    return inode;
  }

  // --- what a power failure leaves

  #forgetNames(): void {
    const keptByFolder = new Map<string, boolean>();
    for (const change of this.#unsynced) {
      const folder = parentOf(change.path);
      const isKept = (keptByFolder.get(folder) ?? true) && this.#random.fraction() < 0.5;
      keptByFolder.set(folder, isKept);
      if (isKept) applyName(this.#durable, change);
    }
    this.#unsynced = [];
    const hasFolder = (path: string): boolean =>
      path === "" || (this.#durable.folders.has(path) && hasFolder(parentOf(path)));
    for (const path of [...this.#durable.files.keys()]) {
      if (!hasFolder(parentOf(path))) this.#durable.files.delete(path);
    }
  }

  #forgetPages(inode: Inode): void {
    for (const index of [...inode.dirty, ...inode.abandoned]) {
      const choice = this.#random.fraction();
      if (choice < 0.4) copyPage(inode.visible, inode.durable, index);
      else if (choice < 0.6) inode.durable.set(index, this.#tornPage(inode, index));
    }
    if (inode.visibleSize !== inode.durableSize) {
      const choice = this.#random.fraction();
      const change = inode.visibleSize - inode.durableSize;
      if (choice < 0.3) inode.durableSize = inode.visibleSize;
      else if (choice < 0.5) inode.durableSize += Math.round(change * this.#random.fraction());
    }
    inode.dirty.clear();
    inode.abandoned.clear();
    inode.visible.clear();
    for (const [index, page] of inode.durable) {
      if (index * simPageSize < inode.durableSize) inode.visible.set(index, page);
      else inode.durable.delete(index);
    }
    inode.visibleSize = inode.durableSize;
  }

  /** Some sectors new, the others old. */
  #tornPage(inode: Inode, index: number): Uint8Array {
    const torn = (inode.durable.get(index) ?? zeroPage).slice();
    const fresh = inode.visible.get(index) ?? zeroPage;
    for (let at = 0; at < simPageSize; at += sectorSize) {
      if (this.#random.fraction() < 0.5) torn.set(fresh.subarray(at, at + sectorSize), at);
    }
    return torn;
  }

  #recount(): void {
    this.#usedPages = 0;
    for (const inode of new Set(this.#visible.files.values())) this.#usedPages += inode.visible.size;
  }
}

function emptyInode(): Inode {
  return {
    visible: new Map(),
    durable: new Map(),
    visibleSize: 0,
    durableSize: 0,
    dirty: new Set(),
    abandoned: new Set(),
  };
}

function readPages(inode: Inode, position: number, length: number): Uint8Array {
  const size = Math.max(0, Math.min(length, inode.visibleSize - position));
  const bytes = Buffer.alloc(size);
  for (let at = 0; at < size; ) {
    const inPage = (position + at) % simPageSize;
    const count = Math.min(size - at, simPageSize - inPage);
    const page = inode.visible.get(Math.floor((position + at) / simPageSize));
    if (page !== undefined) bytes.set(page.subarray(inPage, inPage + count), at);
    at += count;
  }
  return bytes;
}

function copyPage(from: Pages, to: Pages, index: number): void {
  const page = from.get(index);
  if (page === undefined) to.delete(index);
  else to.set(index, page);
}

function applyName(names: Names, change: NameChange): void {
  switch (change.kind) {
    case "file":
      names.files.set(change.path, change.inode);
      return;
    case "folder":
      names.folders.add(change.path);
      return;
    case "remove":
      names.files.delete(change.path);
      names.folders.delete(change.path);
      return;
    case "rename": {
      const inode = names.files.get(change.from);
      names.files.delete(change.from);
      if (inode !== undefined) names.files.set(change.path, inode);
    }
  }
}

function copyNames(from: Names, to: Names): void {
  to.files.clear();
  to.folders.clear();
  for (const [path, inode] of from.files) to.files.set(path, inode);
  for (const folder of from.folders) to.folders.add(folder);
}

function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "" : path.slice(0, slash);
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  const first: T[] = [];
  const second: T[] = [];
  for (const item of items) (isFirst(item) ? first : second).push(item);
  return [first, second];
}

function attempt(act: () => void): Error | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function diskError(code: string, text: string): Error {
  return Object.assign(new Error(`${code}: ${text}`), { code });
}
