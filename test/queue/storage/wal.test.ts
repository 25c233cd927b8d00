import t from "tap";
import { SimDisk } from "../../../src/platform/files/sim-disk.ts";
import { createSeededRandom } from "../../../src/platform/random/random.ts";
import { openWriteAheadLog, type WriteAheadLogLimits } from "../../../src/queue/drivers/storage/wal/write-ahead-log.ts";
import type { WalEntry, WalRecord, WriteAheadLog } from "../../../src/queue/service/ports.ts";
import { VirtualTime } from "../../support/queue/virtual-time.ts";

const smallLimits: Partial<WriteAheadLogLimits> = { fileBytes: 64 * 1024, groupBytes: 8 * 1024, recentBytes: 4096 };

class Machine {
  readonly random;
  readonly time = new VirtualTime();
  readonly disk: SimDisk;

  constructor(seed = 1) {
    this.random = createSeededRandom(seed);
    this.disk = new SimDisk({ random: this.random, schedule: this.time.schedule });
  }

  open(limits: Partial<WriteAheadLogLimits> = smallLimits): WriteAheadLog {
    const { disk, time, random } = this;
    return openWriteAheadLog({
      disk: disk.mount(),
      folder: "wal",
      timers: time,
      random,
      runSoon: time.runSoon,
      limits,
    });
  }

  /** Appends and runs the machine until it is durable. */
  write(log: WriteAheadLog, ...records: WalRecord[]): void {
    let result: Error | "pending" | undefined = "pending";
    log.append(records, (error) => {
      result = error;
    });
    this.time.runUntil(() => result !== "pending");
    if (result !== undefined) throw result;
  }

  powerFailure(): void {
    this.disk.crash();
    this.time.clear();
  }
}

function entry(shard: number, index: number, term = 1, text = `${shard}:${index}`): WalRecord {
  return { kind: "entry", entry: { shard, index, term, kind: 0, payload: [Buffer.from(text)] } };
}

function textOf(found: WalEntry | undefined): string | undefined {
  return found === undefined ? undefined : Buffer.concat(found.payload).toString();
}

function texts(log: WriteAheadLog, shard: number, from: number, to: number): (string | undefined)[] {
  return log.readEntries(shard, from, to, 1_000_000).map(textOf);
}

const walFiles = (machine: Machine): readonly string[] =>
  machine.disk.list("wal").filter((name) => name.endsWith(".wal"));

t.test("append() calls back in order, when the records are durable", (t) => {
  const machine = new Machine();
  const log = machine.open();
  t.strictSame([...log.recovered()], []);
  const order: number[] = [];
  for (let index = 1; index <= 5; index += 1) log.append([entry(1, index)], () => order.push(index));
  t.strictSame(order, []);
  t.strictSame(texts(log, 1, 1, 9), ["1:1", "1:2", "1:3", "1:4", "1:5"], "readable before it is durable");
  machine.time.runUntil(() => order.length === 5);
  t.strictSame(order, [1, 2, 3, 4, 5]);
  machine.powerFailure();
  const again = machine.open();
  t.strictSame(texts(again, 1, 1, 9), ["1:1", "1:2", "1:3", "1:4", "1:5"]);
  t.strictSame(texts(again, 1, 2, 3), ["1:2", "1:3"]);
  t.strictSame(texts(again, 2, 1, 3), [], "another shard has nothing");
  t.end();
});

t.test("term, vote, truncation and marks survive", (t) => {
  const machine = new Machine();
  const log = machine.open();
  machine.write(log, { kind: "hardState", shard: 1, state: { term: 3, votedFor: "n2" } });
  machine.write(log, ...[1, 2, 3, 4, 5].map((index) => entry(1, index, 3)));
  machine.write(log, { kind: "truncate", shard: 1, index: 4 }, entry(1, 4, 5, "new"), entry(2, 1, 1));
  machine.write(log, { kind: "mark", shard: 1, index: 2, term: 3 });
  machine.write(log, { kind: "hardState", shard: 2, state: { term: 1, votedFor: undefined } });
  const check = (opened: WriteAheadLog): void => {
    t.strictSame(texts(opened, 1, 3, 9), ["1:3", "new"]);
    t.strictSame(opened.readEntries(1, 2, 9, 999), [], "below the mark");
    t.strictSame(
      [1, 2, 3, 4, 5].map((index) => opened.termAt(1, index)),
      [undefined, 3, 3, 5, undefined],
    );
  };
  check(log);
  machine.powerFailure();
  const again = machine.open();
  check(again);
  t.strictSame(again.recovered().get(1), {
    hardState: { term: 3, votedFor: "n2" },
    mark: { index: 2, term: 3 },
    lastIndex: 4,
    lastTerm: 5,
  });
  t.strictSame(again.recovered().get(2), {
    hardState: { term: 1, votedFor: undefined },
    mark: { index: 0, term: 0 },
    lastIndex: 1,
    lastTerm: 1,
  });
  t.end();
});

