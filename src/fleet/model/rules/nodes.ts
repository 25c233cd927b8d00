/**
 * What nodes run on: Docker through dockershim, container runtimes the kubelet is leaving behind, cgroup v1. A removal
 * that is only planned warns, and blocks from its planned minor on with "(projected)" in the title. An operating system
 * is only a hint at its cgroup version; what the kubelet itself says is evidence.
 */
import { evidenceOfObjects } from "../evidence.ts";
import type { NodeInfo } from "../inventory.ts";
import type { FactOf } from "../knowledge-base.ts";
import { factsOf, isReached } from "../knowledge-base-index.ts";
import { compareMinors, minorOfVersion } from "../kubernetes-minor.ts";
import { compareVersions, type ProductVersion, parseVersion } from "../product-version.ts";
import type { Severity } from "../report.ts";
import type { Emit, RuleContext } from "../rule-context.ts";
import { judgeCycle } from "./add-ons.ts";

interface Runtime {
  readonly node: NodeInfo;
  readonly name: string;
  readonly version: ProductVersion | undefined;
}

export function judgeNodes(context: RuleContext, emit: Emit): void {
  const runtimes = (context.inventory.nodes ?? []).map(readRuntime).filter((runtime) => runtime !== undefined);
  for (const fact of factsOf(context.index, "node-runtime")) judgeRuntime(context, fact, runtimes, emit);
  for (const fact of factsOf(context.index, "node-os")) judgeCgroups(context, fact, emit);
  judgeRuntimeLife(context, runtimes, emit);
}

type RuntimeFact = FactOf<"node-runtime">;

/** Nodes of a fact, and what to call them. */
const runtimeKinds: Readonly<
  Record<
    RuntimeFact["name"],
    { readonly label: string; readonly fix: string; readonly isMeant: (runtime: Runtime) => boolean }
  >
> = {
  dockershim: {
    label: "Docker through dockershim",
    fix: "Move these nodes to containerd or CRI-O, or put cri-dockerd between the kubelet and Docker.",
    // A kubelet of 1.24 or later that reports Docker talks to it through cri-dockerd.
    isMeant: ({ node, name }) => {
      const kubelet = minorOfVersion(node.kubeletVersion);
      return name === "docker" && (kubelet === undefined || compareMinors(kubelet, "1.24") < 0);
    },
  },
  "containerd-1": {
    label: "containerd 1.x",
    fix: "Upgrade containerd to 2.0 or later on these nodes.",
    isMeant: ({ name, version }) => name === "containerd" && version !== undefined && compareVersions(version, [2]) < 0,
  },
  "cri-o-before-1.28": {
    label: "CRI-O before 1.28",
    fix: "Upgrade CRI-O on these nodes together with the kubelet.",
    isMeant: ({ name, version }) => name === "cri-o" && version !== undefined && compareVersions(version, [1, 28]) < 0,
  },
};

function judgeRuntime(context: RuleContext, fact: RuntimeFact, runtimes: readonly Runtime[], emit: Emit): void {
  const { label, fix, isMeant } = runtimeKinds[fact.name];
  const users = runtimes.filter(isMeant);
  const severity = runtimeSeverity(fact, context);
  if (users.length === 0 || severity === undefined) return;
  const isProjected = fact.removed === undefined && severity === "blocker";
  const end = fact.removed ?? fact.plannedRemoval;
  emit({
    key: `node-runtime/${fact.name}`,
    category: "node-runtime",
    severity,
    phase: "nodes",
    title: `Nodes run ${label}, which ${fact.removed === undefined ? "is to lose" : "has lost"} support in ${end}${isProjected ? " (projected)" : ""}`,
    noun: "node",
    detail:
      fact.removed === undefined
        ? losingSupport(fact)
        : `The kubelet of ${end} cannot work with it and does not start.`,
    remediation: fix,
    citations: fact.citations,
    evidence: evidenceOfObjects(users.map(({ node }) => ({ name: node.name }))),
  });
}

