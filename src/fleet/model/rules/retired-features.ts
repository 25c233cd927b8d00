/** Image registries that are frozen, and fields and labels that a later Kubernetes turns off. */
import { evidenceOf } from "../evidence.ts";
import type { FieldUsage } from "../inventory.ts";
import type { FactOf } from "../knowledge-base.ts";
import { factsOf } from "../knowledge-base-index.ts";
import type { Category, Phase, Severity } from "../report.ts";
import { distanceOf, type Emit, type RuleContext } from "../rule-context.ts";

type FieldFact = FactOf<"field">;

export function judgeRegistries(context: RuleContext, emit: Emit): void {
  for (const fact of factsOf(context.index, "image-registry")) {
    const usages = (context.inventory.registries ?? []).filter(({ registry }) => registry === fact.name);
    if (usages.length === 0) continue;
    emit({
      key: `image-registry/${fact.name}`,
      category: "image-registry",
      severity: "warning",
      phase: "nodes",
      title: `Images come from ${fact.name}, which is frozen since ${fact.frozen}`,
      noun: "use",
      detail:
        "Nothing new is published there, and a new node that pulls from it depends on a redirect that may end any day.",
      remediation: `Pull the same images from \`${fact.replacement}\`.`,
      citations: fact.citations,
      evidence: evidenceOf(usages),
    });
  }
}

interface FieldTexts {
  readonly key: string;
  readonly category: Category;
  readonly phase: Phase;
  readonly what: string;
  readonly detail: string;
  readonly fix: string;
}

const fieldTexts: Readonly<Record<FieldFact["name"], FieldTexts>> = {
  "service-externalips": {
    key: "field/service-externalips",
    category: "field",
    phase: "control-plane",
    what: "Services use `spec.externalIPs`",
    detail: "Traffic to these addresses stops being forwarded once the field is off.",
    fix: "Use a load balancer or the Gateway API for these services.",
  },
  "kube-proxy-ipvs": {
    key: "kube-proxy/ipvs",
    category: "kube-proxy",
    phase: "nodes",
    what: "kube-proxy runs in IPVS mode",
    detail: "Once the mode is off, kube-proxy does not start with it and services of the node stop being reachable.",
    fix: "Switch kube-proxy to `nftables` (or `iptables`) and replace the nodes one by one.",
  },
  "node-role-master": {
    key: "label/node-role-master",
    category: "label",
    phase: "nodes",
    what: "Pods select nodes by `node-role.kubernetes.io/master`",
    detail: "kubeadm no longer sets this label: on nodes it sets up, such pods find no place.",
    fix: "Select `node-role.kubernetes.io/control-plane`, and tolerate its taint.",
  },
};

export function judgeFields(context: RuleContext, emit: Emit): void {
  for (const fact of factsOf(context.index, "field")) {
    const usages = (context.inventory.fieldUsage ?? []).filter(({ field }) => field === fact.name);
    const severity = fieldSeverity(context, fact);
    if (usages.length > 0 && severity !== undefined) emitField({ fact, usages, severity }, emit);
  }
}

interface UsedField {
  readonly fact: FieldFact;
  readonly usages: readonly FieldUsage[];
  readonly severity: Severity;
}

function emitField({ fact, usages, severity }: UsedField, emit: Emit): void {
  const { key, category, phase, what, detail, fix } = fieldTexts[fact.name];
  const off = `off by default ${fact.isPlanned ? "as planned in" : "since"} ${fact.offByDefault}`;
  emit({
    key,
    category,
    severity,
    phase,
    title: `${what}, deprecated since ${fact.deprecated}`,
    noun: "use",
    detail: `It is deprecated since ${fact.deprecated} and ${off}. ${detail}`,
    remediation: fix,
    citations: fact.citations,
    evidence: evidenceOf(usages),
  });
}

/** Information from the deprecation on, a warning within one minor of the end, unless that end lies behind already. */
function fieldSeverity({ target, current }: RuleContext, fact: FieldFact): Severity | undefined {
  if (distanceOf(fact.deprecated, target) !== "reached") return undefined;
  if (current !== undefined && distanceOf(fact.offByDefault, current) === "reached") return "info";
  const distance = distanceOf(fact.offByDefault, target);
  return distance === "reached" || distance === "next" ? "warning" : "info";
}
