/**
 * Where the running minor and the target stand in the support calendar of who runs the control plane. What runs today
 * only warns, since the upgrade is the cure; a target that its provider has ended blocks, since it can no longer be
 * had. Without a provider the community calendar counts, and it never blocks: nothing stops working on that day.
 */
import { daysBetween } from "../calendar-date.ts";
import { noEvidence } from "../evidence.ts";
import type { Provider } from "../inventory.ts";
import type { SupportCalendar, SupportCycle } from "../knowledge-base.ts";
import type { KubernetesMinor } from "../kubernetes-minor.ts";
import type { Severity, Support } from "../report.ts";
import type { Emit, RuleContext } from "../rule-context.ts";

/** An end of support this many days ahead is told. */
const endingDays = 90;

type Stage = "standard" | "ending" | "extended" | "ended" | "unknown";

export function judgeSupport(context: RuleContext, emit: Emit): void {
  if (context.inventory.source !== "cluster") return;
  const calendar = calendarOf(context);
  if (calendar === undefined) return;
  const isManaged = calendar.id !== "kubernetes";
  judgeMinor(context, { calendar, minor: context.target, whenEnded: isManaged ? "blocker" : "warning" }, emit);
  if (context.current !== undefined && context.current !== context.target) {
    judgeMinor(context, { calendar, minor: context.current, whenEnded: "warning" }, emit);
  }
}

export function supportOf(context: RuleContext): Support | undefined {
  const calendar = calendarOf(context);
  const minor = context.current;
  if (calendar === undefined || minor === undefined) return undefined;
  const cycle = cycleOf(calendar, minor);
  const stage = stageOf(cycle, context.date);
  return {
    provider: calendar.id,
    minor,
    phase: stage === "ending" ? "standard" : stage,
    ...(cycle?.standardUntil === undefined ? {} : { standardUntil: cycle.standardUntil }),
    ...(cycle?.extendedUntil === undefined ? {} : { extendedUntil: cycle.extendedUntil }),
  };
}

interface JudgedMinor {
  readonly calendar: SupportCalendar;
  readonly minor: KubernetesMinor;
  readonly whenEnded: Severity;
}

function judgeMinor(context: RuleContext, { calendar, minor, whenEnded }: JudgedMinor, emit: Emit): void {
  const cycle = cycleOf(calendar, minor);
  const stage = stageOf(cycle, context.date);
  if (cycle === undefined || stage === "standard" || stage === "unknown") return;
  const role = minor === context.target ? "the target" : "the running version";
  emit({
    key: `support-lifecycle/${calendar.id}/${minor}/${stage}`,
    category: "support-lifecycle",
    severity: stage === "ended" ? whenEnded : "warning",
    phase: "any",
    title: titleOf(stage, minor, calendar),
    detail: `${minor} is ${role}. ${datesOf(cycle)}`,
    remediation: fixOf(stage, minor === context.target),
    citations: calendar.citations,
    evidence: noEvidence,
  });
}

function fixOf(stage: Stage, isTarget: boolean): string {
  if (isTarget) return "Choose a target in standard support, or go on from this one to such a minor soon.";
  return stage === "ending"
    ? "Upgrade before standard support ends."
    : "Upgrade, step by step, to a minor in standard support.";
}

function titleOf(stage: Stage, minor: KubernetesMinor, calendar: SupportCalendar): string {
  const who = calendarNames[calendar.id];
  switch (stage) {
    case "ending":
      return `Standard support of Kubernetes ${minor} by ${who} ends soon`;
    case "extended":
      return `Kubernetes ${minor} is only in extended support by ${who}`;
    default:
      return `Support of Kubernetes ${minor} by ${who} has ended`;
  }
}

const calendarNames: Readonly<Record<SupportCalendar["id"], string>> = {
  kubernetes: "the Kubernetes project",
  eks: "Amazon EKS",
  gke: "Google Kubernetes Engine",
  aks: "Azure Kubernetes Service",
};

function datesOf({ standardUntil, extendedUntil }: SupportCycle): string {
  const standard = `Standard support runs until ${standardUntil}`;
  return extendedUntil === undefined ? `${standard}.` : `${standard}, extended support until ${extendedUntil}.`;
}

function stageOf(cycle: SupportCycle | undefined, date: string): Stage {
  if (cycle?.standardUntil === undefined) return "unknown";
  if (date <= cycle.standardUntil) return daysBetween(date, cycle.standardUntil) <= endingDays ? "ending" : "standard";
  return cycle.extendedUntil !== undefined && date <= cycle.extendedUntil ? "extended" : "ended";
}

function calendarOf({ inventory, index }: RuleContext): SupportCalendar | undefined {
  return index.calendars.get(calendarIds[inventory.provider ?? "other"]);
}

const calendarIds: Readonly<Record<Provider, SupportCalendar["id"]>> = {
  eks: "eks",
  gke: "gke",
  aks: "aks",
  other: "kubernetes",
};

function cycleOf(calendar: SupportCalendar, minor: KubernetesMinor): SupportCycle | undefined {
  return calendar.cycles.find((cycle) => cycle.minor === minor);
}