t.test("a mark of another history drops the log behind it, also after a restart", (t) => {
  for (const markIndex of [3, 5, 9]) {
    const machine = new Machine();
    const log = machine.open();
    machine.write(log, ...[1, 2, 3, 4, 5].map((index) => entry(1, index, 1)));
    machine.write(log, { kind: "mark", shard: 1, index: markIndex, term: 4 });
    machine.write(log, entry(1, markIndex + 1, 4, "after"));
    for (const when of ["running", "restarted"]) {
      if (when === "restarted") machine.powerFailure();
      const opened = when === "restarted" ? machine.open() : log;
      t.strictSame(texts(opened, 1, markIndex + 1, 99), ["after"]);
      t.equal(opened.termAt(1, markIndex), 4);
      t.equal(opened.termAt(1, markIndex - 1), undefined);
    }
  }
  t.end();
});

t.test("readEntries() stops at maxBytes but returns at least one", (t) => {
  const machine = new Machine();
  const log = machine.open({ ...smallLimits, recentBytes: 0 });
  machine.write(log, ...[1, 2, 3, 4].map((index) => entry(1, index, 1, "x".repeat(1000))));
  const sizes = (maxBytes: number): number => log.readEntries(1, 1, 4, maxBytes).length;
  t.equal(sizes(1), 1);
  t.equal(sizes(2063), 1);
  t.equal(sizes(2064), 2);
  t.equal(sizes(2065), 2);
  t.equal(sizes(1e6), 4);
  t.end();
});

t.test("files roll, are released when all shards agree, and are used again", (t) => {
  const machine = new Machine();
  const log = machine.open();
  const seen = new Set<string>();
  for (let index = 1; index <= 400; index += 1) {
    machine.write(log, entry(1, index, 1, "x".repeat(2000)), entry(2, index, 1, "y"));
    for (const name of walFiles(machine)) seen.add(name);
    if (index % 50 === 0) log.release(1, index - 10, 1);
    if (index % 50 === 25) log.release(2, index - 10, 1);
  }
  machine.time.advance(1000);
  t.ok(seen.size > 10, `used ${seen.size} files`);
  t.ok(walFiles(machine).length <= 5, `kept ${walFiles(machine).length}`);
  machine.powerFailure();
  const again = machine.open();
  t.strictSame(again.recovered().get(1)?.mark, { index: 390, term: 1 });
  t.equal(texts(again, 1, 391, 400).length, 10);
  t.equal(texts(again, 2, 366, 400).length, 35);
  t.equal(again.recovered().get(1)?.damage, undefined);
  t.end();
});

t.test("a released file that a power failure brings back is no damage", (t) => {
  const machine = new Machine();
  const log = machine.open();
  machine.write(log, entry(1, 1, 1, "x".repeat(2000)));
  const bytes = machine.disk.open("wal/000000000001.wal", "read").read(0, 64 * 1024);
  for (let index = 2; index <= 150; index += 1) {
    machine.write(log, entry(1, index, 1, "x".repeat(2000)));
    log.release(1, index - 5, 1);
  }
  machine.time.advance(1000);
  machine.disk.killProcess();
  machine.time.clear();
  t.notOk(walFiles(machine).includes("000000000002.wal"));
  const file = machine.disk.open("wal/000000000001.wal", "create");
  file.write(0, [bytes]);
  file.sync();
  const again = machine.open();
  t.equal(again.recovered().get(1)?.damage, undefined);
  t.equal(texts(again, 1, 146, 150).length, 5);
  t.notOk(walFiles(machine).includes("000000000001.wal"), "and it goes");
  t.end();
});

t.test("one quiet shard keeps the files it needs", (t) => {
  const machine = new Machine();
  const log = machine.open();
  machine.write(log, entry(7, 1, 1, "precious"));
  for (let index = 1; index <= 300; index += 1) {
    machine.write(log, entry(1, index, 1, "x".repeat(2000)));
    log.release(1, index, 1);
  }
  machine.powerFailure();
  t.strictSame(texts(machine.open(), 7, 1, 9), ["precious"]);
  t.end();
});

