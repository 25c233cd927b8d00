/** What rules want to know of an object, told from its fields alone. */
import type { ManifestMap } from "./manifest-node.ts";
import { ManifestMap as MapNode } from "./manifest-node.ts";
import type { ManifestObject } from "./manifest-object.ts";

export interface PodSpecification {
  readonly spec: ManifestMap;
  readonly labels: ReadonlyMap<string, string>;
}

export interface ContainerFacts {
  readonly name: string;
  readonly image: string;
  readonly words: readonly string[];
}

const masterLabel = "node-role.kubernetes.io/master";

/** Specifications of pods in it: its own, its template's, its job template's. */
export function podSpecificationsOf({ kind, root }: ManifestObject): PodSpecification[] {
  const spec = root.map("spec");
  const found: PodSpecification[] = [];
  const add = (template: ManifestMap | undefined): void => {
    const inner = template?.map("spec");
    if (inner !== undefined) found.push({ spec: inner, labels: labelsOf(template) });
  };
  if (kind === "Pod") add(root);
  else if (kind === "PodTemplate") add(root.map("template"));
  else {
    add(spec?.map("template"));
    add(spec?.at("jobTemplate", "spec", "template"));
  }
  return found;
}

export function labelsOf(holder: ManifestMap | undefined): ReadonlyMap<string, string> {
  return textsOf(holder?.at("metadata", "labels"));
}

export function annotationsOf(holder: ManifestMap | undefined): ReadonlyMap<string, string> {
  return textsOf(holder?.at("metadata", "annotations"));
}

export function textsOf(map: ManifestMap | undefined): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const [name, value] of map?.fields ?? []) if (typeof value === "string") texts.set(name, value);
  return texts;
}

export function containersOf(spec: ManifestMap): ContainerFacts[] {
  return ["initContainers", "containers", "ephemeralContainers"].flatMap((field) =>
    spec.maps(field).map((container) => ({
      name: container.text("name") ?? "",
      image: container.text("image") ?? "",
      words: [...container.texts("command"), ...container.texts("args")],
    })),
  );
}

/** Field names of volume sources. */
export function volumeSourcesOf(spec: ManifestMap): string[] {
  return spec.maps("volumes").flatMap((volume) => [...volume.fields.keys()].filter((field) => field !== "name"));
}

/** True when pods ask for nodes by the label of old control planes; a toleration alone asks for nothing. */
export function selectsMasterNodes(spec: ManifestMap): boolean {
  if (spec.map("nodeSelector")?.fields.has(masterLabel) === true) return true;
  const affinity = spec.at("affinity", "nodeAffinity");
  const terms = [
    ...(affinity?.map("requiredDuringSchedulingIgnoredDuringExecution")?.maps("nodeSelectorTerms") ?? []),
    ...(affinity?.maps("preferredDuringSchedulingIgnoredDuringExecution") ?? []).flatMap((term) => {
      const preference = term.map("preference");
      return preference === undefined ? [] : [preference];
    }),
  ];
  return terms.some((term) =>
    term.maps("matchExpressions").some((expression) => expression.text("key") === masterLabel),
  );
}

/** `--name=value`, `--name value` and `--name` of a command line. */
export function parseFlags(words: readonly string[]): Record<string, string> {
  const flags: Record<string, string> = {};
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? "";
    if (!/^--[a-zA-Z]/.test(word)) continue;
    const separator = word.indexOf("=");
    const next = words[index + 1];
    if (separator > 0) flags[word.slice(0, separator)] = word.slice(separator + 1);
    else if (next !== undefined && !next.startsWith("-")) flags[word] = next;
    else flags[word] = "true";
  }
  return flags;
}

/** `A=true,B=false` → gates. */
export function parseFeatureGates(text: string | undefined): Record<string, string> {
  const gates: Record<string, string> = {};
  for (const part of (text ?? "").split(",")) {
    const [name, value] = part.split("=", 2);
    if (name !== undefined && name.trim() !== "" && value !== undefined) gates[name.trim()] = value.trim();
  }
  return gates;
}

export function isMap(node: unknown): node is ManifestMap {
  return node instanceof MapNode;
}
