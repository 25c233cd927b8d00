import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { sleep } from "../../src/platform/time/clock.ts";

/**
 * A throw-away Postgres from the distribution's package: a data directory of its own, a free port on loopback, stopped
 * by its process id. Stop and start keep the data, so that tests can take the database away and give it back.
 */
export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  stop(): Promise<void>;
  start(): Promise<void>;
}

const installRoot = "/usr/lib/postgresql";
const startTimeoutMs = 30_000;

/** Where the server programs are, newest version first; undefined when Postgres is not installed here. */
export function findPostgresBinaries(): string | undefined {
  if (!existsSync(installRoot)) return undefined;
  const versions = readdirSync(installRoot).sort((a, b) => Number(b) - Number(a));
  return versions
    .map((version) => join(installRoot, version, "bin"))
    .find((path) => existsSync(join(path, "postgres")));
}

/** @param settings more `name=value` server settings, for example `wal_level=logical` */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const binaries = findPostgresBinaries();
  if (binaries === undefined) throw new Error(`no Postgres below ${installRoot}: install the package "postgresql"`);
  const identity = await findIdentity();
  const folder = mkdtempSync(join(tmpdir(), "slipway-postgres-"));
  if (identity !== undefined) chownSync(folder, identity.uid, identity.gid);
  const data = join(folder, "data");
  await run(
    join(binaries, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"],
    identity,
  );
  const port = await findFreePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const serverArguments = ["-D", data, "-h", "127.0.0.1", "-p", String(port), "-k", folder, "-F"];
  for (const setting of settings) serverArguments.push("-c", setting);
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    child = spawn(join(binaries, "postgres"), serverArguments, { stdio: "ignore", cwd: folder, ...identity });
    await waitUntilReady(url, child);
  };
  const stop = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGINT");
    await exited;
    child = undefined;
  };
  const dispose = async (): Promise<void> => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  };
  await start();
  return { port, url, start, stop, [Symbol.asyncDispose]: dispose };
}

interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** Postgres refuses to run as root; the package brings a user for it. */
async function findIdentity(): Promise<Identity | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const uid = Number(await run("id", ["-u", "postgres"]));
  const gid = Number(await run("id", ["-g", "postgres"]));
  return { uid, gid };
}

async function run(program: string, programArguments: readonly string[], identity?: Identity): Promise<string> {
  const child = spawn(program, programArguments, { stdio: ["ignore", "pipe", "pipe"], cwd: "/", ...identity });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${errors}`);
  return output.trim();
}

async function waitUntilReady(url: string, child: ChildProcess): Promise<void> {
  const endsMs = performance.now() + startTimeoutMs;
  while (performance.now() < endsMs) {
    if (child.exitCode !== null) throw new Error(`postgres ended with ${child.exitCode} at its start`);
    const sql = postgres(url, { max: 1, connect_timeout: 1, fetch_types: false, onnotice: () => {} });
    try {
      await sql`select 1`;
      return;
    } catch {
      await sleep(50);
    } finally {
      await sql.end({ timeout: 1 });
    }
  }
  throw new Error(`postgres was not ready after ${startTimeoutMs} ms`);
}

/** A port that was free a moment ago. */
export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}
