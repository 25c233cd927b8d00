/**
 * CSV by RFC 4180. Spreadsheets run cells that look like formulas, and texts of a report come from clusters, so every
 * place where a program could see the beginning of a cell is guarded.
 */
import { type ExportInput, type Finding, gapText, type Report } from "./export-input.ts";

const header = [
  "cluster",
  "target",
  "evaluatedAt",
  "kbVersion",
  "verdict",
  "score",
  "severity",
  "category",
  "key",
  "title",
  "detail",
  "remediation",
  "teams",
  "namespaces",
  "citations",
] as const;

type Row = Partial<Record<(typeof header)[number], string>>;

export function renderCsv(input: ExportInput): string {
  const rows = input.reports.flatMap((report) => rowsOf(input, report));
  const lines = [
    header.join(","),
    ...rows.map((row) => header.map((column) => formatCell(row[column] ?? "")).join(",")),
  ];
  return `${lines.join("\r\n")}\r\n`;
}

function rowsOf(input: ExportInput, report: Report): Row[] {
  const common: Row = {
    cluster: input.name,
    target: report.target,
    evaluatedAt: input.evaluatedAt ?? report.date,
    kbVersion: report.kbVersion,
    verdict: report.verdict,
    score: String(report.score),
  };
  const title = `${report.blockers} blockers, ${report.warnings} warnings`;
  return [
    { ...common, category: "summary", title },
    ...report.findings.map((finding) => ({ ...common, ...findingCells(finding) })),
    ...report.notAssessed.map((gap) => ({
      ...common,
      category: "not-assessed",
      key: `not-assessed/${gap.capability}`,
      title: gap.capability,
      detail: gapText(gap),
    })),
  ];
}

function findingCells(finding: Finding): Row {
  const namespaces = finding.namespacesOmitted === 0 ? [] : [`and ${finding.namespacesOmitted} more`];
  return {
    severity: finding.severity,
    category: finding.category,
    key: finding.key,
    title: finding.title,
    detail: finding.detail,
    remediation: finding.remediation ?? "",
    teams: finding.teams.join(", "),
    namespaces: [...finding.namespaces, ...namespaces].join(", "),
    citations: finding.citations.join(" "),
  };
}

/** Programs may split at commas, semicolons, tabs and lines, and each part may then begin a formula. */
export function guardFormulas(text: string): string {
  return text.replace(/(?<=^|[,;\t\r\n] *)[=+\-@\t\r]/g, "'$&");
}

function formatCell(text: string): string {
  const guarded = guardFormulas(text);
  return /[",\r\n;\t]|^\s|\s$/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
