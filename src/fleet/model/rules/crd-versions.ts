/**
 * Versions of custom resources. The cluster's own CRDs decide: an object written at a version its CRD does not serve
 * fails at its next apply. For manifests without their CRD at hand the life cycle of the product is all there is, and
 * since the product's installed version is not known, that stays information.
 */
import { type Evidence, evidenceOf, evidenceOfObjects } from "../evidence.ts";
import type { ApiUsage, CrdVersion, CustomResourceDefinition, Usage } from "../inventory.ts";
import type { ApiLifecycle } from "../knowledge-base.ts";
import { apiKey, apiLabel, builtInComponent, configComponent, groupVersion } from "../knowledge-base-index.ts";
import { quoteBriefly, sortedUnique } from "../order.ts";
import { type Emit, isManifestEntry, type RuleContext } from "../rule-context.ts";

export function judgeCrdVersions(context: RuleContext, emit: Emit): void {
  const crds = new Map<string, CustomResourceDefinition>();
  for (const crd of context.inventory.crds ?? []) {
    const other = crds.get(kindKey(crd));
    if (other === undefined || identify(crd) < identify(other)) crds.set(kindKey(crd), crd);
  }
  for (const crd of crds.values()) {
    judgeStoredVersions(context, crd, emit);
    for (const usage of crd.usage ?? []) judgeUsage({ crd, version: usage.version, usage }, emit);
  }
  for (const usage of listUsages(context)) {
    const crd = crds.get(kindKey(usage));
    if (crd !== undefined) judgeUsage({ crd, version: usage.version, usage }, emit);
    else judgeByLifecycle(context, usage, emit);
  }
}

function listUsages({ inventory }: RuleContext): ApiUsage[] {
  const inHelm = (inventory.helmReleases ?? []).flatMap((release) =>
    (release.manifestApis ?? []).map((usage) => ({
      ...usage,
      count: 1,
      namespaces: { [release.namespace]: 1 },
      objects: [{ namespace: release.namespace, name: release.name, manager: "helm" }],
      objectsOmitted: 0,
      origin: release.origin,
    })),
  );
  return [...(inventory.apiUsage ?? []), ...inHelm];
}

interface VersionUse {
  readonly crd: CustomResourceDefinition;
  readonly version: string;
  readonly usage: Usage;
}

function judgeUsage({ crd, version, usage }: VersionUse, emit: Emit): void {
  if (usage.count === 0 && (usage.objects ?? []).length === 0) return;
  const api = { group: crd.group, version, kind: crd.kind };
  const declared = crd.versions.find(({ name }) => name === version);
  if (declared?.served !== true) {
    emit({
      key: `crd-version/unserved/${apiKey(api)}`,
      category: "crd-version",
      severity: "blocker",
      phase: "applies",
      title: `${apiLabel(api)} is not served by its CRD`,
      noun: "object",
      detail: `The CRD of ${crd.plural}.${crd.group} ${declared === undefined ? "does not have this version" : "keeps this version without serving it"}: the next apply of these objects fails.`,
      remediation: moveTo(crd),
      citations: [crdCitation],
      evidence: evidenceOf([usage]),
    });
  } else if (declared.deprecated === true) {
    emit({
      key: `crd-version/deprecated/${apiKey(api)}`,
      category: "crd-version",
      severity: "warning",
      phase: "applies",
      title: `${apiLabel(api)} is deprecated by its CRD`,
      noun: "object",
      detail:
        declared.deprecationWarning === undefined
          ? "The CRD marks this version as deprecated; a later release of the product stops serving it."
          : quoteBriefly(declared.deprecationWarning),
      remediation: moveTo(crd, version),
      citations: [crdCitation],
      evidence: evidenceOf([usage]),
    });
  }
}

