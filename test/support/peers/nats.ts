import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { AckPolicy, connect, DeliverPolicy, type NatsConnection, StorageType } from "nats";
import { findFreePort } from "../postgres-server.ts";
import { startPeer } from "./peer-process.ts";

export interface NatsPeer extends AsyncDisposable {
  readonly connection: NatsConnection;
  readonly pid: number;
}

/** `NATS_SERVER` names another binary than the distribution's, which may be too old to sync before it answers. */
const serverCommand = process.env["NATS_SERVER"] ?? "nats-server";

export function natsVersion(): string {
  return execFileSync(serverCommand, ["--version"], { encoding: "utf8" }).trim().replace("nats-server: ", "");
}

/** `sync_interval: always` came with 2.10. */
export function canSyncAlways(): boolean {
  const [major = 0, minor = 0] = natsVersion().replace(/^v/, "").split(".").map(Number);
  return major > 2 || (major === 2 && minor >= 10);
}

/** JetStream with file storage. `always` syncs each write before the answer; the default syncs every two minutes. */
export async function startNats(sync: "always" | "default"): Promise<NatsPeer> {
  const port = await findFreePort();
  const server = await startPeer((folder) => {
    const configPath = join(folder, "nats.conf");
    const syncLine = sync === "always" ? "sync_interval: always" : "";
    writeFileSync(
      configPath,
      `listen: 127.0.0.1:${port}\njetstream { store_dir: "${folder}", max_file_store: 20GB\n${syncLine} }\n`,
    );
    return { command: serverCommand, args: ["-c", configPath], port };
  });
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  return {
    connection,
    pid: server.pid,
    [Symbol.asyncDispose]: async () => {
      await connection.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

export async function createNatsStream(peer: NatsPeer, name: string): Promise<void> {
  const manager = await peer.connection.jetstreamManager();
  await manager.streams.add({ name, subjects: [`${name}.>`], storage: StorageType.File });
}

/** A durable pull consumer with explicit acks. */
export async function createNatsConsumer(peer: NatsPeer, stream: string, durable: string): Promise<void> {
  const manager = await peer.connection.jetstreamManager();
  await manager.consumers.add(stream, {
    durable_name: durable,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    max_ack_pending: 20_000,
  });
}