t.test("a sync error freezes the log for good", (t) => {
  const machine = new Machine();
  const log = machine.open();
  machine.write(log, entry(1, 1));
  machine.time.advance(1000);
  machine.disk.failSync();
  const results: string[] = [];
  const note = (error: Error | undefined): number => results.push(error?.message ?? "durable");
  log.append([entry(1, 2)], note);
  machine.time.runUntil(() => results.length === 1);
  log.append([entry(1, 3)], note);
  t.match(results[0], /EIO/);
  queueMicrotask(() => {
    t.match(results[1], /EIO/, "never tried again");
    t.match(log.failure, { message: /EIO/ });
    t.strictSame(texts(log, 1, 1, 1), ["1:1"], "reads go on");
    t.end();
  });
});

t.test("a full disk freezes nothing and loses nothing", (t) => {
  const machine = new Machine();
  const log = machine.open();
  let durable = 0;
  machine.write(log, entry(1, 1, 1, "x".repeat(1000)));
  machine.time.advance(10);
  machine.disk.setCapacity(machine.disk.files().reduce((sum, file) => sum + file.size, 0));
  for (let index = 2; index <= 200; index += 1) {
    log.append([entry(1, index, 1, "x".repeat(1000))], (error) => {
      if (error === undefined) durable += 1;
    });
    machine.time.advance(20);
  }
  t.equal(log.isDiskFull, true);
  t.equal(log.failure, undefined);
  t.ok(durable > 50 && durable < 150, `${durable} fit into the files that were there`);
  t.equal(texts(log, 1, 150, 160).length, 11, "what waits can be read");
  const fitted = durable;
  log.release(1, fitted, 1);
  machine.time.advance(5000);
  t.equal(durable, fitted, "the mark has no room either while the only files are full");
  machine.disk.setCapacity(Number.MAX_SAFE_INTEGER);
  machine.time.advance(5000);
  t.equal(durable, 199, "everything went through once there was room");
  t.equal(log.isDiskFull, false);
  machine.powerFailure();
  t.equal(texts(machine.open(), 1, fitted + 1, 200).length, 200 - fitted);
  t.end();
});

t.test("releasing makes room on a full disk without help", (t) => {
  const machine = new Machine();
  const log = machine.open();
  machine.write(log, entry(1, 1, 1, "x".repeat(1000)));
  machine.time.advance(10);
  machine.disk.setCapacity(machine.disk.files().reduce((sum, file) => sum + file.size, 0) + 64 * 1024);
  let index = 1;
  while (!log.isDiskFull && index < 1000) {
    index += 1;
    machine.write(log, entry(1, index, 1, "x".repeat(1000)));
    machine.time.advance(5);
  }
  t.ok(index < 300, `full after ${index}`);
  log.release(1, index - 1, 1);
  machine.time.advance(3000);
  t.equal(log.isDiskFull, false);
  for (let count = 0; count < 60; count += 1) {
    index += 1;
    machine.write(log, entry(1, index, 1, "x".repeat(1000)));
  }
  t.end();
});

t.test("close() makes the queue durable and refuses what comes later", async (t) => {
  const machine = new Machine();
  const log = machine.open();
  const results: (string | undefined)[] = [];
  log.append([entry(1, 1)], (error) => results.push(error?.message));
  const closed = log.close();
  machine.time.advance(1000);
  await closed;
  log.append([entry(1, 2)], (error) => results.push(error?.message));
  await Promise.resolve();
  t.strictSame(results, [undefined, "write-ahead log is closed"]);
  t.strictSame(texts(machine.open(), 1, 1, 9), ["1:1"]);
});

