// What the tests and the demo need from the machine beyond npm: Debian packages and a Docker engine. Each need is looked
// for first and installed only when it is missing; every step says what it does. Needs root for apt.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, openSync } from "node:fs";

export interface Need {
  readonly label: string;
  readonly isThere: () => boolean;
  readonly packages: readonly string[];
}

function hasCommand(name: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${name}`], { stdio: "ignore" }).status === 0;
}

function commandNeed(label: string, commands: readonly string[], packages: readonly string[]): Need {
  return { label, isThere: () => commands.every(hasCommand), packages };
}

export const needs = {
  dockerEngine: commandNeed("a Docker engine", ["dockerd", "docker", "iptables"], ["docker.io", "iptables"]),
  imageTools: commandNeed("tools to make test images", ["mmdebstrap", "zstd"], ["mmdebstrap", "zstd"]),
  filesystems: commandNeed("XFS and btrfs tools", ["mkfs.xfs", "mkfs.btrfs"], ["xfsprogs", "btrfs-progs"]),
  redis: commandNeed("a Redis server", ["redis-server"], ["redis-server"]),
  browser: commandNeed("Chromium", ["chromium"], ["chromium"]),
  openssl: commandNeed("openssl", ["openssl"], ["openssl"]),
  postgres: {
    label: "a Postgres server",
    isThere: () => existsSync("/usr/lib/postgresql") && hasCommand("pgbench"),
    packages: ["postgresql", "postgresql-contrib"],
  },
} as const satisfies Record<string, Need>;

/** Installs what is missing; throws with what to do when it cannot. */
export function ensureNeeds(wanted: readonly Need[]): void {
  const missing = wanted.filter((need) => !need.isThere());
  if (missing.length === 0) return;
  const packages = [...new Set(missing.flatMap((need) => need.packages))];
  if (process.getuid?.() !== 0 || !hasCommand("apt-get")) {
    throw new Error(
      `Cannot go on without ${missing.map((need) => need.label).join(", ")}: install ${packages.join(" ")}`,
    );
  }
  console.error(`set-up: installing ${packages.join(" ")} with apt-get`);
  runApt(["update", "-qq"]);
  runApt(["install", "-y", "-qq", "--no-install-recommends", ...packages]);
}

function runApt(args: readonly string[]): void {
  const result = spawnSync("apt-get", [...args], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" },
  });
  if (result.status !== 0) throw new Error(`"apt-get ${args.join(" ")}" failed with exit code ${result.status}`);
}

export function isDockerAnswering(): boolean {
  return spawnSync("docker", ["info"], { stdio: "ignore" }).status === 0;
}

/**
 * A Docker engine that answers: the one that runs, or one started here. Returns the process id of the one started, for
 * stopping it at the end; undefined when it ran before.
 */
export function ensureDockerEngine(): number | undefined {
  if (isDockerAnswering()) return undefined;
  if (process.getuid?.() !== 0) throw new Error("Cannot start a Docker engine: not root, and none answers");
  console.error("set-up: starting a Docker engine (dockerd)");
  mountCgroups();
  const log = openSync("/var/log/slipway-dockerd.log", "a");
  const engine = spawn("dockerd", [], { detached: true, stdio: ["ignore", log, log] });
  engine.unref();
  for (let attempt = 0; attempt < 120; attempt++) {
    if (isDockerAnswering()) return engine.pid;
    if (engine.exitCode !== null) break;
    spawnSync("sleep", ["0.5"]);
  }
  throw new Error("Cannot start a Docker engine: dockerd does not answer, see /var/log/slipway-dockerd.log");
}

/** A container host without a service manager may come without mounted control groups. */
function mountCgroups(): void {
  if (existsSync("/sys/fs/cgroup/cgroup.controllers") || existsSync("/sys/fs/cgroup/memory")) return;
  spawnSync("mount", ["-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"], { stdio: "ignore" });
}
