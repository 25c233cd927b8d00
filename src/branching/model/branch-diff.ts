/** What changed in a branch against its base: schema text and row counts. Pure; the service brings the facts. */
import { createTwoFilesPatch } from "diff";

export interface TableFacts {
  readonly schema: string;
  readonly table: string;
  /** The planner's estimate, or an exact count; undefined when neither can be had cheaply. */
  readonly rows: number | undefined;
}

export interface TableDelta {
  readonly schema: string;
  readonly table: string;
  readonly baseRows: number;
  readonly branchRows: number;
  readonly delta: number;
  readonly isUnknown: boolean;
  readonly sampleRows?: readonly unknown[];
}

export interface DiffResult {
  readonly schemaDiff: string;
  readonly tables: readonly TableDelta[];
}

export const unknownRows = -1;
/** A table without statistics is counted when its heap is no larger than this. */
export const countedHeapBytesMax = 64 * 1024 * 1024;
export const sampleRowsMax = 500;
const diffTimeoutMs = 20_000;

/** How many of the branch's highest keys are looked up in the base. */
export function sampledKeyCount(sampleRows: number): number {
  return Math.max(10 * sampleRows, 1000);
}

/** The random tokens of newer pg_dump and the comment lines with versions differ from run to run. */
export function normalizeSchemaDump(text: string): string {
  const lines = text
    .split("\n")
    .filter(
      (line) => !/^\\(?:un)?restrict /.test(line) && !/^-- (?:Dumped (?:from|by)|Started on|Completed on)/.test(line),
    );
  return lines.join("\n").replace(/\n{3,}/g, "\n\n");
}

/** A unified diff; empty when nothing differs. */
export function diffSchemas(base: string, branch: string): string {
  const [left, right] = [normalizeSchemaDump(base), normalizeSchemaDump(branch)];
  if (left === right) return "";
  const patch = createTwoFilesPatch("base", "branch", left, right, undefined, undefined, {
    context: 3,
    timeout: diffTimeoutMs,
  });
  if (patch === undefined) return "--- base\n+++ branch\n(the schemas differ too much to show how)\n";
  return patch.replace(/^=+\n/, "");
}

export function compareTables(base: readonly TableFacts[], branch: readonly TableFacts[]): readonly TableDelta[] {
  const key = (table: TableFacts): string => JSON.stringify([table.schema, table.table]);
  const baseByKey = new Map(base.map((table) => [key(table), table]));
  const branchByKey = new Map(branch.map((table) => [key(table), table]));
  const keys = [...new Set([...baseByKey.keys(), ...branchByKey.keys()])].sort();
  return keys.map((id) => {
    const [left, right] = [baseByKey.get(id), branchByKey.get(id)];
    const name = right ?? left;
    const baseRows = left === undefined ? 0 : (left.rows ?? unknownRows);
    const branchRows = right === undefined ? 0 : (right.rows ?? unknownRows);
    const isUnknown = baseRows === unknownRows || branchRows === unknownRows;
    return {
      schema: name?.schema ?? "",
      table: name?.table ?? "",
      baseRows,
      branchRows,
      delta: isUnknown ? 0 : branchRows - baseRows,
      isUnknown,
    };
  });
}