t.test("damage inside what was synced is named and never served", (t) => {
  const damagedText = "needle-in-the-log";
  const prepare = (): { machine: Machine; path: string; position: number } => {
    const machine = new Machine();
    const log = machine.open();
    for (let index = 1; index <= 10; index += 1) {
      machine.write(log, entry(1, index, 1, index === 5 ? damagedText : `one ${index}`), entry(2, index));
    }
    machine.time.advance(1000);
    machine.powerFailure();
    const path = `wal/${walFiles(machine)[0]}`;
    const bytes = machine.disk.open(path, "read").read(0, 64 * 1024);
    return { machine, path, position: Buffer.from(bytes).indexOf(damagedText) };
  };

  t.test("a payload: only its shard is hurt, up to the damage it can be read", (t) => {
    const { machine, path, position } = prepare();
    machine.disk.flipBit(path, position + 3, 2);
    const log = machine.open();
    t.match(log.recovered().get(1)?.damage, /entry 5 damaged at 000000000001.wal position \d+/);
    t.equal(log.recovered().get(1)?.lastIndex, 4);
    t.strictSame(texts(log, 1, 1, 99), ["one 1", "one 2", "one 3", "one 4"]);
    t.equal(log.recovered().get(2)?.damage, undefined);
    t.equal(texts(log, 2, 1, 99).length, 10);
    t.end();
  });

  t.test("a payload below the mark hurts nobody", (t) => {
    const { machine, path, position } = prepare();
    const log = machine.open();
    log.release(1, 5, 1);
    machine.time.advance(1000);
    machine.powerFailure();
    machine.disk.flipBit(path, position, 0);
    const again = machine.open();
    t.equal(again.recovered().get(1)?.damage, undefined);
    t.equal(texts(again, 1, 6, 99).length, 5);
    t.end();
  });

  t.test("a record header: what shards lost is unknown, so all are hurt", (t) => {
    const { machine, path, position } = prepare();
    machine.disk.flipBit(path, position - 30, 0);
    const log = machine.open();
    for (const shard of [1, 2]) t.match(log.recovered().get(shard)?.damage, /unreadable bytes at .* position \d+/);
    t.equal(log.recovered().get(1)?.lastIndex, 4);
    t.end();
  });

  t.test("a group header", (t) => {
    const { machine, path, position } = prepare();
    machine.disk.flipBit(path, position - 32 - 10, 0);
    const log = machine.open();
    t.match(log.recovered().get(1)?.damage, /unreadable bytes/);
    t.equal(log.recovered().get(1)?.lastIndex, 4);
    t.end();
  });

  t.test("damage is remembered over restarts until the shard is repaired", (t) => {
    const { machine, path, position } = prepare();
    machine.disk.flipBit(path, position, 0);
    let log = machine.open();
    machine.write(log, { kind: "truncate", shard: 1, index: 5 }, entry(1, 5, 1, "fetched"));
    for (let index = 11; index <= 80; index += 1) {
      machine.write(log, entry(2, index, 1, "z".repeat(2000)));
      log.release(2, index, 1);
      log.release(1, 5, 1);
    }
    machine.powerFailure();
    log = machine.open();
    t.match(log.recovered().get(1)?.damage, /entry 5 damaged/);
    t.ok(!walFiles(machine).includes("000000000001.wal"), "though the file is gone");
    log.markRepaired(1);
    machine.time.advance(1000);
    machine.powerFailure();
    t.equal(machine.open().recovered().get(1)?.damage, undefined);
    t.end();
  });

  t.test("the last group, once it was confirmed while idle", (t) => {
    const machine = new Machine();
    const log = machine.open();
    machine.write(log, entry(1, 1, 1, damagedText));
    machine.time.advance(1000);
    machine.powerFailure();
    const path = `wal/${walFiles(machine)[0]}`;
    const bytes = Buffer.from(machine.disk.open(path, "read").read(0, 64 * 1024));
    machine.disk.flipBit(path, bytes.indexOf(damagedText), 0);
    t.match(machine.open().recovered().get(1)?.damage, /entry 1 damaged/);
    t.end();
  });

  t.test("one copy of a file header is enough, none is a loss", (t) => {
    const { machine, path } = prepare();
    machine.disk.flipBit(path, 9, 0);
    t.equal(machine.open().recovered().get(1)?.damage, undefined);
    machine.powerFailure();
    machine.disk.flipBit(path, 2048 + 9, 0);
    t.throws(() => machine.open(), /Cannot open write-ahead log: no header is readable in 000000000001.wal/);
    t.end();
  });

  t.test("a missing file and a cut file", (t) => {
    for (const harm of ["missing", "cut"] as const) {
      const machine = new Machine();
      const log = machine.open();
      for (let index = 1; index <= 100; index += 1) machine.write(log, entry(1, index, 1, "x".repeat(2000)));
      machine.powerFailure();
      const [, second] = walFiles(machine);
      if (harm === "missing") machine.disk.remove(`wal/${second}`);
      else {
        const file = machine.disk.open(`wal/${second}`, "read-write");
        file.truncate(30_000);
        file.sync();
      }
      const recovered = machine.open().recovered().get(1);
      t.match(recovered?.damage, harm === "missing" ? /000000000002.wal is missing/ : /unreadable bytes at 0+2.wal/);
      t.ok((recovered?.lastIndex ?? 0) < 60);
    }
    t.end();
  });

  t.test("while running: a damaged entry is refused", (t) => {
    const machine = new Machine();
    const log = machine.open({ ...smallLimits, recentBytes: 0 });
    machine.write(log, entry(1, 1, 1, damagedText), entry(1, 2));
    const path = `wal/${walFiles(machine)[0]}`;
    const bytes = Buffer.from(machine.disk.open(path, "read").read(0, 64 * 1024));
    machine.disk.flipBit(path, bytes.indexOf(damagedText), 0);
    t.throws(() => log.readEntries(1, 1, 2, 999), /entry 1 of shard 1: damaged at 000000000001.wal position/);
    t.strictSame(texts(log, 1, 2, 2), ["1:2"]);
    t.end();
  });
  t.end();
});
