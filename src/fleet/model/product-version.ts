/** Versions of add-ons: numbers, dots and whatever vendors hang on. Only the numbers decide. */
export type ProductVersion = readonly number[];

const versionPattern = /^v?(\d{1,9}(?:\.\d{1,9}){0,3})(?:[-+._].*)?$/;
const comparatorPattern = /^(>=|<=|>|<|=)(\d[\d.]*)$/;

/** `v1.8.1-eksbuild.3` → [1, 8, 1]; undefined for `latest`, digests and other texts without a version. */
export function parseVersion(text: string): ProductVersion | undefined {
  const match = versionPattern.exec(text.trim());
  return match?.[1]?.split(".").map(Number);
}

/** A missing part counts as 0. */
export function compareVersions(left: ProductVersion, right: ProductVersion): number {
  const length = Math.max(left.length, right.length);
  for (let part = 0; part < length; part += 1) {
    const difference = (left[part] ?? 0) - (right[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** True when the version belongs to the cycle: `1.19.3` to `1.19`, and to `1`. */
export function isInCycle(version: ProductVersion, cycle: string): boolean {
  return cycle.split(".").every((part, position) => version[position] === Number(part));
}

/** A cycle, or comparators joined by blanks that must all hold. */
export function isInRange(version: ProductVersion, range: string): boolean {
  return range.split(" ").every((part) => {
    const match = comparatorPattern.exec(part);
    if (match?.[2] === undefined) return isInCycle(version, part);
    const difference = compareVersions(version, match[2].split(".").map(Number));
    switch (match[1]) {
      case ">=":
        return difference >= 0;
      case "<=":
        return difference <= 0;
      case ">":
        return difference > 0;
      case "<":
        return difference < 0;
      default:
        return difference === 0;
    }
  });
}
