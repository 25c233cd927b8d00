/**
 * inventory + knowledge base + target + date → report. Pure: no clock, no I/O, the same bytes for the same input in any
 * order. Rules emit drafts; drafts of one key become one; suppression takes accepted evidence out; what stands is
 * counted, capped and attributed. The hub, the gate, the scan and the agent all call this one function.
 */
import { assert } from "../../platform/errors/assert.ts";
import { fleetError } from "../errors.ts";
import { type CalendarDate, isCalendarDate } from "./calendar-date.ts";
import { compareSeverities, type Draft, mergeDrafts } from "./draft.ts";
import { finishFinding } from "./finish-finding.ts";
import { findGaps } from "./gaps.ts";
import type { IgnoreRule } from "./ignore-rules.ts";
import type { Inventory } from "./inventory.ts";
import type { KnowledgeBase } from "./knowledge-base.ts";
import { indexKnowledgeBase } from "./knowledge-base-index.ts";
import { compareMinors, type KubernetesMinor, oldestTarget } from "./kubernetes-minor.ts";
import { compareText, sortedUnique } from "./order.ts";
import type { Finding, Report, Suppressed } from "./report.ts";
import { oldestApiServer, type Rule, type RuleContext } from "./rule-context.ts";
import { judgeAddOns } from "./rules/add-ons.ts";
import { judgeApis, judgeAuthorshipUnknown, judgeDeprecatedCalls } from "./rules/api-lifecycle.ts";
import { judgeComponentSettings } from "./rules/component-settings.ts";
import { judgeCrdVersions } from "./rules/crd-versions.ts";
import { judgeDisruption } from "./rules/disruption.ts";
import { judgeHelmCharts } from "./rules/helm-charts.ts";
import { judgeKnowledgeAge } from "./rules/knowledge-age.ts";
import { judgeNodes } from "./rules/nodes.ts";
import { judgeFields, judgeRegistries } from "./rules/retired-features.ts";
import { judgeSupport, supportOf } from "./rules/support-lifecycle.ts";
import { judgeVersionSkew } from "./rules/version-skew.ts";
import { judgeVolumePlugins } from "./rules/volume-plugins.ts";
import { judgeApiServices, judgeWebhooks } from "./rules/webhooks.ts";
import { scoreOf, scoreTeams, tally, verdictOf } from "./score.ts";
import { type AcceptedPart, createSuppressor } from "./suppression.ts";
import { createTeamLookup, type TeamMap } from "./team-map.ts";

export interface EvaluateInput {
  readonly inventory: Inventory;
  readonly knowledgeBase: KnowledgeBase;
  readonly target: KubernetesMinor;
  /** The day to judge on, `YYYY-MM-DD`. */
  readonly date: CalendarDate;
  readonly teamMap?: TeamMap | undefined;
  readonly ignoreRules?: readonly IgnoreRule[] | undefined;
  /** Categories that annotations of objects cannot accept (a gate limited to teams: `volume-plugin`). */
  readonly annotationExempt?: ReadonlySet<string> | undefined;
  /** Version of the agent that pushed the inventory. */
  readonly agentVersion?: string | undefined;
  readonly toolVersion?: string | undefined;
}

const rules: readonly Rule[] = [
  judgeApis,
  judgeAuthorshipUnknown,
  judgeDeprecatedCalls,
  judgeCrdVersions,
  judgeAddOns,
  judgeHelmCharts,
  judgeVersionSkew,
  judgeVolumePlugins,
  judgeSupport,
  judgeComponentSettings,
  judgeNodes,
  judgeWebhooks,
  judgeApiServices,
  judgeDisruption,
  judgeRegistries,
  judgeFields,
  judgeKnowledgeAge,
];

/** @throws DomainError target_invalid */
export function evaluate(input: EvaluateInput): Report {
  const { inventory, knowledgeBase, target, date } = input;
  assert(isCalendarDate(date), "date of an evaluation is YYYY-MM-DD");
  assertTarget(target);
  const context: RuleContext = {
    inventory,
    index: indexKnowledgeBase(knowledgeBase),
    target,
    date,
    current: inventory.source === "cluster" ? oldestApiServer(inventory) : undefined,
  };
  const teamMap = input.teamMap ?? [];
  const namespaces = inventory.namespaces ?? [];
  const teamOf = createTeamLookup(namespaces, teamMap);
  const suppressor = createSuppressor({
    date,
    ignoreRules: input.ignoreRules ?? [],
    ...(input.annotationExempt === undefined ? {} : { annotationExempt: input.annotationExempt }),
  });
  const findings: Finding[] = [];
  const suppressed: Suppressed[] = [];
  for (const draft of applyRules(context)) {
    const { standing, accepted } = suppressor.split(draft);
    if (standing !== undefined) findings.push(finishFinding(standing, teamOf));
    for (const part of accepted) suppressed.push(finishSuppressed(part, teamOf));
  }
  const gaps = findGaps(context, input.agentVersion);
  const hasRequiredGap = gaps.some((gap) => gap.required === true);
  const counts = tally(findings);
  const support = inventory.source === "cluster" ? supportOf(context) : undefined;
  const verdict = verdictOf(counts.blockers, hasRequiredGap);
  return {
    schemaVersion: 1,
    ...(input.toolVersion === undefined ? {} : { toolVersion: input.toolVersion }),
    clusterId: inventory.clusterId ?? "",
    target,
    ...(inventory.serverVersion === undefined ? {} : { serverVersion: inventory.serverVersion }),
    kbVersion: knowledgeBase.version,
    date,
    score: scoreOf(counts),
    ready: verdict === "ready",
    verdict,
    ...counts,
    findings: findings.sort(compareFindings),
    notAssessed: gaps,
    suppressed: suppressed.sort(compareSuppressed),
    suppressedCount: suppressed.length,
    unrecognizedImages: sortedUnique(inventory.unrecognizedImages ?? []),
    unrecognizedImagesOmitted: inventory.unrecognizedImagesOmitted ?? 0,
    ...(support === undefined ? {} : { support }),
    teams: scoreTeams({ findings, namespaces, teamMap, hasRequiredGap }),
    notes: suppressor.notes,
  };
}

export function compareFindings(left: Finding, right: Finding): number {
  return (
    compareSeverities(left.severity, right.severity) ||
    compareText(left.category, right.category) ||
    compareText(left.title, right.title) ||
    compareText(left.key, right.key)
  );
}

function assertTarget(target: KubernetesMinor): void {
  if (compareMinors(target, oldestTarget) >= 0) return;
  throw fleetError("target_invalid", `Cannot evaluate target "${target}": targets start at ${oldestTarget}`);
}

function applyRules(context: RuleContext): Draft[] {
  const drafts: Draft[] = [];
  for (const rule of rules) rule(context, (draft) => drafts.push(withOrigin(context, draft)));
  return mergeDrafts(drafts);
}

function withOrigin({ inventory }: RuleContext, draft: Draft): Draft {
  if (inventory.source !== "manifest" || draft.evidence.isFromManifest) return draft;
  return { ...draft, evidence: { ...draft.evidence, isFromManifest: true } };
}

function finishSuppressed(
  { acceptance, draft }: AcceptedPart,
  teamOf: (namespace: string) => string | undefined,
): Suppressed {
  return { ...finishFinding(draft, teamOf), ...acceptance };
}

function compareSuppressed(left: Suppressed, right: Suppressed): number {
  return (
    compareFindings(left, right) ||
    compareText(left.suppressedBy, right.suppressedBy) ||
    compareText(left.reason, right.reason) ||
    compareText(left.expires ?? "", right.expires ?? "")
  );
}
