import type Docker from "dockerode";
import type { Random } from "../../../platform/random/random.ts";
import { branchingError } from "../../errors.ts";
import type { DockerCalls } from "./docker-calls.ts";
import { formatLabels, labelPrefix, readLabels, type VolumeBackend } from "./volume-backend.ts";

const claimLabel = `${labelPrefix}.claim`;

/** Volumes of the engine's local driver. */
export function createNamedVolumes(
  docker: Docker,
  calls: DockerCalls,
  instanceId: string,
  random: Random,
): VolumeBackend {
  const inspect = (name: string): Promise<Docker.VolumeInspectInfo | undefined> =>
    calls.optional(`inspect volume "${name}"`, () => docker.getVolume(name).inspect());
  return {
    create: async (name, labels) => {
      const claim = random.uuid();
      await calls.call(`create volume "${name}"`, () =>
        docker.createVolume({
          Name: name,
          Driver: "local",
          Labels: { ...formatLabels(instanceId, labels), [claimLabel]: claim },
        }),
      );
      // The engine answers a second create of the same name with the old volume: only the claim tells them apart.
      if ((await inspect(name))?.Labels?.[claimLabel] !== claim) {
        throw branchingError("volume_exists", `Cannot create volume "${name}": volume already exists`);
      }
    },
    remove: async (name) => {
      await calls.call(`remove volume "${name}"`, () => docker.getVolume(name).remove(), [404]);
    },
    has: async (name) => (await inspect(name)) !== undefined,
    list: async () => {
      const label = `${labelPrefix}.instance=${instanceId}`;
      const found = await calls.call("list volumes", () =>
        docker.listVolumes({ filters: JSON.stringify({ label: [label] }) }),
      );
      return (found.Volumes ?? []).map((volume) => ({
        name: volume.Name,
        labels: readLabels(volume.Labels ?? {}),
        createdAtMs: Date.parse((volume as { CreatedAt?: string }).CreatedAt ?? "") || 0,
      }));
    },
    toMounts: (mounts) => ({
      Mounts: mounts.map((mount) => ({
        Type: "volume",
        Source: mount.volume,
        Target: mount.target,
        ReadOnly: mount.isReadOnly,
      })),
    }),
  };
}
