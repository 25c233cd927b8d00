import type { ObjectRef, Usage } from "./inventory.ts";

/**
 * Where a problem was seen, before the caps: every listed object, and how many objects each namespace has in all. What
 * a collector left out of its lists is kept as a number per namespace, or as `unplaced` when not even that is known.
 * Suppression and team attribution work on this; only the finished finding is capped.
 */
export interface Evidence {
  readonly objects: readonly ObjectRef[];
  /** All objects per namespace, listed ones included; `""` for cluster-scoped; 0 when only the place is known. */
  readonly namespaces: ReadonlyMap<string, number>;
  /** Objects in no known namespace. */
  readonly unplaced: number;
  readonly callers: readonly string[];
  /** Some of it comes from posted manifests. */
  readonly isFromManifest: boolean;
}

export const noEvidence: Evidence = {
  objects: [],
  namespaces: new Map(),
  unplaced: 0,
  callers: [],
  isFromManifest: false,
};

/** Adds up usages of the same thing. */
export function evidenceOf(usages: readonly Usage[]): Evidence {
  const only = usages[0];
  if (usages.length === 1 && only !== undefined) return evidenceOfOne(only);
  return mergeEvidence(usages.map(evidenceOfOne));
}

export function evidenceOfObjects(objects: readonly ObjectRef[], options: { isFromManifest?: boolean } = {}): Evidence {
  return {
    objects,
    namespaces: countByNamespace(objects),
    unplaced: 0,
    callers: [],
    isFromManifest: options.isFromManifest ?? false,
  };
}

/** Evidence that knows places but counts no objects. */
export function evidenceOfPlaces(namespaces: Iterable<string>, options: { isFromManifest?: boolean } = {}): Evidence {
  const places = new Map<string, number>();
  for (const namespace of namespaces) places.set(namespace, 0);
  return { ...noEvidence, namespaces: places, isFromManifest: options.isFromManifest ?? false };
}

export function mergeEvidence(parts: readonly Evidence[]): Evidence {
  const objects: ObjectRef[] = [];
  const namespaces = new Map<string, number>();
  const callers = new Set<string>();
  let unplaced = 0;
  let isFromManifest = false;
  for (const part of parts) {
    for (const object of part.objects) objects.push(object);
    for (const [namespace, count] of part.namespaces)
      namespaces.set(namespace, (namespaces.get(namespace) ?? 0) + count);
    for (const caller of part.callers) callers.add(caller);
    unplaced += part.unplaced;
    isFromManifest ||= part.isFromManifest;
  }
  return { objects, namespaces, unplaced, callers: [...callers], isFromManifest };
}

export function countOf(evidence: Evidence): number {
  let count = evidence.unplaced;
  for (const inNamespace of evidence.namespaces.values()) count += inNamespace;
  return count;
}

export function countByNamespace(objects: readonly ObjectRef[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const object of objects) {
    const namespace = object.namespace ?? "";
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }
  return counts;
}

function evidenceOfOne(usage: Usage): Evidence {
  const objects = usage.objects ?? [];
  const namespaces = countByNamespace(objects);
  for (const [namespace, count] of Object.entries(usage.namespaces ?? {})) {
    namespaces.set(namespace, Math.max(namespaces.get(namespace) ?? 0, count));
  }
  let placed = 0;
  for (const count of namespaces.values()) placed += count;
  const total = Math.max(usage.count, objects.length + (usage.objectsOmitted ?? 0));
  const callers = new Set<string>();
  for (const object of objects) for (const caller of object.callers ?? []) callers.add(caller);
  return {
    objects,
    namespaces,
    unplaced: Math.max(0, total - placed),
    callers: [...callers],
    isFromManifest: usage.origin === "manifest",
  };
}
