import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep } from "../../../src/platform/time/clock.ts";

/** A broker of somebody else, started for one benchmark with a folder and ports of its own, stopped by its process id. */
export interface PeerProcess extends AsyncDisposable {
  readonly folder: string;
  readonly pid: number;
}

export interface PeerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly port: number;
  readonly startTimeoutMs?: number;
}

export async function startPeer(describe: (folder: string) => PeerCommand): Promise<PeerProcess> {
  const folder = mkdtempSync(join(tmpdir(), "slipway-peer-"));
  const { command, args, env, port, startTimeoutMs = 60_000 } = describe(folder);
  const child = spawn(command, [...args], { stdio: "ignore", cwd: folder, env: { ...process.env, ...env } });
  try {
    await untilListening(child, command, port, startTimeoutMs);
  } catch (error) {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    folder,
    pid: child.pid ?? -1,
    [Symbol.asyncDispose]: async () => {
      const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()));
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        const killer = setTimeout(() => child.kill("SIGKILL"), 15_000);
        await ended;
        clearTimeout(killer);
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilListening(child: ChildProcess, name: string, port: number, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`${name} ended with exit code ${child.exitCode}`);
    if (await answers(port)) return;
    await sleep(50);
  }
  throw new Error(`${name} does not listen on port ${port} after ${timeoutMs} ms`);
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
