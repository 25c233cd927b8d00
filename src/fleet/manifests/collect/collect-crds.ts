import type { CrdVersion, CustomResourceDefinition, Inventory, ObjectRef, Webhook } from "../../model/inventory.ts";
import type { ManifestMap } from "../manifest-node.ts";
import type { ManifestObject } from "../manifest-object.ts";
import type { Collector } from "./collector.ts";

/** CRDs of the stream: which versions of a custom resource will be served. */
export class CrdCollector implements Collector {
  readonly #crds = new Map<string, CustomResourceDefinition>();
  readonly #conversions = new Map<string, Webhook>();

  add({ group, kind, root }: ManifestObject, ref: ObjectRef): void {
    if (group !== "apiextensions.k8s.io" || kind !== "CustomResourceDefinition") return;
    const spec = root.map("spec");
    const owner = spec?.text("group");
    const names = spec?.map("names");
    const ownKind = names?.text("kind");
    const plural = names?.text("plural");
    if (spec === undefined || owner === undefined || ownKind === undefined || plural === undefined) return;
    // A later document replaces an earlier one, as applying them in order would.
    const name = `${plural}.${owner}`;
    const stored = root.map("status")?.texts("storedVersions") ?? [];
    this.#crds.set(name, {
      group: owner,
      kind: ownKind,
      plural,
      versions: versionsOf(spec),
      ...(stored.length === 0 ? {} : { storedVersions: stored }),
      object: ref,
    });
    const service = conversionServiceOf(spec);
    if (service === undefined) this.#conversions.delete(name);
    else this.#conversions.set(name, { kind: "Conversion", name, service, object: ref });
  }

  contribute(): Partial<Inventory> {
    return { crds: [...this.#crds.values()], webhooks: [...this.#conversions.values()] };
  }
}

function conversionServiceOf(spec: ManifestMap): string | undefined {
  const conversion = spec.map("conversion");
  if (conversion?.text("strategy") !== "Webhook") return undefined;
  const client = conversion.at("webhook", "clientConfig") ?? conversion.map("webhookClientConfig");
  const name = client?.map("service")?.text("name");
  return name === undefined ? undefined : `${client?.map("service")?.text("namespace") ?? ""}/${name}`;
}

function versionsOf(spec: ManifestMap): CrdVersion[] {
  const versions = spec.maps("versions").flatMap((entry) => {
    const name = entry.text("name");
    if (name === undefined) return [];
    const warning = entry.text("deprecationWarning");
    return [
      {
        name,
        served: entry.text("served") === "true",
        storage: entry.text("storage") === "true",
        deprecated: entry.text("deprecated") === "true",
        ...(warning === undefined ? {} : { deprecationWarning: warning }),
      },
    ];
  });
  const single = spec.text("version");
  return versions.length === 0 && single !== undefined ? [{ name: single, served: true, storage: true }] : versions;
}
