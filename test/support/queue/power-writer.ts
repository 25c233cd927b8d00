// Writes entries into a log and partitions below the folder in argv, as a node of one replica does, and says on standard
// output how many are acknowledged. It is stopped in the middle of it.
import type { Disk, DiskCallback } from "../../../src/platform/files/disk.ts";
import { createNodeDisk } from "../../../src/platform/files/node-disk.ts";
import { systemRandom } from "../../../src/platform/random/random.ts";
import { afterPendingEvents, systemTimers } from "../../../src/platform/time/clock.ts";
import { createStorageFactory } from "../../../src/queue/drivers/storage/shard-storage.ts";
import { openWriteAheadLog } from "../../../src/queue/drivers/storage/wal/write-ahead-log.ts";
import { one } from "./storage-machine.ts";

export const powerPartition = { topicId: "t", partition: 0 };
export const powerWalLimits = { fileBytes: 2 * 1024 * 1024 };

/** What entry `index` holds; lengths vary so that groups end anywhere in a page. */
export function powerValue(index: number): string {
  return `${index}:`.padEnd(20 + ((index * 7919) % 1500), "x");
}

const inFlight = 16;
const entriesPerCheckpoint = 700;

/** A disk that says "durable" when it has only written: what the test must catch. */
function withoutSync(disk: Disk): Disk {
  return {
    ...disk,
    open: (path, mode) => {
      const file = disk.open(path, mode);
      return Object.assign(file, {
        writeDurably: (position: number, buffers: readonly Uint8Array[], onDone: DiskCallback) => {
          file.write(position, buffers);
          afterPendingEvents(() => onDone(undefined));
        },
        syncLater: (onDone: DiskCallback) => afterPendingEvents(() => onDone(undefined)),
      });
    },
  };
}

function write(folder: string, isSynced: boolean): void {
  const disk = isSynced ? createNodeDisk(folder) : withoutSync(createNodeDisk(folder));
  const wal = openWriteAheadLog({
    disk,
    folder: "wal",
    timers: systemTimers,
    random: systemRandom,
    runSoon: afterPendingEvents,
    limits: powerWalLimits,
  });
  const limits = { segmentBytes: 512 * 1024 };
  const storage = createStorageFactory({ disk, folder: "shards", runSoon: afterPendingEvents, limits }).openShard(1);
  let index = 0;
  let isCheckpointing = false;
  const checkpoint = (upTo: number): void => {
    isCheckpointing = true;
    void storage.writeCheckpoint({ index: upTo, term: 1, state: [] }).then(() => {
      isCheckpointing = false;
      wal.release(1, upTo, 1);
    });
  };
  const next = (): void => {
    index += 1;
    const mine = index;
    const batch = one(powerValue(mine));
    const entry = { shard: 1, term: 1, index: mine, kind: 0, payload: [batch.header, batch.body] };
    wal.append([{ kind: "entry", entry }], (error) => {
      if (error !== undefined) throw error;
      storage.partitions.ensure(powerPartition).append(batch);
      process.stdout.write(`${mine}\n`);
      if (mine % entriesPerCheckpoint === 0 && !isCheckpointing) checkpoint(mine);
      next();
    });
  };
  for (let count = 0; count < inFlight; count += 1) next();
}

if (import.meta.main) write(process.argv[2] ?? ".", process.argv[3] !== "unsynced");
