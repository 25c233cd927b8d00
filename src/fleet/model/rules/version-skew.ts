/**
 * The version skew policy, for what runs today and for the moment after the control plane has moved to the target while
 * everything else has not. Only what the upgrade itself would break blocks; a skew that exists today is a warning.
 */
import { evidenceOfObjects, noEvidence } from "../evidence.ts";
import type { ComponentVersion, NodeInfo } from "../inventory.ts";
import { compareMinors, type KubernetesMinor, minorNumber, minorOf, minorOfVersion } from "../kubernetes-minor.ts";
import type { Severity } from "../report.ts";
import type { Emit, RuleContext } from "../rule-context.ts";

const citation = "https://kubernetes.io/releases/version-skew-policy/";

/** Components that must not be newer than any API server and at most one minor older. */
const controllers = ["kube-controller-manager", "kube-scheduler", "cloud-controller-manager"];

interface NodeAgent {
  readonly node: string;
  readonly minor: KubernetesMinor;
}

export function judgeVersionSkew(context: RuleContext, emit: Emit): void {
  if (context.inventory.source !== "cluster") return;
  const kubelets = readKubelets(context.inventory.nodes ?? [], emit);
  judgeKubelets(context, kubelets, emit);
  judgeApiServers(context, emit);
  judgeControllers(context, emit);
  judgeKubeProxies(context, kubelets, emit);
  judgeUpgradePath(context, emit);
}

/** Minors a kubelet or kube-proxy may lag behind the API server. */
export function allowedLag(agent: KubernetesMinor): number {
  return minorNumber(agent) < 25 ? 2 : 3;
}

/** The oldest kubelet an API server of the minor may have. */
function oldestAllowed(server: KubernetesMinor): KubernetesMinor {
  let oldest = minorOf(Math.max(0, minorNumber(server) - 3));
  while (lag(server, oldest) > allowedLag(oldest)) oldest = minorOf(minorNumber(oldest) + 1);
  return oldest;
}

function readKubelets(nodes: readonly NodeInfo[], emit: Emit): NodeAgent[] {
  const kubelets: NodeAgent[] = [];
  const unreadable: string[] = [];
  for (const { name, kubeletVersion } of nodes) {
    const minor = minorOfVersion(kubeletVersion);
    if (minor === undefined) unreadable.push(name);
    else kubelets.push({ node: name, minor });
  }
  if (unreadable.length > 0) {
    emitNodes(emit, {
      key: "kubelet-unparseable",
      severity: "info",
      phase: "any",
      title: "Kubelet versions could not be read",
      detail: "The version these nodes report is no Kubernetes version, so their skew is not judged.",
      remediation: "Check the nodes.",
      nodes: unreadable,
    });
  }
  return kubelets;
}

function judgeKubelets({ current, target }: RuleContext, kubelets: readonly NodeAgent[], emit: Emit): void {
  const tooOld = kubelets.filter(({ minor }) => lag(target, minor) > allowedLag(minor));
  emitNodes(emit, {
    key: "kubelet-post-upgrade",
    severity: "blocker",
    phase: "control-plane",
    title: `Kubelets are too old for an API server of ${target}`,
    detail: `A kubelet may be three minors older than the API server, before 1.25 two. Once the control plane runs ${target}, these nodes are further behind than that.`,
    remediation: `Upgrade these nodes first, to ${oldestAllowed(target)} or later, without passing the API server.`,
    nodes: tooOld.map(({ node }) => node),
  });
  if (current === undefined) return;
  emitNodes(emit, {
    key: "kubelet-current",
    severity: "warning",
    phase: "any",
    title: "Kubelets are too old for the API server of today",
    detail: `The API server runs ${current}; a kubelet may be three minors older, before 1.25 two.`,
    remediation: "Upgrade these nodes.",
    nodes: kubelets.filter(({ minor }) => lag(current, minor) > allowedLag(minor)).map(({ node }) => node),
  });
  emitNodes(emit, {
    key: "kubelet-newer-than-apiserver",
    severity: "warning",
    phase: "any",
    title: "Kubelets are newer than the API server",
    detail: `The oldest API server runs ${current}. A kubelet must never be newer than an API server it may talk to.`,
    remediation: "Bring the control plane to the minor of these nodes, or the nodes back.",
    nodes: kubelets.filter(({ minor }) => compareMinors(minor, current) > 0).map(({ node }) => node),
  });
}

function judgeApiServers({ inventory }: RuleContext, emit: Emit): void {
  const servers = componentsNamed(inventory.controlPlane, "kube-apiserver");
  const minors = servers.map(({ minor }) => minorNumber(minor));
  if (servers.length === 0 || Math.max(...minors) - Math.min(...minors) <= 1) return;
  emit({
    key: "version-skew/apiserver-ha-spread",
    category: "version-skew",
    severity: "warning",
    phase: "control-plane",
    title: "API servers are more than one minor apart",
    detail: `They run ${minorOf(Math.min(...minors))} to ${minorOf(Math.max(...minors))}; within a cluster they may differ by one minor.`,
    remediation: "Finish the upgrade of the older ones before starting another.",
    citations: [citation],
    evidence: evidenceOfObjects(servers.map(({ node }) => ({ name: node }))),
  });
}

