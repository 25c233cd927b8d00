import { crc32 } from "node:zlib";
import fc from "fast-check";
import t from "tap";
import type { Disk } from "../../../src/platform/files/disk.ts";
import { FileCache } from "../../../src/queue/drivers/storage/file-cache.ts";
import { GranuleIndex, granuleEntrySize } from "../../../src/queue/drivers/storage/granule-index.ts";
import { createStorageFactory } from "../../../src/queue/drivers/storage/shard-storage.ts";
import { ShardLogIndex } from "../../../src/queue/drivers/storage/wal/shard-log-index.ts";
import { crc32Of } from "../../../src/queue/model/checksum.ts";
import type { WalEntry } from "../../../src/queue/service/ports.ts";
import { one, readAll, StorageMachine } from "../../support/queue/storage-machine.ts";

interface Batch {
  readonly count: number;
  readonly size: number;
  readonly timeMs: number;
  readonly priorities: number;
}

const batchesArbitrary = fc.array(
  fc.record({
    count: fc.integer({ min: 1, max: 50 }),
    size: fc.integer({ min: 90, max: 9000 }),
    timeMs: fc.integer({ min: 1, max: 2 ** 47 }),
    priorities: fc.integer({ min: 1, max: 31 }),
  }),
  { minLength: 1, maxLength: 120 },
);

function buildIndex(batches: readonly Batch[]): {
  index: GranuleIndex;
  placed: (Batch & { offset: number; position: number })[];
} {
  const index = new GranuleIndex();
  const placed: (Batch & { offset: number; position: number })[] = [];
  let offset = 0;
  let position = 0;
  for (const batch of batches) {
    index.add(offset, position, batch.timeMs, batch.priorities);
    placed.push({ ...batch, offset, position });
    offset += batch.count;
    position += batch.size;
  }
  return { index, placed };
}

t.test("the granule index leads to no batch behind the one that is looked for", (t) => {
  fc.assert(
    fc.property(batchesArbitrary, fc.boolean(), (batches, isStored) => {
      const { index: built, placed } = buildIndex(batches);
      const index = isStored ? new GranuleIndex(Buffer.from(built.encoded())) : built;
      t.equal(index.sizeBytes, index.count * granuleEntrySize);
      const endOf = (granule: number): number =>
        granule + 1 < index.count ? index.position(granule + 1) : Number.POSITIVE_INFINITY;
      for (const batch of placed) {
        const granule = index.granuleOf(batch.offset + batch.count - 1);
        t.ok(index.position(granule) <= batch.position && batch.position < endOf(granule), "the right granule");
        for (const [priority] of [...Array(5)].entries()) {
          if ((batch.priorities & (1 << priority)) === 0) continue;
          t.ok((index.nextWithPriority(priority, granule) ?? -1) === granule, "its priorities are seen");
        }
        t.ok(index.maxTimestampMs(granule) >= batch.timeMs, "its time is seen");
      }
      for (const priority of [0, 1, 2, 3, 4]) {
        const first = placed.find((batch) => (batch.priorities & (1 << priority)) !== 0);
        const granule = index.nextWithPriority(priority, 0);
        t.equal(granule === undefined, first === undefined);
        if (granule !== undefined && first !== undefined) t.equal(granule, index.granuleOf(first.offset));
      }
      const latest = Math.max(...batches.map((batch) => batch.timeMs));
      t.equal(index.nextWithTime(latest + 1, 0), undefined);
      t.ok(index.nextWithTime(latest, 0) !== undefined);
    }),
    { numRuns: 60 },
  );
  t.equal(new GranuleIndex().granuleOf(5), 0);
  t.end();
});

/** The log index as a plain map does it. */
class PlainLog {
  entries = new Map<number, number>();
  last = 0;
  mark = { index: 0, term: 0 };

  truncate(index: number): void {
    for (const key of [...this.entries.keys()]) if (key >= index) this.entries.delete(key);
    this.last = Math.min(this.last, Math.max(index - 1, this.mark.index));
  }

  moveMark(index: number, term: number): void {
    if (index < this.mark.index) return;
    const known = index === this.mark.index ? this.mark.term : this.entries.get(index);
    this.mark = { index, term };
    if (known !== term) {
      this.entries.clear();
      this.last = index;
    } else for (const key of [...this.entries.keys()]) if (key <= index) this.entries.delete(key);
  }

  termAt(index: number): number | undefined {
    return index === this.mark.index ? this.mark.term : this.entries.get(index);
  }
}

