/** The API server's own count of requests to deprecated APIs, and since when it counts. */
import type { DeprecatedCall } from "../../model/inventory.ts";

export interface ServerMetrics {
  readonly deprecatedCalls: readonly DeprecatedCall[];
  /** Seconds since the epoch. */
  readonly startedAtSeconds: number | undefined;
}

const callPrefix = "apiserver_requested_deprecated_apis{";
const startPrefix = "process_start_time_seconds ";
const labelPattern = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;
export const maxDeprecatedCalls = 1000;

export function parseServerMetrics(text: string): ServerMetrics {
  const calls = new Map<string, DeprecatedCall>();
  let startedAtSeconds: number | undefined;
  for (let at = 0; at < text.length; ) {
    const found = text.indexOf("\n", at);
    const end = found < 0 ? text.length : found;
    if (text.startsWith(callPrefix, at)) {
      const call = parseCall(text.slice(at, end));
      if (call !== undefined && calls.size < maxDeprecatedCalls) {
        calls.set([call.group, call.version, call.resource, call.subresource].join("/"), call);
      }
    } else if (text.startsWith(startPrefix, at)) {
      const seconds = Number(text.slice(at + startPrefix.length, end));
      if (Number.isFinite(seconds)) startedAtSeconds = seconds;
    }
    at = end + 1;
  }
  return { deprecatedCalls: [...calls.values()], startedAtSeconds };
}

/** A series that is 0 was reset; it names no call. */
function parseCall(line: string): DeprecatedCall | undefined {
  const close = line.lastIndexOf("}");
  if (close < 0 || Number(line.slice(close + 1)) === 0) return undefined;
  const labels = new Map<string, string>();
  for (const [, name, value] of line.slice(0, close).matchAll(labelPattern)) {
    if (name !== undefined && value !== undefined) labels.set(name, value.replace(/\\(.)/g, "$1"));
  }
  const [version, resource] = [labels.get("version"), labels.get("resource")];
  if (version === undefined || resource === undefined) return undefined;
  const [subresource, removedRelease] = [labels.get("subresource") ?? "", labels.get("removed_release") ?? ""];
  return {
    group: labels.get("group") ?? "",
    version,
    resource,
    ...(subresource === "" ? {} : { subresource }),
    ...(removedRelease === "" ? {} : { removedRelease }),
  };
}
