/**
 * Kubernetes minors as text (`1.34`), ordered as numbers. Patch, build and provider suffixes (`v1.34.2-eks-3abc`) say
 * nothing about what a minor serves, so they are dropped where a version enters.
 */
export type KubernetesMinor = `1.${number}`;

const minorPattern = /^v?1\.(0|[1-9]\d{0,2})$/;
const versionPattern = /^v?1\.(0|[1-9]\d{0,2})(?:[.+-].*)?$/;

/** The oldest target that can be judged: the first minor with complete life-cycle data. */
export const oldestTarget: KubernetesMinor = "1.16";

export function minorOf(minorNumber: number): KubernetesMinor {
  return `1.${minorNumber}`;
}

/** 34 for `1.34`. */
export function minorNumber(minor: KubernetesMinor): number {
  return Number(minor.slice(2));
}

/** Accepts `1.34` and `v1.34`; undefined for anything else, patch versions included. */
export function parseKubernetesMinor(text: string): KubernetesMinor | undefined {
  const match = minorPattern.exec(text);
  return match?.[1] === undefined ? undefined : `1.${Number(match[1])}`;
}

/** The minor of a full version such as `v1.34.2-gke.100` or `1.27+`; undefined when the text is no Kubernetes 1.x version. */
export function minorOfVersion(version: string): KubernetesMinor | undefined {
  const match = versionPattern.exec(version.trim());
  return match?.[1] === undefined ? undefined : `1.${Number(match[1])}`;
}

/** Negative when `left` is older. */
export function compareMinors(left: KubernetesMinor, right: KubernetesMinor): number {
  return minorNumber(left) - minorNumber(right);
}