function judgeStoredVersions(context: RuleContext, crd: CustomResourceDefinition, emit: Emit): void {
  const served = new Set(crd.versions.filter((version) => version.served).map(({ name }) => name));
  for (const version of sortedUnique(crd.storedVersions ?? [])) {
    if (served.has(version)) continue;
    emit({
      key: `crd-version/stored-unserved/${apiKey({ group: crd.group, version, kind: crd.kind })}`,
      category: "crd-version",
      severity: "warning",
      phase: "control-plane",
      title: `${crd.kind}.${crd.group} may have objects stored at ${version}, which is not served`,
      detail: `\`status.storedVersions\` of the CRD names ${version}. As long as it does, the version cannot be taken out of the CRD, and an upgrade of the product that takes it out is refused.`,
      remediation: `Rewrite all ${crd.plural} at the storage version, then remove ${version} from \`status.storedVersions\`.`,
      citations: [
        "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#upgrade-existing-objects-to-a-new-stored-version",
      ],
      evidence: crdEvidence(context, crd),
    });
  }
}

function judgeByLifecycle(context: RuleContext, usage: ApiUsage, emit: Emit): void {
  if (context.inventory.source !== "manifest" && usage.origin !== "manifest") return;
  const row = context.index.apis.get(apiKey(usage));
  if (row === undefined || row.component === builtInComponent || row.component === configComponent) return;
  if (row.removed === undefined && row.unserved === undefined && row.gone === undefined) return;
  emit({
    key: `crd-version/known-removed/${apiKey(row)}`,
    category: "crd-version",
    severity: "info",
    phase: "applies",
    title: `${apiLabel(row)} is not served by ${row.component} ${firstOf(row)} and later`,
    noun: "object",
    detail: lifeOf(row),
    remediation:
      row.replacement === undefined
        ? `Look up what replaces it in the release notes of ${row.component}.`
        : replaceBy(row),
    citations: row.citations,
    evidence: evidenceOf([usage]),
  });
}

function lifeOf(row: ApiLifecycle): string {
  const steps = [
    row.deprecated === undefined ? undefined : `deprecated in ${row.deprecated}`,
    row.unserved === undefined ? undefined : `no longer served in ${row.unserved}`,
    row.gone === undefined ? undefined : `taken out of the CRD in ${row.gone}`,
  ].filter((step) => step !== undefined);
  return `In ${row.component} it was ${steps.join(", ")}. Which version of ${row.component} the cluster runs is not known here.`;
}

function firstOf(row: ApiLifecycle): string {
  return row.unserved ?? row.removed ?? row.gone ?? "";
}

function replaceBy(row: ApiLifecycle): string {
  if (row.replacement === undefined) return "";
  const isSameKind = row.replacement.kind === row.kind;
  return `${apiLabel(row)} → ${isSameKind ? groupVersion(row.replacement) : apiLabel(row.replacement)}: change \`apiVersion\`${isSameKind ? "" : " and `kind`"}, after the CRD of that version is installed.`;
}

function moveTo(crd: CustomResourceDefinition, except?: string): string {
  const usable = crd.versions.filter(
    (version) => version.served && version.deprecated !== true && version.name !== except,
  );
  const preferred = usable.find((version) => version.storage) ?? usable.at(-1);
  return preferred === undefined
    ? "The CRD serves no version that is not deprecated: upgrade the product that ships it."
    : `Write these objects as \`${crd.group}/${preferred.name}\`${describeOthers(usable, preferred)}.`;
}

function describeOthers(usable: readonly CrdVersion[], preferred: CrdVersion): string {
  const others = usable.filter((version) => version !== preferred).map(({ name }) => name);
  return others.length === 0 ? "" : ` (also served: ${sortedUnique(others).join(", ")})`;
}

function crdEvidence(context: RuleContext, crd: CustomResourceDefinition): Evidence {
  return evidenceOfObjects([crd.object ?? { name: `${crd.plural}.${crd.group}` }], {
    isFromManifest: isManifestEntry(context, crd),
  });
}

const crdCitation =
  "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/";

/** Of two CRDs for one kind one is taken, the same one in every order. */
function identify(crd: CustomResourceDefinition): string {
  return JSON.stringify(crd);
}

function kindKey({ group, kind }: { readonly group: string; readonly kind: string }): string {
  return `${group}/${kind}`;
}
