import { chmodSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import t from "tap";
import { isDomainError } from "../../../src/platform/errors/domain-error.ts";
import { type Database, openDatabase } from "../../../src/platform/sql/database.ts";
import type { Migration } from "../../../src/platform/sql/migrations.ts";
import { sleep } from "../../../src/platform/time/clock.ts";

interface Schema {
  item: { id: number };
}

const migrations: readonly Migration[] = [
  { version: 1, name: "items", statements: ["create table item (id bigint primary key)"] },
];

const open = (path: string): Promise<Database<Schema>> => openDatabase<Schema>({ kind: "sqlite", path }, migrations);
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

async function messageOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error("no error"),
    (reason: unknown) => reason,
  );
  return isDomainError(error) ? `${error.code}: ${error.message}` : String(error);
}

t.test("a new database is readable by its owner alone, in all its files", async (t) => {
  const path = join(t.testdir(), "deep", "er", "data.db");
  await using db = await open(path);
  await db.query.insertInto("item").values({ id: 1 }).execute();
  t.strictSame([path, `${path}-wal`, `${path}-shm`].map(modeOf), ["600", "600", "600"]);
  t.strictSame([join(path, ".."), join(path, "..", "..")].map(modeOf), ["700", "700"]);
});

t.test("an existing database that others may read is closed to them, its folder is left alone", async (t) => {
  const root = t.testdir();
  const path = join(root, "data.db");
  await (await open(path)).close();
  chmodSync(path, 0o644);
  chmodSync(root, 0o755);
  await using _db = await open(path);
  t.equal(modeOf(path), "600");
  t.equal(modeOf(root), "755");
});

t.test("the settings that durability and integrity rest on are in force", async (t) => {
  await using db = await open(join(t.testdir(), "data.db"));
  const read = async (name: string): Promise<unknown> =>
    Object.values((await sql.raw<Record<string, unknown>>(`pragma ${name}`).execute(db.query)).rows[0] ?? {})[0];
  t.equal(await read("journal_mode"), "wal");
  t.equal(await read("synchronous"), 2);
  t.equal(await read("foreign_keys"), 1);
});

t.test("a database in memory works and is gone afterwards", async (t) => {
  await using db = await open(":memory:");
  await db.query.insertInto("item").values({ id: 1 }).execute();
  await using other = await open(":memory:");
  t.strictSame(await other.query.selectFrom("item").selectAll().execute(), []);
});

t.test("files that are no database are refused with the reason", async (t) => {
  const root = t.testdir({ text: "no database, but long enough to be looked at\n".repeat(50), folder: {} });
  t.equal(
    await messageOf(open(join(root, "text"))),
    `DATABASE_UNUSABLE: Cannot open the database "${root}/text": the file is not a SQLite database`,
  );
  t.match(await messageOf(open(join(root, "folder"))), /^DATABASE_UNUSABLE: .*: EISDIR$/);
  t.match(await messageOf(open(join(root, "text", "below"))), /^DATABASE_UNUSABLE: .*: (EEXIST|ENOTDIR)$/);
});

t.test("a wait for another process's write lock does not stop this process", async (t) => {
  const path = join(t.testdir(), "data.db");
  await using db = await open(path);
  const other = new DatabaseSync(path);
  t.teardown(() => other.close());
  other.exec("begin immediate; insert into item values (1)");
  let isWritten = false;
  const write = db.query.insertInto("item").values({ id: 2 }).execute();
  const both = Promise.all([
    write.then(() => {
      isWritten = true;
    }),
    db.transaction((tx) => tx.insertInto("item").values({ id: 3 }).execute()),
  ]);
  let ticks = 0;
  for (; ticks < 10; ticks++) await sleep(5);
  t.equal(isWritten, false, "it waits");
  t.equal(ticks, 10, "while timers go on");
  other.exec("commit");
  await both;
  const rows = await db.query.selectFrom("item").select("id").orderBy("id").execute();
  t.strictSame(rows, [{ id: 1 }, { id: 2 }, { id: 3 }]);
});

t.test("many different statements do not pile up prepared", async (t) => {
  await using db = await open(":memory:");
  for (let count = 1; count <= 600; count++) {
    const ids = Array.from({ length: count }, (_, id) => id);
    await db.query.selectFrom("item").selectAll().where("id", "in", ids).execute();
  }
  t.strictSame(await db.query.selectFrom("item").selectAll().where("id", "in", [1]).execute(), []);
});
