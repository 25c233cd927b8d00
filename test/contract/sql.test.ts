import { type Generated, type Kysely, sql } from "kysely";
import t, { type Test } from "tap";
import { isDomainError } from "../../src/platform/errors/domain-error.ts";
import { type Database, type DatabaseTarget, openDatabase } from "../../src/platform/sql/database.ts";
import type { Migration } from "../../src/platform/sql/migrations.ts";
import { isForeignKeyViolation, isUniqueViolation } from "../../src/platform/sql/sql-errors.ts";
import { sleep } from "../../src/platform/time/clock.ts";
import { startPostgres } from "../support/postgres-server.ts";

/** What every feature may rely on, on the embedded database and on a real Postgres alike. */
interface Schema {
  owner: { id: number; name: string };
  item: {
    id: Generated<number>;
    owner_id: number;
    size_bytes: number;
    ratio: number | null;
    content: Uint8Array | null;
  };
}

const firstMigration: Migration = {
  version: 1,
  name: "owners",
  statements: ["create table owner (id bigint primary key, name text not null unique)"],
};

const secondMigration: Migration = {
  version: 2,
  name: "items",
  statements: [
    {
      sqlite: `create table item (id integer primary key autoincrement, owner_id bigint not null references owner (id),
        size_bytes bigint not null, ratio double precision, content blob)`,
      postgres: `create table item (id bigint generated always as identity primary key,
        owner_id bigint not null references owner (id), size_bytes bigint not null, ratio double precision, content bytea)`,
    },
    "create index item_owner on item (owner_id)",
  ],
};

const migrations = [firstMigration, secondMigration];
const brokenMigration: Migration = {
  version: 3,
  name: "broken",
  statements: ["create table half_done (id bigint)", "this is not sql"],
};

interface Implementation {
  readonly name: string;
  /** A new empty database each time. */
  createTarget(): Promise<DatabaseTarget>;
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return isDomainError(error) ? `${error.code}: ${error.message}` : `no domain error: ${String(error)}`;
  }
  return "no error";
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

