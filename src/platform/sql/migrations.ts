import { type Kysely, sql } from "kysely";
import { formatInstant, systemClock } from "../time/clock.ts";
import { createSqlError } from "./sql-errors.ts";

/**
 * The schema as an ordered list of steps that are never edited after a release. All pending steps run in one
 * transaction under a lock, so that a file or database is at one version or the next, however many processes start at
 * once. A schema newer than the program is refused: an older program cannot know what its rows mean.
 */
export type DatabaseKind = "sqlite" | "postgres";

/** SQL that both databases take, or one text for each. Use BIGINT, TEXT and DOUBLE PRECISION; booleans are 0 and 1. */
export type MigrationStatement = string | Readonly<Record<DatabaseKind, string>>;

export interface Migration {
  /** 1, 2, 3 … without a gap. */
  readonly version: number;
  readonly name: string;
  readonly statements: readonly MigrationStatement[];
}

/** Serialises migrations of all features that share a Postgres database. */
const postgresLockId = 7_202_611_210;

interface AppliedMigration {
  readonly version: number;
  readonly name: string;
}

/** Runs inside a write transaction. @returns the versions that were applied now */
export async function applyMigrations(
  tx: Kysely<unknown>,
  kind: DatabaseKind,
  migrations: readonly Migration[],
): Promise<readonly number[]> {
  assertOrdered(migrations);
  if (kind === "postgres") await sql`select pg_advisory_xact_lock(${postgresLockId})`.execute(tx);
  await sql`create table if not exists schema_migrations (
    version bigint primary key, name text not null, applied_at text not null)`.execute(tx);
  const { rows } = await sql<AppliedMigration>`select version, name from schema_migrations order by version`.execute(
    tx,
  );
  assertKnown(rows, migrations);
  const pending = migrations.slice(rows.length);
  for (const migration of pending) {
    for (const statement of migration.statements) {
      await sql.raw(typeof statement === "string" ? statement : statement[kind]).execute(tx);
    }
    const appliedAt = formatInstant(systemClock.nowMs());
    await sql`insert into schema_migrations (version, name, applied_at)
      values (${migration.version}, ${migration.name}, ${appliedAt})`.execute(tx);
  }
  return pending.map((migration) => migration.version);
}

function assertOrdered(migrations: readonly Migration[]): void {
  for (const [index, migration] of migrations.entries()) {
    if (migration.version !== index + 1) {
      throw new TypeError(`migration "${migration.name}" has version ${migration.version}, not ${index + 1}`);
    }
  }
}

function assertKnown(applied: readonly AppliedMigration[], migrations: readonly Migration[]): void {
  const newest = applied.at(-1)?.version ?? 0;
  if (newest > migrations.length) {
    throw createSqlError(
      "SCHEMA_TOO_NEW",
      `Cannot open the database: its schema has version ${newest}, this program knows up to ${migrations.length}; use the program that wrote it or a newer one`,
      { details: { found: newest, known: migrations.length } },
    );
  }
  for (const [index, row] of applied.entries()) {
    const expected = migrations[index];
    if (row.version === index + 1 && row.name === expected?.name) continue;
    throw createSqlError(
      "SCHEMA_DIVERGED",
      `Cannot open the database: its schema step ${row.version} is "${row.name}", this program expects "${expected?.name}"; it belongs to another program`,
      { details: { version: row.version, name: row.name } },
    );
  }
}
