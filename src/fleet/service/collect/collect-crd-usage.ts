/**
 * At which versions custom resources are written. Only CRDs where it matters are listed: those that serve or keep a
 * version that is deprecated, not served any more, or known to go away.
 */
import { UsageTally } from "../../manifests/collect/usage-tally.ts";
import type { ManifestMap } from "../../manifests/manifest-node.ts";
import type { CrdVersionUsage, CustomResourceDefinition, ObjectRef } from "../../model/inventory.ts";
import type { KnowledgeBase } from "../../model/knowledge-base.ts";
import { apiKey, indexKnowledgeBase } from "../../model/knowledge-base-index.ts";
import { authorshipOf, authorshipSelection } from "./authorship.ts";
import { type CapabilityLog, reasonOf } from "./capability-log.ts";
import { maxObjectsPerUsage } from "./collect-api-usage.ts";
import { listPathOf } from "./discovery.ts";
import { type KubernetesApi, listAll } from "./kubernetes-api.ts";

export interface CrdUsageContext {
  readonly api: KubernetesApi;
  readonly knowledgeBase: KnowledgeBase;
  readonly capabilities: CapabilityLog;
  readonly refOf: (object: ManifestMap) => ObjectRef;
  readonly onProgress: (note: string) => void;
}

export async function collectCrdUsage(
  context: CrdUsageContext,
  crds: readonly CustomResourceDefinition[],
): Promise<CustomResourceDefinition[]> {
  const result: CustomResourceDefinition[] = [];
  for (const crd of crds) {
    const flagged = flaggedVersions(context, crd);
    result.push(flagged.length === 0 ? crd : { ...crd, usage: await readUsage(context, crd, flagged) });
  }
  return result;
}

function flaggedVersions({ knowledgeBase }: CrdUsageContext, crd: CustomResourceDefinition): string[] {
  const { apis } = indexKnowledgeBase(knowledgeBase);
  return crd.versions
    .filter(({ name, served, deprecated }) => {
      const row = apis.get(apiKey({ group: crd.group, version: name, kind: crd.kind }));
      return (
        !served ||
        deprecated === true ||
        row?.removed !== undefined ||
        row?.unserved !== undefined ||
        row?.gone !== undefined
      );
    })
    .map(({ name }) => name);
}

async function readUsage(
  context: CrdUsageContext,
  crd: CustomResourceDefinition,
  flagged: readonly string[],
): Promise<CrdVersionUsage[]> {
  const { api, capabilities, refOf, onProgress } = context;
  const usable = crd.versions.filter(({ served }) => served);
  const listed =
    usable.find(({ name, storage }) => storage && !flagged.includes(name)) ??
    usable.find(({ name }) => !flagged.includes(name)) ??
    usable[0];
  if (listed === undefined) return [];
  const path = listPathOf({ group: crd.group, version: listed.name, plural: crd.plural });
  onProgress(`${crd.plural}.${crd.group}`);
  let tally = new UsageTally(maxObjectsPerUsage);
  try {
    const outcome = await listAll(api, path, {
      accept: "metadata",
      selection: authorshipSelection,
      onItem: (object) => {
        for (const version of flagged) {
          const authorship = authorshipOf(object, `${crd.group}/${version}`);
          if (authorship.kind !== "written") continue;
          const ref = refOf(object);
          tally.add(version, authorship.manager === undefined ? ref : { ...ref, manager: authorship.manager });
        }
      },
      onRestart: () => {
        tally = new UsageTally(maxObjectsPerUsage);
      },
    });
    if (outcome.kind === "partial")
      capabilities.skip("crds", `${crd.group}/${listed.name} ${crd.plural}`, outcome.reason);
  } catch (error) {
    capabilities.skip("crds", `${crd.group}/${listed.name} ${crd.plural}`, reasonOf(error));
  }
  return tally.usages((version) => ({ version }));
}
