/** Markdown for a comment on a merge request: the verdict first, details folded, nothing that a name could break out of. */
import {
  countText,
  type ExportInput,
  type Finding,
  gapText,
  type ObjectRef,
  objectLabel,
  objectPlace,
  phaseTitles,
  type Report,
  urlOf,
} from "./export-input.ts";

/** Services cut or refuse longer comments. */
export const maxMarkdownLength = 60_000;
const maxObjectsShown = 20;
const signs = { ready: "✅", blocked: "❌", unknown: "❔" } as const;
const severityTitles = { blocker: "Blockers", warning: "Warnings", info: "Notes" } as const;

export function renderMarkdown(input: ExportInput): string {
  const head = [`## Kubernetes upgrade check: ${escapeMarkdown(input.name)}`, "", ...summaryTable(input.reports), ""];
  const tail =
    (input.warnings ?? []).length === 0
      ? []
      : ["", ...(input.warnings ?? []).map((warning) => `> ⚠️ ${escapeMarkdown(warning)}`)];
  const body = input.reports.flatMap((report) => renderReport(report, input.reports.length > 1));
  return cut([...head, ...body, ...tail]);
}

function summaryTable(reports: readonly Report[]): string[] {
  const rows = reports.map(
    (report) =>
      `| ${report.target} | ${signs[report.verdict]} ${report.verdict} | ${report.score} | ${report.blockers} | ${report.warnings} | ${report.suppressedCount} |`,
  );
  return ["| Target | Verdict | Score | Blockers | Warnings | Accepted |", "|---|---|---:|---:|---:|---:|", ...rows];
}

function renderReport(report: Report, hasManyTargets: boolean): string[] {
  const level = hasManyTargets ? "####" : "###";
  const lines = hasManyTargets ? [`### Target ${report.target}`, ""] : [];
  for (const severity of ["blocker", "warning", "info"] as const) {
    const findings = report.findings.filter((finding) => finding.severity === severity);
    if (findings.length === 0) continue;
    lines.push(`${level} ${severityTitles[severity]} (${findings.length})`, "");
    for (const finding of findings) lines.push(...renderFinding(finding));
  }
  if (report.findings.length === 0) lines.push("Nothing stands in the way.", "");
  if (report.notAssessed.length > 0) lines.push(...renderGaps(report));
  lines.push(`<sub>Facts: ${escapeMarkdown(report.kbVersion)}, judged for ${report.date}.</sub>`, "");
  return lines;
}

function renderFinding(finding: Finding): string[] {
  const fix = finding.remediation === undefined ? [] : [`**Fix:** ${withCode(finding.remediation)}`, ""];
  const sources = finding.citations.flatMap(
    (citation) => urlOf(citation)?.replaceAll("(", "%28").replaceAll(")", "%29") ?? [],
  );
  return [
    `<details><summary><b>${escapeHtml(finding.title)}</b></summary>`,
    "",
    `${withCode(finding.detail)} *Bites ${phaseTitles[finding.phase]}.*`,
    "",
    ...fix,
    ...finding.objects.slice(0, maxObjectsShown).map(renderObject),
    ...moreObjects(finding),
    "",
    `Key \`${codeSafe(finding.key)}\`${sources.length === 0 ? "" : ` · ${sources.map((source, index) => `[source ${index + 1}](${source})`).join(" · ")}`}`,
    "",
    "</details>",
    "",
  ];
}

function renderObject(object: ObjectRef): string {
  const place = objectPlace(object);
  const template = object.renderedFrom === undefined ? "" : `, from \`${codeSafe(object.renderedFrom)}\``;
  return `- \`${codeSafe(objectLabel(object))}\`${place === "" ? "" : ` in \`${codeSafe(place)}\``}${template}`;
}

function moreObjects(finding: Finding): string[] {
  const more = Math.max(0, finding.objects.length - maxObjectsShown) + finding.objectsOmitted;
  return more === 0 ? [] : [`- and ${more} more`];
}

function renderGaps(report: Report): string[] {
  const required = report.notAssessed.filter((gap) => gap.required === true).length;
  const title = `Not assessed (${countText(report.notAssessed.length, "area")}${required > 0 ? `, ${required} required` : ""})`;
  const rows = report.notAssessed.map(
    (gap) =>
      `- **${escapeMarkdown(gap.capability)}**${gap.required === true ? " (required)" : ""}: ${escapeMarkdown(gapText(gap))}`,
  );
  return [`<details><summary>${title}</summary>`, "", ...rows, "", "</details>", ""];
}

function cut(lines: readonly string[]): string {
  let length = 0;
  const kept: string[] = [];
  for (const line of lines) {
    length += line.length + 1;
    if (length > maxMarkdownLength) {
      // Unclosed folds would swallow what follows in the comment.
      const open =
        kept.filter((text) => text.startsWith("<details>")).length -
        kept.filter((text) => text === "</details>").length;
      kept.push(
        "",
        ...Array.from({ length: open }, () => "</details>"),
        "",
        "*Cut here: the whole report is longer than a comment may be.*",
      );
      break;
    }
    kept.push(line);
  }
  return `${kept.join("\n").trimEnd()}\n`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>]/g, (character) => (character === "&" ? "&amp;" : character === "<" ? "&lt;" : "&gt;"));
}

function escapeMarkdown(text: string): string {
  return escapeHtml(text.replace(/[\r\n]+/g, " ")).replace(/[\\`*_{}[\]|#~!@]/g, (character) => `\\${character}`);
}

/** Our own texts mark code with backquotes; everything else in them is escaped. */
function withCode(text: string): string {
  return text
    .split(/(`[^`\n]*`)/)
    .map((part) => (part.startsWith("`") && part.endsWith("`") && part.length > 1 ? part : escapeMarkdown(part)))
    .join("");
}

function codeSafe(text: string): string {
  return text.replace(/[`\r\n]/g, "'");
}
