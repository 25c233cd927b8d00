import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep } from "../../src/platform/time/clock.ts";
import { findFreePort } from "./postgres-server.ts";

/** A throw-away Redis from the distribution's package, on a free port of loopback, stopped by its process id. */
export interface RedisServer extends AsyncDisposable {
  readonly port: number;
  readonly address: string;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops answering without closing connections, as a machine that hangs does. */
  freeze(): void;
  thaw(): void;
}

const startTimeoutMs = 10_000;

/** @param settings more options, for example `["--appendonly", "yes"]` */
export async function startRedis(settings: readonly string[] = []): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "slipway-redis-"));
  const port = await findFreePort();
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const options = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", ...settings];
    child = spawn("redis-server", options, { stdio: "ignore" });
    await waitUntilOpen(port, child);
  };
  const stop = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGCONT");
    child.kill("SIGTERM");
    await exited;
    child = undefined;
  };
  const dispose = async (): Promise<void> => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  };
  await start();
  return {
    port,
    address: `127.0.0.1:${port}`,
    start,
    stop,
    freeze: () => void child?.kill("SIGSTOP"),
    thaw: () => void child?.kill("SIGCONT"),
    [Symbol.asyncDispose]: dispose,
  };
}

async function waitUntilOpen(port: number, child: ChildProcess): Promise<void> {
  const endsMs = performance.now() + startTimeoutMs;
  while (performance.now() < endsMs) {
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode} at its start`);
    if (await canConnect(port)) return;
    await sleep(20);
  }
  throw new Error(`redis-server was not ready after ${startTimeoutMs} ms`);
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
