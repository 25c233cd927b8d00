/**
 * Branches and their journal. State moves by compare-and-swap, and the journal row is written in the same transaction:
 * whoever loses the race writes nothing.
 */
import { type Kysely, sql, type Updateable } from "kysely";
import { assert } from "../../platform/errors/assert.ts";
import type { Database } from "../../platform/sql/database.ts";
import { type BranchState, nextBranchState } from "../model/branch-state.ts";
import type { Branch, Transition } from "../model/records.ts";
import type { BranchPatch, BranchStore, InsertOutcome, NewBranch, TransitionRequest } from "../service/ports.ts";
import { type BranchRow, fromLayer, type RegistrySchema, toBranch } from "./schema.ts";

interface JournalEntry extends Transition {
  readonly branchId: string;
}

export function createBranchStore(database: Database<RegistrySchema>): BranchStore {
  return {
    insertBranch: (branch, limits, actor) => database.transaction((tx) => insertBranch(tx, branch, limits, actor)),
    findLiveBranch: async (name) => {
      const row = await database.query
        .selectFrom("branches")
        .selectAll()
        .where("name", "=", name)
        .where("state", "<>", "destroyed")
        .executeTakeFirst();
      return row && toBranch(row);
    },
    getBranch: async (id) => {
      const row = await database.query.selectFrom("branches").selectAll().where("id", "=", id).executeTakeFirst();
      assert(row, `branch row ${id} must exist`);
      return toBranch(row);
    },
    listLiveBranches: async () => {
      const rows = await database.query
        .selectFrom("branches")
        .selectAll()
        .where("state", "<>", "destroyed")
        .orderBy("name")
        .execute();
      return rows.map(toBranch);
    },
    transition: (request) => database.transaction((tx) => applyTransition(tx, request)),
    patchBranch: async (branchId, state, patch, atMs) => {
      const result = await database.query
        .updateTable("branches")
        .set({ ...toColumns(patch), updated_at_ms: atMs })
        .where("id", "=", branchId)
        .where("state", "=", state)
        .executeTakeFirst();
      return result.numUpdatedRows === 1n;
    },
    touchBranch: async (branchId, atMs) => {
      await database.query.updateTable("branches").set({ updated_at_ms: atMs }).where("id", "=", branchId).execute();
    },
    findHistory: (name) => findHistory(database.query, name),
  };
}

async function insertBranch(
  tx: Kysely<RegistrySchema>,
  branch: NewBranch,
  limits: { readonly maxBranches: number },
  actor: string,
): Promise<InsertOutcome> {
  const holder = await findLiveState(tx, "name", branch.name);
  if (holder !== undefined) return { kind: "name-taken", state: holder };
  if (limits.maxBranches > 0) {
    const count = await countLive(tx);
    if (count >= limits.maxBranches) return { kind: "quota-reached", count };
  }
  if (branch.parentId !== undefined && (await findLiveState(tx, "id", branch.parentId)) !== "ready") {
    return { kind: "parent-changed" };
  }
  const generation = await tx
    .selectFrom("generations")
    .select("state")
    .where("id", "=", branch.generationId)
    .executeTakeFirst();
  if (generation === undefined || generation.state === "seeding") return { kind: "source-changed" };
  await tx.insertInto("branches").values(toNewRow(branch)).execute();
  const state = nextBranchState(undefined, "create");
  assert(state, "create leads to a state");
  const origin = branch.parentName === undefined ? `source ${branch.sourceName}` : `branch ${branch.parentName}`;
  await writeJournal(tx, {
    branchId: branch.id,
    fromState: undefined,
    toState: state,
    reason: `create from ${origin}`,
    actor,
    atMs: branch.nowMs,
  });
  return { kind: "inserted" };
}

async function findLiveState(
  tx: Kysely<RegistrySchema>,
  column: "name" | "id",
  value: string,
): Promise<BranchState | undefined> {
  const row = await tx
    .selectFrom("branches")
    .select("state")
    .where(column, "=", value)
    .where("state", "<>", "destroyed")
    .executeTakeFirst();
  return row?.state;
}

