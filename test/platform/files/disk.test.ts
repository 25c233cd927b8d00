import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { type Disk, errorCode } from "../../../src/platform/files/disk.ts";
import { createNodeDisk } from "../../../src/platform/files/node-disk.ts";
import { SimDisk, simPageSize } from "../../../src/platform/files/sim-disk.ts";
import { createSeededRandom } from "../../../src/platform/random/random.ts";

/** One suite, both disks; then what only the simulated one can do. */
const folder = mkdtempSync(join(tmpdir(), "disk-test-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

const disks: readonly { name: string; create: () => Disk }[] = [
  { name: "node", create: () => createNodeDisk(mkdtempSync(join(folder, "root-"))) },
  { name: "simulated", create: () => createSim() },
];

function createSim(seed = 1, capacityBytes = Number.MAX_SAFE_INTEGER): SimDisk {
  return new SimDisk({ random: createSeededRandom(seed), schedule: (_ms, run) => setImmediate(run), capacityBytes });
}

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (data: Uint8Array): string => Buffer.from(data).toString();

function codeOf(act: () => unknown): string | undefined {
  try {
    act();
    return "no error";
  } catch (error) {
    return errorCode(error);
  }
}

for (const { name, create } of disks) {
  t.test(`${name} disk: files`, (t) => {
    const disk = create();
    disk.makeFolder("a/b");
    disk.makeFolder("a/b");
    const file = disk.open("a/b/one", "create");
    t.equal(
      codeOf(() => disk.open("a/b/one", "create")),
      "EEXIST",
    );
    t.equal(
      codeOf(() => disk.open("a/b/two", "read-write")),
      "ENOENT",
    );
    t.equal(
      codeOf(() => disk.open("a/c/two", "create")),
      "ENOENT",
    );
    file.write(0, [bytes("hello "), bytes(""), bytes("world")]);
    t.equal(file.size(), 11);
    t.equal(text(file.read(0, 100)), "hello world", "a read past the end is shorter");
    t.equal(text(file.read(6, 3)), "wor");
    t.equal(file.read(11, 5).length, 0);
    const target = Buffer.alloc(4, "-");
    t.strictSame([file.readInto(6, target), text(target)], [4, "worl"]);
    t.strictSame([file.readInto(9, target), text(target)], [2, "ldrl"], "the rest of the buffer is left alone");
    file.write(6, [bytes("W")]);
    file.write(8192, [bytes("far")]);
    t.equal(text(file.read(0, 13)), "hello World\0\0", "a gap reads as zeros");
    t.equal(file.size(), 8195);
    file.truncate(5);
    file.write(7, [bytes("x")]);
    t.equal(text(file.read(0, 10)), "hello\0\0x", "a truncated tail does not come back");
    file.preallocate(3 * simPageSize + 5);
    t.equal(file.size(), 3 * simPageSize + 5);
    t.equal(text(file.read(0, 5)), "hello");
    file.sync();
    file.close();
    t.equal(text(disk.open("a/b/one", "read").read(0, 5)), "hello");
    t.end();
  });

  t.test(`${name} disk: names`, (t) => {
    const disk = create();
    disk.makeFolder("x");
    for (const path of ["x/b", "x/a"]) disk.open(path, "create").close();
    t.strictSame(disk.list("x"), ["a", "b"]);
    t.strictSame(disk.list("nowhere"), []);
    disk.rename("x/a", "x/c");
    disk.syncFolder("x");
    t.strictSame(disk.list("x"), ["b", "c"]);
    disk.remove("x/b");
    disk.remove("x/b");
    t.equal(disk.exists("x/b"), false);
    t.equal(disk.exists("x/c"), true);
    t.strictSame(disk.list(""), ["x"]);
    disk.removeTree("x");
    t.strictSame(disk.list(""), []);
    t.ok(disk.freeBytes() > 0);
    t.end();
  });

  t.test(`${name} disk: writing without waiting`, async (t) => {
    const disk = create();
    const file = disk.open("log", "create");
    const order: string[] = [];
    await new Promise<void>((resolve) => file.preallocateLater(2_500_000, () => resolve()));
    t.equal(file.size(), 2_500_000);
    await new Promise<void>((resolve) => {
      file.writeDurably(100, [bytes("abc"), bytes("def")], (error) => {
        t.equal(error, undefined);
        order.push("written");
        file.syncLater((syncError) => {
          t.equal(syncError, undefined);
          resolve();
        });
      });
      order.push("called");
    });
    t.strictSame(order, ["called", "written"]);
    t.equal(text(file.read(100, 6)), "abcdef");
    const many = Array.from({ length: 3000 }, (_, i) => bytes(String(i % 10)));
    await new Promise<void>((resolve) => file.writeDurably(0, many, () => resolve()));
    t.equal(text(file.read(2995, 5)), "56789", "more buffers than one system call takes");
    const synced = new Promise<Error | undefined>((resolve) => disk.syncFolderLater("", resolve));
    t.equal(await synced, undefined);
    const closing = new Promise<Error | undefined>((resolve) => file.writeDurably(0, [bytes("z")], resolve));
    file.close();
    t.equal(await closing, undefined, "a close waits for what is under way");
  });
}

t.test("SimDisk.crash() keeps what was synced, and nothing else for certain", (t) => {
  let lost = 0;
  let torn = 0;
  for (let seed = 1; seed <= 300; seed += 1) {
    const disk = createSim(seed);
    disk.makeFolder("d");
    disk.syncFolder("");
    const file = disk.open("d/f", "create");
    file.write(0, [Buffer.alloc(simPageSize * 2, 1)]);
    file.sync();
    disk.syncFolder("d");
    file.write(simPageSize, [Buffer.alloc(simPageSize, 2)]);
    disk.open("d/g", "create");
    disk.crash();
    t.equal(
      codeOf(() => file.read(0, 1)),
      "EBADF",
    );
    const after = disk.open("d/f", "read").read(0, simPageSize * 2);
    t.ok(
      after.subarray(0, simPageSize).every((byte) => byte === 1),
      "a synced page stays",
    );
    const values = new Set(after.subarray(simPageSize));
    if (values.size === 2) torn += 1;
    if (!values.has(2)) lost += 1;
    if (!disk.exists("d/g")) lost += 1;
  }
  t.ok(lost > 50 && torn > 20, `lost ${lost}, torn ${torn}`);
  t.end();
});

t.test("SimDisk: a failed sync saves nothing, and the next one does not either", (t) => {
  let kept = 0;
  for (let seed = 1; seed <= 50; seed += 1) {
    const disk = createSim(seed);
    const file = disk.open("f", "create");
    file.write(0, [bytes("old")]);
    file.sync();
    disk.syncFolder("");
    file.write(0, [bytes("new")]);
    disk.failSync();
    t.equal(
      codeOf(() => file.sync()),
      "EIO",
    );
    file.sync();
    t.equal(text(file.read(0, 3)), "new", "programs still see it");
    disk.crash();
    if (text(disk.open("f", "read").read(0, 3)) === "new") kept += 1;
  }
  t.ok(kept < 45, `kept ${kept} of 50`);
  t.end();
});

t.test("SimDisk runs full at its capacity and not before", (t) => {
  const disk = createSim(1, 4 * simPageSize);
  const file = disk.open("f", "create");
  file.write(0, [Buffer.alloc(4 * simPageSize)]);
  t.equal(disk.freeBytes(), 0);
  t.equal(
    codeOf(() => file.write(4 * simPageSize, [bytes("x")])),
    "ENOSPC",
  );
  file.write(0, [bytes("overwriting needs no room")]);
  disk.setCapacity(5 * simPageSize);
  file.write(4 * simPageSize, [bytes("x")]);
  disk.remove("f");
  t.equal(disk.freeBytes(), 5 * simPageSize);
  t.end();
});

t.test("SimDisk damages what it is told to, and a killed process loses nothing it wrote", (t) => {
  const disk = createSim(3);
  const file = disk.open("f", "create");
  file.write(0, [bytes("aaaa")]);
  disk.killProcess();
  t.equal(text(disk.open("f", "read").read(0, 4)), "aaaa");
  const view = disk.mount();
  t.equal(text(view.open("f", "read").read(0, 4)), "aaaa");
  disk.killProcess();
  t.equal(
    codeOf(() => view.remove("f")),
    "EBADF",
    "a dead process changes nothing",
  );
  disk.flipBit("f", 2, 1);
  t.equal(text(disk.open("f", "read").read(0, 4)), "aaca");
  t.equal(disk.flipRandomBit((path) => path === "f")?.path, "f");
  t.equal(
    disk.flipRandomBit(() => false),
    undefined,
  );
  disk.wipe();
  t.strictSame(disk.list(""), []);
  t.end();
});
