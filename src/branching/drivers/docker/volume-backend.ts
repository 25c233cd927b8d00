/**
 * Where volumes live. `named` are the engine's own. `directory` are folders under one root on the container host, on a
 * filesystem that was chosen because it clones extents; a small keeper container makes and removes them, since the root
 * may be on another machine than we are. Both refuse to take over what is already there.
 */
import type Docker from "dockerode";
import type { Mount, ObservedVolume, ResourceKind, ResourceLabels } from "../../service/ports.ts";

export interface VolumeBackend {
  create(name: string, labels: ResourceLabels, isOnDemand: boolean): Promise<void>;
  remove(name: string): Promise<void>;
  has(name: string): Promise<boolean>;
  list(): Promise<readonly ObservedVolume[]>;
  toMounts(mounts: readonly Mount[]): Pick<Docker.HostConfig, "Mounts" | "Binds">;
}

export const labelPrefix = "branchsvc";

const resourceKinds: readonly ResourceKind[] = ["branch", "helper", "source", "layer", "pool"];

export function formatLabels(instanceId: string, labels: ResourceLabels): Record<string, string> {
  return {
    [`${labelPrefix}.instance`]: instanceId,
    [`${labelPrefix}.kind`]: labels.kind,
    [`${labelPrefix}.name`]: labels.name,
  };
}

export function readLabels(labels: Readonly<Record<string, string>>): ResourceLabels {
  const kind = resourceKinds.find((known) => known === labels[`${labelPrefix}.kind`]);
  return { kind: kind ?? "helper", name: labels[`${labelPrefix}.name`] ?? "" };
}

/** `branchsvc-<instance>-<kind>-<name>-<suffix>`: the folder's name says what a label would. */
export function readFolderName(instanceId: string, folder: string): ResourceLabels | undefined {
  const start = `${labelPrefix}-${instanceId}-`;
  if (!folder.startsWith(start)) return undefined;
  const match = folder.slice(start.length).match(/^(branch|source|layer)-(.+)-[0-9a-f]+$/);
  const kind = resourceKinds.find((known) => known === match?.[1]);
  const name = match?.[2];
  return kind === undefined || name === undefined ? undefined : { kind, name };
}
