import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type Channel, type ChannelModel, type ConfirmChannel, connect } from "amqplib";
import { sleep } from "../../../src/platform/time/clock.ts";
import { findFreePort } from "../postgres-server.ts";
import { startPeer } from "./peer-process.ts";

export interface RabbitPeer extends AsyncDisposable {
  readonly connection: ChannelModel;
  readonly pid: number;
}

const startAttempts = 100;

/** One node of RabbitMQ; queues are declared as quorum queues, which sync before they confirm. */
export async function startRabbitMq(): Promise<RabbitPeer> {
  const [port, distributionPort, mapperPort] = await Promise.all([findFreePort(), findFreePort(), findFreePort()]);
  const server = await startPeer((folder) => ({
    command: "/usr/lib/rabbitmq/bin/rabbitmq-server",
    args: [],
    port,
    env: {
      HOME: folder,
      ERL_EPMD_PORT: String(mapperPort),
      RABBITMQ_NODENAME: `bench${port}@localhost`,
      RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_DIST_PORT: String(distributionPort),
      RABBITMQ_MNESIA_BASE: join(folder, "mnesia"),
      RABBITMQ_LOG_BASE: join(folder, "log"),
      RABBITMQ_PID_FILE: join(folder, "pid"),
      RABBITMQ_CONFIG_FILE: join(folder, "none"),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, "plugins"),
    },
  }));
  const connection = await connectWhenReady(port);
  return {
    connection,
    pid: server.pid,
    [Symbol.asyncDispose]: async () => {
      await connection.close().catch(() => {});
      await server[Symbol.asyncDispose]();
      // The port mapper is a daemon of its own that outlives the node.
      spawnSync("epmd", ["-port", String(mapperPort), "-kill"], { stdio: "ignore" });
    },
  };
}

async function connectWhenReady(port: number): Promise<ChannelModel> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connect(`amqp://guest:guest@127.0.0.1:${port}`);
    } catch (error) {
      if (attempt === startAttempts) throw error;
      await sleep(200);
    }
  }
}

export async function declareQuorumQueue(channel: Channel | ConfirmChannel, name: string): Promise<void> {
  await channel.assertQueue(name, { durable: true, arguments: { "x-queue-type": "quorum" } });
}
