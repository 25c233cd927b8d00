/** The knowledge base itself: too old for the target, or simply old. */
import { daysBetween } from "../calendar-date.ts";
import { noEvidence } from "../evidence.ts";
import { isBeyondHorizon } from "../gaps.ts";
import { compareMinors } from "../kubernetes-minor.ts";
import type { Emit, RuleContext } from "../rule-context.ts";

/** Facts older than this many days are called old. */
const oldDays = 270;

export function judgeKnowledgeAge(context: RuleContext, emit: Emit): void {
  const { horizon, date } = context.index.source;
  const isPastHorizon = compareMinors(context.target, horizon) > 0;
  if (isPastHorizon || isBeyondHorizon(context)) {
    emit({
      key: "kb-stale",
      category: "kb-stale",
      severity: "warning",
      phase: "any",
      title: `The knowledge base ends at Kubernetes ${horizon}`,
      detail: `What changes after ${horizon} is not known, so ${isPastHorizon ? `${context.target} cannot be judged completely` : "this cluster cannot be judged completely"}.`,
      remediation: "Upgrade slipway, or add the newer facts to a registry folder.",
      citations: [],
      evidence: noEvidence,
    });
  }
  if (daysBetween(date, context.date) <= oldDays) return;
  emit({
    key: "kb-stale/age",
    category: "kb-stale",
    severity: "info",
    phase: "any",
    title: `The knowledge base was last brought up to date on ${date}`,
    detail: "Add-on releases, ends of life and support dates since then are not in it.",
    remediation: "Upgrade slipway.",
    citations: [],
    evidence: noEvidence,
  });
}
