import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { isDomainError } from "../../../src/platform/errors/domain-error.ts";
import { acquireLockFile } from "../../../src/platform/files/lock-file.ts";
import { ensureOwnerOnlyFolder, restrictToOwner, writeFileAtomically } from "../../../src/platform/files/owner-only.ts";

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

function messageOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return isDomainError(error) ? `${error.code}: ${error.message}` : `not a domain error: ${String(error)}`;
  }
  return "no error";
}

t.test("ensureOwnerOnlyFolder() makes every missing level 0700 and leaves existing ones alone", async (t) => {
  const root = t.testdir();
  mkdirSync(join(root, "shared"), { mode: 0o755 });
  ensureOwnerOnlyFolder(join(root, "shared", "a", "b"));
  ensureOwnerOnlyFolder(join(root, "shared", "a", "b"));
  t.equal(modeOf(join(root, "shared")), "755");
  t.equal(modeOf(join(root, "shared", "a")), "700");
  t.equal(modeOf(join(root, "shared", "a", "b")), "700");
});

t.test("writeFileAtomically() replaces the whole file, owner-only, and leaves no other file", async (t) => {
  const root = t.testdir({ config: "old and longer than the new one" });
  const path = join(root, "config");
  writeFileAtomically(path, "new");
  t.equal(readFileSync(path, "utf8"), "new");
  t.equal(modeOf(path), "600");
  writeFileAtomically(path, new Uint8Array(0));
  t.equal(statSync(path).size, 0);
  t.strictSame(readdirSync(root), ["config"]);
});

t.test("writeFileAtomically() keeps the old file and cleans up when it cannot replace it", async (t) => {
  const root = t.testdir({ taken: { inside: "x" } });
  t.throws(() => writeFileAtomically(join(root, "taken"), "new"));
  t.strictSame(readdirSync(root), ["taken"]);
  t.throws(() => writeFileAtomically(join(root, "absent", "file"), "new"));
});

t.test("restrictToOwner() takes the rights of others", async (t) => {
  const path = join(t.testdir(), "file");
  writeFileSync(path, "", { mode: 0o644 });
  restrictToOwner(path);
  t.equal(modeOf(path), "600");
});

t.test("acquireLockFile() lets one holder in, names it to the next, and opens again after release", async (t) => {
  const path = join(t.testdir(), "new", "service.lock");
  const lock = acquireLockFile(path);
  t.equal(modeOf(path), "600");
  t.equal(readFileSync(`${path}.pid`, "utf8"), `${process.pid}\n`);
  t.equal(
    messageOf(() => acquireLockFile(path)),
    `FILE_LOCKED: Cannot lock "${path}": this process holds it; stop that one first`,
  );
  lock.release();
  lock.release();
  t.notOk(existsSync(`${path}.pid`));
  using again = acquireLockFile(path);
  t.equal(again.path, path);
});

t.test("acquireLockFile() says what is wrong with a path that cannot hold a lock", async (t) => {
  const root = t.testdir({
    folder: {},
    file: "not a database, just text that is long enough to be looked at".repeat(20),
  });
  t.match(
    messageOf(() => acquireLockFile(join(root, "folder"))),
    /^FILE_UNUSABLE: Cannot lock/,
  );
  t.match(
    messageOf(() => acquireLockFile(join(root, "file", "x"))),
    /^FILE_UNUSABLE: Cannot lock/,
  );
  t.match(
    messageOf(() => acquireLockFile(join(root, "file"))),
    /^FILE_UNUSABLE: Cannot lock/,
  );
});

t.test("a lock held by another process survives this one's attempts and ends with its kill -9", async (t) => {
  const path = join(t.testdir(), "service.lock");
  const source = new URL("../../../src/platform/files/lock-file.ts", import.meta.url).href;
  const script = `const { acquireLockFile } = await import(${JSON.stringify(source)});
    acquireLockFile(${JSON.stringify(path)}); console.log("held"); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.teardown(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  const expected = `FILE_LOCKED: Cannot lock "${path}": process ${child.pid} holds it; stop that one first`;
  t.equal(
    messageOf(() => acquireLockFile(path)),
    expected,
  );
  t.equal(
    messageOf(() => acquireLockFile(path)),
    expected,
    "a refused attempt does not weaken the lock",
  );
  child.kill("SIGKILL");
  await once(child, "exit");
  t.ok(existsSync(`${path}.pid`), "the dead process has left its number behind");
  using lock = acquireLockFile(path);
  t.equal(readFileSync(`${lock.path}.pid`, "utf8"), `${process.pid}\n`);
});
