/**
 * One HTML file: no script, no request, readable in print and in the dark. A content security policy in the file itself
 * keeps it so, whatever a cluster put into its names.
 */
import {
  type ExportInput,
  type Finding,
  gapText,
  type HistoryPoint,
  objectLabel,
  objectPlace,
  phaseTitles,
  type Report,
  urlOf,
} from "./export-input.ts";
import { htmlStyle } from "./html-style.ts";

const maxHistoryPoints = 365;

export function renderHtml(input: ExportInput): string {
  const title = `Upgrade readiness of ${input.name}`;
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    `<title>${escapeHtml(title)}</title>`,
    `<style>${htmlStyle}</style>`,
    "</head>",
    "<body>",
    "<main>",
    `<h1>${escapeHtml(title)}</h1>`,
    renderMeta(input),
    renderSummary(input.reports),
    renderTrend(input.history ?? []),
    ...(input.warnings ?? []).map((warning) => `<p class="note">${escapeHtml(warning)}</p>`),
    ...input.reports.map((report) => renderReport(report, input.reports.length > 1)),
    "</main>",
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

function renderMeta({ evaluatedAt, reports, toolVersion }: ExportInput): string {
  const [report] = reports;
  const parts = [
    `judged ${evaluatedAt ?? `for ${report?.date ?? ""}`}`,
    `facts ${report?.kbVersion ?? ""}`,
    `fleetscope ${toolVersion}`,
    ...(report?.serverVersion === undefined ? [] : [`API server ${report.serverVersion}`]),
  ];
  return `<p class="meta">${escapeHtml(parts.join(" · "))}</p>`;
}

function renderSummary(reports: readonly Report[]): string {
  const rows = reports.map(
    (report) =>
      `<tr><th scope="row">${escapeHtml(report.target)}</th><td><span class="verdict ${report.verdict}">${report.verdict}</span></td><td class="number">${report.score}</td><td class="number">${report.blockers}</td><td class="number">${report.warnings}</td><td class="number">${report.suppressedCount}</td></tr>`,
  );
  return `<table class="summary"><thead><tr><th scope="col">Target</th><th scope="col">Verdict</th><th scope="col">Score</th><th scope="col">Blockers</th><th scope="col">Warnings</th><th scope="col">Accepted</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

/** Scores over time as one line, from 0 below to 100 above. */
export function renderTrend(history: readonly HistoryPoint[]): string {
  const points = history.slice(-maxHistoryPoints);
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined || points.length < 2) return "";
  const [width, height, margin] = [320, 64, 4];
  const step = (width - 2 * margin) / (points.length - 1);
  const yOf = (score: number): number =>
    margin + ((100 - Math.min(100, Math.max(0, score))) * (height - 2 * margin)) / 100;
  const path = points
    .map(({ score }, index) => `${(margin + index * step).toFixed(1)},${yOf(score).toFixed(1)}`)
    .join(" ");
  const label = `Score from ${first.score} on ${first.at.slice(0, 10)} to ${last.score} on ${last.at.slice(0, 10)}`;
  return [
    `<figure><svg role="img" aria-label="${escapeHtml(label)}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<title>${escapeHtml(label)}</title>`,
    `<polyline points="${path}" fill="none" stroke="currentColor" stroke-width="2" stroke-linejoin="round"/>`,
    `<circle cx="${(margin + (points.length - 1) * step).toFixed(1)}" cy="${yOf(last.score).toFixed(1)}" r="3" fill="currentColor"/>`,
    `</svg><figcaption>${escapeHtml(label)}</figcaption></figure>`,
  ].join("");
}

