/**
 * A pool: a filesystem that clones extents, in a sparse file on a host that has none. The file lies in a volume of the
 * engine. A short-lived helper with CAP_SYS_ADMIN and the loop devices (not privileged) attaches it; the engine itself
 * then mounts the loop device as a volume, so that no mount has to be propagated out of a container, and the keeper holds
 * it mounted. Space is taken as it is used and given back by discard; SIZE is only the upper bound.
 *
 * Few images carry a mkfs. Without one the filesystem is made here, in a sparse file, and its few written blocks travel
 * into the helper; without a mkfs here either, the pool is refused.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Docker from "dockerode";
import { branchingError } from "../../errors.ts";
import { runExec } from "./docker-exec.ts";
import { type KeeperTools, keeperRoot, runInKeeper, startKeeper } from "./keeper.ts";
import { formatLabels, labelPrefix } from "./volume-backend.ts";

export interface PoolOptions {
  readonly imageId: string;
  readonly sizeBytes: number;
}

export type PoolFilesystem = "xfs" | "btrfs";

const helperTimeoutMs = 10 * 60_000;
const filesystems: readonly PoolFilesystem[] = ["xfs", "btrfs"];

/** Makes or re-attaches the pool and starts the keeper on it; returns the root's path on the container host. */
export async function openPool(tools: KeeperTools, options: PoolOptions): Promise<string> {
  const fileVolume = `${labelPrefix}-${tools.instanceId}-pool`;
  const labels = formatLabels(tools.instanceId, { kind: "pool", name: "pool" });
  await tools.calls.call(`create volume "${fileVolume}"`, () =>
    tools.docker.createVolume({ Name: fileVolume, Driver: "local", Labels: labels }),
  );
  const attached = await attachPool(tools, options, fileVolume);
  const mountVolume = `${fileVolume}-mount`;
  await removePoolMount(tools, mountVolume);
  await tools.calls.call(`create volume "${mountVolume}"`, () =>
    tools.docker.createVolume({
      Name: mountVolume,
      Driver: "local",
      Labels: labels,
      DriverOpts: { type: attached.filesystem, device: `/dev/loop${attached.loop}`, o: "discard,noatime" },
    }),
  );
  await startKeeper(tools, options.imageId, { Type: "volume", Source: mountVolume, Target: keeperRoot });
  if (attached.filesystem === "xfs") await runInKeeper(tools, cowHintScript, [cowHintProgram]).catch(() => {});
  const found = await tools.calls.call("inspect the pool", () => tools.docker.getVolume(mountVolume).inspect());
  return found.Mountpoint;
}

async function removePoolMount(tools: KeeperTools, mountVolume: string): Promise<void> {
  const keeper = tools.docker.getContainer(`${labelPrefix}-${tools.instanceId}-keeper`);
  await tools.calls.call("remove the keeper", () => keeper.remove({ force: true, v: true }), [404]);
  await tools.calls.call(`remove volume "${mountVolume}"`, () => tools.docker.getVolume(mountVolume).remove(), [404]);
}

/** New files get copied out of shared extents 16 KiB at a time instead of 128: a small write costs a small copy. */
const cowHintScript = `command -v perl >/dev/null && perl -e "$1" ${keeperRoot}`;
const cowHintProgram = `open(my $f, "<", $ARGV[0]) or exit; my $x = "\\0" x 28; ioctl($f, 0x801c581f, $x) or exit;
my @v = unpack("L5", $x); $v[0] |= 0x10000; $v[4] = 16384; $x = pack("L5", @v) . ("\\0" x 8); ioctl($f, 0x401c5820, $x);`;

interface AttachedPool {
  readonly loop: number;
  readonly filesystem: PoolFilesystem;
}

async function attachPool(tools: KeeperTools, options: PoolOptions, fileVolume: string): Promise<AttachedPool> {
  const helper = await startPoolHelper(tools, options.imageId, fileVolume);
  try {
    const file = `/file/${labelPrefix}-${tools.instanceId}.img`;
    const run = (script: string, input?: AsyncIterable<Uint8Array>): Promise<string> =>
      runHelper(helper, script, input);
    let filesystem = await readFilesystem(run, file);
    if (filesystem === undefined) {
      await makeFilesystem(run, file, options.sizeBytes);
      filesystem = await readFilesystem(run, file);
    }
    if (filesystem === undefined)
      throw branchingError("layout_unavailable", "Cannot make the volume pool: its filesystem is not recognised");
    return { filesystem, loop: Number((await run(formatAttachScript(file))).trim()) };
  } finally {
    await tools.calls.call("remove the pool's helper", () => helper.remove({ force: true, v: true }), [404]);
  }
}

