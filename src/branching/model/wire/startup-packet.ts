/**
 * The first packet of a Postgres connection. Only the value of `database` is ever replaced: everything else, unknown
 * parameters and bytes that are no UTF-8 included, goes on as it came, since later protocol versions put things there
 * that a router must not judge.
 */
export const startupPacketBytesMax = 10_000;

const codes = { cancel: 80_877_102, ssl: 80_877_103, gss: 80_877_104 } as const;
const headerBytes = 8;
const oldestMajor = 3;

export type FirstPacket =
  | { readonly kind: "ssl" }
  | { readonly kind: "gss" }
  | { readonly kind: "cancel"; readonly packet: Buffer; readonly key: string }
  | { readonly kind: "startup"; readonly packet: Buffer; readonly database: DatabasePlace | undefined }
  | { readonly kind: "invalid"; readonly reason: string };

/** Where the value of `database` stands in the packet, its zero byte left out. */
export interface DatabasePlace {
  readonly start: number;
  readonly end: number;
}

/** Undefined until enough has arrived; `size` of a complete packet is how many bytes it took. */
export function parseFirstPacket(bytes: Buffer): { readonly packet: FirstPacket; readonly size: number } | undefined {
  if (bytes.length < 4) return undefined;
  const size = bytes.readUInt32BE(0);
  if (size < headerBytes || size > startupPacketBytesMax) {
    return { packet: { kind: "invalid", reason: `a first packet of ${size} bytes` }, size: bytes.length };
  }
  if (bytes.length < size) return undefined;
  return { packet: parseComplete(Buffer.from(bytes.subarray(0, size))), size };
}

function parseComplete(packet: Buffer): FirstPacket {
  const code = packet.readUInt32BE(4);
  if (code === codes.ssl || code === codes.gss) {
    if (packet.length !== headerBytes) return { kind: "invalid", reason: "an encryption request with a body" };
    return { kind: code === codes.ssl ? "ssl" : "gss" };
  }
  if (code === codes.cancel) {
    if (packet.length < headerBytes + 8) return { kind: "invalid", reason: "a cancel request without a key" };
    return { kind: "cancel", packet, key: packet.toString("hex", headerBytes) };
  }
  if (code >>> 16 !== oldestMajor) return { kind: "invalid", reason: `protocol ${code >>> 16}.${code & 0xffff}` };
  return parseParameters(packet);
}

function parseParameters(packet: Buffer): FirstPacket {
  let database: DatabasePlace | undefined;
  let position = headerBytes;
  while (position < packet.length && packet[position] !== 0) {
    const nameEnd = packet.indexOf(0, position);
    const valueEnd = nameEnd < 0 ? -1 : packet.indexOf(0, nameEnd + 1);
    if (valueEnd < 0) return { kind: "invalid", reason: "a parameter without an end" };
    if (packet.toString("latin1", position, nameEnd) === "database") database = { start: nameEnd + 1, end: valueEnd };
    position = valueEnd + 1;
  }
  if (position !== packet.length - 1) return { kind: "invalid", reason: "bytes behind the parameters" };
  return { kind: "startup", packet, database };
}

export interface BranchAddress {
  readonly database: Buffer;
  readonly branch: string;
}

/** Splits `<database>@<branch>` on the last `@`; undefined when either side is missing. */
export function splitDatabase(packet: Buffer, place: DatabasePlace | undefined): BranchAddress | undefined {
  if (place === undefined) return undefined;
  const value = packet.subarray(place.start, place.end);
  const at = value.lastIndexOf("@".charCodeAt(0));
  if (at < 1 || at === value.length - 1) return undefined;
  return { database: value.subarray(0, at), branch: value.toString("utf8", at + 1) };
}

/** The same packet with another value of `database`, and its length put right. */
export function withDatabase(packet: Buffer, place: DatabasePlace, database: Buffer): Buffer {
  const replaced = Buffer.concat([packet.subarray(0, place.start), database, packet.subarray(place.end)]);
  replaced.writeUInt32BE(replaced.length, 0);
  return replaced;
}

/** A FATAL error as a server sends it before it closes the connection. */
export function encodeFatal(sqlState: string, message: string): Buffer {
  const fields = `SFATAL\0VFATAL\0C${sqlState}\0M${message}\0\0`;
  const packet = Buffer.alloc(5 + Buffer.byteLength(fields));
  packet.write("E", 0, "latin1");
  packet.writeUInt32BE(packet.length - 1, 1);
  packet.write(fields, 5, "utf8");
  return packet;
}
