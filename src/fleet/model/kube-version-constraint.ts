/**
 * The `kubeVersion` of a Helm chart: alternatives joined by `||`, each a list of comparators that must all hold, with
 * Helm's own reading of partial versions (`>1.20` starts at 1.21, `1.20` is every 1.20.x). A target is a minor, so the
 * question is whether any of its patch releases satisfies the constraint. Pre-release parts such as `-0` only widen a
 * constraint to vendor builds and say nothing about minors.
 */
import { type KubernetesMinor, minorNumber } from "./kubernetes-minor.ts";

interface Comparator {
  readonly operator: string;
  readonly major: number;
  /** Undefined when the version stops before it or has a wildcard there. */
  readonly minor: number | undefined;
  readonly patch: number | undefined;
}

export type KubeVersionConstraint = readonly (readonly Comparator[])[];

export const maxConstraintLength = 512;

const hyphenPattern = /(\S+)\s+-\s+(\S+)/g;
const comparatorPattern =
  /^(=|==|!=|>|<|>=|=>|<=|=<|~|~>|\^)?v?(\d{1,6}|[xX*])(?:\.(\d{1,6}|[xX*]))?(?:\.(\d{1,6}|[xX*]))?(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/** Undefined when the text is no constraint. */
export function parseKubeVersionConstraint(text: string): KubeVersionConstraint | undefined {
  if (text.trim() === "" || text.length > maxConstraintLength) return undefined;
  const alternatives: Comparator[][] = [];
  for (const alternative of text.split("||")) {
    const comparators = parseAlternative(alternative);
    if (comparators === undefined) return undefined;
    alternatives.push(comparators);
  }
  return alternatives;
}

export function allowsMinor(constraint: KubeVersionConstraint, target: KubernetesMinor): boolean {
  const minor = minorNumber(target);
  const patches = new Set([0, 1_000_000]);
  for (const { patch } of constraint.flat()) {
    if (patch !== undefined) for (const near of [patch - 1, patch, patch + 1]) patches.add(Math.max(0, near));
  }
  return constraint.some((comparators) =>
    [...patches].some((patch) => comparators.every((comparator) => holds(comparator, [1, minor, patch]))),
  );
}

function parseAlternative(text: string): Comparator[] | undefined {
  const spelled = text
    .replace(hyphenPattern, ">=$1 <=$2")
    .replace(/,/g, " ")
    .replace(/([=<>!~^]+)\s+/g, "$1")
    .trim();
  if (spelled === "") return undefined;
  const comparators: Comparator[] = [];
  for (const part of spelled.split(/\s+/)) {
    const match = comparatorPattern.exec(part);
    if (match === null) return undefined;
    const [, operator = "=", major, minor, patch] = match;
    comparators.push({ operator, major: wildNumber(major) ?? -1, minor: wildNumber(minor), patch: wildNumber(patch) });
  }
  return comparators;
}

function wildNumber(part: string | undefined): number | undefined {
  return part === undefined || /^[xX*]$/.test(part) ? undefined : Number(part);
}

type Version = readonly [major: number, minor: number, patch: number];

function holds(comparator: Comparator, version: Version): boolean {
  if (comparator.major < 0) return comparator.operator !== "!=";
  const order = compareToWritten(comparator, version);
  switch (comparator.operator) {
    case "!=":
      return order !== 0;
    case ">":
      return order > 0;
    case ">=":
    case "=>":
      return order >= 0;
    case "<":
      return order < 0;
    case "<=":
    case "=<":
      return order <= 0;
    case "~":
    case "~>":
      return order >= 0 && version[0] === comparator.major && (comparator.minor ?? version[1]) === version[1];
    case "^":
      return (
        order >= 0 &&
        version[0] === comparator.major &&
        (comparator.major > 0 || (comparator.minor ?? version[1]) === version[1])
      );
    default:
      return order === 0;
  }
}

/** Compares as far as the constraint is written: every 1.20.x equals `1.20`. */
function compareToWritten(comparator: Comparator, [major, minor, patch]: Version): number {
  if (major !== comparator.major) return major - comparator.major;
  if (comparator.minor === undefined) return 0;
  if (minor !== comparator.minor) return minor - comparator.minor;
  return comparator.patch === undefined ? 0 : patch - comparator.patch;
}
