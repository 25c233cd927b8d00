/**
 * Objects whose writers name a deprecated or removed API. Lists ask for metadata only, at a version that is not
 * deprecated where there is one, so that the scan does not itself show up among the callers of deprecated APIs.
 */

import { UsageTally } from "../../manifests/collect/usage-tally.ts";
import type { ManifestMap } from "../../manifests/manifest-node.ts";
import type { ApiUsage, ObjectRef } from "../../model/inventory.ts";
import type { ApiLifecycle, KnowledgeBase } from "../../model/knowledge-base.ts";
import {
  apiKey,
  builtInComponent,
  groupVersion,
  indexKnowledgeBase,
  isReached,
  minorField,
} from "../../model/knowledge-base-index.ts";
import type { KubernetesMinor } from "../../model/kubernetes-minor.ts";
import { authorshipOf, authorshipSelection } from "./authorship.ts";
import { type CapabilityLog, reasonOf } from "./capability-log.ts";
import type { Discovery, ServedResource } from "./discovery.ts";
import { listPathOf } from "./discovery.ts";
import { type KubernetesApi, listAll } from "./kubernetes-api.ts";

export const maxObjectsPerUsage = 100;

/** Listing these would feed the very metric that tells their callers. */
const neverListed = new Set(["core/v1/Endpoints", "core/v1/ComponentStatus"]);
/** The API server itself writes events at the version it likes. */
const ownedByServer = new Set(["Event"]);

export interface ApiUsageContext {
  readonly api: KubernetesApi;
  readonly discovery: Discovery;
  readonly knowledgeBase: KnowledgeBase;
  readonly serverMinor: KubernetesMinor;
  readonly capabilities: CapabilityLog;
  readonly refOf: (object: ManifestMap) => ObjectRef;
  readonly onProgress: (note: string) => void;
}

export interface CollectedApiUsage {
  readonly apiUsage: readonly ApiUsage[];
  readonly apiAuthorshipUnknown: readonly ApiUsage[];
}

/** One list to read, and the flagged versions that its objects may be written at. */
interface ListPlan {
  readonly resource: ServedResource;
  readonly flagged: readonly ApiLifecycle[];
  readonly isListedDeprecated: boolean;
}

export async function collectApiUsage(context: ApiUsageContext): Promise<CollectedApiUsage> {
  const { capabilities } = context;
  capabilities.see("api-usage");
  const written = new UsageTally(maxObjectsPerUsage);
  const unknown = new UsageTally(maxObjectsPerUsage);
  for (const plan of await planLists(context)) {
    context.onProgress(`${plan.resource.plural} (${groupVersion(plan.resource)})`);
    await readPlan(context, plan, { written, unknown });
  }
  const describe = (key: string): Pick<ApiUsage, "group" | "version" | "kind"> => {
    const [group = "", version = "", kind = ""] = key.split("/", 3);
    return { group: group === "core" ? "" : group, version, kind };
  };
  return { apiUsage: written.usages(describe), apiAuthorshipUnknown: unknown.usages(describe) };
}

/** Flagged APIs that the server serves, brought together by the list that shows their objects. */
export async function planLists(context: ApiUsageContext): Promise<ListPlan[]> {
  const { discovery, knowledgeBase, serverMinor, capabilities } = context;
  const plans = new Map<string, { resource: ServedResource; flagged: ApiLifecycle[]; isListedDeprecated: boolean }>();
  for (const row of knowledgeBase.apis) {
    if (!isFlagged(row, serverMinor) || neverListed.has(apiKey(row)) || ownedByServer.has(row.kind)) continue;
    if (discovery.versions.get(row.group)?.includes(row.version) !== true) continue;
    try {
      const found = await findList(context, row);
      if (found === undefined) continue;
      const path = listPathOf(found);
      const plan = plans.get(path);
      if (plan !== undefined) plan.flagged.push(row);
      else
        plans.set(path, { resource: found, flagged: [row], isListedDeprecated: isDeprecatedVersion(context, found) });
    } catch (error) {
      capabilities.skip("api-usage", `${groupVersion(row)} ${row.kind}`, reasonOf(error));
    }
  }
  return [...plans.values()];
}

