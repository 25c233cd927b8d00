/**
 * A source database in a container, a home of its own and `bsctl` on both, for end-to-end tests. Everything carries a label
 * or the registry's instance id, and is removed by it at the end.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { openRegistry } from "../../../src/branching/store/registry.ts";
import { systemRandom } from "../../../src/platform/random/random.ts";
import { sleep } from "../../../src/platform/time/clock.ts";
import { docker, tryDocker } from "../e2e/docker.ts";
import { type CallResult, call } from "../e2e/executable.ts";

export const sourcePassword = "Sour*ce-pass_w0rd";

export interface SourceContainer {
  readonly id: string;
  readonly host: string;
  sql(text: string, database?: string): string;
  [Symbol.dispose](): void;
}

export interface SourceOptions {
  readonly major: string;
  readonly arguments?: readonly string[];
  readonly initdbArguments?: string;
}

/** Starts Postgres with replication allowed, waits until it serves. */
export async function startSource(options: SourceOptions): Promise<SourceContainer> {
  const id = docker(
    "run",
    ...["-d", "--rm", "--label", "slipway.test=branching", "-e", `POSTGRES_PASSWORD=${sourcePassword}`],
    ...["-e", `POSTGRES_INITDB_ARGS=${options.initdbArguments ?? ""}`],
    `postgres:${options.major}`,
    ...["-c", "wal_level=logical", ...(options.arguments ?? [])],
  );
  const sql = (text: string, database = "postgres"): string =>
    docker("exec", id, "psql", "-X", "-U", "postgres", "-d", database, "-v", "ON_ERROR_STOP=1", "-qAtc", text);
  for (let attempt = 0; ; attempt++) {
    const log = tryDocker("logs", id).output;
    const isServing = tryDocker("exec", id, "pg_isready", "-q", "-h", "127.0.0.1").exitCode === 0;
    if (log.includes("init process complete") && isServing) break;
    if (attempt > 300) throw new Error(`the source does not start: ${log}`);
    await sleep(100);
  }
  docker("exec", id, "sh", "-c", 'echo "host replication all all scram-sha-256" >>"$PGDATA/pg_hba.conf"');
  sql("SELECT pg_reload_conf()");
  const host = docker("inspect", "-f", "{{.NetworkSettings.IPAddress}}", id);
  return {
    id,
    host,
    sql,
    [Symbol.dispose]: () => {
      docker("rm", "-f", "-v", id);
    },
  };
}

export class LocalBench implements AsyncDisposable {
  readonly home = mkdtempSync(join(tmpdir(), "slipway-branching-"));
  readonly env: Record<string, string>;

  constructor(env: Readonly<Record<string, string>> = {}) {
    this.env = { BRANCHSVC_HOME: this.home, PGPASSWORD: sourcePassword, ...env };
  }

  /** Runs `bsctl` whatever it answers. */
  try(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CallResult> {
    return call(["bsctl", ...args], { env: { ...this.env, ...env }, timeoutMs: 180_000 });
  }

  /** Runs `bsctl` and expects it to succeed. */
  async run(...args: readonly string[]): Promise<string> {
    const result = await this.try(args);
    if (result.exitCode !== 0)
      throw new Error(`bsctl ${args.join(" ")} gave ${result.exitCode}: ${result.errorOutput}`);
    return result.output.trim();
  }

  /** Runs SQL in a branch as its users do, over the printed URL; rows of values. */
  async sql(branch: string, text: string, password = sourcePassword): Promise<readonly (readonly unknown[])[]> {
    const client = postgres(await this.run("connect", branch), {
      password,
      max: 1,
      onnotice: () => {},
      connect_timeout: 10,
    });
    try {
      return Array.from(await client.unsafe(text).values(), (row) => [...row]);
    } finally {
      await client.end({ timeout: 1 });
    }
  }

  async instanceId(): Promise<string> {
    const registry = await openRegistry({ kind: "sqlite", path: join(this.home, "registry.db") }, systemRandom);
    try {
      return registry.instanceId;
    } finally {
      await registry.close();
    }
  }

  /** Containers and volumes of this registry, by name. */
  async listResources(): Promise<{ readonly containers: readonly string[]; readonly volumes: readonly string[] }> {
    const filter = `label=branchsvc.instance=${await this.instanceId()}`;
    const lines = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");
    return {
      containers: lines(docker("ps", "-a", "--filter", filter, "--format", "{{.Names}}")),
      volumes: lines(docker("volume", "ls", "--filter", filter, "--format", "{{.Name}}")),
    };
  }

  containerOf(branch: string): Promise<string> {
    return this.instanceId().then((id) =>
      docker(
        "ps",
        "-aq",
        "--no-trunc",
        "--filter",
        `label=branchsvc.instance=${id}`,
        "--filter",
        `label=branchsvc.name=${branch}`,
        "--filter",
        "label=branchsvc.kind=branch",
      ),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const id = await this.instanceId();
    const { containers, volumes } = await this.listResources();
    if (containers.length > 0) docker("rm", "-f", "-v", ...containers);
    const loops = volumes.some((name) => name.endsWith("-pool")) ? listPoolLoops(id) : [];
    if (volumes.length > 0) docker("volume", "rm", ...volumes);
    for (const loop of loops) tryLosetup(loop);
    tryDocker("network", "rm", `branchsvc-${id}`);
    rmSync(this.home, { recursive: true, force: true });
  }
}

function listPoolLoops(instanceId: string): readonly string[] {
  const listed = spawnSync("losetup", ["-a"], { encoding: "utf8" });
  return listed.stdout
    .split("\n")
    .filter((line) => line.includes(`branchsvc-${instanceId}.img`))
    .map((line) => line.split(":")[0] ?? "");
}

function tryLosetup(device: string): void {
  spawnSync("losetup", ["-d", device]);
}
