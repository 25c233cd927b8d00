/** GitLab Code Quality: one list of issues. What is accepted is left out, what could not be seen is an issue of its own. */
import { type ExportInput, gapText, messageOf, occurrencesOf, type Report } from "./export-input.ts";
import { FingerprintMaker } from "./sarif.ts";

const severityNames = { blocker: "critical", warning: "minor", info: "info" } as const;

interface Issue {
  readonly description: string;
  readonly check_name: string;
  readonly fingerprint: string;
  readonly severity: "critical" | "minor" | "info";
  readonly location: { readonly path: string; readonly lines: { readonly begin: number } };
}

export function renderCodeQuality(input: ExportInput): string {
  const hasManyTargets = input.reports.length > 1;
  const issues = input.reports.flatMap((report) => issuesOf(input, report, hasManyTargets));
  return `${JSON.stringify(issues, null, 2)}\n`;
}

function issuesOf(input: ExportInput, report: Report, hasManyTargets: boolean): Issue[] {
  const fingerprints = new FingerprintMaker(hasManyTargets ? report.target : "");
  const suffix = hasManyTargets ? ` [target ${report.target}]` : "";
  const found = occurrencesOf(report).map(({ finding, object }) => ({
    description: messageOf(finding, object) + suffix,
    check_name: finding.key,
    fingerprint: fingerprints.make(finding, object),
    severity: severityNames[finding.severity],
    location: {
      path: object?.file === undefined ? `fleetscope/${finding.key}` : `${input.pathPrefix ?? ""}${object.file}`,
      lines: { begin: Math.max(1, object?.line ?? 1) },
    },
  }));
  const gaps = report.notAssessed
    .filter((gap) => gap.required === true || gap.partial === true)
    .map((gap) => {
      const key = `not-assessed/${gap.capability}`;
      return {
        description: `Not assessed: ${gap.capability}: ${gapText(gap)}${suffix}`,
        check_name: key,
        fingerprint: fingerprints.make({ key }, undefined),
        severity: gap.required === true ? ("critical" as const) : ("info" as const),
        location: { path: `fleetscope/${key}`, lines: { begin: 1 } },
      };
    });
  return [...found, ...gaps];
}
