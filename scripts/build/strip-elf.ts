/**
 * A 64-bit little-endian ELF file without what is never loaded: everything behind the last program segment (symbols,
 * debug information, section table). 130 MB of Node become 112 MB, with no binutils needed and for any architecture.
 */
export function withoutDebugInformation(elf: Buffer): Buffer {
  const programHeaders = Number(elf.readBigUInt64LE(32));
  const entrySize = elf.readUInt16LE(54);
  const entryCount = elf.readUInt16LE(56);
  let end = programHeaders + entrySize * entryCount;
  for (let index = 0; index < entryCount; index++) {
    const header = programHeaders + index * entrySize;
    const offset = Number(elf.readBigUInt64LE(header + 8));
    const sizeInFile = Number(elf.readBigUInt64LE(header + 32));
    end = Math.max(end, offset + sizeInFile);
  }
  const stripped = Buffer.from(elf.subarray(0, end));
  stripped.writeBigUInt64LE(0n, 40);
  stripped.writeUInt16LE(0, 60);
  stripped.writeUInt16LE(0, 62);
  return stripped;
}
