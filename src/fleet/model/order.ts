import type { ObjectRef } from "./inventory.ts";

/** Code unit order: the same on every machine, unlike a locale's. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Text of an inventory inside a sentence: cut where it would drown the sentence. */
export function quoteBriefly(text: string): string {
  return text.length <= maxQuoteLength ? text : `${text.slice(0, maxQuoteLength)}…`;
}

const maxQuoteLength = 200;

export function sortedUnique(values: Iterable<string>): string[] {
  return [...new Set(values)].sort(compareText);
}

export function compareObjects(left: ObjectRef, right: ObjectRef): number {
  return (
    compareText(left.namespace ?? "", right.namespace ?? "") ||
    compareText(left.name, right.name) ||
    compareText(left.file ?? "", right.file ?? "") ||
    (left.line ?? 0) - (right.line ?? 0) ||
    compareText(left.renderedFrom ?? "", right.renderedFrom ?? "") ||
    compareText(left.manager ?? "", right.manager ?? "") ||
    compareText(left.ignore ?? "", right.ignore ?? "") ||
    compareText(left.ignoreReason ?? "", right.ignoreReason ?? "")
  );
}

/** The `limit` smallest values in order. Linear in the number of values, whatever their order. */
export function smallest<Value>(
  values: readonly Value[],
  limit: number,
  compare: (left: Value, right: Value) => number,
): Value[] {
  if (values.length <= limit) return [...values].sort(compare);
  let kept: Value[] = [];
  let bound: Value | undefined;
  for (const value of values) {
    if (bound !== undefined && compare(value, bound) >= 0) continue;
    kept.push(value);
    if (kept.length < 4 * limit) continue;
    kept = kept.sort(compare).slice(0, limit);
    bound = kept.at(-1);
  }
  return kept.sort(compare).slice(0, limit);
}
