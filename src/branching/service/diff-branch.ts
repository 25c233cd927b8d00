/**
 * Compares a branch with the state that a reset would return to, by starting that state as a throwaway branch. The
 * throwaway is masked like any other and its gate never opens; its row makes sure that it is found after a crash.
 */
import { assert } from "../../platform/errors/assert.ts";
import { branchingError } from "../errors.ts";
import {
  compareTables,
  countedHeapBytesMax,
  type DiffResult,
  diffSchemas,
  sampledKeyCount,
  sampleRowsMax,
  type TableDelta,
  type TableFacts,
} from "../model/branch-diff.ts";
import { callerBytesMax, clipToolOutput } from "../model/failure-text.ts";
import type { Branch } from "../model/records.ts";
import { volumeName } from "../model/resource-names.ts";
import { quoteIdentifier, quoteLiteral } from "../model/sql-text.ts";
import { branchNotFound, withToolOutput, wrongState } from "./branch-errors.ts";
import { loadBase } from "./branch-instance.ts";
import { destroyBranch } from "./destroy-branch.ts";
import { type Caller, type EngineContext, newId, randomSuffix } from "./engine-context.ts";
import { runOperation } from "./operation.ts";
import type { NewBranch } from "./ports.ts";
import { listProvisionSteps, type Provisioned } from "./provision.ts";
import { branchSocketFolder, runSql } from "./run-sql.ts";
import { runSaga } from "./saga.ts";

const throwawayTtlMs = 3_600_000;
const dumpBytesMax = 64 * 1024 * 1024;
const rowBytesMax = 32 * 1024 * 1024;
const queryTimeoutMs = 10 * 60_000;

/** One side of the comparison. */
interface Side {
  readonly instanceId: string;
  readonly superuser: string;
  readonly database: string;
  readonly signal: AbortSignal;
}

export async function diffBranch(
  context: EngineContext,
  name: string,
  sampleRows: number,
  caller: Caller,
): Promise<DiffResult> {
  if (!Number.isInteger(sampleRows) || sampleRows < 0 || sampleRows > sampleRowsMax) {
    throw branchingError(
      "invalid_request",
      `Cannot sample ${sampleRows} rows: the number must be from 0 to ${sampleRowsMax}`,
    );
  }
  const branch = await context.registry.branches.findLiveBranch(name);
  if (branch === undefined) throw branchNotFound(name);
  if (branch.state !== "ready") throw wrongState("diff", branch, "ready");
  const row = newThrowaway(context, branch);
  const outcome = await context.registry.branches.insertBranch(row, { maxBranches: 0 }, caller.actor);
  if (outcome.kind !== "inserted")
    throw branchingError("diff_failed", `Cannot diff branch "${name}": its base could not be started`);
  try {
    return await compareWithBase(context, branch, row, sampleRows, caller);
  } catch (error) {
    throw withToolOutput(error);
  } finally {
    await destroyBranch(context, row.name, caller, `diff of ${name} is done`);
  }
}

function newThrowaway(context: EngineContext, branch: Branch): NewBranch {
  const nowMs = context.clock.nowMs();
  const name = `diff-${Buffer.from(context.random.bytes(3)).toString("hex")}`;
  return {
    id: newId(context),
    name,
    sourceName: branch.sourceName,
    generationId: branch.generationId,
    parentName: undefined,
    parentId: undefined,
    baseLayerId: branch.baseLayerId,
    topLayerId: branch.baseLayerId,
    volume: volumeName(context.registry.instanceId, "branch", name, randomSuffix(context)),
    pendingVolume: undefined,
    instanceId: undefined,
    host: undefined,
    port: undefined,
    user: branch.user,
    database: branch.database,
    sealedPassword: undefined,
    isThrowaway: true,
    expiresAtMs: nowMs + throwawayTtlMs,
    nowMs,
  };
}

async function compareWithBase(
  context: EngineContext,
  branch: Branch,
  row: NewBranch,
  sampleRows: number,
  caller: Caller,
): Promise<DiffResult> {
  assert(row.volume && branch.instanceId, "a throwaway has a volume, a ready branch an instance");
  const base = await loadBase(context, row.generationId, row.baseLayerId);
  const masks = await context.registry.sources.listMasks(row.sourceName);
  const result: Provisioned = { instanceId: undefined, port: undefined, sealedPassword: undefined };
  const input = { ...row, branchName: row.name, volume: row.volume, base, masks, rotates: false, opensGate: false };
  const branchInstance = branch.instanceId;
  const spec = {
    name: "diff",
    subject: `branch "${branch.name}"`,
    limitMs: context.settings.stuckTimeoutMs,
    heartbeat: (atMs: number) => context.registry.branches.touchBranch(row.id, atMs),
  };
  return runOperation(context, spec, caller, async (signal) => {
    const options = { operation: "diff", signal, logger: context.logger, hooks: context.hooks };
    await runSaga(listProvisionSteps(context, input, result), options);
    assert(result.instanceId, "the saga has started it");
    const common = { superuser: base.generation.superuser, database: branch.database, signal };
    const baseSide = { ...common, instanceId: result.instanceId };
    const branchSide = { ...common, instanceId: branchInstance };
    return compareSides(context, baseSide, branchSide, sampleRows);
  });
}

async function compareSides(context: EngineContext, base: Side, branch: Side, sampleRows: number): Promise<DiffResult> {
  const schemaDiff = diffSchemas(await dumpSchema(context, base), await dumpSchema(context, branch));
  const tables = compareTables(await listTables(context, base), await listTables(context, branch));
  if (sampleRows === 0) return { schemaDiff, tables };
  const sampled: TableDelta[] = [];
  for (const table of tables) {
    const rows = table.delta > 0 ? await sampleTable(context, base, branch, table, sampleRows) : undefined;
    sampled.push(rows === undefined ? table : { ...table, sampleRows: rows });
  }
  return { schemaDiff, tables: sampled };
}

