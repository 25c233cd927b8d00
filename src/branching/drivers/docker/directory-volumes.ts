import { branchingError } from "../../errors.ts";
import { type KeeperTools, keeperRoot, runInKeeper } from "./keeper.ts";
import { readFolderName, type VolumeBackend } from "./volume-backend.ts";

const existsWord = "exists";

/** Folders under a root on the container host. Removal renames first, so that it is done at once, and deletes behind. */
export function createDirectoryVolumes(tools: KeeperTools, hostRoot: string): VolumeBackend {
  return {
    create: async (name, _labels, isOnDemand) => {
      if (isOnDemand) return;
      const script = `if [ -e ${keeperRoot}/"$1" ]; then echo ${existsWord}; else mkdir -m 0700 ${keeperRoot}/"$1"; fi`;
      const said = await runInKeeper(tools, script, [name]);
      if (said.trim() === existsWord) {
        throw branchingError("volume_exists", `Cannot create volume "${name}": volume already exists`);
      }
    },
    remove: async (name) => {
      const script = [
        `[ -e ${keeperRoot}/"$1" ] || exit 0`,
        `mkdir -p ${keeperRoot}/.trash`,
        `mv -T ${keeperRoot}/"$1" ${keeperRoot}/.trash/"$1"`,
        `rm -rf ${keeperRoot}/.trash/"$1" >/dev/null 2>&1 </dev/null &`,
      ].join("\n");
      await runInKeeper(tools, script, [name]);
    },
    has: async (name) => {
      const said = await runInKeeper(tools, `if [ -d ${keeperRoot}/"$1" ]; then echo yes; fi`, [name]);
      return said.trim() === "yes";
    },
    list: async () => {
      const script = `cd ${keeperRoot}; for folder in *; do [ -d "$folder" ] && stat -c '%W %Z %n' "$folder"; done; true`;
      const lines = (await runInKeeper(tools, script)).split("\n");
      return lines.flatMap((line) => {
        const [born, changed, name] = line.split(" ");
        const labels = name === undefined ? undefined : readFolderName(tools.instanceId, name);
        if (name === undefined || labels === undefined) return [];
        const seconds = Number(born) > 0 ? Number(born) : Number(changed);
        return [{ name, labels, createdAtMs: seconds * 1000 }];
      });
    },
    // What is read must be there, or the start fails. The folder that is written is made by the engine when it starts the
    // container (that is what a bind does and a mount does not): the keeper need not be asked in the path of a create.
    toMounts: (mounts) => ({
      Mounts: mounts
        .filter((mount) => mount.isReadOnly)
        .map((mount) => ({
          Type: "bind",
          Source: `${hostRoot}/${mount.volume}`,
          Target: mount.target,
          ReadOnly: true,
        })),
      Binds: mounts.filter((mount) => !mount.isReadOnly).map((mount) => `${hostRoot}/${mount.volume}:${mount.target}`),
    }),
  };
}
