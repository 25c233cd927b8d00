import type { ExportInput } from "./export-input.ts";

/** A report as it is; several targets as `{schemaVersion, reports}`. Described by `schema/report.schema.json`. */
export function renderJson({ reports, warnings = [], evaluatedAt }: ExportInput): string {
  const meta = {
    ...(evaluatedAt === undefined ? {} : { evaluatedAt }),
    ...(warnings.length === 0 ? {} : { inputWarnings: warnings }),
  };
  const [only] = reports;
  const value =
    reports.length === 1 && only !== undefined ? { ...only, ...meta } : { schemaVersion: 1, reports, ...meta };
  return `${JSON.stringify(value, null, 2)}\n`;
}
