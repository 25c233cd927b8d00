/**
 * The report for a terminal: the verdict, then findings by severity and by the moment they bite, each with its places
 * and its fix. Everything that a person needs to act is on the screen; keys lead to more.
 */
import {
  countText,
  type ExportInput,
  type Finding,
  gapText,
  type ObjectRef,
  objectLabel,
  objectPlace,
  phaseOrder,
  phaseTitles,
  type Report,
} from "./export-input.ts";

export type Paint = (name: "bold" | "dim" | "red" | "green" | "yellow" | "cyan", text: string) => string;

export interface TableOptions {
  readonly paint: Paint;
  readonly columns: number;
  /** Objects shown for each finding. */
  readonly maxObjects: number;
}

const severityTitles = { blocker: "BLOCKERS", warning: "WARNINGS", info: "NOTES" } as const;
const severityColors = { blocker: "red", warning: "yellow", info: "cyan" } as const;
const verdictColors = { ready: "green", blocked: "red", unknown: "yellow" } as const;

export function renderTable(input: ExportInput, options: TableOptions): string {
  const lines = input.reports.flatMap((report) => [...renderReport(report, options), ""]);
  if (input.reports.length > 1) lines.push(...renderComparison(input.reports, options));
  for (const warning of input.warnings ?? []) lines.push(options.paint("yellow", `note: ${printable(warning)}`));
  return `${lines.join("\n").trimEnd()}\n`;
}

function renderReport(report: Report, options: TableOptions): string[] {
  const { paint } = options;
  const lines = [
    `${paint("bold", `Kubernetes ${report.target}`)}: ${paint(verdictColors[report.verdict], report.verdict)}, score ${report.score}/100, ${countText(report.blockers, "blocker")}, ${countText(report.warnings, "warning")}${report.suppressedCount === 0 ? "" : `, ${report.suppressedCount} accepted`}`,
  ];
  for (const severity of ["blocker", "warning", "info"] as const) {
    const findings = report.findings.filter((finding) => finding.severity === severity);
    if (findings.length === 0) continue;
    lines.push("", paint("bold", paint(severityColors[severity], severityTitles[severity])));
    for (const phase of phaseOrder) {
      const group = findings.filter((finding) => finding.phase === phase);
      if (group.length === 0) continue;
      lines.push(`  ${paint("dim", phaseTitles[phase])}`);
      for (const finding of group) lines.push(...renderFinding(finding, options));
    }
  }
  if (report.notAssessed.length > 0) lines.push("", paint("bold", "NOT ASSESSED"));
  for (const gap of report.notAssessed) {
    const mark = gap.required === true ? paint("yellow", " (required)") : "";
    lines.push(...wrap(`${gap.capability}${mark}: ${printable(gapText(gap))}`, 2, options.columns));
  }
  for (const note of report.notes) lines.push(...wrap(`note: ${printable(note)}`, 2, options.columns));
  lines.push("", paint("dim", `facts ${report.kbVersion}, judged for ${report.date}; --explain KEY tells more`));
  return lines;
}

function renderFinding(finding: Finding, { paint, columns, maxObjects }: TableOptions): string[] {
  const lines = [`  ${paint(severityColors[finding.severity], "●")} ${paint("bold", printable(finding.title))}`];
  lines.push(...wrap(printable(finding.detail), 4, columns));
  if (finding.remediation !== undefined)
    lines.push(...wrap(`${paint("green", "fix")}: ${printable(finding.remediation)}`, 4, columns));
  for (const object of finding.objects.slice(0, maxObjects)) lines.push(`    - ${describeObject(object, paint)}`);
  const more = Math.max(0, finding.objects.length - maxObjects) + finding.objectsOmitted;
  if (more > 0) lines.push(`    - and ${more} more`);
  lines.push(
    `    ${paint("dim", `${finding.key}${finding.citations[0] === undefined ? "" : `  ${finding.citations[0]}`}`)}`,
  );
  return lines;
}

function describeObject(object: ObjectRef, paint: Paint): string {
  const place = objectPlace(object);
  const template = object.renderedFrom === undefined ? "" : ` (${object.renderedFrom})`;
  return (
    printable(`${objectLabel(object)}${place === "" ? "" : `  ${place}`}${template}`) +
    (object.manager === undefined ? "" : paint("dim", ` by ${printable(object.manager)}`))
  );
}

/** Which finding holds at which target. */
function renderComparison(reports: readonly Report[], { paint }: TableOptions): string[] {
  const keys = new Map<string, string>();
  for (const report of reports) for (const finding of report.findings) keys.set(finding.key, finding.key);
  const letters = { blocker: "B", warning: "W", info: "i" } as const;
  const width = Math.max(8, ...[...keys.keys()].map((key) => key.length));
  const head = `${"KEY".padEnd(width)}  ${reports.map((report) => report.target.padStart(6)).join("")}`;
  const rows = [...keys.keys()].sort().map((key) => {
    const cells = reports.map((report) => {
      const finding = report.findings.find((candidate) => candidate.key === key);
      const cell = (finding === undefined ? "·" : letters[finding.severity]).padStart(6);
      return finding === undefined ? paint("dim", cell) : paint(severityColors[finding.severity], cell);
    });
    return `${key.padEnd(width)}  ${cells.join("")}`;
  });
  const verdicts = `${"verdict".padEnd(width)}  ${reports.map((report) => report.score.toString().padStart(6)).join("")}`;
  return [paint("bold", head), ...rows, paint("dim", verdicts.replace("verdict", "score  ")), ""];
}

/** A finding with everything known of it, for `--explain`. */
export function renderExplanation(report: Report, finding: Finding, options: TableOptions): string {
  const { paint } = options;
  const lines = [
    `${paint("bold", finding.key)} at Kubernetes ${report.target}`,
    "",
    ...renderFinding(finding, { ...options, maxObjects: Number.POSITIVE_INFINITY }).slice(0, -1),
    "",
    `  severity   ${finding.severity}`,
    `  category   ${finding.category}`,
    `  bites      ${phaseTitles[finding.phase]}`,
    `  seen in    ${finding.source === "manifest" ? "manifests" : "the cluster"}`,
    ...(finding.teams.length === 0 ? [] : [`  teams      ${finding.teams.join(", ")}`]),
    ...(finding.namespaces.length === 0
      ? []
      : [
          `  namespaces ${finding.namespaces.join(", ")}${finding.namespacesOmitted === 0 ? "" : ` and ${finding.namespacesOmitted} more`}`,
        ]),
    ...(finding.callers === undefined ? [] : [`  callers    ${finding.callers.join(", ")}`]),
    ...finding.citations.map((citation, index) => `  ${index === 0 ? "sources   " : "          "} ${citation}`),
    "",
    "  To accept it, add to the file of --config:",
    `    ignore:\n      - key: ${JSON.stringify(finding.key)}\n        reason: why it is acceptable\n        expires: YYYY-MM-DD`,
  ];
  return `${lines.join("\n")}\n`;
}

/** Texts of clusters and files must not steer the terminal. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what has to go.
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, " ");
}

function wrap(text: string, indent: number, columns: number): string[] {
  const width = Math.max(40, Math.min(columns, 120) - indent);
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(" ".repeat(indent) + line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  if (line !== "") lines.push(" ".repeat(indent) + line);
  return lines;
}
