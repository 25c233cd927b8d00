/**
 * What has to be done so that containers and volumes match the registry: a pure comparison. Two rules stand above all:
 * nothing that a live row refers to is ever removed, and nothing that is younger than the stuck timeout or belongs to an
 * operation with a fresh heartbeat is judged at all.
 */
import { isInProgress } from "./branch-state.ts";
import type { Branch, Generation, Layer, Source } from "./records.ts";

export const actionKinds = [
  "reap",
  "fail_stuck",
  "fail_stuck_source",
  "retry_destroy",
  "restart_branch",
  "update_endpoint",
  "remove_orphan_container",
  "remove_orphan_helper",
  "gc_layer",
  "gc_volume",
] as const;
export type ActionKind = (typeof actionKinds)[number];

export interface ReconcileAction {
  readonly kind: ActionKind;
  /** Name of a branch or source, id of a container, or name of a volume. */
  readonly target: string;
  readonly reason: string;
}

export interface DesiredState {
  readonly sources: readonly Source[];
  readonly generations: readonly Generation[];
  readonly layers: readonly Layer[];
  /** Live ones. */
  readonly branches: readonly Branch[];
  /** Branches that an operation of this process works on right now. */
  readonly busyBranches: ReadonlySet<string>;
}

interface ObservedEndpoint {
  readonly host: string;
  readonly port: number;
}

export interface SeenInstance {
  readonly id: string;
  readonly labels: { readonly kind: string; readonly name: string };
  readonly status: "created" | "running" | "paused" | "exited" | "unknown";
  readonly endpoint: ObservedEndpoint | undefined;
  readonly createdAtMs: number;
}

export interface SeenVolume {
  readonly name: string;
  readonly labels: { readonly kind: string; readonly name: string };
  readonly createdAtMs: number;
}

export interface ObservedState {
  readonly instances: readonly SeenInstance[];
  readonly volumes: readonly SeenVolume[];
}

export interface PlanClock {
  readonly nowMs: number;
  readonly stuckTimeoutMs: number;
}

export function planReconcile(
  desired: DesiredState,
  observed: ObservedState,
  clock: PlanClock,
): readonly ReconcileAction[] {
  return [
    ...planSources(desired, clock),
    ...planBranches(desired, observed, clock),
    ...planInstances(desired, observed, clock),
    ...planLayers(desired),
    ...planVolumes(desired, observed, clock),
  ];
}

function isStale(atMs: number, clock: PlanClock): boolean {
  return atMs < clock.nowMs - clock.stuckTimeoutMs;
}

function planSources(desired: DesiredState, clock: PlanClock): readonly ReconcileAction[] {
  return desired.sources.flatMap((source) => {
    if (!isStale(source.updatedAtMs, clock)) return [];
    if (source.state === "seeding") return [action("fail_stuck_source", source.name, "seeding without a heartbeat")];
    if (source.isRefreshing) return [action("fail_stuck_source", source.name, "refreshing without a heartbeat")];
    return [];
  });
}

function planBranches(desired: DesiredState, observed: ObservedState, clock: PlanClock): readonly ReconcileAction[] {
  const instances = new Map(observed.instances.map((instance) => [instance.id, instance]));
  return desired.branches.flatMap((branch) => {
    if (desired.busyBranches.has(branch.name)) return [];
    const found = planBranch(
      branch,
      branch.instanceId === undefined ? undefined : instances.get(branch.instanceId),
      clock,
    );
    if (found?.kind === "restart_branch" && isBeingForked(branch, desired, clock)) return [];
    return found === undefined ? [] : [found];
  });
}

function planBranch(branch: Branch, instance: SeenInstance | undefined, clock: PlanClock): ReconcileAction | undefined {
  if (branch.state === "destroying") {
    return isStale(branch.updatedAtMs, clock)
      ? action("retry_destroy", branch.name, "destroying without progress")
      : undefined;
  }
  if (isInProgress(branch.state)) {
    return isStale(branch.updatedAtMs, clock)
      ? action("fail_stuck", branch.name, `${branch.state} without a heartbeat`)
      : undefined;
  }
  if (branch.expiresAtMs !== undefined && branch.expiresAtMs <= clock.nowMs) {
    return action("reap", branch.name, "its time to live has passed");
  }
  if (branch.isThrowaway) return action("reap", branch.name, "the diff it was made for is over");
  return branch.state === "ready" ? planReadyBranch(branch, instance) : undefined;
}

function planReadyBranch(branch: Branch, instance: SeenInstance | undefined): ReconcileAction | undefined {
  if (instance === undefined) return action("restart_branch", branch.name, "its container is gone");
  if (instance.status !== "running")
    return action("restart_branch", branch.name, `its container is ${instance.status}`);
  const { endpoint } = instance;
  if (endpoint === undefined || (endpoint.host === branch.host && endpoint.port === branch.port)) return undefined;
  return action("update_endpoint", branch.name, `it moved to ${endpoint.host}:${endpoint.port}`);
}

