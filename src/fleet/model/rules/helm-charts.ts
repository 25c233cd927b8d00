/** Helm releases whose chart says which Kubernetes versions it accepts, and does not accept the target. */
import { evidenceOfObjects } from "../evidence.ts";
import type { HelmRelease } from "../inventory.ts";
import { allowsMinor, parseKubeVersionConstraint } from "../kube-version-constraint.ts";
import { quoteBriefly } from "../order.ts";
import { type Emit, isManifestEntry, type RuleContext } from "../rule-context.ts";

const deadStatuses = new Set(["uninstalled", "superseded", "uninstalling"]);

export function judgeHelmCharts(context: RuleContext, emit: Emit): void {
  for (const release of context.inventory.helmReleases ?? []) {
    const text = release.kubeVersion;
    if (text === undefined || text.trim() === "" || deadStatuses.has(release.status)) continue;
    const constraint = parseKubeVersionConstraint(text);
    if (constraint === undefined || !allowsMinor(constraint, context.target)) {
      emitIncompatible(context, { release, text, isReadable: constraint !== undefined }, emit);
    }
  }
}

interface Incompatible {
  readonly release: HelmRelease;
  readonly text: string;
  readonly isReadable: boolean;
}

function emitIncompatible(context: RuleContext, { release, text, isReadable }: Incompatible, emit: Emit): void {
  const { namespace, name } = release;
  const chart = `${release.chartName} ${release.chartVersion}`;
  emit({
    key: `chart-incompat/helm/${namespace}/${name}`,
    category: "chart-incompat",
    severity: isReadable ? "blocker" : "info",
    phase: "applies",
    title: isReadable
      ? `Chart ${chart} of release ${namespace}/${name} does not accept Kubernetes ${context.target}`
      : `Chart ${chart} of release ${namespace}/${name} has an unreadable constraint on Kubernetes`,
    detail: isReadable
      ? `Its \`kubeVersion\` is "${quoteBriefly(text)}": Helm refuses every install, upgrade and rollback with this chart version on ${context.target}.`
      : `Its \`kubeVersion\` is "${quoteBriefly(text)}", which is no version constraint.`,
    remediation: isReadable
      ? `Upgrade the release to a chart version that accepts ${context.target} before the control plane moves.`
      : "Look up which Kubernetes versions the chart supports.",
    citations: ["https://helm.sh/docs/topics/charts/#the-kubeversion-field"],
    evidence: evidenceOfObjects([{ namespace, name, manager: "helm" }], {
      isFromManifest: isManifestEntry(context, release),
    }),
  });
}
