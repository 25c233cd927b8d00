/**
 * Names of containers and volumes. A volume's name is never used twice: it ends in random characters, so that a volume
 * that could not be removed is not mistaken for a new one.
 */
export function volumeName(
  instanceId: string,
  kind: "source" | "branch" | "layer",
  name: string,
  suffix: string,
): string {
  return `branchsvc-${instanceId}-${kind}-${name}-${suffix}`;
}

export function instanceName(instanceId: string, kind: "branch" | "helper", name: string, suffix: string): string {
  return `branchsvc-${instanceId}-${kind}-${name}-${suffix}`;
}

export const portRange = { first: 21_000, last: 30_999 } as const;

/** A port for a new branch: outside the range the system hands out by itself, and held by no other branch. */
export function choosePort(taken: ReadonlySet<number>, fraction: number): number | undefined {
  const count = portRange.last - portRange.first + 1;
  const start = Math.floor(fraction * count);
  for (let step = 0; step < count; step++) {
    const port = portRange.first + ((start + step) % count);
    if (!taken.has(port)) return port;
  }
  return undefined;
}
