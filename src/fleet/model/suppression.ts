/**
 * Takes out of a draft what its owners have accepted. What is accepted is evidence, never a finding as a whole: a rule
 * or annotation that covers some objects leaves the finding standing for the others, so accepting one object can not
 * hide another. Objects a collector left out of its lists can be accepted by namespace, or by a rule that selects no
 * objects at all.
 */
import type { CalendarDate } from "./calendar-date.ts";
import type { Draft } from "./draft.ts";
import { countByNamespace, type Evidence } from "./evidence.ts";
import { matchesGlob } from "./glob.ts";
import {
  acceptsKey,
  type CompiledIgnoreRule,
  compileIgnoreRules,
  hasObjectSelector,
  type IgnoreRule,
  isExpired,
  namesFinding,
  parseIgnoreTokens,
} from "./ignore-rules.ts";
import type { ObjectRef } from "./inventory.ts";
import { compareText } from "./order.ts";

export interface Acceptance {
  readonly reason: string;
  readonly suppressedBy: "annotation" | "config" | "agent";
  readonly expires?: CalendarDate;
}

export interface AcceptedPart {
  readonly acceptance: Acceptance;
  readonly draft: Draft;
}

export interface Suppressor {
  /** Splits a draft into what stands and what is accepted. */
  readonly split: (draft: Draft) => {
    readonly standing: Draft | undefined;
    readonly accepted: readonly AcceptedPart[];
  };
  /** What the caller should know of its rules. */
  readonly notes: readonly string[];
}

export interface SuppressorOptions {
  readonly date: CalendarDate;
  readonly ignoreRules: readonly IgnoreRule[];
  /** Categories that object annotations cannot accept. */
  readonly annotationExempt?: ReadonlySet<string>;
}

export function createSuppressor({ date, ignoreRules, annotationExempt }: SuppressorOptions): Suppressor {
  const live = ignoreRules.filter((rule) => !isExpired(rule, date));
  const rules = compileIgnoreRules([...live].sort(compareRules));
  const notes = ignoreRules.filter((rule) => isExpired(rule, date)).map(describeExpired);
  return {
    notes: [...new Set(notes)].sort(compareText),
    split: (draft) => {
      const applicable = rules.filter((rule) => namesFinding(rule, draft));
      const readsAnnotations = annotationExempt?.has(draft.category) !== true;
      const isUntouched =
        applicable.length === 0 &&
        (!readsAnnotations || draft.evidence.objects.every((object) => object.ignore === undefined));
      return isUntouched ? { standing: draft, accepted: [] } : splitDraft(draft, applicable, readsAnnotations);
    },
  };
}

interface Part {
  readonly acceptance: Acceptance | undefined;
  readonly objects: ObjectRef[];
  readonly namespaces: Map<string, number>;
  unplaced: number;
}

function splitDraft(
  draft: Draft,
  rules: readonly CompiledIgnoreRule[],
  readsAnnotations: boolean,
): ReturnType<Suppressor["split"]> {
  const parts = new Map<string, Part>();
  const partOf = (acceptance: Acceptance | undefined): Part => {
    const id =
      acceptance === undefined ? "" : JSON.stringify([acceptance.suppressedBy, acceptance.reason, acceptance.expires]);
    let part = parts.get(id);
    if (part === undefined) {
      part = { acceptance, objects: [], namespaces: new Map(), unplaced: 0 };
      parts.set(id, part);
    }
    return part;
  };
  const { evidence } = draft;
  for (const object of evidence.objects) {
    const part = partOf(
      (readsAnnotations ? acceptedByAnnotation(draft, object) : undefined) ?? acceptedByRule(rules, object),
    );
    part.objects.push(object);
    addTo(part.namespaces, object.namespace ?? "", 1);
  }
  const listed = countByNamespace(evidence.objects);
  for (const [namespace, count] of evidence.namespaces) {
    const unlisted = count - (listed.get(namespace) ?? 0);
    if (unlisted <= 0 && listed.has(namespace)) continue;
    addTo(partOf(acceptedByRule(rules, { namespace })).namespaces, namespace, Math.max(0, unlisted));
  }
  const isPlaceless = evidence.objects.length === 0 && evidence.namespaces.size === 0;
  if (evidence.unplaced > 0 || isPlaceless) partOf(acceptedByRule(rules, {})).unplaced += evidence.unplaced;
  return assemble(draft, [...parts.values()]);
}

function assemble(draft: Draft, parts: readonly Part[]): ReturnType<Suppressor["split"]> {
  let standing: Draft | undefined;
  const accepted: AcceptedPart[] = [];
  for (const { acceptance, objects, namespaces, unplaced } of parts) {
    const evidence: Evidence = { ...draft.evidence, objects, namespaces, unplaced };
    if (acceptance === undefined) standing = { ...draft, evidence };
    else accepted.push({ acceptance, draft: { ...draft, evidence } });
  }
  return { standing, accepted };
}

function acceptedByAnnotation(draft: Draft, object: ObjectRef): Acceptance | undefined {
  if (object.ignore === undefined) return undefined;
  if (!parseIgnoreTokens(object.ignore).some((token) => acceptsKey(token, draft.key))) return undefined;
  return { reason: object.ignoreReason ?? "accepted by an annotation of the object", suppressedBy: "annotation" };
}

interface Selectable {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly file?: string | undefined;
}

function acceptedByRule(rules: readonly CompiledIgnoreRule[], place: Selectable): Acceptance | undefined {
  const compiled = rules.find((candidate) => selects(candidate, place));
  if (compiled === undefined) return undefined;
  const { reason, expires, source } = compiled.rule;
  return { reason, suppressedBy: source, ...(expires === undefined ? {} : { expires }) };
}

function selects(compiled: CompiledIgnoreRule, place: Selectable): boolean {
  if (!hasObjectSelector(compiled)) return true;
  return (
    selectsField(compiled.namespace, place.namespace) &&
    selectsField(compiled.name, place.name) &&
    selectsField(compiled.file, place.file)
  );
}

function selectsField(glob: CompiledIgnoreRule["name"], text: string | undefined): boolean {
  return glob === undefined || (text !== undefined && text !== "" && matchesGlob(glob, text));
}

function addTo(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

/** Config before agent, then by content, so that the order of rules does not matter. */
function compareRules(left: IgnoreRule, right: IgnoreRule): number {
  return (
    compareText(left.source === "config" ? "0" : "1", right.source === "config" ? "0" : "1") ||
    compareText(identify(left), identify(right))
  );
}

function identify(rule: IgnoreRule): string {
  return JSON.stringify([rule.key, rule.category, rule.namespace, rule.name, rule.file, rule.reason, rule.expires]);
}

function describeExpired(rule: IgnoreRule): string {
  return `ignore rule for "${rule.key ?? rule.category}" expired on ${rule.expires}: ${rule.reason}`;
}
