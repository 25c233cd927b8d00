/**
 * Flags, feature gates, admission plugins, scheduler plugins and configuration files that a component refuses at the
 * target: it does not start. Control planes run by a provider have none to look at, and none are looked at.
 */
import { type Evidence, evidenceOf, evidenceOfObjects } from "../evidence.ts";
import type { ApiUsage, ComponentConfig, ComponentFlags } from "../inventory.ts";
import type { FactOf } from "../knowledge-base.ts";
import { apiKey, configComponent, factsOf, groupVersion } from "../knowledge-base-index.ts";
import { sortedUnique } from "../order.ts";
import { distanceOf, type Emit, isManifestEntry, type RemovalDistance, type RuleContext } from "../rule-context.ts";

const admissionFlags = ["--enable-admission-plugins", "--disable-admission-plugins", "--admission-control"];
const nodeComponents = new Set(["kubelet", "kube-proxy"]);

export function judgeComponentSettings(context: RuleContext, emit: Emit): void {
  const isManaged = context.inventory.provider !== undefined && context.inventory.provider !== "other";
  const byComponent = new Map<string, ComponentFlags[]>();
  for (const entry of context.inventory.componentFlags ?? []) {
    if (isManaged && !nodeComponents.has(entry.component)) continue;
    const same = byComponent.get(entry.component);
    if (same === undefined) byComponent.set(entry.component, [entry]);
    else same.push(entry);
  }
  for (const [component, entries] of byComponent) {
    judgeFlags(context, component, entries, emit);
    judgeFeatureGates(context, component, entries, emit);
    judgeLockedGates(context, component, entries, emit);
    judgeAdmissionPlugins(context, component, entries, emit);
    judgeDefaults(context, component, entries, emit);
  }
  judgeConfigs(context, emit);
  judgeSchedulerPlugins(context, emit);
}

function judgeFlags(context: RuleContext, component: string, entries: readonly ComponentFlags[], emit: Emit): void {
  for (const fact of factsOf(context.index, "removed-flag")) {
    if (!fact.components.includes(component)) continue;
    const users = entries.filter(({ flags }) => flags !== undefined && Object.hasOwn(flags, fact.name));
    emitRemoved(
      context,
      {
        fact,
        component,
        users,
        what: `Flag ${fact.name} of ${component}`,
        fix: `Take \`${fact.name}\` out of the arguments of ${component}.`,
      },
      emit,
    );
  }
}

function judgeFeatureGates(
  context: RuleContext,
  component: string,
  entries: readonly ComponentFlags[],
  emit: Emit,
): void {
  for (const fact of factsOf(context.index, "removed-feature-gate")) {
    if (!fact.components.includes(component)) continue;
    const users = entries.filter((entry) => Object.hasOwn(gatesOf(entry), fact.name));
    emitRemoved(
      context,
      {
        fact,
        component,
        users,
        what: `Feature gate ${fact.name} of ${component}`,
        fix: `Take \`${fact.name}\` out of \`--feature-gates\` of ${component}.`,
      },
      emit,
    );
  }
}

function judgeLockedGates(
  context: RuleContext,
  component: string,
  entries: readonly ComponentFlags[],
  emit: Emit,
): void {
  for (const fact of factsOf(context.index, "locked-feature-gate")) {
    if (!fact.components.includes(component)) continue;
    const distance = distanceOf(fact.locked, context.target);
    const users = entries.filter((entry) => Object.hasOwn(gatesOf(entry), fact.name));
    const refused = users.filter((entry) => gatesOf(entry)[fact.name]?.toLowerCase() !== String(fact.lockedTo));
    if (users.length === 0 || (distance !== "reached" && distance !== "next")) continue;
    emit({
      key: `locked-feature-gate/${component}/${fact.name}`,
      category: "locked-feature-gate",
      severity: refused.length === 0 ? "info" : distance === "reached" ? "blocker" : "warning",
      phase: phaseOf(component),
      title: `Feature gate ${fact.name} of ${component} is locked to ${fact.lockedTo} in ${fact.locked}`,
      detail:
        refused.length === 0
          ? "It is set to the value it is locked to, which is accepted; the gate itself will be removed later."
          : `It is set to another value: ${component} of ${fact.locked} does not start with it.`,
      remediation: `Take \`${fact.name}\` out of \`--feature-gates\` of ${component}.`,
      citations: fact.citations,
      evidence: componentEvidence(component, refused.length === 0 ? users : refused),
    });
  }
}