function isFlagged(row: ApiLifecycle, serverMinor: KubernetesMinor): boolean {
  if (row.component !== builtInComponent || !row.isStored) return false;
  return row.removed !== undefined || isReached(minorField(row.deprecated), serverMinor);
}

/** The resource to list: the kind at a version that is not deprecated, else its successor, else itself. */
async function findList(context: ApiUsageContext, row: ApiLifecycle): Promise<ServedResource | undefined> {
  const { discovery, knowledgeBase } = context;
  const own = await findResource(discovery, row.group, row.version, row.kind);
  if (own === undefined) return undefined;
  for (const version of discovery.versions.get(row.group) ?? []) {
    const candidate = await findResource(discovery, row.group, version, row.kind);
    if (candidate !== undefined && !isDeprecatedVersion(context, candidate)) return candidate;
  }
  const { apis } = indexKnowledgeBase(knowledgeBase);
  const successor = row.replacement && apis.get(apiKey(row.replacement));
  if (successor !== undefined && successor.group !== row.group && successor.kind === row.kind) {
    const moved = await findResource(discovery, successor.group, successor.version, successor.kind);
    if (moved !== undefined && !isDeprecatedVersion(context, moved)) return moved;
  }
  return own;
}

async function findResource(
  discovery: Discovery,
  group: string,
  version: string,
  kind: string,
): Promise<ServedResource | undefined> {
  if (discovery.versions.get(group)?.includes(version) !== true) return undefined;
  const resources = await discovery.resources(group, version);
  return resources.find((resource) => resource.kind === kind && resource.canList);
}

function isDeprecatedVersion({ knowledgeBase, serverMinor }: ApiUsageContext, resource: ServedResource): boolean {
  const row = indexKnowledgeBase(knowledgeBase).apis.get(apiKey(resource));
  return row !== undefined && isFlagged(row, serverMinor);
}

interface Tallies {
  readonly written: UsageTally;
  readonly unknown: UsageTally;
}

async function readPlan(context: ApiUsageContext, plan: ListPlan, { written, unknown }: Tallies): Promise<void> {
  const { api, capabilities, refOf } = context;
  const { resource, flagged } = plan;
  let items: (() => void)[] = [];
  const note = (object: ManifestMap): void => {
    for (const row of flagged) {
      if (goesAway(context, row)) {
        const ref = refOf(object);
        items.push(() => written.add(apiKey(row), ref));
        continue;
      }
      const authorship = authorshipOf(object, groupVersion(row));
      if (authorship.kind === "not-written") continue;
      const ref = refOf(object);
      const { manager } = authorship.kind === "written" ? authorship : { manager: undefined };
      const known = manager === undefined ? ref : { ...ref, manager };
      items.push(() => (authorship.kind === "written" ? written : unknown).add(apiKey(row), known));
    }
  };
  try {
    const outcome = await listAll(api, listPathOf(resource), {
      accept: "metadata",
      selection: authorshipSelection,
      onItem: note,
      onRestart: () => {
        items = [];
      },
    });
    if (outcome.kind === "partial") skipAll(context, flagged, outcome.reason);
    if (plan.isListedDeprecated) {
      capabilities.skip(
        "deprecated-calls",
        `${groupVersion(resource)} ${resource.plural}`,
        "the scan itself lists these at a deprecated version",
      );
    }
    for (const add of items) add();
  } catch (error) {
    skipAll(context, flagged, reasonOf(error));
  }
}

function skipAll({ capabilities }: ApiUsageContext, flagged: readonly ApiLifecycle[], reason: string): void {
  for (const row of flagged) capabilities.skip("api-usage", `${groupVersion(row)} ${row.kind}`, reason);
}

/** A kind that no version outlives takes its objects with it, whoever writes them. */
function goesAway({ knowledgeBase }: ApiUsageContext, row: ApiLifecycle): boolean {
  if (row.removed === undefined || row.replacement !== undefined) return false;
  return knowledgeBase.apis.every(
    (other) => other.kind !== row.kind || other.group !== row.group || other.removed !== undefined,
  );
}
