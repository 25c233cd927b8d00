/**
 * Streams of manifests → inventory. One stream at a time, one document at a time. A stream that cannot be read does not
 * hide the others: all problems are gathered, up to a bound, and then fail the reading together, because a verdict on
 * part of the input would be taken for a verdict on all of it.
 */
import { isDomainError } from "../../platform/errors/domain-error.ts";
import { fleetError } from "../errors.ts";
import { InventoryBuilder, type InventoryBuilderOptions } from "../manifests/inventory-builder.ts";
import { maxReaderWarnings } from "../manifests/limits.ts";
import { ManifestReader, type ReaderWarning } from "../manifests/manifest-reader.ts";
import type { Inventory } from "../model/inventory.ts";
import type { ManifestSource } from "./manifest-source.ts";

export interface ReadManifestsOptions extends InventoryBuilderOptions {
  readonly source: ManifestSource;
  readonly onProgress?: (done: number, total: number, file: string) => void;
  readonly signal?: AbortSignal;
  /** Streams that cannot be read become warnings; for a baseline, which nobody can mend any more. */
  readonly isLenient?: boolean;
}

export interface ManifestReading {
  readonly inventory: Inventory;
  readonly fileCount: number;
  readonly documentCount: number;
  readonly objectCount: number;
  readonly sizeBytes: number;
  /** Documents that are no Kubernetes objects. */
  readonly strangerCount: number;
  /** Texts about the input, at most `maxReaderWarnings`. */
  readonly warnings: readonly string[];
}

export const maxReportedProblems = 20;

/** @throws DomainError manifest_invalid, manifest_limit_exceeded, scan_input_invalid */
export async function readManifests(options: ReadManifestsOptions): Promise<ManifestReading> {
  const streams = await options.source.list();
  const builder = new InventoryBuilder(options);
  const warnings = new WarningList();
  const problems: Error[] = [];
  const counts = { documentCount: 0, sizeBytes: 0 };
  for (const [index, stream] of streams.entries()) {
    options.signal?.throwIfAborted();
    options.onProgress?.(index, streams.length, stream.file);
    const reader = new ManifestReader({
      file: stream.file,
      onObject: (object, origin) => builder.add(object, origin),
      onWarning: (warning) => warnings.add(warning),
    });
    try {
      await stream.read((chunk) => {
        counts.sizeBytes += chunk.length;
        reader.push(chunk);
      });
      reader.finish();
    } catch (error) {
      if (!isDomainError(error)) throw error;
      if (options.isLenient === true) {
        warnings.note(`left out of the comparison: ${error.message}`);
        continue;
      }
      problems.push(error);
      if (problems.length >= maxReportedProblems) break;
    }
    counts.documentCount += reader.documentCount;
  }
  const [first] = problems;
  if (first !== undefined) throw problems.length === 1 ? first : joinProblems(problems);
  return {
    inventory: builder.build(),
    fileCount: streams.length,
    objectCount: builder.objectCount,
    ...counts,
    strangerCount: warnings.strangerCount,
    warnings: warnings.texts(),
  };
}

function joinProblems(problems: readonly Error[]): Error {
  const more = problems.length >= maxReportedProblems ? " (reading stopped here)" : "";
  const message = `${problems.map((problem) => problem.message).join("\n")}\nCannot judge the manifests: ${problems.length} files cannot be read${more}`;
  return fleetError("manifest_invalid", message, { cause: problems[0] });
}

class WarningList {
  readonly #texts: string[] = [];
  #omitted = 0;
  #strangers = 0;

  add({ kind, file, line, text }: ReaderWarning): void {
    if (kind === "no-object") {
      this.#strangers += 1;
      return;
    }
    this.note(`${file}:${line}: ${text}`);
  }

  note(text: string): void {
    if (this.#texts.length < maxReaderWarnings) this.#texts.push(text);
    else this.#omitted += 1;
  }

  get strangerCount(): number {
    return this.#strangers;
  }

  texts(): string[] {
    return this.#omitted === 0 ? this.#texts : [...this.#texts, `${this.#omitted} more warnings of this kind`];
  }
}
