import { loadEmbeddedKnowledgeBase } from "../../src/fleet/drivers/knowledge-base-files.ts";
import { InventoryBuilder } from "../../src/fleet/manifests/inventory-builder.ts";
import type { ManifestObject } from "../../src/fleet/manifests/manifest-object.ts";
import { ManifestReader, type ReaderWarning } from "../../src/fleet/manifests/manifest-reader.ts";
import type { NodeBudget } from "../../src/fleet/manifests/node-budget.ts";
import type { Inventory } from "../../src/fleet/model/inventory.ts";
import { isDomainError } from "../../src/platform/errors/domain-error.ts";

export interface ReadAll {
  readonly objects: readonly ManifestObject[];
  readonly sources: readonly (string | undefined)[];
  readonly warnings: readonly ReaderWarning[];
  /** `code: message` when the stream was refused. */
  readonly error: string | undefined;
}

export interface ReadOptions {
  readonly file?: string;
  /** Bytes handed over at a time. */
  readonly step?: number;
  readonly budget?: NodeBudget;
}

/** Reads a stream as the scan does. */
export function readAll(content: string | Uint8Array, options: ReadOptions = {}): ReadAll {
  const objects: ManifestObject[] = [];
  const sources: (string | undefined)[] = [];
  const warnings: ReaderWarning[] = [];
  const reader = new ManifestReader({
    file: options.file ?? "a.yaml",
    onObject: (object, origin) => {
      objects.push(object);
      sources.push(origin.renderedFrom);
    },
    onWarning: (warning) => warnings.push(warning),
    ...(options.budget === undefined ? {} : { budget: options.budget }),
  });
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  const step = options.step ?? Math.max(1, bytes.length);
  let error: string | undefined;
  try {
    for (let at = 0; at < bytes.length; at += step) reader.push(bytes.subarray(at, at + step));
    reader.finish();
  } catch (failure) {
    if (!isDomainError(failure)) throw failure;
    error = `${failure.code}: ${failure.message}`;
  }
  return { objects, sources, warnings, error };
}

/** Manifests → inventory with the built-in facts. */
export function inventoryOf(
  content: string,
  options: { readonly file?: string; readonly teamLabel?: string } = {},
): Inventory {
  const builder = new InventoryBuilder({
    knowledgeBase: loadEmbeddedKnowledgeBase(),
    annotationDomain: "fleetscope.dev",
    teamLabel: options.teamLabel ?? "team",
  });
  const reader = new ManifestReader({
    file: options.file ?? "a.yaml",
    onObject: (object, origin) => builder.add(object, origin),
    onWarning: () => {},
  });
  reader.push(Buffer.from(content));
  reader.finish();
  return builder.build();
}