function judgeAdmissionPlugins(
  context: RuleContext,
  component: string,
  entries: readonly ComponentFlags[],
  emit: Emit,
): void {
  for (const fact of factsOf(context.index, "removed-admission-plugin")) {
    if (!fact.components.includes(component)) continue;
    const users = entries.filter(({ flags }) =>
      admissionFlags.some((flag) => splitList(flags?.[flag]).includes(fact.name)),
    );
    emitRemoved(
      context,
      {
        fact,
        component,
        users,
        key: fact.name,
        what: `Admission plugin ${fact.name}`,
        fix: `Take \`${fact.name}\` out of the admission plugins named in the arguments of ${component}.`,
      },
      emit,
    );
  }
}

function judgeDefaults(context: RuleContext, component: string, entries: readonly ComponentFlags[], emit: Emit): void {
  for (const fact of factsOf(context.index, "changed-default")) {
    if (!fact.components.includes(component) || distanceOf(fact.changed, context.target) !== "reached") continue;
    const users = entries.filter(({ flags }) => flags?.[fact.flag] === fact.value);
    if (users.length === 0) continue;
    emit({
      key: `changed-default/${component}/${fact.flag}`,
      category: "changed-default",
      severity: "info",
      phase: phaseOf(component),
      title: `\`${fact.flag}=${fact.value}\` of ${component} means something else from ${fact.changed} on`,
      detail: fact.note === undefined ? "The meaning of this value changes." : `Its meaning changes: ${fact.note}.`,
      remediation: "Set the value that is meant.",
      citations: fact.citations,
      evidence: componentEvidence(component, users),
    });
  }
}

function judgeSchedulerPlugins(context: RuleContext, emit: Emit): void {
  for (const fact of factsOf(context.index, "removed-scheduler-plugin")) {
    const users = (context.inventory.componentConfigs ?? []).filter(
      ({ plugins }) => plugins?.includes(fact.name) === true,
    );
    const distance = distanceOf(fact.removed, context.target);
    if (users.length === 0 || (distance !== "reached" && distance !== "next")) continue;
    emit({
      key: `removed-scheduler-plugin/${fact.name}`,
      category: "removed-scheduler-plugin",
      severity: distance === "reached" ? "blocker" : "warning",
      phase: "control-plane",
      title: `Scheduler plugin ${fact.name} ${verbOf(distance)} in ${fact.removed}`,
      detail: `kube-scheduler of ${fact.removed} does not start with a configuration that names it.`,
      remediation: `Take \`${fact.name}\` out of the scheduler configuration.`,
      citations: fact.citations,
      evidence: configEvidence(context, users),
    });
  }
}

