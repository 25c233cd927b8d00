/**
 * Webhooks and aggregated APIs that get in the way of an upgrade. Only one case blocks, because only there failure is
 * certain: a webhook that must be asked, that nobody answers for, and that covers pods, nodes or everything.
 */
import { evidenceOfObjects } from "../evidence.ts";
import type { Webhook } from "../inventory.ts";
import { isReached, minorField } from "../knowledge-base-index.ts";
import { quoteBriefly, sortedUnique } from "../order.ts";
import { type Emit, isManifestEntry, type RuleContext } from "../rule-context.ts";

const webhookCitation = "https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/";

export function judgeWebhooks(context: RuleContext, emit: Emit): void {
  for (const webhook of context.inventory.webhooks ?? []) {
    if (webhook.kind === "Conversion") judgeConversion(context, webhook, emit);
    else {
      judgeEndpoints(context, webhook, emit);
      judgeMatchPolicy(context, webhook, emit);
    }
  }
}

export function judgeApiServices({ inventory }: RuleContext, emit: Emit): void {
  for (const { name, available, reason } of inventory.apiServices ?? []) {
    if (available) continue;
    emit({
      key: `apiservice/unavailable/${name}`,
      category: "apiservice",
      severity: "warning",
      phase: "control-plane",
      title: `Aggregated API ${name} is not available`,
      detail: `While it does not answer${reason === undefined || reason === "" ? "" : ` (${quoteBriefly(reason)})`}, discovery is incomplete and namespaces cannot be deleted.`,
      remediation: "Bring the service behind it back, or delete the APIService if nothing needs it.",
      citations: ["https://kubernetes.io/docs/tasks/extend-kubernetes/setup-extension-api-server/"],
      evidence: evidenceOfObjects([{ name }]),
    });
  }
}

function judgeEndpoints(context: RuleContext, webhook: Webhook, emit: Emit): void {
  if (webhook.readyEndpoints !== 0) return;
  const isFatal = webhook.failurePolicy !== "Ignore";
  const coversAll = webhook.matchesAll === true;
  emit({
    key: `webhook/no-endpoints/${webhook.kind}/${webhook.name}`,
    category: "webhook",
    severity: webhook.failurePolicy === "Fail" && coversAll ? "blocker" : "warning",
    phase: "nodes",
    title: `${webhook.kind} webhook ${webhook.name} has no ready endpoint`,
    detail: `${serviceText(webhook)} ${
      isFatal
        ? `Its failure policy is Fail: every request it covers${coversAll ? ", among them those of pods and nodes," : ""} is refused, also while nodes are drained.`
        : "Its failure policy is Ignore: requests pass unchecked, each after a time-out."
    }`,
    remediation: "Bring the service behind the webhook back before the upgrade, or delete the webhook configuration.",
    citations: [webhookCitation],
    evidence: webhookEvidence(context, webhook),
  });
}

/** `Exact` compares the version of a request as written: rules on a version nobody can send any more never match. */
function judgeMatchPolicy(context: RuleContext, webhook: Webhook, emit: Emit): void {
  if (webhook.matchPolicy !== "Exact") return;
  const stale = staleRules(context, webhook.rules ?? []);
  if (stale.length === 0 && webhook.rules !== undefined) return;
  emit({
    key: `webhook/match-exact/${webhook.kind}/${webhook.name}`,
    category: "webhook",
    severity: stale.length === 0 ? "info" : "warning",
    phase: "control-plane",
    title: `${webhook.kind} webhook ${webhook.name} matches API versions exactly`,
    detail:
      stale.length === 0
        ? "With `matchPolicy: Exact` it is not called for objects written at another version than its rules name."
        : `With \`matchPolicy: Exact\` its rules for ${stale.join(", ")} match nothing at ${context.target}: what it checks today passes unchecked.`,
    remediation: "Set `matchPolicy: Equivalent`, or name the current versions in the rules.",
    citations: [`${webhookCitation}#matching-requests-matchpolicy`],
    evidence: webhookEvidence(context, webhook),
  });
}

function staleRules(context: RuleContext, rules: readonly string[]): string[] {
  return sortedUnique(rules).filter((rule) => {
    const row = context.index.apisByResource.get(
      rule.startsWith("/") || rule.split("/").length > 2 ? rule : `/${rule}`,
    );
    return row !== undefined && isReached(minorField(row.removed), context.target);
  });
}

function judgeConversion(context: RuleContext, webhook: Webhook, emit: Emit): void {
  if (webhook.readyEndpoints !== 0) return;
  emit({
    key: `conversion-webhook/no-endpoints/${webhook.name}`,
    category: "conversion-webhook",
    severity: "warning",
    phase: "control-plane",
    title: `Conversion webhook of ${webhook.name} has no ready endpoint`,
    detail: `${serviceText(webhook)} Reading and writing these custom resources at another version than the stored one fails, and with it garbage collection and namespace deletion.`,
    remediation: "Bring the service behind the conversion webhook back before the upgrade.",
    citations: [
      "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion",
    ],
    evidence: webhookEvidence(context, webhook),
  });
}

function serviceText({ service }: Webhook): string {
  return service === undefined ? "Nothing answers for it." : `No pod behind the service ${service} is ready.`;
}

function webhookEvidence(context: RuleContext, webhook: Webhook): ReturnType<typeof evidenceOfObjects> {
  return evidenceOfObjects([webhook.object ?? { name: webhook.name }], {
    isFromManifest: isManifestEntry(context, webhook),
  });
}
