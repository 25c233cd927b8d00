import type { ApiLifecycle, ApiName } from "../knowledge-base.ts";
import {
  apiKey,
  apiLabel,
  groupVersion,
  type KnowledgeBaseIndex,
  minorField,
  resolveReplacement,
} from "../knowledge-base-index.ts";
import type { KubernetesMinor } from "../kubernetes-minor.ts";
import { distanceOf } from "../rule-context.ts";

/** The fix of a removed or deprecated API, spelled out: the version to move to and what changes besides `apiVersion`. */
export function apiRemediation(index: KnowledgeBaseIndex, row: ApiLifecycle, target: KubernetesMinor): string {
  const migration = index.migrations.get(apiKey(row));
  const replacement = resolveReplacement(index, row, target);
  if (replacement === undefined) {
    if (migration !== undefined && migration.to === undefined) return `${apiLabel(row)}: ${migration.change}.`;
    return row.replacement === undefined
      ? `${apiLabel(row)} has no replacement: remove the objects and what depends on them.`
      : `${target} serves no replacement of ${apiLabel(row)} yet.`;
  }
  const change = migration === undefined ? "" : `; ${migration.change}`;
  return `${moveText(row, replacement)}${change}.${lifeOfReplacement(replacement, target)}`;
}

function lifeOfReplacement({ introduced, removed }: ApiLifecycle, target: KubernetesMinor): string {
  const since = introduced === undefined ? "" : ` It is served since ${introduced}`;
  const isShortLived = distanceOf(minorField(removed), target) === "next";
  if (isShortLived) return `${since === "" ? " It" : `${since}, and`} goes away in ${removed}.`;
  return since === "" ? "" : `${since}.`;
}

function moveText(from: ApiName, to: ApiName): string {
  if (from.kind === to.kind) return `${apiLabel(from)} → ${groupVersion(to)}: change \`apiVersion\``;
  return `${apiLabel(from)} → ${apiLabel(to)}: change \`apiVersion\` and \`kind\``;
}
