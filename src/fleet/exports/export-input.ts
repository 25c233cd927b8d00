/** What every format is made from. Formats add nothing of their own: what is not here is not shown. */
import type { ObjectRef } from "../model/inventory.ts";
import type { Finding, Gap, Report, Suppressed } from "../model/report.ts";

export interface ExportInput {
  /** The cluster, or what was scanned. */
  readonly name: string;
  /** One report for each target. */
  readonly reports: readonly Report[];
  readonly toolVersion: string;
  /** RFC 3339; absent where two runs on the same input must give the same bytes. */
  readonly evaluatedAt?: string | undefined;
  /** Texts about the input. */
  readonly warnings?: readonly string[] | undefined;
  readonly failOn: "blocker" | "warning" | "never";
  /** Scores over time, oldest first, for the trend. */
  readonly history?: readonly HistoryPoint[] | undefined;
  /** Where a file lies for formats that need a place for everything, such as a folder in a repository. */
  readonly pathPrefix?: string | undefined;
}

export interface HistoryPoint {
  readonly at: string;
  readonly score: number;
}

/** A finding at one place: formats with one line per problem show one for each. */
export interface Occurrence {
  readonly report: Report;
  readonly finding: Finding;
  readonly object: ObjectRef | undefined;
}

export function occurrencesOf(report: Report, findings: readonly Finding[] = report.findings): Occurrence[] {
  return findings.flatMap((finding): Occurrence[] => {
    if (finding.objects.length === 0) return [{ report, finding, object: undefined }];
    return finding.objects.map((object) => ({ report, finding, object }));
  });
}

/** `namespace/name`, or the name alone. */
export function objectLabel({ namespace, name }: ObjectRef): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

/** `file:line`; empty for objects of a cluster. */
export function objectPlace({ file, line }: ObjectRef): string {
  return file === undefined ? "" : line === undefined ? file : `${file}:${line}`;
}

export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** One sentence or two on a finding at a place: what it is and what to do. */
export function messageOf(finding: Finding, object: ObjectRef | undefined): string {
  const where = object === undefined ? "" : ` (${objectLabel(object)})`;
  const fix = finding.remediation === undefined ? "" : ` ${finding.remediation}`;
  return `${untitledCount(finding.title)}${where}. ${finding.detail}${fix}`;
}

/** The address in a citation, which may go on to say where to look. */
export function urlOf(citation: string): string | undefined {
  return /^https?:\/\/[^\s<>"']+/.exec(citation)?.[0];
}

/** The title without its count, for places that show a single object. */
export function untitledCount(title: string): string {
  return title.replace(/ \(\d+ [a-z]+\)$/, "");
}

export function requiredGaps(report: Report): Gap[] {
  return report.notAssessed.filter((gap) => gap.required === true);
}

export function gapText(gap: Gap): string {
  const skipped = gap.skipped === undefined || gap.skipped.length === 0 ? "" : `: ${gap.skipped.join(", ")}`;
  const more = gap.skippedOmitted === undefined ? "" : ` and ${gap.skippedOmitted} more`;
  return `${gap.reason ?? (gap.partial === true ? "only seen in part" : "not assessed")}${skipped}${more}`;
}

export const phaseTitles = {
  "control-plane": "when the control plane moves",
  nodes: "while nodes are drained and replaced",
  applies: "at the next apply",
  any: "independent of the upgrade",
} as const satisfies Record<Finding["phase"], string>;

export const phaseOrder: readonly Finding["phase"][] = ["control-plane", "nodes", "applies", "any"];

export type { Finding, Gap, ObjectRef, Report, Suppressed };
