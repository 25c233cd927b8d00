/**
 * A document → the objects in it: lists are expanded as kubectl does, files of tools that no API server ever sees are
 * left out, and what is no Kubernetes object is told apart from it.
 */
import { isList, type ManifestMap, type ManifestNode, ManifestMap as MapNode } from "./manifest-node.ts";

export interface ManifestObject {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Line of `apiVersion`, from 1. */
  readonly line: number;
  readonly root: ManifestMap;
}

export interface ExpandedDocument {
  readonly objects: readonly ManifestObject[];
  /** Entries without `apiVersion` or `kind`: values files, chart metadata and the like. */
  readonly strangers: number;
}

interface TypeHint {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Read by tools on the machine of a person, never by an API server. */
const localGroups = new Set([
  "kustomize.config.k8s.io",
  "client.authentication.k8s.io",
  "kind.x-k8s.io",
  "kuttl.dev",
  "skaffold",
  "k3d.io",
  "minikube.k8s.io",
]);

const apiVersionPattern = /^(?:([a-z0-9]([a-z0-9.-]*[a-z0-9])?)\/)?([A-Za-z0-9][A-Za-z0-9.-]*)$/;

export function expandDocument(root: ManifestNode): ExpandedDocument {
  const objects: ManifestObject[] = [];
  const strangers = expandInto(objects, root, undefined);
  return { objects, strangers };
}

function expandInto(objects: ManifestObject[], node: ManifestNode, hint: TypeHint | undefined): number {
  if (!(node instanceof MapNode)) return 1;
  const apiVersion = node.text("apiVersion") ?? hint?.apiVersion;
  const kind = node.text("kind") ?? hint?.kind;
  const match = apiVersion === undefined ? null : apiVersionPattern.exec(apiVersion);
  if (match === null || apiVersion === undefined || kind === undefined || kind === "") return 1;
  const items = node.fields.get("items");
  if (kind.endsWith("List") && items !== undefined) {
    const itemKind = kind.slice(0, -"List".length);
    const itemHint = itemKind === "" ? undefined : { apiVersion, kind: itemKind };
    let strangers = 0;
    if (isList(items)) for (const item of items) strangers += expandInto(objects, item, itemHint);
    return strangers;
  }
  const group = match[1] ?? "";
  const version = match[3] ?? "";
  if (localGroups.has(group) || (group === "" && version === "v1" && kind === "Config")) return 0;
  const metadata = node.map("metadata");
  const generated = metadata?.text("generateName");
  objects.push({
    group,
    version,
    kind,
    namespace: metadata?.text("namespace") ?? "",
    name: metadata?.text("name") ?? (generated === undefined ? "" : `${generated}*`),
    line: node.apiVersionLine > 0 ? node.apiVersionLine : node.line,
    root: node,
  });
  return 0;
}
