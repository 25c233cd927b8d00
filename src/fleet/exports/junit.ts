/** JUnit XML: a suite for each category, a case for each finding; a case fails when it reaches the bound of the gate. */
import {
  type ExportInput,
  type Finding,
  gapText,
  objectLabel,
  objectPlace,
  type Report,
  requiredGaps,
} from "./export-input.ts";

interface Case {
  readonly name: string;
  readonly className: string;
  readonly body: string;
  readonly outcome: "failure" | "error" | "skipped" | "passed";
}

export function renderJunit(input: ExportInput): string {
  const suites = input.reports.flatMap((report) => suitesOf(input, report));
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="fleetscope">\n${suites.join("")}</testsuites>\n`;
}

function suitesOf(input: ExportInput, report: Report): string[] {
  const byCategory = new Map<string, Case[]>();
  const add = (category: string, entry: Case): void => {
    byCategory.set(category, [...(byCategory.get(category) ?? []), entry]);
  };
  for (const finding of report.findings) add(finding.category, caseOf(finding, reaches(input, finding)));
  for (const finding of report.suppressed) {
    add(finding.category, { ...caseOf(finding, false), outcome: "skipped", body: `Accepted: ${finding.reason}` });
  }
  for (const gap of requiredGaps(report)) {
    add("not-assessed", { name: gap.capability, className: "not-assessed", body: gapText(gap), outcome: "error" });
  }
  if (byCategory.size === 0)
    add("ready", { name: "nothing stands in the way", className: "ready", body: "", outcome: "passed" });
  return [...byCategory].map(([category, cases]) => renderSuite(`${report.target} ${category}`, cases));
}

function reaches({ failOn }: ExportInput, finding: Finding): boolean {
  if (failOn === "never" || finding.baselineState === "unchanged") return false;
  return finding.severity === "blocker" || (failOn === "warning" && finding.severity === "warning");
}

function caseOf(finding: Finding, isFailure: boolean): Case {
  const objects = finding.objects.map((object) => `- ${objectLabel(object)} ${objectPlace(object)}`.trimEnd());
  const more = finding.objectsOmitted === 0 ? [] : [`- and ${finding.objectsOmitted} more`];
  const lines = [
    finding.detail,
    ...(finding.remediation === undefined ? [] : [finding.remediation]),
    ...objects,
    ...more,
    ...finding.citations,
  ];
  return {
    name: `${finding.title} [${finding.key}]`,
    className: finding.category,
    body: lines.join("\n"),
    outcome: isFailure ? "failure" : finding.baselineState === "unchanged" ? "skipped" : "passed",
  };
}

function renderSuite(name: string, cases: readonly Case[]): string {
  const count = (outcome: Case["outcome"]): number => cases.filter((entry) => entry.outcome === outcome).length;
  const head = `  <testsuite name="${escapeXml(name)}" tests="${cases.length}" failures="${count("failure")}" errors="${count("error")}" skipped="${count("skipped")}" time="0">\n`;
  return `${head}${cases.map(renderCase).join("")}  </testsuite>\n`;
}

function renderCase({ name, className, body, outcome }: Case): string {
  const head = `    <testcase name="${escapeXml(name)}" classname="fleetscope.${escapeXml(className)}" time="0"`;
  if (outcome === "passed") {
    return body === ""
      ? `${head}/>\n`
      : `${head}>\n      <system-out>${escapeXml(body)}</system-out>\n    </testcase>\n`;
  }
  const [message = ""] = body.split("\n");
  if (outcome === "skipped") return `${head}>\n      <skipped message="${escapeXml(message)}"/>\n    </testcase>\n`;
  return `${head}>\n      <${outcome} message="${escapeXml(message)}" type="${escapeXml(className)}">${escapeXml(body)}</${outcome}>\n    </testcase>\n`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Characters that XML 1.0 cannot hold at all become replacement characters. */
export function escapeXml(text: string): string {
  return (
    text
      .toWellFormed()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what has to go.
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
      .replace(/[&<>"']/g, (character) => entities[character] ?? character)
  );
}
