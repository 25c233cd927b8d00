import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { createNodeDisk } from "../../../src/platform/files/node-disk.ts";
import { systemRandom } from "../../../src/platform/random/random.ts";
import { afterPendingEvents, sleep, systemTimers } from "../../../src/platform/time/clock.ts";
import { createStorageFactory } from "../../../src/queue/drivers/storage/shard-storage.ts";
import { openWriteAheadLog } from "../../../src/queue/drivers/storage/wal/write-ahead-log.ts";
import type { ShardStorage } from "../../../src/queue/service/partition-log.ts";
import type { WriteAheadLog } from "../../../src/queue/service/ports.ts";
import { one, readAll } from "../../support/queue/storage-machine.ts";

/** The same as the simulated full disk, on a real file system of 6 MiB. Needs the right to mount one. */
const folder = mkdtempSync(join(tmpdir(), "disk-full-"));
const reason = mountSmall();
t.teardown(() => {
  if (reason === undefined) execFileSync("umount", ["--lazy", folder]);
  rmdirSync(folder);
});

function mountSmall(): string | undefined {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=6m", "tmpfs", folder], { stdio: "pipe" });
    return undefined;
  } catch {
    return "this machine lets nobody mount a small file system";
  }
}

const id = { topicId: "t", partition: 0 };
const mebibyte = 1024 * 1024;

function open(): [WriteAheadLog, ShardStorage] {
  const disk = createNodeDisk(folder);
  const wal = openWriteAheadLog({
    disk,
    folder: "wal",
    timers: systemTimers,
    random: systemRandom,
    runSoon: afterPendingEvents,
    limits: { fileBytes: mebibyte, groupBytes: 64 * 1024, retryFullMs: 20 },
  });
  const storage = createStorageFactory({ disk, folder: "shards", runSoon: afterPendingEvents }).openShard(1);
  return [wal, storage];
}

async function waitUntil(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; turn < 500 && !isTrue(); turn += 1) await sleep(10);
}

t.test(
  "a full file system: refused, nothing lost, and on again when there is room",
  { skip: reason ?? false },
  async (t) => {
    let [wal, storage] = open();
    let index = 0;
    let durable = 0;
    const append = (): void => {
      index += 1;
      const batch = one(`${index}`.padEnd(4000));
      const entry = { shard: 1, term: 1, index, kind: 0, payload: [batch.header, batch.body] };
      wal.append([{ kind: "entry", entry }], (error) => {
        if (error === undefined) durable += 1;
      });
      storage.partitions.ensure(id).append(batch);
    };
    for (let turn = 0; turn < 400 && !wal.isDiskFull; turn += 1) {
      for (let count = 0; count < 10; count += 1) append();
      await sleep(2);
    }
    t.equal(wal.isDiskFull, true);
    t.equal(wal.failure, undefined);
    for (let count = 0; count < 400; count += 1) append();
    await sleep(100);
    t.ok(durable < index, `${durable} of ${index} are durable`);
    t.equal(readAll(storage.partitions.ensure(id)).length, index, "reads go on");
    execFileSync("mount", ["-o", "remount,size=64m", folder]);
    await waitUntil(() => durable === index);
    t.equal(durable, index, "what waited went through");
    await storage.writeCheckpoint({ index, term: 1, state: [] });
    t.strictSame([wal.isDiskFull, storage.isDiskFull], [false, false]);
    wal.release(1, index, 1);
    await wal.close();
    await storage.close();
    [wal, storage] = open();
    t.equal(readAll(storage.partitions.ensure(id)).length, index);
    t.equal(wal.recovered().get(1)?.damage, undefined);
    t.equal(wal.recovered().get(1)?.lastIndex, index);
    await wal.close();
    await storage.close();
    for (const name of ["wal", "shards"]) await rm(join(folder, name), { recursive: true, force: true });
  },
);
