import fc from "fast-check";
import t from "tap";
import { ServerFrames } from "../../../src/branching/model/wire/server-frames.ts";
import {
  encodeFatal,
  parseFirstPacket,
  splitDatabase,
  startupPacketBytesMax,
  withDatabase,
} from "../../../src/branching/model/wire/startup-packet.ts";

function startup(parameters: readonly (readonly [string, string | Buffer])[], version = 196_608): Buffer {
  const parts = parameters.flatMap(([name, value]) => [
    Buffer.from(`${name}\0`),
    Buffer.concat([Buffer.from(value), Buffer.of(0)]),
  ]);
  const body = Buffer.concat([...parts, Buffer.of(0)]);
  const packet = Buffer.alloc(8 + body.length);
  packet.writeUInt32BE(packet.length, 0);
  packet.writeUInt32BE(version, 4);
  body.copy(packet, 8);
  return packet;
}

function request(code: number, body = Buffer.alloc(0)): Buffer {
  const packet = Buffer.alloc(8 + body.length);
  packet.writeUInt32BE(packet.length, 0);
  packet.writeUInt32BE(code, 4);
  body.copy(packet, 8);
  return packet;
}

t.test("parseFirstPacket() tells the kinds of first packets apart", async (t) => {
  t.equal(parseFirstPacket(request(80_877_103))?.packet.kind, "ssl");
  t.equal(parseFirstPacket(request(80_877_104))?.packet.kind, "gss");
  t.equal(parseFirstPacket(request(80_877_103, Buffer.of(1)))?.packet.kind, "invalid");
  for (const secretBytes of [4, 32, 256]) {
    const key = Buffer.alloc(4 + secretBytes, 7);
    t.match(parseFirstPacket(request(80_877_102, key))?.packet, { kind: "cancel", key: key.toString("hex") });
  }
  t.equal(parseFirstPacket(request(80_877_102, Buffer.alloc(7)))?.packet.kind, "invalid");
  t.equal(parseFirstPacket(startup([["user", "u"]]))?.packet.kind, "startup");
  t.equal(parseFirstPacket(startup([["user", "u"]], 196_610))?.packet.kind, "startup", "protocol 3.2 passes");
  t.equal(parseFirstPacket(startup([["user", "u"]], 131_072))?.packet.kind, "invalid", "protocol 2 does not");
  t.equal(parseFirstPacket(Buffer.from("GET / HTTP/1.1\r\n"))?.packet.kind, "invalid");
});

t.test("parseFirstPacket() waits for the whole packet and refuses sizes out of bounds", async (t) => {
  const packet = startup([
    ["user", "app"],
    ["database", "shop@pr-7"],
  ]);
  for (let size = 0; size < packet.length; size += 1) t.equal(parseFirstPacket(packet.subarray(0, size)), undefined);
  const withRest = parseFirstPacket(Buffer.concat([packet, Buffer.from("rest")]));
  t.equal(withRest?.size, packet.length);
  const fill = (size: number): Buffer => startup([["user", "x".repeat(size - 15)]]);
  t.equal(fill(startupPacketBytesMax).length, startupPacketBytesMax);
  t.equal(parseFirstPacket(fill(startupPacketBytesMax - 1))?.packet.kind, "startup");
  t.equal(parseFirstPacket(fill(startupPacketBytesMax))?.packet.kind, "startup");
  t.equal(parseFirstPacket(fill(startupPacketBytesMax + 1))?.packet.kind, "invalid");
  const short = Buffer.alloc(8);
  short.writeUInt32BE(7, 0);
  t.equal(parseFirstPacket(short)?.packet.kind, "invalid");
  const unterminated = startup([["user", "u"]]).subarray(0, -1);
  unterminated.writeUInt32BE(unterminated.length, 0);
  t.equal(parseFirstPacket(unterminated)?.packet.kind, "invalid");
});

t.test("splitDatabase() splits on the last @ and wants both sides", async (t) => {
  const split = (database: string | undefined) => {
    const parsed = parseFirstPacket(startup(database === undefined ? [["user", "u"]] : [["database", database]]));
    if (parsed?.packet.kind !== "startup") throw new Error("no startup packet");
    const address = splitDatabase(parsed.packet.packet, parsed.packet.database);
    return address === undefined ? undefined : [address.database.toString(), address.branch];
  };
  t.strictSame(split("shop@pr-7"), ["shop", "pr-7"]);
  t.strictSame(split("a@b@pr-7"), ["a@b", "pr-7"]);
  for (const bad of ["shop", "@pr-7", "shop@", "@", "", undefined]) t.equal(split(bad), undefined, String(bad));
});

t.test("withDatabase() changes the one value and nothing else", async () => {
  const text = fc.string({ minLength: 1, maxLength: 30 }).map((value) => value.replaceAll("\0", "x"));
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.tuple(
          text,
          fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes.map((byte) => byte || 1))),
        ),
        { maxLength: 6 },
      ),
      text,
      async (others, database) => {
        const parameters = others.filter(([name]) => name !== "database");
        const before = startup([...parameters, ["database", `${database}@b`], ["last", "v"]]);
        const parsed = parseFirstPacket(before);
        if (parsed?.packet.kind !== "startup" || parsed.packet.database === undefined) throw new Error("not parsed");
        const address = splitDatabase(parsed.packet.packet, parsed.packet.database);
        if (address === undefined) throw new Error("not split");
        const after = withDatabase(before, parsed.packet.database, address.database);
        return after.equals(startup([...parameters, ["database", database], ["last", "v"]]));
      },
    ),
  );
});

t.test("ServerFrames finds the key and readiness at any split of the bytes", async (t) => {
  const frame = (type: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(5);
    head.write(type, 0, "latin1");
    head.writeUInt32BE(4 + body.length, 1);
    return Buffer.concat([head, body]);
  };
  const key = Buffer.from("0000abcd01020304", "hex");
  const stream = Buffer.concat([
    frame("R", Buffer.alloc(4)),
    frame("S", Buffer.alloc(5000, 65)),
    frame("K", key),
    frame("Z", Buffer.from("I")),
    frame("D", Buffer.alloc(100)),
  ]);
  for (const size of [1, 2, 3, 5, 7, 64, stream.length]) {
    const frames = new ServerFrames();
    for (let start = 0; start < stream.length; start += size) {
      const isBefore = start < stream.length - frame("D", Buffer.alloc(100)).length - 1;
      if (!isBefore) break;
      frames.push(stream.subarray(start, start + size));
    }
    t.equal(frames.key, key.toString("hex"), `pieces of ${size}`);
    t.equal(frames.isReady, true, `pieces of ${size}`);
  }
  t.equal(encodeFatal("3D000", "no").toString("latin1").includes("SFATAL\0VFATAL\0C3D000\0Mno\0\0"), true);
});