function define(t: Test, implementation: Implementation): void {
  const open = async (target?: DatabaseTarget): Promise<Database<Schema>> =>
    await openDatabase<Schema>(target ?? (await implementation.createTarget()), migrations);

  t.test("values come back as they went in", async (t) => {
    await using db = await open();
    const content = Uint8Array.of(0, 255, 7);
    await db.query.insertInto("owner").values({ id: Number.MAX_SAFE_INTEGER, name: "é € 😀 ' \" \\" }).execute();
    const inserted = await db.query
      .insertInto("item")
      .values({ owner_id: Number.MAX_SAFE_INTEGER, size_bytes: -1, ratio: 0.1, content })
      .returning("id")
      .executeTakeFirstOrThrow();
    const row = await db.query.selectFrom("item").selectAll().executeTakeFirstOrThrow();
    t.equal(row.id, inserted.id);
    t.equal(row.owner_id, Number.MAX_SAFE_INTEGER);
    t.equal(row.size_bytes, -1);
    t.equal(row.ratio, 0.1);
    t.strictSame([...(row.content ?? [])], [0, 255, 7]);
    t.strictSame(await db.query.selectFrom("owner").selectAll().execute(), [
      { id: Number.MAX_SAFE_INTEGER, name: "é € 😀 ' \" \\" },
    ]);
    await db.query.updateTable("item").set({ ratio: null, content: null }).execute();
    const cleared = await db.query.selectFrom("item").select(["ratio", "content"]).executeTakeFirstOrThrow();
    t.strictSame(cleared, { ratio: null, content: null });
  });

  t.test("a number that does not fit is an error, never a wrong number", async (t) => {
    await using db = await open();
    await sql.raw("insert into owner (id, name) values (9007199254740993, 'big')").execute(db.query);
    t.type(await failureOf(db.query.selectFrom("owner").selectAll().execute()), Error);
  });

  t.test("numbers of changed rows are reported", async (t) => {
    await using db = await open();
    await db.query
      .insertInto("owner")
      .values([1, 2, 3].map((id) => ({ id, name: `n${id}` })))
      .execute();
    const updated = await db.query.updateTable("owner").set({ name: "x" }).where("id", "=", 2).executeTakeFirst();
    t.equal(updated.numUpdatedRows, 1n);
    const deleted = await db.query.deleteFrom("owner").where("id", "<", 3).executeTakeFirst();
    t.equal(deleted.numDeletedRows, 2n);
    const none = await db.query.deleteFrom("owner").where("id", "=", 99).executeTakeFirst();
    t.equal(none.numDeletedRows, 0n);
  });

  t.test("unique and foreign key violations are told apart", async (t) => {
    await using db = await open();
    await db.query.insertInto("owner").values({ id: 1, name: "a" }).execute();
    const byKey = await failureOf(db.query.insertInto("owner").values({ id: 1, name: "b" }).execute());
    const byName = await failureOf(db.query.insertInto("owner").values({ id: 2, name: "a" }).execute());
    const dangling = await failureOf(db.query.insertInto("item").values({ owner_id: 9, size_bytes: 0 }).execute());
    t.strictSame([byKey, byName, dangling].map(isUniqueViolation), [true, true, false]);
    t.strictSame([byKey, byName, dangling].map(isForeignKeyViolation), [false, false, true]);
    t.strictSame([undefined, null, new Error("x"), "2067"].map(isUniqueViolation), [false, false, false, false]);
    await db.query.insertInto("item").values({ owner_id: 1, size_bytes: 0 }).execute();
    t.ok(isForeignKeyViolation(await failureOf(db.query.deleteFrom("owner").execute())), "the row is still pointed to");
  });

  t.test("transaction() commits everything or nothing", async (t) => {
    await using db = await open();
    const result = await db.transaction(async (tx) => {
      await tx.insertInto("owner").values({ id: 1, name: "kept" }).execute();
      return "done";
    });
    t.equal(result, "done");
    const stop = new Error("stop");
    const failure = await failureOf(
      db.transaction(async (tx) => {
        await tx.insertInto("owner").values({ id: 2, name: "dropped" }).execute();
        throw stop;
      }),
    );
    t.equal(failure, stop, "the error of the work comes out unchanged");
    t.strictSame(await names(db), ["kept"]);
    const violated = await failureOf(
      db.transaction(async (tx) => {
        await tx.insertInto("owner").values({ id: 3, name: "dropped" }).execute();
        await tx.insertInto("owner").values({ id: 1, name: "taken" }).execute();
      }),
    );
    t.ok(isUniqueViolation(violated));
    t.strictSame(await names(db), ["kept"]);
  });

  t.test("transactions that read, wait and write lose no update", async (t) => {
    await using db = await open();
    await db.query.insertInto("owner").values({ id: 0, name: "counter" }).execute();
    await db.query.insertInto("item").values({ owner_id: 0, size_bytes: 0 }).execute();
    const increment = async (): Promise<void> =>
      await db.transaction(async (tx) => {
        const { size_bytes } = await tx.selectFrom("item").select("size_bytes").executeTakeFirstOrThrow();
        await sleep(1);
        await tx
          .updateTable("item")
          .set({ size_bytes: size_bytes + 1 })
          .execute();
      });
    await Promise.all(Array.from({ length: 8 }, increment));
    const { size_bytes } = await db.query.selectFrom("item").select("size_bytes").executeTakeFirstOrThrow();
    t.equal(size_bytes, 8);
  });

  t.test("savepoints undo a part of a transaction", async (t) => {
    await using db = await open();
    await db.query
      .startTransaction()
      .execute()
      .then(async (tx) => {
        await tx.insertInto("owner").values({ id: 1, name: "kept" }).execute();
        const inner = await tx.savepoint("inner").execute();
        await inner.insertInto("owner").values({ id: 2, name: "dropped" }).execute();
        await inner.rollbackToSavepoint("inner").execute();
        await tx.commit().execute();
      });
    t.strictSame(await names(db), ["kept"]);
  });

  t.test("rows can be streamed while other queries run", async (t) => {
    await using db = await open();
    const rows = Array.from({ length: 250 }, (_, id) => ({ id, name: `n${String(id).padStart(3, "0")}` }));
    await db.query.insertInto("owner").values(rows).execute();
    const seen: number[] = [];
    for await (const row of db.query.selectFrom("owner").select("id").orderBy("id").stream(100)) seen.push(row.id);
    t.strictSame(
      seen,
      rows.map((row) => row.id),
    );
    for await (const row of db.query.selectFrom("owner").select("id").orderBy("id").stream(10)) {
      if (row.id === 5) break;
    }
    t.equal((await names(db)).length, 250, "a stream that is left early frees its connection");
  });

  t.test("migrations run once, in order, and again only what is new", async (t) => {
    const target = await implementation.createTarget();
    const first = await openDatabase<Schema>(target, [firstMigration]);
    await first.query.insertInto("owner").values({ id: 1, name: "kept" }).execute();
    await first.close();
    await using second = await open(target);
    t.strictSame(await names(second), ["kept"]);
    t.strictSame(await appliedVersions(second), [1, 2]);
    await using third = await open(target);
    t.strictSame(await appliedVersions(third), [1, 2]);
  });

  t.test("several processes that start at once migrate once", async (t) => {
    const target = await implementation.createTarget();
    const opened = await Promise.all(Array.from({ length: 4 }, () => open(target)));
    t.strictSame(await appliedVersions(opened[0] as Database<Schema>), [1, 2]);
    await Promise.all(opened.map((db) => db.close()));
  });

  t.test("a migration that fails leaves the version before it", async (t) => {
    const target = await implementation.createTarget();
    await (await open(target)).close();
    const failure = await failureOf(openDatabase(target, [...migrations, brokenMigration]));
    t.match(String(failure), /syntax error/);
    t.notOk(isDomainError(failure), "a mistake in a migration is ours, not the operator's");
    await using db = await open(target);
    t.strictSame(await appliedVersions(db), [1, 2]);
    const table = await failureOf(sql`select * from half_done`.execute(db.query));
    t.type(table, Error, "the table of the first statement is gone too");
  });

  t.test("a newer schema and another program's schema are refused", async (t) => {
    const target = await implementation.createTarget();
    await (await open(target)).close();
    t.equal(
      await codeOf(openDatabase(target, [firstMigration])),
      "SCHEMA_TOO_NEW: Cannot open the database: its schema has version 2, this program knows up to 1; use the program that wrote it or a newer one",
    );
    t.match(
      await codeOf(openDatabase(target, [{ ...firstMigration, name: "others" }, secondMigration])),
      /^SCHEMA_DIVERGED: .* step 1 is "owners", this program expects "others"/,
    );
    await t.rejects(openDatabase(target, [secondMigration]), TypeError, "a list with a gap is a mistake of ours");
  });

  t.test("ping() answers until close(), which may be called twice", async (t) => {
    const db = await open();
    await db.ping();
    await db.close();
    await db.close();
    t.match(await codeOf(db.ping()), /^DATABASE_UNAVAILABLE: Cannot reach the database/);
  });
}

