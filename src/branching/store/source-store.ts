import type { Kysely } from "kysely";
import { assert } from "../../platform/errors/assert.ts";
import type { Database } from "../../platform/sql/database.ts";
import type { Generation, MaskScript, Source } from "../model/records.ts";
import type { SourceStore } from "../service/ports.ts";
import { fromGeneration, fromSource, type RegistrySchema, toGeneration, toSource } from "./schema.ts";

/** Sources, their generations and mask scripts. */
export function createSourceStore(database: Database<RegistrySchema>): SourceStore {
  const { query } = database;
  return {
    insertSource: (source) => database.transaction((tx) => insertSource(tx, source)),
    findSource: (name) => findSource(query, name),
    listSources: async () => (await query.selectFrom("sources").selectAll().orderBy("name").execute()).map(toSource),
    setSourceState: async (id, from, to, atMs) => {
      const result = await query
        .updateTable("sources")
        .set({ state: to, updated_at_ms: atMs })
        .where("id", "=", id)
        .where("state", "=", from)
        .executeTakeFirst();
      return result.numUpdatedRows === 1n;
    },
    claimRefresh: async (id, atMs, staleBeforeMs) => {
      const result = await query
        .updateTable("sources")
        .set({ is_refreshing: 1, updated_at_ms: atMs })
        .where("id", "=", id)
        .where("state", "=", "ready")
        .where((expression) =>
          expression.or([expression("is_refreshing", "=", 0), expression("updated_at_ms", "<", staleBeforeMs)]),
        )
        .executeTakeFirst();
      return result.numUpdatedRows === 1n;
    },
    releaseRefresh: async (id, atMs) => {
      await query.updateTable("sources").set({ is_refreshing: 0, updated_at_ms: atMs }).where("id", "=", id).execute();
    },
    touchSource: async (id, atMs) => {
      await query.updateTable("sources").set({ updated_at_ms: atMs }).where("id", "=", id).execute();
    },
    deleteSource: (id) => database.transaction((tx) => deleteSource(tx, id)),
    insertGeneration: async (generation) => {
      await query.insertInto("generations").values(fromGeneration(generation)).execute();
    },
    touchGeneration: async (id, atMs) => {
      await query.updateTable("generations").set({ updated_at_ms: atMs }).where("id", "=", id).execute();
    },
    activateGeneration: (generation, atMs) => database.transaction((tx) => activateGeneration(tx, generation, atMs)),
    deleteUnusedGeneration: (id) => database.transaction((tx) => deleteUnusedGeneration(tx, id)),
    getGeneration: async (id) => {
      const row = await query.selectFrom("generations").selectAll().where("id", "=", id).executeTakeFirst();
      assert(row, `generation row ${id} must exist`);
      return toGeneration(row);
    },
    listGenerations: async () => (await query.selectFrom("generations").selectAll().execute()).map(toGeneration),
    setMasks: (sourceName, masks) => database.transaction((tx) => setMasks(tx, sourceName, masks)),
    listMasks: async (sourceName) => {
      const rows = await query
        .selectFrom("masks")
        .selectAll()
        .where("source_name", "=", sourceName)
        .orderBy("position")
        .execute();
      return rows.map((row) => ({ name: row.name, sql: row.sql_text }));
    },
  };
}

async function findSource(query: Kysely<RegistrySchema>, name: string): Promise<Source | undefined> {
  const row = await query.selectFrom("sources").selectAll().where("name", "=", name).executeTakeFirst();
  return row && toSource(row);
}

async function insertSource(
  tx: Kysely<RegistrySchema>,
  source: Source,
): Promise<{ readonly holder: Source | undefined }> {
  const holder = await findSource(tx, source.name);
  if (holder !== undefined) {
    if (holder.state !== "failed") return { holder };
    await tx.deleteFrom("sources").where("id", "=", holder.id).execute();
  }
  await tx.insertInto("sources").values(fromSource(source)).execute();
  return { holder: undefined };
}

async function deleteSource(tx: Kysely<RegistrySchema>, id: string): Promise<{ readonly liveBranchCount: number }> {
  const source = await tx.selectFrom("sources").selectAll().where("id", "=", id).executeTakeFirst();
  if (source === undefined) return { liveBranchCount: 0 };
  const row = await tx
    .selectFrom("branches")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("source_name", "=", source.name)
    .where("state", "<>", "destroyed")
    .executeTakeFirstOrThrow();
  const liveBranchCount = Number(row.count);
  if (liveBranchCount > 0) return { liveBranchCount };
  await tx.deleteFrom("sources").where("id", "=", id).execute();
  await tx.deleteFrom("masks").where("source_name", "=", source.name).execute();
  return { liveBranchCount: 0 };
}

async function activateGeneration(tx: Kysely<RegistrySchema>, generation: Generation, atMs: number): Promise<boolean> {
  // Its row is gone when gc took the seed for dead; this also locks it against that.
  const held = await tx
    .updateTable("generations")
    .set({ updated_at_ms: atMs })
    .where("id", "=", generation.id)
    .where("state", "=", "seeding")
    .executeTakeFirst();
  if (held.numUpdatedRows !== 1n) return false;
  const moved = await tx
    .updateTable("sources")
    .set({ state: "ready", generation: generation.number, is_refreshing: 0, updated_at_ms: atMs })
    .where("id", "=", generation.sourceId)
    .where("state", "<>", "failed")
    .where("generation", "=", generation.number - 1)
    .executeTakeFirst();
  if (moved.numUpdatedRows !== 1n) return false;
  await tx
    .updateTable("generations")
    .set({ state: "retired" })
    .where("source_id", "=", generation.sourceId)
    .where("state", "=", "ready")
    .execute();
  await tx
    .updateTable("generations")
    .set({ ...fromGeneration(generation), state: "ready", updated_at_ms: atMs })
    .where("id", "=", generation.id)
    .execute();
  return true;
}

async function deleteUnusedGeneration(tx: Kysely<RegistrySchema>, id: string): Promise<boolean> {
  const result = await tx
    .deleteFrom("generations")
    .where("id", "=", id)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(selectFrom("branches").select("id").where("generation_id", "=", id).where("state", "<>", "destroyed")),
      ),
    )
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("layers").select("layers.id").where("layers.generation_id", "=", id))),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("sources")
            .select("sources.id")
            .whereRef("sources.id", "=", "generations.source_id")
            .whereRef("sources.generation", "=", "generations.number")
            .where("generations.state", "<>", "seeding"),
        ),
      ),
    )
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
}

async function setMasks(tx: Kysely<RegistrySchema>, sourceName: string, masks: readonly MaskScript[]): Promise<void> {
  await tx.deleteFrom("masks").where("source_name", "=", sourceName).execute();
  for (const [position, mask] of masks.entries()) {
    await tx
      .insertInto("masks")
      .values({ source_name: sourceName, position, name: mask.name, sql_text: mask.sql })
      .execute();
  }
}