function judgeControllers({ inventory, current }: RuleContext, emit: Emit): void {
  if (current === undefined) return;
  for (const component of controllers) {
    const instances = componentsNamed(inventory.controlPlane, component);
    const newer = instances.filter(({ minor }) => compareMinors(minor, current) > 0);
    const behind = instances.filter(({ minor }) => lag(current, minor) > 1);
    emitComponent(emit, {
      key: `${component}-newer`,
      severity: "blocker",
      title: `${component} is newer than the API server`,
      detail: `The oldest API server runs ${current}; ${component} must not be newer than any API server it may talk to.`,
      remediation: "Upgrade the API servers first, this component after them.",
      instances: newer,
    });
    emitComponent(emit, {
      key: `${component}-behind`,
      severity: "warning",
      title: `${component} is more than one minor older than the API server`,
      detail: `The API server runs ${current}; ${component} may be one minor older.`,
      remediation: `Upgrade ${component} before the API server moves on.`,
      instances: behind,
    });
  }
}

function judgeKubeProxies(
  { inventory, current, target }: RuleContext,
  kubelets: readonly NodeAgent[],
  emit: Emit,
): void {
  const proxies = componentsNamed(inventory.controlPlane, "kube-proxy");
  if (current !== undefined) {
    emitComponent(emit, {
      key: "kube-proxy-newer",
      severity: "warning",
      title: "kube-proxy is newer than the API server",
      detail: `The oldest API server runs ${current}; kube-proxy must not be newer.`,
      remediation: "Upgrade the API servers first.",
      instances: proxies.filter(({ minor }) => compareMinors(minor, current) > 0),
    });
  }
  emitComponent(emit, {
    key: "kube-proxy-behind",
    severity: "warning",
    title: `kube-proxy is too old for an API server of ${target}`,
    detail: "kube-proxy may be three minors older than the API server, before 1.25 two.",
    remediation: "Upgrade kube-proxy together with the nodes.",
    instances: proxies.filter(({ minor }) => lag(target, minor) > allowedLag(minor)),
  });
  const kubeletOf = new Map<string, KubernetesMinor>();
  for (const { node, minor } of kubelets) {
    const other = kubeletOf.get(node);
    if (other === undefined || compareMinors(minor, other) < 0) kubeletOf.set(node, minor);
  }
  for (const { node, minor } of proxies) {
    const kubelet = kubeletOf.get(node);
    if (kubelet === undefined || Math.abs(lag(kubelet, minor)) <= allowedLag(minor)) continue;
    emitNodes(emit, {
      key: `kube-proxy-kubelet/${node}`,
      severity: "warning",
      phase: "nodes",
      title: `kube-proxy and kubelet of node ${node} are too far apart`,
      detail: `kube-proxy runs ${minor}, the kubelet ${kubelet}; they may differ by three minors, kube-proxy before 1.25 by two.`,
      remediation: "Bring kube-proxy to the minor of the node.",
      nodes: [node],
    });
  }
}

function judgeUpgradePath({ current, target }: RuleContext, emit: Emit): void {
  if (current === undefined || lag(target, current) <= 1) return;
  const steps = Array.from({ length: lag(target, current) + 1 }, (_, step) => minorOf(minorNumber(current) + step));
  emit({
    key: "version-skew/upgrade-path",
    category: "version-skew",
    severity: "info",
    phase: "control-plane",
    title: `${target} is more than one minor away`,
    detail: `The control plane has to pass through every minor: ${steps.join(" → ")}.`,
    remediation: "Judge and upgrade one minor at a time; nodes may skip minors within the allowed skew.",
    citations: [citation],
    evidence: noEvidence,
  });
}

interface NodesFinding {
  readonly key: string;
  readonly severity: Severity;
  readonly phase: "control-plane" | "nodes" | "any";
  readonly title: string;
  readonly detail: string;
  readonly remediation: string;
  readonly nodes: readonly string[];
}

function emitNodes(emit: Emit, { key, nodes, ...text }: NodesFinding): void {
  if (nodes.length === 0) return;
  emit({
    ...text,
    key: `version-skew/${key}`,
    category: "version-skew",
    noun: "node",
    citations: [citation],
    evidence: evidenceOfObjects(nodes.map((name) => ({ name }))),
  });
}

interface ComponentFinding extends Omit<NodesFinding, "nodes" | "phase"> {
  readonly instances: readonly NodeAgent[];
}

function emitComponent(emit: Emit, { key, instances, ...text }: ComponentFinding): void {
  if (instances.length === 0) return;
  emit({
    ...text,
    key: `version-skew/${key}`,
    category: "version-skew",
    phase: "control-plane",
    noun: "instance",
    citations: [citation],
    evidence: evidenceOfObjects(instances.map(({ node }) => ({ name: node }))),
  });
}

/** Instances of a component with a readable version, by node (or by the component's name when none is given). */
function componentsNamed(versions: readonly ComponentVersion[] | undefined, component: string): NodeAgent[] {
  return (versions ?? []).flatMap((entry) => {
    const minor = entry.component === component ? minorOfVersion(entry.version) : undefined;
    return minor === undefined ? [] : [{ node: entry.node ?? component, minor }];
  });
}

function lag(leader: KubernetesMinor, follower: KubernetesMinor): number {
  return compareMinors(leader, follower);
}
