/**
 * Helm releases from their stored records. Only metadata is listed; of each release the one installed revision is read.
 * Records are compressed by whoever installs charts, so both sizes are bounded before anything is parsed.
 */
import { gunzipSync } from "node:zlib";
import { isDomainError } from "../../../platform/errors/domain-error.ts";
import { readJson } from "../../manifests/json-text.ts";
import { ManifestMap } from "../../manifests/manifest-node.ts";
import { ManifestReader } from "../../manifests/manifest-reader.ts";
import { NodeBudget } from "../../manifests/node-budget.ts";
import { labelsOf } from "../../manifests/object-facts.ts";
import { type Selection, selectionOf } from "../../manifests/selection.ts";
import type { ApiUsage, HelmRelease } from "../../model/inventory.ts";
import { type CapabilityLog, reasonOf } from "./capability-log.ts";
import { type KubernetesApi, KubernetesRequestError, listAll, parseObject } from "./kubernetes-api.ts";

export const maxStoredSizeBytes = 4 * 1024 * 1024;
export const maxInflatedSizeBytes = 16 * 1024 * 1024;
export const maxManifestSizeBytes = 1024 * 1024;
export const maxManifestNodes = 64 * 1024;
export const helmReadConcurrency = 4;
const maxReleaseNodes = 2_000_000;

const recordSelection = selectionOf({ metadata: { name: "all", namespace: "all", labels: "all" } });
const releaseSelection: Selection = selectionOf({
  name: "all",
  namespace: "all",
  version: "all",
  info: { status: "all" },
  chart: { metadata: { name: "all", version: "all", appVersion: "all", kubeVersion: "all" } },
  manifest: "all",
});

interface StoredRecord {
  readonly release: string;
  readonly namespace: string;
  readonly recordName: string;
  readonly revision: number;
  readonly status: string;
  readonly storage: "secrets" | "configmaps";
}

export async function collectHelm(api: KubernetesApi, capabilities: CapabilityLog): Promise<HelmRelease[]> {
  capabilities.see("helm");
  const installed = new Map<string, StoredRecord>();
  for (const storage of ["secrets", "configmaps"] as const) {
    try {
      for (const record of await listRecords(api, storage)) {
        const key = `${record.namespace}/${record.release}`;
        const known = installed.get(key);
        if (known === undefined || isBetter(record, known)) installed.set(key, record);
      }
    } catch (error) {
      if (storage === "secrets") {
        capabilities.miss("helm", reasonOf(error));
        return [];
      }
      capabilities.skip("helm", storage, reasonOf(error));
    }
  }
  return readReleases(api, [...installed.values()], capabilities);
}

/** The deployed revision; without one the newest. */
function isBetter(record: StoredRecord, known: StoredRecord): boolean {
  const [isDeployed, wasDeployed] = [record.status === "deployed", known.status === "deployed"];
  return isDeployed === wasDeployed ? record.revision > known.revision : isDeployed;
}

async function listRecords(api: KubernetesApi, storage: StoredRecord["storage"]): Promise<StoredRecord[]> {
  let records: StoredRecord[] = [];
  await listAll(api, `/api/v1/${storage}`, {
    accept: "metadata",
    selection: recordSelection,
    query: "labelSelector=owner%3Dhelm",
    onItem: (item) => {
      const labels = labelsOf(item);
      const metadata = item.map("metadata");
      const [release, recordName, namespace] = [
        labels.get("name"),
        metadata?.text("name"),
        metadata?.text("namespace"),
      ];
      if (release === undefined || recordName === undefined || namespace === undefined) return;
      const revision = Number(labels.get("version") ?? "0");
      records.push({ release, namespace, recordName, revision, status: labels.get("status") ?? "", storage });
    },
    onRestart: () => {
      records = [];
    },
  });
  return records;
}

async function readReleases(
  api: KubernetesApi,
  records: readonly StoredRecord[],
  capabilities: CapabilityLog,
): Promise<HelmRelease[]> {
  const releases: HelmRelease[] = [];
  const waiting = [...records];
  const work = async (): Promise<void> => {
    for (let record = waiting.pop(); record !== undefined; record = waiting.pop()) {
      try {
        releases.push(await readRelease(api, record));
      } catch (error) {
        const name = `${record.namespace}/${record.release}`;
        capabilities.skip(
          "helm",
          name,
          error instanceof KubernetesRequestError ? reasonOf(error) : "a stored record cannot be read",
        );
      }
    }
  };
  await Promise.all(Array.from({ length: helmReadConcurrency }, work));
  return releases.sort((left, right) =>
    `${left.namespace}/${left.name}` < `${right.namespace}/${right.name}` ? -1 : 1,
  );
}

async function readRelease(api: KubernetesApi, record: StoredRecord): Promise<HelmRelease> {
  const path = `/api/v1/namespaces/${encodeURIComponent(record.namespace)}/${record.storage}/${encodeURIComponent(record.recordName)}`;
  const object = parseObject(await api.read(path, "json"), selectionOf({ data: { release: "all" } }));
  const stored = object.map("data")?.text("release");
  if (stored === undefined) throw new Error("the record has no release");
  const release = decodeRelease(stored, record.storage);
  const chart = release.at("chart", "metadata");
  const [appVersion, kubeVersion] = [chart?.text("appVersion"), chart?.text("kubeVersion")];
  return {
    name: record.release,
    namespace: record.namespace,
    chartName: chart?.text("name") ?? "",
    chartVersion: chart?.text("version") ?? "",
    ...(appVersion === undefined ? {} : { appVersion }),
    ...(kubeVersion === undefined || kubeVersion === "" ? {} : { kubeVersion }),
    status: release.map("info")?.text("status") ?? record.status,
    revision: record.revision,
    manifestApis: apisOfManifest(release.text("manifest") ?? ""),
  };
}

/** Secrets carry one more layer of base64 than ConfigMaps. */
export function decodeRelease(stored: string, storage: "secrets" | "configmaps"): ManifestMap {
  if (stored.length > maxStoredSizeBytes) throw new Error("the record is too large");
  const inner = storage === "secrets" ? Buffer.from(stored, "base64").toString("latin1") : stored;
  const packed = Buffer.from(inner, "base64");
  const isGzip = packed[0] === 0x1f && packed[1] === 0x8b;
  const bytes = isGzip ? gunzipSync(packed, { maxOutputLength: maxInflatedSizeBytes }) : packed;
  const reading = readJson(bytes.toString("utf8"), {
    selection: releaseSelection,
    budget: new NodeBudget(maxReleaseNodes),
    firstLine: 1,
  });
  if (reading.kind === "read" && reading.root instanceof ManifestMap) return reading.root;
  throw new Error("the record is no release");
}

/** APIs that the rendered manifest of a release names. */
export function apisOfManifest(manifest: string): ApiUsage[] {
  if (manifest.length > maxManifestSizeBytes) throw new Error("the manifest is too large");
  const counts = new Map<string, { group: string; version: string; kind: string; count: number }>();
  const reader = new ManifestReader({
    file: "manifest",
    budget: new NodeBudget(maxManifestNodes),
    onObject: ({ group, version, kind }) => {
      const key = `${group}/${version}/${kind}`;
      const known = counts.get(key);
      if (known === undefined) counts.set(key, { group, version, kind, count: 1 });
      else known.count += 1;
    },
    onWarning: () => {},
  });
  try {
    reader.push(Buffer.from(manifest));
    reader.finish();
  } catch (error) {
    if (isDomainError(error)) throw new Error("the manifest cannot be read", { cause: error });
    throw error;
  }
  return [...counts.values()];
}
