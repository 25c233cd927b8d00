import { createClient } from "@redis/client";
import { findFreePort, startPeer } from "./peer-process.ts";

export interface RedisPeer extends AsyncDisposable {
  readonly client: ReturnType<typeof createRedisClient>;
  readonly port: number;
  readonly pid: number;
}

/** Redis with its append-only file synced before each answer (`always`) or once a second. */
export async function startRedis(appendSync: "always" | "everysec"): Promise<RedisPeer> {
  const port = await findFreePort();
  const server = await startPeer((folder) => ({
    command: "redis-server",
    args: [
      ...["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""],
      ...["--appendonly", "yes", "--appendfsync", appendSync, "--maxmemory-policy", "noeviction"],
    ],
    port,
  }));
  const client = createRedisClient(port);
  await client.connect();
  return {
    client,
    port,
    pid: server.pid,
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

function createRedisClient(port: number) {
  return createClient({ url: `redis://127.0.0.1:${port}` });
}
