import type { Evidence } from "./evidence.ts";
import { mergeEvidence } from "./evidence.ts";
import { compareText, sortedUnique } from "./order.ts";
import type { Category, Phase, Severity } from "./report.ts";

/** What a rule says: a finding before suppression, caps, teams and counts. */
export interface Draft {
  readonly key: string;
  readonly category: Category;
  readonly severity: Severity;
  readonly phase: Phase;
  /** Without its count. */
  readonly title: string;
  /** What the count in the title counts, in the singular (`object`); absent when nothing is counted. */
  readonly noun?: string;
  readonly detail: string;
  readonly remediation?: string;
  readonly citations: readonly string[];
  readonly evidence: Evidence;
}

const severityRank: Readonly<Record<Severity, number>> = { blocker: 0, warning: 1, info: 2 };

export function compareSeverities(left: Severity, right: Severity): number {
  return severityRank[left] - severityRank[right];
}

/**
 * Brings drafts of one key together, so that an inventory that names a thing twice gives one finding. The most severe
 * draft speaks; of equals the smaller text, so that input order does not matter.
 */
export function mergeDrafts(drafts: readonly Draft[]): Draft[] {
  const byKey = new Map<string, Draft[]>();
  for (const draft of drafts) {
    const same = byKey.get(draft.key);
    if (same === undefined) byKey.set(draft.key, [draft]);
    else same.push(draft);
  }
  return [...byKey.values()].map(mergeSame);
}

function mergeSame(drafts: readonly Draft[]): Draft {
  const [speaker] = drafts.length === 1 ? drafts : [...drafts].sort(compareSpeakers);
  if (speaker === undefined) throw new RangeError("no drafts to merge");
  if (drafts.length === 1) return speaker;
  return {
    ...speaker,
    citations: sortedUniqueKeepingFirst(speaker.citations, drafts),
    evidence: mergeEvidence(drafts.map((draft) => draft.evidence)),
  };
}

function compareSpeakers(left: Draft, right: Draft): number {
  return (
    compareSeverities(left.severity, right.severity) ||
    compareText(left.title, right.title) ||
    compareText(left.detail, right.detail) ||
    compareText(left.remediation ?? "", right.remediation ?? "")
  );
}

function sortedUniqueKeepingFirst(first: readonly string[], drafts: readonly Draft[]): string[] {
  const others = sortedUnique(drafts.flatMap((draft) => draft.citations));
  return [...first, ...others.filter((citation) => !first.includes(citation))];
}
