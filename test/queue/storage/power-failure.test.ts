import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import t, { type Test } from "tap";
import { createNodeDisk } from "../../../src/platform/files/node-disk.ts";
import { systemRandom } from "../../../src/platform/random/random.ts";
import { afterPendingEvents, sleep, systemTimers } from "../../../src/platform/time/clock.ts";
import { createStorageFactory } from "../../../src/queue/drivers/storage/shard-storage.ts";
import { openWriteAheadLog } from "../../../src/queue/drivers/storage/wal/write-ahead-log.ts";
import { BatchView } from "../../../src/queue/model/record-batch.ts";
import type { ShardStorage } from "../../../src/queue/service/partition-log.ts";
import type { WriteAheadLog } from "../../../src/queue/service/ports.ts";
import { powerPartition, powerValue, powerWalLimits } from "../../support/queue/power-writer.ts";
import { readAll } from "../../support/queue/storage-machine.ts";

/**
 * A power failure as the file system sees it: the data lies on an ext4 in an image; while the writer stands still, the
 * image is copied. What the kernel had not written to it yet is not in the copy, just as it would not be on a disk.
 */
type Mode = "synced" | "unsynced";
const folder = mkdtempSync(join(tmpdir(), "power-failure-"));
const image = join(folder, "image");
const live = join(folder, "live");
const after = join(folder, "after");
const reason = mountImage();
t.teardown(async () => {
  if (reason === undefined) execFileSync("umount", ["--lazy", live]);
  await rm(folder, { recursive: true, force: true });
});

function mountImage(): string | undefined {
  try {
    mkdirSync(live);
    mkdirSync(after);
    execFileSync("truncate", ["--size", "96M", image], { stdio: "pipe" });
    execFileSync("mkfs.ext4", ["-q", "-F", image], { stdio: "pipe" });
    // Nothing is written back by time: only what is synced reaches the image.
    execFileSync("mount", ["-o", "loop,commit=300", image, live], { stdio: "pipe" });
    return undefined;
  } catch {
    return "this machine lets nobody mount an image";
  }
}

async function runWriter(
  folderOfRound: string,
  mode: Mode,
  lifeMs: number,
): Promise<{ acked: number; kill: () => void }> {
  const script = resolve(import.meta.dirname, "../../support/queue/power-writer.ts");
  const writer = spawn(process.execPath, [script, folderOfRound, mode], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  writer.stdout.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-4096);
  });
  const lines = (): string[] => output.slice(0, output.lastIndexOf("\n")).split("\n");
  for (let turn = 0; turn < 1000 && !output.includes("\n"); turn += 1) await sleep(10);
  await sleep(lifeMs);
  const acked = Number(lines().at(-1));
  writer.kill("SIGSTOP");
  return { acked, kill: () => writer.kill("SIGKILL") };
}

t.test("nothing acknowledged is lost with the unwritten pages of the system", { skip: reason ?? false }, async (t) => {
  for (let round = 1; round <= 4; round += 1) {
    await failPower(`round-${round}`, "synced", 150 + round * 170, (root, acked) => verify(t, root, acked, round));
  }
});

t.test("and a log that does not sync is found out", { skip: reason ?? false }, async (t) => {
  await failPower("unsynced", "unsynced", 300, async (root, acked) => {
    let outcome: string;
    try {
      const { wal, storage } = openAt(root);
      const lastIndex = wal.recovered().get(1)?.lastIndex ?? 0;
      outcome = lastIndex < acked ? "lost" : "kept";
      await wal.close();
      await storage.close();
    } catch {
      outcome = "unreadable";
    }
    t.ok(acked > 100 && outcome !== "kept", `${acked} acknowledged: ${outcome}`);
  });
});

/** Writes for a while, stops in the middle, and shows what is on the image then. */
async function failPower(
  name: string,
  mode: Mode,
  lifeMs: number,
  inspect: (root: string, acked: number) => Promise<void>,
): Promise<void> {
  mkdirSync(join(live, name));
  execFileSync("sync", ["-f", live]);
  const { acked, kill } = await runWriter(join(live, name), mode, lifeMs);
  const copy = join(folder, "copy");
  execFileSync("cp", ["--sparse=always", image, copy]);
  kill();
  execFileSync("mount", ["-o", "loop", copy, after]);
  try {
    await inspect(join(after, name), acked);
  } finally {
    execFileSync("umount", ["--lazy", after]);
  }
  await rm(copy);
}

function openAt(root: string): { wal: WriteAheadLog; storage: ShardStorage } {
  const disk = createNodeDisk(root);
  const runSoon = afterPendingEvents;
  const timing = { timers: systemTimers, random: systemRandom, runSoon };
  const wal = openWriteAheadLog({ disk, folder: "wal", ...timing, limits: powerWalLimits });
  return { wal, storage: createStorageFactory({ disk, folder: "shards", runSoon }).openShard(1) };
}

async function verify(t: Test, root: string, acked: number, round: number): Promise<void> {
  const { wal, storage } = openAt(root);
  const recovered = wal.recovered().get(1);
  const lastIndex = recovered?.lastIndex ?? 0;
  const applied = storage.lastCheckpoint?.index ?? 0;
  t.equal(recovered?.damage, undefined);
  t.ok(
    lastIndex >= acked && acked > 100,
    `round ${round}: ${acked} acknowledged, ${lastIndex} found, ${applied} in the checkpoint`,
  );
  const log = storage.partitions.ensure(powerPartition);
  for (const entry of wal.readEntries(1, applied + 1, lastIndex, Number.MAX_SAFE_INTEGER)) {
    log.append(BatchView.at(Buffer.concat(entry.payload)));
  }
  const records = readAll(log);
  t.equal(records.length, lastIndex);
  t.ok(records.every((record, i) => record.offset === i && record.value === powerValue(i + 1)));
  await wal.close();
  await storage.close();
}
