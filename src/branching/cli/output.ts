import type { OptionSpec } from "../../platform/cli/command.ts";
import { formatInstantSeconds } from "../../platform/time/clock.ts";
import type { DiffResult } from "../model/branch-diff.ts";
import type { ReconcileAction } from "../model/reconcile-plan.ts";
import type { Branch, MaskScript, Source, Transition } from "../model/records.ts";
import type { BranchPassword } from "../service/engine.ts";

/** The JSON shapes of the contract; `--json` prints them and the daemon's client parses them. */
export const jsonOption: Readonly<Record<string, OptionSpec>> = {
  json: { kind: "boolean", description: "Print JSON instead of a table" },
};

export function formatJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

export function toSourceJson(source: Source): Record<string, unknown> {
  return {
    name: source.name,
    pg_version: source.pgVersion,
    host: source.host,
    port: source.port,
    user: source.user,
    database: source.database,
    ...optional("network", source.network),
    via: source.via,
    ...(source.dumpSchemas.length === 0 ? {} : { dump_schemas: source.dumpSchemas }),
    state: source.state,
    generation: source.generation,
    created_at: formatInstantSeconds(source.createdAtMs),
    ...optional("image", source.image),
  };
}

export function toBranchJson(branch: Branch, password: BranchPassword): Record<string, unknown> {
  return {
    name: branch.name,
    source: branch.sourceName,
    ...optional("parent", branch.parentName),
    state: branch.state,
    ...optional("host", branch.host),
    ...optional("port", branch.port),
    user: branch.user,
    database: branch.database,
    ...(password.kind === "known" ? { password: password.password } : {}),
    ...(password.kind === "unavailable" ? { password_unavailable: true } : {}),
    proxy_database: `${branch.database}@${branch.name}`,
    ...(branch.expiresAtMs === undefined ? {} : { expires_at: formatInstantSeconds(branch.expiresAtMs) }),
    created_at: formatInstantSeconds(branch.createdAtMs),
  };
}

export function toTransitionJson(transition: Transition): Record<string, unknown> {
  return {
    from_state: transition.fromState ?? "",
    to_state: transition.toState,
    reason: transition.reason,
    actor: transition.actor,
    at: formatInstantSeconds(transition.atMs),
  };
}

export function toDiffJson(result: DiffResult): Record<string, unknown> {
  return {
    schema_diff: result.schemaDiff,
    tables: result.tables.map((table) => ({
      schema: table.schema,
      table: table.table,
      base_rows: table.baseRows,
      branch_rows: table.branchRows,
      delta: table.delta,
      ...(table.isUnknown ? { rows_unknown: true } : {}),
      ...(table.sampleRows === undefined ? {} : { sample_rows: table.sampleRows }),
    })),
  };
}

/** Null when there is nothing to do, as the contract has it. */
export function toPlanJson(actions: readonly ReconcileAction[]): Record<string, unknown> {
  return {
    actions: actions.length === 0 ? null : actions.map(({ kind, target, reason }) => ({ kind, target, reason })),
  };
}

export function toMaskJson(mask: MaskScript): Record<string, unknown> {
  return { name: mask.name, sql: mask.sql };
}

function optional(name: string, value: string | number | undefined): Record<string, unknown> {
  return value === undefined ? {} : { [name]: value };
}
