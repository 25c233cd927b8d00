/** In-tree volume plugins: removed ones, ones whose calls go to a CSI driver, and FlexVolume. */
import { evidenceOf } from "../evidence.ts";
import type { VolumePluginUsage } from "../inventory.ts";
import type { FactOf } from "../knowledge-base.ts";
import { factsOf } from "../knowledge-base-index.ts";
import type { Severity } from "../report.ts";
import { distanceOf, type Emit, type RuleContext } from "../rule-context.ts";

type VolumeFact = FactOf<"volume-plugin">;

export function judgeVolumePlugins(context: RuleContext, emit: Emit): void {
  const facts = new Map(factsOf(context.index, "volume-plugin").map((fact) => [fact.name, fact]));
  const byPlugin = new Map<string, VolumePluginUsage[]>();
  for (const usage of context.inventory.volumePlugins ?? []) {
    const same = byPlugin.get(usage.plugin);
    if (same === undefined) byPlugin.set(usage.plugin, [usage]);
    else same.push(usage);
  }
  for (const [plugin, usages] of byPlugin) {
    const fact = facts.get(plugin);
    const severity = fact && severityOf(fact, context);
    if (fact === undefined || severity === undefined) continue;
    emit({
      key: `volume-plugin/${plugin}`,
      category: "volume-plugin",
      severity,
      phase: "nodes",
      title: titleOf(fact, context),
      noun: "use",
      detail: `${detailOf(fact)}${provisionerText(fact, usages)}`,
      remediation: fixOf(fact),
      citations: fact.citations,
      evidence: evidenceOf(usages),
    });
  }
}

function severityOf(fact: VolumeFact, { target }: RuleContext): Severity | undefined {
  const distance = distanceOf(fact.since, target);
  switch (fact.outcome) {
    case "removed":
      return distance === "reached" ? "blocker" : distance === "next" ? "warning" : undefined;
    case "csi-migration":
      return distance === "reached" ? "warning" : undefined;
    case "deprecated":
      return distance === "reached" ? "info" : undefined;
  }
}

function titleOf(fact: VolumeFact, { target }: RuleContext): string {
  switch (fact.outcome) {
    case "removed":
      return `Volume plugin ${fact.name} ${distanceOf(fact.since, target) === "reached" ? "is removed" : "goes away"} in ${fact.since}`;
    case "csi-migration":
      return `Volume plugin ${fact.name} needs its CSI driver from ${fact.since} on`;
    case "deprecated":
      return `Volume plugin ${fact.name} is deprecated since ${fact.since}`;
  }
}

function detailOf(fact: VolumeFact): string {
  switch (fact.outcome) {
    case "removed":
      return `From ${fact.since} on the kubelet cannot mount such volumes: their pods do not start on an upgraded node.`;
    case "csi-migration":
      return `From ${fact.since} on the in-tree code is gone and every call goes to the CSI driver ${fact.csiDriver ?? "of the vendor"}. The volumes work as long as that driver is installed.`;
    case "deprecated":
      return "It still works; nothing is added to it any more.";
  }
}

function provisionerText(fact: VolumeFact, usages: readonly VolumePluginUsage[]): string {
  if (!usages.some((usage) => usage.provisioner)) return "";
  return ` Storage classes name its provisioner${fact.provisioner === undefined ? "" : ` \`${fact.provisioner}\``}, so new claims use it as well.`;
}

/** Plugins whose volumes held nothing to move. */
const ownFixes: Readonly<Record<string, string>> = {
  gitRepo: "Clone the repository in an init container, into an `emptyDir` volume that the pod shares.",
};

function fixOf(fact: VolumeFact): string {
  const ownFix = ownFixes[fact.name];
  if (ownFix !== undefined) return ownFix;
  if (fact.csiDriver !== undefined) {
    return `Install the CSI driver \`${fact.csiDriver}\` before the nodes are upgraded, and name it in the storage classes.`;
  }
  return fact.outcome === "deprecated"
    ? "Plan to move to a CSI driver."
    : "Move the data to a volume of a CSI driver and change the pods, volumes and storage classes that name the plugin.";
}