async function countLive(tx: Kysely<RegistrySchema>): Promise<number> {
  const row = await tx
    .selectFrom("branches")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("state", "<>", "destroyed")
    .where("is_throwaway", "=", 0)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

function toNewRow(branch: NewBranch): BranchRow {
  return {
    id: branch.id,
    name: branch.name,
    source_name: branch.sourceName,
    generation_id: branch.generationId,
    parent_name: branch.parentName ?? null,
    parent_id: branch.parentId ?? null,
    state: "creating",
    base_layer_id: branch.baseLayerId ?? null,
    top_layer_id: branch.topLayerId ?? null,
    volume: branch.volume ?? null,
    pending_volume: branch.pendingVolume ?? null,
    instance_id: branch.instanceId ?? null,
    host: branch.host ?? null,
    port: branch.port ?? null,
    db_user: branch.user,
    db_name: branch.database,
    sealed_password: branch.sealedPassword ?? null,
    is_released: 0,
    is_throwaway: branch.isThrowaway ? 1 : 0,
    expires_at_ms: branch.expiresAtMs ?? null,
    created_at_ms: branch.nowMs,
    updated_at_ms: branch.nowMs,
  };
}

async function applyTransition(tx: Kysely<RegistrySchema>, request: TransitionRequest): Promise<boolean> {
  const toState = nextBranchState(request.from, request.trigger);
  assert(toState, `"${request.trigger}" is no transition from state ${request.from}`);
  if (request.isRefusedWhileForking && (await isForking(tx, request.branchId))) return false;
  if (request.newLayer) await tx.insertInto("layers").values(fromLayer(request.newLayer)).execute();
  const result = await tx
    .updateTable("branches")
    .set({ ...toColumns(request.patch ?? {}), state: toState, updated_at_ms: request.atMs })
    .where("id", "=", request.branchId)
    .where("state", "=", request.from)
    .executeTakeFirst();
  if (result.numUpdatedRows !== 1n) {
    if (request.newLayer) await tx.deleteFrom("layers").where("id", "=", request.newLayer.id).execute();
    return false;
  }
  await writeJournal(tx, {
    branchId: request.branchId,
    fromState: request.from,
    toState,
    reason: request.reason,
    actor: request.actor,
    atMs: request.atMs,
  });
  return true;
}

async function isForking(tx: Kysely<RegistrySchema>, branchId: string): Promise<boolean> {
  const child = await tx
    .selectFrom("branches")
    .select("id")
    .where("parent_id", "=", branchId)
    .where("state", "=", "creating")
    .executeTakeFirst();
  return child !== undefined;
}

async function writeJournal(tx: Kysely<RegistrySchema>, entry: JournalEntry): Promise<void> {
  await tx
    .insertInto("transitions")
    .values({
      branch_id: entry.branchId,
      sequence: sql<number>`(select coalesce(max(sequence), 0) + 1 from transitions)`,
      from_state: entry.fromState ?? null,
      to_state: entry.toState,
      reason: entry.reason,
      actor: entry.actor,
      at_ms: entry.atMs,
    })
    .execute();
}

async function findHistory(query: Kysely<RegistrySchema>, name: string): Promise<readonly Transition[] | undefined> {
  const rows = await query
    .selectFrom("transitions")
    .innerJoin("branches", "branches.id", "transitions.branch_id")
    .select(["from_state", "to_state", "reason", "actor", "at_ms"])
    .where("branches.name", "=", name)
    .orderBy("sequence")
    .execute();
  if (rows.length === 0) return undefined;
  return rows.map((row) => ({
    fromState: row.from_state ?? undefined,
    toState: row.to_state,
    reason: row.reason,
    actor: row.actor,
    atMs: row.at_ms,
  }));
}

const columnOf = {
  volume: "volume",
  pendingVolume: "pending_volume",
  instanceId: "instance_id",
  host: "host",
  port: "port",
  sealedPassword: "sealed_password",
  isReleased: "is_released",
  topLayerId: "top_layer_id",
  baseLayerId: "base_layer_id",
  generationId: "generation_id",
  expiresAtMs: "expires_at_ms",
} as const satisfies Record<keyof BranchPatch, keyof BranchRow>;

/** A key that is there with the value undefined clears the column; one that is absent leaves it. */
function toColumns(patch: BranchPatch): Updateable<BranchRow> {
  const columns: Record<string, string | number | null> = {};
  for (const [key, column] of Object.entries(columnOf)) {
    if (!(key in patch)) continue;
    const value: Branch[keyof BranchPatch] = patch[key as keyof BranchPatch];
    columns[column] = typeof value === "boolean" ? Number(value) : (value ?? null);
  }
  return columns as Updateable<BranchRow>;
}
