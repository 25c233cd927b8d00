import { createClient } from "@redis/client";
import { startRedis } from "../redis-server.ts";

export interface RedisPeer extends AsyncDisposable {
  readonly client: ReturnType<typeof createRedisClient>;
  readonly port: number;
}

/** Redis with its append-only file synced before each answer (`always`) or once a second. */
export async function startRedisPeer(appendSync: "always" | "everysec"): Promise<RedisPeer> {
  const server = await startRedis([
    "--appendonly",
    "yes",
    "--appendfsync",
    appendSync,
    "--maxmemory-policy",
    "noeviction",
  ]);
  const client = createRedisClient(server.port);
  await client.connect();
  return {
    client,
    port: server.port,
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

function createRedisClient(port: number) {
  return createClient({ url: `redis://127.0.0.1:${port}` });
}
