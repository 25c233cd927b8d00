import { crc32 } from "node:zlib";
import type { Disk, DiskFile } from "../../../platform/files/disk.ts";
import { getUint53, setUint53 } from "../../model/varint.ts";

/**
 * The one file that says what a shard's files hold. It is written beside the old one, synced, and put in its place by
 * renaming: at any moment there is exactly one whole checkpoint.
 *
 *   0 magic u32   4 version u32   8 index u53   16 term u53   24 manifest size u53   32 state size u53   40 body CRC u32
 *   44 header CRC u32   48 manifest (JSON), state
 */
interface CheckpointContent {
  readonly index: number;
  readonly term: number;
  readonly manifest: Uint8Array;
  readonly state: readonly Uint8Array[];
}

const magic = 0x4b435153;
const version = 1;
const headerSize = 48;
const fileName = "checkpoint";
const temporaryName = "checkpoint.tmp";

/** @throws Error when there is a checkpoint and it is damaged */
export function readCheckpoint(disk: Disk, folder: string): CheckpointContent | undefined {
  const path = `${folder}/${fileName}`;
  disk.remove(`${folder}/${temporaryName}`);
  if (!disk.exists(path)) return undefined;
  const file = disk.open(path, "read");
  try {
    return decode(file.read(0, file.size()), path);
  } finally {
    file.close();
  }
}

/** Resolves when the checkpoint is durable under its name. */
export async function writeCheckpointFile(disk: Disk, folder: string, content: CheckpointContent): Promise<void> {
  const temporary = `${folder}/${temporaryName}`;
  disk.remove(temporary);
  const file = disk.open(temporary, "create");
  try {
    file.write(0, encode(content));
    await syncFile(file);
  } finally {
    file.close();
  }
  disk.rename(temporary, `${folder}/${fileName}`);
  await syncFolder(disk, folder);
}

export function syncFile(file: DiskFile): Promise<void> {
  return new Promise((resolve, reject) => file.syncLater((error) => (error === undefined ? resolve() : reject(error))));
}

export function syncFolder(disk: Disk, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    disk.syncFolderLater(path, (error) => (error === undefined ? resolve() : reject(error)));
  });
}

function encode(content: CheckpointContent): readonly Uint8Array[] {
  const header = new Uint8Array(headerSize);
  const view = new DataView(header.buffer);
  let bodyCrc = crc32(content.manifest);
  let stateSize = 0;
  for (const part of content.state) {
    bodyCrc = crc32(part, bodyCrc);
    stateSize += part.length;
  }
  view.setUint32(0, magic, true);
  view.setUint32(4, version, true);
  setUint53(view, 8, content.index);
  setUint53(view, 16, content.term);
  setUint53(view, 24, content.manifest.length);
  setUint53(view, 32, stateSize);
  view.setUint32(40, bodyCrc, true);
  view.setUint32(44, crc32(header.subarray(0, 44)), true);
  return [header, content.manifest, ...content.state];
}

function decode(bytes: Uint8Array, path: string): CheckpointContent {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const isHeader =
    bytes.length >= headerSize &&
    view.getUint32(0, true) === magic &&
    view.getUint32(44, true) === crc32(bytes.subarray(0, 44));
  if (!isHeader) throw new Error(`Cannot read checkpoint "${path}": its header is damaged`);
  if (view.getUint32(4, true) !== version) {
    throw new Error(`Cannot read checkpoint "${path}": version ${view.getUint32(4, true)} instead of ${version}`);
  }
  const manifestEnd = headerSize + getUint53(view, 24);
  const end = manifestEnd + getUint53(view, 32);
  if (bytes.length < end || crc32(bytes.subarray(headerSize, end)) !== view.getUint32(40, true)) {
    throw new Error(`Cannot read checkpoint "${path}": its content is damaged`);
  }
  return {
    index: getUint53(view, 8),
    term: getUint53(view, 16),
    manifest: bytes.subarray(headerSize, manifestEnd),
    state: [bytes.subarray(manifestEnd, end)],
  };
}
