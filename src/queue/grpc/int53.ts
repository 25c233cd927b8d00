/** What the generated decoders read 64-bit fields with: plain numbers, refused when they do not fit. */
interface ByteReader {
  readonly buf: Uint8Array;
  pos: number;
  readonly len: number;
}

/**
 * @public
 * @throws RangeError beyond 2^53 − 1 or when the field is cut off
 */
export function readUint53(reader: ByteReader): number {
  let value = 0;
  let scale = 1;
  for (let count = 0; count < 10; count += 1) {
    const byte = nextByte(reader);
    value += (byte & 127) * scale;
    if (byte < 128) return assertSafe(value);
    scale *= 128;
  }
  throw new RangeError("64-bit field has more than ten bytes");
}

/**
 * @public
 * @throws RangeError beyond ±(2^53 − 1) or when the field is cut off
 */
export function readInt53(reader: ByteReader): number {
  const start = reader.pos;
  let value = 0;
  let scale = 1;
  for (let count = 0; count < 9; count += 1) {
    const byte = nextByte(reader);
    value += (byte & 127) * scale;
    if (byte < 128) return assertSafe(value);
    scale *= 128;
  }
  nextByte(reader);
  return readNegative(reader, start);
}

/** Ten bytes are a negative number: the two's complement, which plain addition would round. */
function readNegative(reader: ByteReader, start: number): number {
  let complement = 0;
  let scale = 1;
  for (let index = 0; index < 9; index += 1) {
    complement += (~(reader.buf[start + index] ?? 0) & 127) * scale;
    scale *= 128;
  }
  if (reader.buf[start + 9] !== 1) throw new RangeError("64-bit field has more than ten bytes");
  return -assertSafe(complement + 1);
}

function nextByte(reader: ByteReader): number {
  const byte = reader.pos < reader.len ? reader.buf[reader.pos] : undefined;
  if (byte === undefined) throw new RangeError("64-bit field is cut off");
  reader.pos += 1;
  return byte;
}

function assertSafe(value: number): number {
  if (value > Number.MAX_SAFE_INTEGER) throw new RangeError(`64-bit field ${value} is beyond 2^53`);
  return value;
}
