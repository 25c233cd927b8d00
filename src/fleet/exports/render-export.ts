import { unreachable } from "../../platform/errors/assert.ts";
import { renderCodeQuality } from "./code-quality.ts";
import { renderCsv } from "./csv.ts";
import type { ExportInput } from "./export-input.ts";
import { renderHtml } from "./html.ts";
import { renderJson } from "./json.ts";
import { renderJunit } from "./junit.ts";
import { renderMarkdown } from "./markdown.ts";
import { renderSarif } from "./sarif.ts";

export type ExportFormat = "json" | "sarif" | "codequality" | "junit" | "csv" | "markdown" | "html";

export const exportFormats: readonly ExportFormat[] = [
  "json",
  "sarif",
  "codequality",
  "junit",
  "csv",
  "markdown",
  "html",
];

export interface ExportType {
  readonly contentType: string;
  /** Ending of a file name, without the dot. */
  readonly extension: string;
}

export const exportTypes: Readonly<Record<ExportFormat, ExportType>> = {
  json: { contentType: "application/json", extension: "json" },
  sarif: { contentType: "application/sarif+json", extension: "sarif" },
  codequality: { contentType: "application/vnd.fleetscope.codequality+json", extension: "codequality.json" },
  junit: { contentType: "application/xml", extension: "xml" },
  csv: { contentType: "text/csv; charset=utf-8", extension: "csv" },
  markdown: { contentType: "text/markdown; charset=utf-8", extension: "md" },
  html: { contentType: "text/html; charset=utf-8", extension: "html" },
};

const aliases = new Map<string, ExportFormat>([
  ["gitlab-codequality", "codequality"],
  ["md", "markdown"],
]);

/** Undefined for a format nobody knows. */
export function parseExportFormat(text: string): ExportFormat | undefined {
  return aliases.get(text) ?? exportFormats.find((format) => format === text);
}

export function renderExport(format: ExportFormat, input: ExportInput): string {
  switch (format) {
    case "json":
      return renderJson(input);
    case "sarif":
      return renderSarif(input);
    case "codequality":
      return renderCodeQuality(input);
    case "junit":
      return renderJunit(input);
    case "csv":
      return renderCsv(input);
    case "markdown":
      return renderMarkdown(input);
    case "html":
      return renderHtml(input);
    default:
      return unreachable(format);
  }
}
