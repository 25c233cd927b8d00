import { everything } from "../../manifests/selection.ts";
import { type KubernetesApi, KubernetesRequestError, parseObject } from "./kubernetes-api.ts";

export interface ServedResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
  readonly canList: boolean;
}

export interface Discovery {
  /** Versions that the server serves, by group, the preferred one first. */
  readonly versions: ReadonlyMap<string, readonly string[]>;
  /** Resources of a served version. @throws KubernetesRequestError */
  resources(group: string, version: string): Promise<readonly ServedResource[]>;
}

/** @throws KubernetesRequestError */
export async function discover(api: KubernetesApi): Promise<Discovery> {
  const versions = new Map<string, readonly string[]>([["", ["v1"]]]);
  const groups = parseObject(await api.read("/apis", "json"), everything);
  for (const group of groups.maps("groups")) {
    const name = group.text("name");
    const preferred = group.map("preferredVersion")?.text("version");
    const all = group.maps("versions").flatMap((version) => version.text("version") ?? []);
    const first = preferred === undefined ? [] : [preferred];
    if (name !== undefined) versions.set(name, [...new Set([...first, ...all])]);
  }
  const known = new Map<string, Promise<readonly ServedResource[]>>();
  return {
    versions,
    resources(group, version) {
      const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
      const found = known.get(path) ?? readResources(api, { path, group, version });
      known.set(path, found);
      return found;
    },
  };
}

interface GroupVersionPath {
  readonly path: string;
  readonly group: string;
  readonly version: string;
}

async function readResources(
  api: KubernetesApi,
  { path, group, version }: GroupVersionPath,
): Promise<readonly ServedResource[]> {
  const list = parseObject(await api.read(path, "json"), everything);
  return list.maps("resources").flatMap((resource) => {
    const [kind, plural] = [resource.text("kind"), resource.text("name")];
    if (kind === undefined || plural === undefined || plural.includes("/")) return [];
    const canList = resource.texts("verbs").includes("list");
    return [{ group, version, kind, plural, isNamespaced: resource.text("namespaced") === "true", canList }];
  });
}

export function isMissing(error: unknown): boolean {
  return error instanceof KubernetesRequestError && error.status === 404;
}

export function listPathOf({ group, version, plural }: Pick<ServedResource, "group" | "version" | "plural">): string {
  return group === "" ? `/api/${version}/${plural}` : `/apis/${group}/${version}/${plural}`;
}