/** Configuration files, found in ConfigMaps or posted as manifests. */
function judgeConfigs(context: RuleContext, emit: Emit): void {
  const posted = (context.inventory.apiUsage ?? []).filter(
    (usage) => context.index.apis.get(apiKey(usage))?.component === configComponent,
  );
  for (const fact of factsOf(context.index, "removed-config")) {
    const distance = distanceOf(fact.removed, context.target);
    if (distance !== "reached" && distance !== "next") continue;
    const isMeant = (entry: ComponentConfig | ApiUsage): boolean =>
      entry.group === fact.group && entry.version === fact.version;
    const found = (context.inventory.componentConfigs ?? []).filter(isMeant);
    const files = posted.filter(isMeant);
    const base = {
      key: `removed-config/${fact.group}/${fact.version}`,
      category: "removed-config",
      severity: distance === "reached" ? "blocker" : "warning",
      phase: "control-plane",
      title: `Configuration files of ${groupVersion(fact)} ${distance === "reached" ? "are not read" : "are no longer read"} from ${fact.removed} on`,
      noun: "file",
      detail: `${fact.components.join(" and ")} of ${fact.removed} refuses a file of this version.`,
      remediation: configFix(context, fact),
      citations: fact.citations,
    } as const;
    if (found.length > 0) emit({ ...base, evidence: configEvidence(context, found) });
    if (files.length > 0) emit({ ...base, evidence: evidenceOf(files) });
  }
}

function configFix(
  context: RuleContext,
  { group, version }: { readonly group: string; readonly version: string },
): string {
  const row = context.index.source.apis.find((api) => api.group === group && api.version === version);
  const to = row?.replacement === undefined ? "a newer version" : `\`${groupVersion(row.replacement)}\``;
  return group === "kubeadm.k8s.io"
    ? `Rewrite the file as ${to} with \`kubeadm config migrate\`, and upload it again.`
    : `Rewrite the file as ${to}.`;
}

type RemovedFact = FactOf<"removed-flag">;

interface RemovedSetting {
  readonly fact: RemovedFact;
  readonly component: string;
  readonly users: readonly ComponentFlags[];
  readonly what: string;
  readonly fix: string;
  /** Rest of the key after the category; by default component and name. */
  readonly key?: string;
}

function emitRemoved(
  context: RuleContext,
  { fact, component, users, what, fix, key }: RemovedSetting,
  emit: Emit,
): void {
  const distance = distanceOf(fact.removed, context.target);
  if (users.length === 0 || (distance !== "reached" && distance !== "next")) return;
  emit({
    key: `${fact.kind}/${key ?? `${component}/${fact.name}`}`,
    category: fact.kind,
    severity: distance === "reached" ? "blocker" : "warning",
    phase: phaseOf(component),
    title: `${what} ${verbOf(distance)} in ${fact.removed}`,
    detail: `${component} of ${fact.removed} does not know it and does not start with it.`,
    remediation: fix,
    citations: fact.citations,
    evidence: componentEvidence(component, users),
  });
}

/** Gates by name, from the parsed map and from the flag itself. */
function gatesOf({ flags, featureGates }: ComponentFlags): Readonly<Record<string, string>> {
  const gates: Record<string, string> = { ...featureGates };
  for (const part of splitList(flags?.["--feature-gates"])) {
    const [name = "", value = ""] = part.split("=", 2);
    if (name !== "" && !Object.hasOwn(gates, name)) gates[name] = value;
  }
  return gates;
}

function splitList(text: string | undefined): string[] {
  return (text ?? "").split(",").map((part) => part.trim());
}

function componentEvidence(component: string, users: readonly ComponentFlags[]): Evidence {
  const posted = users.flatMap(({ object }) => (object === undefined ? [] : [object]));
  const seen = users.filter(({ object }) => object === undefined).map(({ node }) => node ?? component);
  return evidenceOfObjects([...posted, ...sortedUnique(seen).map((name) => ({ name }))], {
    isFromManifest: posted.length > 0,
  });
}

function configEvidence(context: RuleContext, configs: readonly ComponentConfig[]): Evidence {
  const objects = configs.map(({ namespace, name, kind, object }) => object ?? { namespace, name: name ?? kind });
  return evidenceOfObjects(objects, { isFromManifest: configs.some((config) => isManifestEntry(context, config)) });
}

function phaseOf(component: string): "nodes" | "control-plane" {
  return nodeComponents.has(component) ? "nodes" : "control-plane";
}

function verbOf(distance: RemovalDistance): string {
  return distance === "reached" ? "is removed" : "goes away";
}