async function names(db: Database<Schema>): Promise<readonly string[]> {
  const rows = await db.query.selectFrom("owner").select("name").orderBy("id").execute();
  return rows.map((row) => row.name);
}

async function appliedVersions(db: Database<Schema>): Promise<readonly number[]> {
  const query = db.query as unknown as Kysely<{ schema_migrations: { version: number } }>;
  const rows = await query.selectFrom("schema_migrations").select("version").orderBy("version").execute();
  return rows.map((row) => row.version);
}

t.test("SQLite", (t) => {
  const root = t.testdir();
  let count = 0;
  define(t, {
    name: "sqlite",
    createTarget: async () => ({ kind: "sqlite", path: `${root}/${count++}/data.db` }),
  });
  t.end();
});

t.test("Postgres", async (t) => {
  const server = await startPostgres();
  t.teardown(() => server[Symbol.asyncDispose]());
  let count = 0;
  const createTarget = async (): Promise<DatabaseTarget> => {
    const name = `contract_${count++}`;
    await using admin = await openDatabase({ kind: "postgres", url: server.url, maxConnections: 1 }, []);
    await sql.raw(`create database ${name}`).execute(admin.query);
    return { kind: "postgres", url: server.url.replace(/postgres$/, name), maxConnections: 8 };
  };
  t.test("the contract", (t) => {
    define(t, { name: "postgres", createTarget });
    t.end();
  });
  t.test(
    "a server that goes away fails calls quickly, and works again when it is back",
    { timeout: 60_000 },
    async (t) => {
      const target = await createTarget();
      await using db = await openDatabase<Schema>(target, migrations);
      await db.query.insertInto("owner").values({ id: 1, name: "kept" }).execute();
      await server.stop();
      const startedMs = performance.now();
      t.match(await codeOf(db.ping()), /^DATABASE_UNAVAILABLE: Cannot reach the database/);
      t.match(await codeOf(openDatabase(target, migrations)), /^DATABASE_UNAVAILABLE: Cannot open the database/);
      t.ok(performance.now() - startedMs < 8000, "neither waits for longer than a connection attempt");
      await server.start();
      await db.ping();
      t.strictSame(await names(db), ["kept"]);
    },
  );
  t.test("restarts under load cost failed calls, never a hang or the process", { timeout: 60_000 }, async (t) => {
    await using db = await openDatabase<Schema>(await createTarget(), migrations);
    let isOver = false;
    const counts = { ping: 0, transaction: 0, stream: 0, failed: 0 };
    const repeat = async (name: "ping" | "transaction" | "stream", work: () => Promise<unknown>): Promise<void> => {
      while (!isOver) {
        const outcome = await work().then(
          () => name,
          () => "failed" as const,
        );
        counts[outcome] += 1;
        if (outcome === "failed") await sleep(5);
      }
    };
    const transfer = (tx: Kysely<Schema>): Promise<unknown> => tx.selectFrom("owner").selectAll().execute();
    const work = {
      ping: () => db.ping(),
      transaction: () =>
        db.transaction(async (tx) => {
          await transfer(tx);
          await sleep(1);
          await transfer(tx);
        }),
      stream: async () => {
        for await (const _row of db.query.selectFrom("owner").selectAll().stream(10));
      },
    };
    const loads = (["ping", "transaction", "stream"] as const).flatMap((name) =>
      [1, 2, 3].map(() => repeat(name, work[name])),
    );
    for (let round = 0; round < 3; round++) {
      await sleep(200);
      await server.stop();
      await sleep(50);
      await server.start();
      const before = { ...counts };
      await sleep(600);
      for (const name of ["ping", "transaction", "stream"] as const)
        t.ok(counts[name] > before[name], `${name} ${round}`);
    }
    isOver = true;
    await Promise.all(loads);
    t.ok(counts.failed > 0, "the server was really away");
  });
});
