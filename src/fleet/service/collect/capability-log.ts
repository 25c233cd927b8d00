import type { Capability, CapabilityName } from "../../model/inventory.ts";
import { KubernetesRequestError } from "./kubernetes-api.ts";

export const maxSkippedEntries = 500;

interface Entry {
  isAvailable: boolean;
  reason: string | undefined;
  readonly skipped: Set<string>;
}

/** What was seen and what was not, by capability. The first reason is kept; everything skipped is. */
export class CapabilityLog {
  readonly #entries = new Map<CapabilityName, Entry>();

  /** It was read, as far as nothing else is said of it. */
  see(name: CapabilityName): void {
    this.#entry(name);
  }

  /** None of it was read. */
  miss(name: CapabilityName, reason: string): void {
    const entry = this.#entry(name);
    entry.isAvailable = false;
    entry.reason ??= reason;
  }

  /** All but something was read. */
  skip(name: CapabilityName, skipped: string, reason: string): void {
    const entry = this.#entry(name);
    entry.reason ??= reason;
    entry.skipped.add(skipped);
  }

  #entry(name: CapabilityName): Entry {
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      entry = { isAvailable: true, reason: undefined, skipped: new Set() };
      this.#entries.set(name, entry);
    }
    return entry;
  }

  capabilities(): Record<string, Capability> {
    return Object.fromEntries([...this.#entries].map(([name, entry]) => [name, capabilityOf(entry)]));
  }
}

function capabilityOf({ isAvailable, reason, skipped }: Entry): Capability {
  const names = [...skipped].sort();
  const omitted = Math.max(0, names.length - maxSkippedEntries);
  return {
    available: isAvailable,
    ...(reason === undefined ? {} : { reason }),
    ...(isAvailable && names.length > 0 ? { partial: true } : {}),
    ...(names.length === 0 ? {} : { skipped: names.slice(0, maxSkippedEntries) }),
    ...(omitted === 0 ? {} : { skippedOmitted: omitted }),
  };
}

/** A sentence for people on why something could not be read. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof KubernetesRequestError)) throw error;
  if (error.status === 401) return "the credentials were refused";
  if (error.status === 403) return `reading it is not allowed: ${error.message}`;
  if (error.status === 404) return "the API server does not serve it";
  return error.message;
}