async function dumpSchema(context: EngineContext, side: Side): Promise<string> {
  const flags = ["--schema-only", "--no-owner", "--no-acl", "-w", "-h", branchSocketFolder, "-U", side.superuser];
  const result = await context.runtime.exec(
    side.instanceId,
    {
      argv: ["pg_dump", ...flags, "-d", side.database],
      user: "postgres",
      timeoutMs: queryTimeoutMs,
      outputBytesMax: dumpBytesMax,
    },
    side.signal,
  );
  if (result.exitCode !== 0)
    throw branchingError("diff_failed", `Cannot dump the schema: ${clipToolOutput(result.stderr, callerBytesMax)}`);
  return result.stdout.toString("utf8");
}

interface TableRow {
  readonly schema: string;
  readonly table: string;
  /** -1 without statistics. */
  readonly estimate: number;
  readonly heapBytes: number;
}

/** As the planner does it: the rows of the last analysis, scaled by how the table has grown since. */
const listTablesSql = `SELECT pg_catalog.json_build_object('schema', n.nspname, 'table', c.relname, 'heapBytes', s.bytes, 'estimate',
  CASE WHEN c.reltuples < 0 OR (c.relpages = 0 AND s.bytes > 0) THEN -1
       WHEN c.relpages = 0 THEN 0
       ELSE pg_catalog.round((c.reltuples / c.relpages * (s.bytes / pg_catalog.current_setting('block_size')::bigint))::numeric) END)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace,
LATERAL (SELECT pg_catalog.pg_relation_size(c.oid) AS bytes) s
WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
ORDER BY n.nspname, c.relname;`;

async function listTables(context: EngineContext, side: Side): Promise<readonly TableFacts[]> {
  const rows = await queryJson<TableRow>(context, side, listTablesSql);
  const tables: TableFacts[] = [];
  for (const row of rows) {
    const isCounted = row.estimate < 0 && row.heapBytes <= countedHeapBytesMax;
    const counted = isCounted ? await countRows(context, side, row) : undefined;
    tables.push({ schema: row.schema, table: row.table, rows: row.estimate < 0 ? counted : Number(row.estimate) });
  }
  return tables;
}

async function countRows(context: EngineContext, side: Side, table: TableRow): Promise<number> {
  const sql = `SELECT pg_catalog.count(*) FROM ONLY ${qualifiedName(table)};`;
  return (await queryJson<number>(context, side, sql))[0] ?? 0;
}

function qualifiedName(table: { readonly schema: string; readonly table: string }): string {
  return `${quoteIdentifier(table.schema)}.${quoteIdentifier(table.table)}`;
}

interface SampledRow {
  readonly key: readonly unknown[];
  readonly row: unknown;
}

/** The branch's highest keys that the base does not have; undefined for a table without a primary key. */
async function sampleTable(
  context: EngineContext,
  base: Side,
  branch: Side,
  table: TableDelta,
  sampleRows: number,
): Promise<readonly unknown[] | undefined> {
  const columns = await listKeyColumns(context, branch, table);
  if (columns.length === 0) return undefined;
  const keys = columns.map(quoteIdentifier);
  const name = qualifiedName(table);
  const highest = await queryJson<SampledRow>(
    context,
    branch,
    `SELECT pg_catalog.json_build_object('key', pg_catalog.json_build_array(${keys.map((key) => `t.${key}`).join(", ")}), 'row', pg_catalog.row_to_json(t))
     FROM ONLY ${name} t ORDER BY ${keys.map((key) => `t.${key} DESC`).join(", ")} LIMIT ${sampledKeyCount(sampleRows)};`,
  );
  const records = highest.map((item) => Object.fromEntries(columns.map((column, index) => [column, item.key[index]])));
  const known = await queryJson<readonly unknown[]>(
    context,
    base,
    `SELECT pg_catalog.json_build_array(${keys.map((key) => `t.${key}`).join(", ")}) FROM ONLY ${name} t
     JOIN pg_catalog.json_populate_recordset(NULL::${name}, ${quoteLiteral(JSON.stringify(records))}) k USING (${keys.join(", ")});`,
  );
  const inBase = new Set(known.map((key) => JSON.stringify(key)));
  const fresh = highest.filter((item) => !inBase.has(JSON.stringify(item.key)));
  return fresh.slice(0, sampleRows).map((item) => item.row);
}

async function listKeyColumns(context: EngineContext, side: Side, table: TableDelta): Promise<readonly string[]> {
  return queryJson<string>(
    context,
    side,
    `SELECT pg_catalog.to_json(a.attname::text) FROM pg_catalog.pg_index i
     JOIN LATERAL pg_catalog.unnest(i.indkey) WITH ORDINALITY k(attnum, position) ON true
     JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
     WHERE i.indisprimary AND i.indrelid = ${quoteLiteral(qualifiedName(table))}::pg_catalog.regclass ORDER BY k.position;`,
  );
}

/** One JSON value per row. */
async function queryJson<T>(context: EngineContext, side: Side, sql: string): Promise<readonly T[]> {
  const result = await runSql(context.runtime, {
    instanceId: side.instanceId,
    user: side.superuser,
    database: side.database,
    sql,
    isTabular: true,
    timeoutMs: queryTimeoutMs,
    signal: side.signal,
    outputBytesMax: rowBytesMax,
  });
  if (result.exitCode !== 0)
    throw branchingError("diff_failed", `Cannot compare tables: ${clipToolOutput(result.stderr, callerBytesMax)}`);
  const lines = result.stdout.toString("utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as T);
}