async function startPoolHelper(tools: KeeperTools, imageId: string, fileVolume: string): Promise<Docker.Container> {
  const container = await tools.calls.call("create the pool's helper", () =>
    tools.docker.createContainer({
      Image: imageId,
      Entrypoint: ["/bin/sh", "-c"],
      Cmd: ["trap 'exit 0' TERM INT; sleep 1800 & wait"],
      User: "0:0",
      Labels: formatLabels(tools.instanceId, { kind: "helper", name: "pool" }),
      Healthcheck: { Test: ["NONE"] },
      HostConfig: {
        NetworkMode: "none",
        Mounts: [{ Type: "volume", Source: fileVolume, Target: "/file" }],
        CapAdd: ["SYS_ADMIN"],
        SecurityOpt: ["apparmor=unconfined"],
        Devices: [{ PathOnHost: "/dev/loop-control", PathInContainer: "/dev/loop-control", CgroupPermissions: "rwm" }],
        DeviceCgroupRules: ["b 7:* rwm"],
      },
    }),
  );
  await tools.calls.call("start the pool's helper", () => container.start());
  return container;
}

type RunHelper = (script: string, input?: AsyncIterable<Uint8Array>) => Promise<string>;

async function runHelper(
  container: Docker.Container,
  script: string,
  input?: AsyncIterable<Uint8Array>,
): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of input ?? []) pieces.push(piece);
  const result = await runExec(
    container,
    { argv: ["sh", "-euc", script], timeoutMs: helperTimeoutMs, input: Buffer.concat(pieces) },
    new AbortController().signal,
  );
  if (result.exitCode === 0) return result.stdout.toString("utf8");
  throw branchingError("layout_unavailable", `Cannot make the volume pool: ${result.stderr.trim()}`);
}

/** XFS starts with its magic; that of btrfs stands at 64 KiB + 64. */
async function readFilesystem(run: RunHelper, file: string): Promise<PoolFilesystem | undefined> {
  const said = await run(
    `[ -e ${file} ] || exit 0; head -c 4 ${file} | tr -d '\\0'; echo; dd if=${file} bs=1 skip=65600 count=8 2>/dev/null | tr -d '\\0'`,
  );
  if (said.startsWith("XFSB")) return "xfs";
  return said.includes("_BHRfS_M") ? "btrfs" : undefined;
}

async function makeFilesystem(run: RunHelper, file: string, sizeBytes: number): Promise<void> {
  const inside = (
    await run(filesystems.map((name) => `if command -v mkfs.${name} >/dev/null; then echo ${name}; fi`).join("; "))
  ).split("\n");
  const filesystem = filesystems.find((name) => inside.includes(name));
  if (filesystem !== undefined) {
    await run(
      `rm -f ${file}.part; truncate -s ${sizeBytes} ${file}.part; mkfs.${filesystem} -q ${file}.part; mv ${file}.part ${file}`,
    );
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), "branchsvc-pool-"));
  try {
    await makeHere(join(folder, "pool.img"), sizeBytes);
    const packed = runHere("tar", ["--sparse", "-C", folder, "-czf", "-", "pool.img"]);
    await run(
      `rm -rf /file/new; mkdir /file/new; tar -C /file/new -xzf -; truncate -s ${sizeBytes} /file/new/pool.img; mv /file/new/pool.img ${file}; rmdir /file/new`,
      packed,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function makeHere(path: string, sizeBytes: number): Promise<void> {
  const missing: string[] = [];
  for (const filesystem of filesystems) {
    try {
      for await (const _ of runHere("truncate", ["-s", String(sizeBytes), path]));
      for await (const _ of runHere(`mkfs.${filesystem}`, ["-q", path]));
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      missing.push(`mkfs.${filesystem}`);
    }
  }
  throw branchingError(
    "layout_unavailable",
    `Cannot make the volume pool: neither the image nor this machine has ${missing.join(" or ")}; install xfsprogs here, or use an image that holds it`,
  );
}

/** A program of this machine; its output. The usual folders of system tools are searched too. */
async function* runHere(program: string, args: readonly string[]): AsyncIterable<Uint8Array> {
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
  });
  const errors: Buffer[] = [];
  child.stderr.on("data", (piece: Buffer) => errors.push(piece));
  const ended = new Promise<void>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve();
      else
        reject(
          branchingError(
            "layout_unavailable",
            `Cannot make the volume pool: ${program} failed: ${Buffer.concat(errors).toString("utf8").trim()}`,
          ),
        );
    });
  });
  ended.catch(() => {});
  yield* child.stdout;
  await ended;
}

/** The number of the loop device that carries the file: the one that does already, or a free one. */
function formatAttachScript(file: string): string {
  return [
    // The kernel names the file by its path below some mount: only the end of it can be compared.
    `for entry in /sys/block/loop*/loop/backing_file; do`,
    `  [ -e "$entry" ] || continue`,
    `  case "$(cat "$entry")" in */${file.split("/").at(-1)}) ;; *) continue ;; esac`,
    `  number=\${entry#/sys/block/loop}; echo \${number%%/*}; exit 0`,
    "done",
    "attempt=0",
    "while [ $attempt -lt 5 ]; do",
    "  set -- $(losetup -f); device=$1",
    `  [ -b $device ] || mknod $device b 7 \${device#/dev/loop}`,
    `  if losetup $device ${file}; then losetup --direct-io=on $device 2>/dev/null || true; echo \${device#/dev/loop}; exit 0; fi`,
    "  attempt=$((attempt + 1))",
    "done",
    'echo "no loop device could be attached" >&2; exit 1',
  ].join("\n");
}