function renderReport(report: Report, hasManyTargets: boolean): string {
  const severities = ["blocker", "warning", "info"] as const;
  const titles = { blocker: "Blockers", warning: "Warnings", info: "Notes" } as const;
  const groups = severities.flatMap((severity) => {
    const findings = report.findings.filter((finding) => finding.severity === severity);
    return findings.length === 0
      ? []
      : [`<h3>${titles[severity]} (${findings.length})</h3>`, ...findings.map(renderFinding)];
  });
  const nothing = report.findings.length === 0 ? ["<p>Nothing stands in the way.</p>"] : [];
  return [
    `<section>${hasManyTargets ? `<h2>Target ${escapeHtml(report.target)}</h2>` : ""}`,
    ...nothing,
    ...groups,
    renderTeams(report),
    renderGaps(report),
    renderSuppressed(report),
    "</section>",
  ].join("\n");
}

function renderFinding(finding: Finding): string {
  const objects = finding.objects.map((object) => {
    const place = objectPlace(object);
    const template =
      object.renderedFrom === undefined ? "" : ` <span class="dim">${escapeHtml(object.renderedFrom)}</span>`;
    return `<li><code>${escapeHtml(objectLabel(object))}</code>${place === "" ? "" : ` <code class="place">${escapeHtml(place)}</code>`}${template}</li>`;
  });
  const more = finding.objectsOmitted === 0 ? [] : [`<li>and ${finding.objectsOmitted} more</li>`];
  const citations = finding.citations.map((citation) => {
    const url = urlOf(citation);
    return url === undefined
      ? escapeHtml(citation)
      : `<a href="${escapeHtml(url)}" rel="noreferrer">${escapeHtml(citation)}</a>`;
  });
  return [
    `<article class="${finding.severity}"><h4>${escapeHtml(finding.title)}</h4>`,
    `<p>${withCode(finding.detail)} <em>Bites ${phaseTitles[finding.phase]}.</em></p>`,
    finding.remediation === undefined ? "" : `<p class="fix">${withCode(finding.remediation)}</p>`,
    objects.length + more.length === 0 ? "" : `<ul>${[...objects, ...more].join("")}</ul>`,
    finding.teams.length === 0 ? "" : `<p class="dim">Teams: ${escapeHtml(finding.teams.join(", "))}</p>`,
    `<p class="dim"><code>${escapeHtml(finding.key)}</code>${citations.length === 0 ? "" : ` · ${citations.join(" · ")}`}</p>`,
    "</article>",
  ].join("");
}

function renderTeams(report: Report): string {
  const teams = Object.entries(report.teams);
  if (teams.length === 0) return "";
  const rows = teams.map(
    ([team, score]) =>
      `<tr><th scope="row">${escapeHtml(team)}</th><td><span class="verdict ${score.verdict}">${score.verdict}</span></td><td class="number">${score.score}</td><td class="number">${score.blockers}</td><td class="number">${score.warnings}</td></tr>`,
  );
  return `<h3>Teams</h3><table><thead><tr><th scope="col">Team</th><th scope="col">Verdict</th><th scope="col">Score</th><th scope="col">Blockers</th><th scope="col">Warnings</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

function renderGaps(report: Report): string {
  if (report.notAssessed.length === 0) return "";
  const rows = report.notAssessed.map(
    (gap) =>
      `<li><b>${escapeHtml(gap.capability)}</b>${gap.required === true ? " (required)" : ""}: ${escapeHtml(gapText(gap))}</li>`,
  );
  return `<h3>Not assessed</h3><ul>${rows.join("")}</ul>`;
}

function renderSuppressed(report: Report): string {
  if (report.suppressed.length === 0) return "";
  const rows = report.suppressed.map(
    (finding) =>
      `<li>${escapeHtml(finding.title)}: ${escapeHtml(finding.reason)}${finding.expires === undefined ? "" : ` (until ${escapeHtml(finding.expires)})`}</li>`,
  );
  return `<h3>Accepted</h3><ul>${rows.join("")}</ul>`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** Backquotes of our own texts become code. */
function withCode(text: string): string {
  return text
    .split(/`([^`\n]*)`/)
    .map((part, index) => (index % 2 === 1 ? `<code>${escapeHtml(part)}</code>` : escapeHtml(part)))
    .join("");
}