function losingSupport({ deprecated, plannedRemoval }: RuntimeFact): string {
  return `The kubelet asks the runtime for its configuration, and runtimes this old do not answer. Their support is deprecated since ${deprecated}, and its end is planned for ${plannedRemoval}: a kubelet of that minor does not start with them.`;
}

function runtimeSeverity(fact: RuntimeFact, { target }: RuleContext): Severity | undefined {
  if (isReached(fact.removed, target) || isReached(fact.plannedRemoval, target)) return "blocker";
  if (isReached(fact.deprecated, target)) return "warning";
  return undefined;
}

function judgeRuntimeLife(context: RuleContext, runtimes: readonly Runtime[], emit: Emit): void {
  const groups = new Map<string, Runtime[]>();
  for (const runtime of runtimes) {
    const key = `${runtime.name} ${runtime.version?.slice(0, 2).join(".")}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [runtime]);
    else group.push(runtime);
  }
  for (const group of groups.values()) {
    const [first] = group;
    const addOn = first && context.index.addOns.get(first.name);
    if (first?.version === undefined || addOn?.kind !== "node-runtime") continue;
    const evidence = evidenceOfObjects(group.map(({ node }) => ({ name: node.name })));
    judgeCycle(context, { addOn, version: first.version, evidence, severity: "warning", noun: "node" }, emit);
  }
}

type OsFact = FactOf<"node-os">;

function judgeCgroups(context: RuleContext, fact: OsFact, emit: Emit): void {
  if (!isReached(fact.offByDefault, context.target)) return;
  const nodes = context.inventory.nodes ?? [];
  const known = nodes.filter(({ cgroupVersion }) => cgroupVersion === 1);
  const supposed = nodes.filter(
    ({ cgroupVersion, osImage }) => cgroupVersion === undefined && suggestsCgroupV1(osImage),
  );
  if (known.length > 0) emitCgroups(fact, { nodes: known, severity: "blocker" }, emit);
  else if (supposed.length > 0) emitCgroups(fact, { nodes: supposed, severity: "info" }, emit);
}

function emitCgroups(
  fact: OsFact,
  { nodes, severity }: { readonly nodes: readonly NodeInfo[]; readonly severity: "blocker" | "info" },
  emit: Emit,
): void {
  const isKnown = severity === "blocker";
  emit({
    key: "node-os/cgroup-v1",
    category: "node-os",
    severity,
    phase: "nodes",
    title: isKnown
      ? `Nodes use cgroup v1, which the kubelet refuses from ${fact.offByDefault} on`
      : `Nodes may use cgroup v1, which the kubelet refuses from ${fact.offByDefault} on`,
    noun: "node",
    detail: isKnown
      ? `The kubelet of ${fact.offByDefault} does not start on cgroup v1 unless it is told to with \`failCgroupV1: false\`, which works until the code is removed.`
      : "These operating systems start with cgroup v1 unless they were set up otherwise; what the nodes really use cannot be seen through the API.",
    remediation: "Move these nodes to an operating system release that starts with cgroup v2.",
    citations: fact.citations,
    evidence: evidenceOfObjects(nodes.map(({ name }) => ({ name }))),
  });
}

/** Releases whose default is cgroup v1. */
const cgroupV1Systems = [
  /^Amazon Linux 2$/,
  /^Ubuntu (1\d|20)\./,
  /^(Red Hat Enterprise Linux|CentOS Linux|CentOS Stream|Rocky Linux|AlmaLinux|Oracle Linux Server)\D*[78](\.|\s|$)/,
  /^Debian GNU\/Linux ([89]|10)\b/,
  /^SUSE Linux Enterprise Server 1[25]( SP[0-4])?$/,
];

function suggestsCgroupV1(osImage: string | undefined): boolean {
  return osImage !== undefined && cgroupV1Systems.some((pattern) => pattern.test(osImage.trim()));
}

function readRuntime(node: NodeInfo): Runtime | undefined {
  const [name, version] = (node.containerRuntime ?? "").split("://", 2);
  if (name === undefined || name === "" || version === undefined) return undefined;
  return { node, name, version: parseVersion(version) };
}
