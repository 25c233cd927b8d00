import type { Kysely } from "kysely";
import { assert } from "../../platform/errors/assert.ts";
import type { Random } from "../../platform/random/random.ts";
import { type Database, type DatabaseTarget, openDatabase } from "../../platform/sql/database.ts";
import type { LayerStore, Registry } from "../service/ports.ts";
import { createBranchStore } from "./branch-store.ts";
import { initialSchema } from "./migrations/001-initial.ts";
import { fromLayer, type RegistrySchema, toLayer } from "./schema.ts";
import { createSourceStore } from "./source-store.ts";

export const registryMigrations = [initialSchema];

/** Opens the registry; the first open mints the instance id that every container and volume carries. */
export async function openRegistry(target: DatabaseTarget, random: Random): Promise<Registry> {
  const database = await openDatabase<RegistrySchema>(target, registryMigrations);
  const instanceId = await database.transaction((tx) => ensureInstanceId(tx, random));
  return {
    instanceId,
    branches: createBranchStore(database),
    sources: createSourceStore(database),
    layers: createLayerStore(database),
    facts: {
      find: async (key) =>
        (await database.query.selectFrom("facts").select("value").where("key", "=", key).executeTakeFirst())?.value,
      set: async (key, value) => {
        await database.query
          .insertInto("facts")
          .values({ key, value })
          .onConflict((conflict) => conflict.column("key").doUpdateSet({ value }))
          .execute();
      },
    },
    isReachable: async () => {
      try {
        await database.ping();
        return true;
      } catch {
        return false;
      }
    },
    close: () => database.close(),
  };
}

async function ensureInstanceId(tx: Kysely<RegistrySchema>, random: Random): Promise<string> {
  const row = await tx.selectFrom("facts").select("value").where("key", "=", "instance_id").executeTakeFirst();
  if (row !== undefined) return row.value;
  const value = Buffer.from(random.bytes(6)).toString("hex");
  await tx.insertInto("facts").values({ key: "instance_id", value }).execute();
  return value;
}

function createLayerStore(database: Database<RegistrySchema>): LayerStore {
  const { query } = database;
  return {
    getLayer: async (id) => {
      const row = await query.selectFrom("layers").selectAll().where("id", "=", id).executeTakeFirst();
      assert(row, `layer row ${id} must exist`);
      return toLayer(row);
    },
    insertLayer: async (layer) => {
      await query.insertInto("layers").values(fromLayer(layer)).execute();
    },
    listLayers: async () => (await query.selectFrom("layers").selectAll().execute()).map(toLayer),
    deleteUnusedLayer: (id) => database.transaction((tx) => deleteUnusedLayer(tx, id)),
  };
}

async function deleteUnusedLayer(tx: Kysely<RegistrySchema>, id: string): Promise<boolean> {
  const user = await tx
    .selectFrom("branches")
    .select("id")
    .where("state", "<>", "destroyed")
    .where(({ or, eb }) => or([eb("base_layer_id", "=", id), eb("top_layer_id", "=", id)]))
    .executeTakeFirst();
  if (user !== undefined) return false;
  const child = await tx.selectFrom("layers").select("id").where("parent_id", "=", id).executeTakeFirst();
  if (child !== undefined) return false;
  const result = await tx.deleteFrom("layers").where("id", "=", id).executeTakeFirst();
  return result.numDeletedRows === 1n;
}