/** Its container may be paused for a moment. */
function isBeingForked(branch: Branch, desired: DesiredState, clock: PlanClock): boolean {
  return desired.branches.some(
    (child) => child.parentId === branch.id && child.state === "creating" && !isStale(child.updatedAtMs, clock),
  );
}

function planInstances(desired: DesiredState, observed: ObservedState, clock: PlanClock): readonly ReconcileAction[] {
  const owned = new Set(desired.branches.flatMap((branch) => branch.instanceId ?? []));
  const working = new Set([
    ...desired.busyBranches,
    ...desired.branches
      .filter((branch) => isInProgress(branch.state) || branch.state === "destroying")
      .map((branch) => branch.name),
  ]);
  return observed.instances.flatMap((instance) => {
    const { kind, name } = instance.labels;
    if (kind === "branch" && !owned.has(instance.id) && !working.has(name)) {
      return [action("remove_orphan_container", instance.id, `no branch owns the container of "${name}"`)];
    }
    if (kind !== "helper" || !isStale(instance.createdAtMs, clock) || isHelperInUse(name, desired, clock)) return [];
    return [action("remove_orphan_helper", instance.id, `the helper of "${name}" was left behind`)];
  });
}

function isHelperInUse(name: string, desired: DesiredState, clock: PlanClock): boolean {
  const isSeeding = desired.sources.some(
    (source) =>
      source.name === name &&
      (source.state === "seeding" || source.isRefreshing) &&
      !isStale(source.updatedAtMs, clock),
  );
  const isForking = desired.branches.some(
    (branch) => branch.parentName === name && branch.state === "creating" && !isStale(branch.updatedAtMs, clock),
  );
  return isSeeding || isForking || desired.busyBranches.has(name);
}

/** Layers that live branches stand on, directly or through others. */
export function listUsedLayers(branches: readonly Branch[], layers: readonly Layer[]): ReadonlySet<string> {
  const byId = new Map(layers.map((layer) => [layer.id, layer]));
  const used = new Set<string>();
  for (const branch of branches) {
    for (const start of [branch.topLayerId, branch.baseLayerId]) {
      for (let id = start; id !== undefined && !used.has(id); id = byId.get(id)?.parentId) used.add(id);
    }
  }
  return used;
}

/** From the top down, so that each is free of users when its turn comes. A fork's layer is recorded before its user. */
function planLayers(desired: DesiredState): readonly ReconcileAction[] {
  const used = listUsedLayers(desired.branches, desired.layers);
  const isForking = desired.branches.some((branch) => branch.state === "creating" && branch.parentId !== undefined);
  if (isForking) return [];
  const unused = desired.layers.filter((layer) => !used.has(layer.id));
  return unused
    .toSorted((left, right) => depthOf(right, desired.layers) - depthOf(left, desired.layers))
    .map((layer) => action("gc_layer", layer.volume, "no live branch stands on the layer"));
}

function depthOf(layer: Layer, layers: readonly Layer[]): number {
  const below = layers.find((candidate) => candidate.id === layer.parentId);
  return below === undefined ? 1 : 1 + depthOf(below, layers);
}

function planVolumes(desired: DesiredState, observed: ObservedState, clock: PlanClock): readonly ReconcileAction[] {
  const owned = listOwnedVolumes(desired, clock);
  const collected = new Set(desired.layers.map((layer) => layer.volume));
  const working = new Set([
    ...desired.busyBranches,
    ...desired.branches
      .filter((branch) => branch.state !== "ready" && branch.state !== "failed" && !isStale(branch.updatedAtMs, clock))
      .map((branch) => branch.name),
  ]);
  return observed.volumes.flatMap((volume) => {
    const { kind, name } = volume.labels;
    if (kind === "pool" || owned.has(volume.name) || collected.has(volume.name)) return [];
    if (!isStale(volume.createdAtMs, clock) || (kind === "branch" && working.has(name))) return [];
    return [action("gc_volume", volume.name, `no branch or source owns the ${kind} volume of "${name}"`)];
  });
}

/** Everything that a live row refers to, whatever for. */
export function listOwnedVolumes(desired: DesiredState, clock: PlanClock): ReadonlySet<string> {
  const usedGenerations = new Set([
    ...desired.branches.map((branch) => branch.generationId),
    ...desired.layers.map((layer) => layer.generationId),
  ]);
  const isNeeded = (generation: Generation): boolean => {
    if (usedGenerations.has(generation.id)) return true;
    const source = desired.sources.find((candidate) => candidate.id === generation.sourceId);
    if (generation.state === "seeding") {
      const isRunning = source?.state === "seeding" || source?.isRefreshing === true;
      return isRunning && !isStale(generation.updatedAtMs, clock);
    }
    return source !== undefined && source.generation === generation.number;
  };
  return new Set([
    ...desired.branches.flatMap((branch) => [branch.volume ?? [], branch.pendingVolume ?? []].flat()),
    ...desired.layers.map((layer) => layer.volume),
    ...desired.generations.filter(isNeeded).map((generation) => generation.volume),
  ]);
}

function action(kind: ActionKind, target: string, reason: string): ReconcileAction {
  return { kind, target, reason };
}