t.test("the shard's log index agrees with a plain map whatever happens to it", (t) => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("append" as const),
        count: fc.integer({ min: 1, max: 200 }),
        rise: fc.integer({ min: 0, max: 2 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("truncate" as const), back: fc.nat({ max: 150 }) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("mark" as const),
        back: fc.integer({ min: -20, max: 250 }),
        isOther: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("evict" as const), back: fc.nat({ max: 200 }) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const index = new ShardLogIndex(1);
      const plain = new PlainLog();
      let term = 1;
      for (const action of steps) {
        if (action.kind === "append") {
          term += action.rise;
          for (let count = 0; count < action.count; count += 1) {
            plain.last += 1;
            plain.entries.set(plain.last, term);
            index.append({ shard: 1, index: plain.last, term, kind: 0, payload: [] } satisfies WalEntry);
            if (count % 2 === 0) index.setPlace(plain.last, 3, plain.last * 10);
          }
        } else if (action.kind === "truncate") {
          const from = Math.max(plain.mark.index + 1, plain.last - action.back);
          plain.truncate(from);
          index.truncateFrom(from);
        } else if (action.kind === "mark") {
          const at = Math.max(0, plain.last - action.back);
          // The mark itself is committed: it has one term for ever.
          const markTerm = action.isOther && at > plain.mark.index ? 99_999 : (plain.termAt(at) ?? term);
          plain.moveMark(at, markTerm);
          index.moveMark(at, markTerm);
        } else index.evictRecent(plain.last - action.back);
        t.equal(index.lastIndex, plain.last);
        t.equal(index.lastTerm, plain.termAt(plain.last) ?? 0);
        for (let at = Math.max(0, plain.mark.index - 2); at <= plain.last + 1; at += 1) {
          const wanted = plain.termAt(at);
          if (index.termAt(at) !== wanted) t.equal(index.termAt(at), wanted, `term at ${at}`);
          const recent = index.recentEntry(at);
          if (recent !== undefined && (recent.index !== at || recent.term !== wanted)) t.fail(`recent entry at ${at}`);
          if (at > plain.mark.index && at <= plain.last && recent === undefined && index.placeOf(at) === undefined) {
            t.fail(`entry ${at} is nowhere`);
          }
          const place = index.placeOf(at);
          if (place !== undefined && place.position !== at * 10) t.fail(`place of ${at}`);
        }
      }
    }),
    { numRuns: 150 },
  );
  t.end();
});

t.test("crc32Of() is the checksum of zlib at every length and seed", (t) => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.nat({ max: 20 }),
      fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      (bytes, skip, seed) => {
        const start = Math.min(skip, bytes.length);
        t.equal(crc32Of(bytes, start, bytes.length, seed), crc32(bytes.subarray(start), seed));
      },
    ),
  );
  for (const size of [95, 96, 97]) t.equal(crc32Of(Buffer.alloc(size, 1), 0, size), crc32(Buffer.alloc(size, 1)));
  t.end();
});

/** Counts what is open. */
function countingDisk(disk: Disk): {
  readonly disk: Disk;
  readonly counts: { opened: number; open: number; most: number };
} {
  const counts = { opened: 0, open: 0, most: 0 };
  const counted: Disk = {
    ...disk,
    open: (path, mode) => {
      const file = disk.open(path, mode);
      counts.opened += 1;
      counts.open += 1;
      counts.most = Math.max(counts.most, counts.open);
      const { close } = file;
      return Object.assign(file, {
        close: () => {
          counts.open -= 1;
          close();
        },
      });
    },
  };
  return { disk: counted, counts };
}

t.test("many partitions need few files to open, and few open files to use", async (t) => {
  const machine = new StorageMachine();
  const open = (): {
    storage: ReturnType<ReturnType<typeof createStorageFactory>["openShard"]>;
    counts: { opened: number; open: number; most: number };
  } => {
    const { disk, counts } = countingDisk(machine.disk.mount());
    const factory = createStorageFactory({
      disk,
      folder: "shards",
      runSoon: machine.time.runSoon,
      limits: { openFiles: 10 },
    });
    return { storage: factory.openShard(1), counts };
  };
  const first = open();
  const partitions = 2000;
  for (let partition = 0; partition < partitions; partition += 1) {
    first.storage.partitions.ensure({ topicId: "t", partition }).append(one(`in ${partition}`));
  }
  await machine.checkpoint(first.storage);
  t.ok(first.counts.most <= 12, `${first.counts.most} files open at once`);
  machine.powerFailure();
  const { storage, counts } = open();
  t.equal(counts.opened, 1, "the checkpoint alone");
  t.equal(storage.partitions.list().length, partitions);
  for (const partition of [0, 1234, partitions - 1]) {
    t.equal(readAll(storage.partitions.ensure({ topicId: "t", partition }))[0]?.value, `in ${partition}`);
  }
  t.equal(counts.opened, 4, "and one file for each that is read");
});

t.test("FileCache closes the least recently used file", (t) => {
  const { disk, counts } = countingDisk(new StorageMachine().disk.mount());
  const cache = new FileCache(disk, 2);
  for (const path of ["a", "b"]) cache.create(path);
  cache.get("a");
  cache.create("c");
  t.equal(cache.openCount, 2);
  t.equal(counts.open, 2);
  const before = counts.opened;
  cache.get("a");
  t.equal(counts.opened, before, "a was used last");
  cache.get("b");
  t.equal(counts.opened, before + 1);
  cache.create("b").write(0, [Buffer.from("x")]);
  t.equal(cache.get("b").size(), 1, "created anew");
  cache.closeAll();
  t.strictSame([counts.open, cache.openCount], [0, 0]);
  t.end();
});
