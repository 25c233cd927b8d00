/**
 * Asks a Postgres server whether it serves, with one startup packet and no credentials: an authentication request means
 * that the gate is open, an error other than "starting up" (57P03) that the server runs and refuses us. A connection
 * that is closed without a word is a port forwarder in front of a server that does not listen yet.
 */
import { connect } from "node:net";

export type ProbeAnswer = "silent" | "starting" | "refusing" | "admitting";

const attemptTimeoutMs = 1000;

export function probePostgres(host: string, port: number): Promise<ProbeAnswer> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, noDelay: true });
    let received = Buffer.alloc(0);
    const finish = (answer: ProbeAnswer): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(attemptTimeoutMs, () => finish("silent"));
    socket.on("error", () => finish("silent"));
    socket.on("close", () => finish("silent"));
    socket.on("connect", () => socket.write(startupPacket));
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      const answer = readAnswer(received);
      if (answer !== undefined) finish(answer);
    });
  });
}

const protocolVersion = 196_608;

const startupPacket = encodeStartup({ user: "branchsvc_probe", database: "postgres", application_name: "branchsvc" });

function encodeStartup(parameters: Readonly<Record<string, string>>): Buffer {
  const body = Buffer.from(
    `${Object.entries(parameters)
      .map(([name, value]) => `${name}\0${value}\0`)
      .join("")}\0`,
  );
  const packet = Buffer.alloc(8 + body.length);
  packet.writeUInt32BE(packet.length, 0);
  packet.writeUInt32BE(protocolVersion, 4);
  body.copy(packet, 8);
  return packet;
}

function readAnswer(received: Buffer): ProbeAnswer | undefined {
  if (received.length < 5) return undefined;
  const kind = String.fromCharCode(received[0] ?? 0);
  if (kind === "R") return "admitting";
  if (kind !== "E") return "refusing";
  const length = received.readUInt32BE(1);
  if (received.length < 1 + length && received.length < 4096) return undefined;
  const fields = received.subarray(5).toString("latin1").split("\0");
  return fields.includes("C57P03") ? "starting" : "refusing";
}
