/**
 * Reads facts: the ones that travel inside the executable, and a registry folder that adds to them. The embedded files
 * are read at first use only, since most commands need none of them; they were validated when they were committed, a
 * registry is validated here.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { readAsset } from "../../platform/assets/assets.ts";
import { fleetError } from "../errors.ts";
import type { KnowledgeBase } from "../model/knowledge-base.ts";
import { findContradictions } from "../model/knowledge-base-contradictions.ts";
import {
  assembleKnowledgeBase,
  extendKnowledgeBase,
  type KnowledgeBaseManifest,
  type KnowledgeBaseSections,
  parseSections,
} from "../model/knowledge-base-sections.ts";

/** Paths below `src/`; the build packs these. */
export const knowledgeBaseAssets = {
  manifest: "fleet/knowledge/data/manifest.asset.json",
  sections: [
    "fleet/knowledge/data/apis.asset.json",
    "fleet/knowledge/data/curated-apis.asset.json",
    "fleet/knowledge/data/migrations.asset.json",
    "fleet/knowledge/data/add-ons.asset.json",
    "fleet/knowledge/data/curated-add-ons.asset.json",
    "fleet/knowledge/data/calendars.asset.json",
    "fleet/knowledge/data/upgrade-facts.asset.json",
    "fleet/knowledge/data/curated-facts.asset.json",
    "fleet/knowledge/data/curated-ranges.asset.json",
  ],
} as const;

export const maxRegistryFiles = 500;
export const maxRegistryFileSizeBytes = 4 * 1024 * 1024;

let embedded: KnowledgeBase | undefined;

/** The facts this executable was built with; the same object every time. */
export function loadEmbeddedKnowledgeBase(): KnowledgeBase {
  embedded ??= assembleKnowledgeBase(
    readJsonAsset<KnowledgeBaseManifest>(knowledgeBaseAssets.manifest),
    knowledgeBaseAssets.sections.map((name) => readJsonAsset<KnowledgeBaseSections>(name)),
  );
  return embedded;
}

/**
 * The embedded facts with those of a registry folder: every `*.json` in it, in the order of their names.
 * @throws DomainError knowledge_base_invalid
 */
export function loadKnowledgeBase(registryFolder?: string): KnowledgeBase {
  const base = loadEmbeddedKnowledgeBase();
  if (registryFolder === undefined) return base;
  const files = listRegistry(registryFolder);
  const hash = createHash("sha256");
  const sections = files.map((name) => {
    const content = readRegistryFile(join(registryFolder, name), name);
    hash.update(`${name}\0${content}\0`);
    return parseSections(parseJson(content, name), name);
  });
  const extended = extendKnowledgeBase(base, sections, hash.digest("hex").slice(0, 8));
  const [contradiction, ...others] = findContradictions(extended);
  if (contradiction === undefined) return extended;
  throw fleetError("knowledge_base_invalid", `Cannot use facts of "${registryFolder}": ${contradiction}`, {
    details: { problems: [contradiction, ...others.slice(0, 49)] },
  });
}

function readJsonAsset<Value>(name: string): Value {
  return JSON.parse(readAsset(name).toString("utf8")) as Value;
}

function listRegistry(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
    if (names.length > maxRegistryFiles) {
      throw fleetError(
        "knowledge_base_invalid",
        `Cannot use facts of "${folder}": it has ${names.length} files, at most ${maxRegistryFiles} are allowed`,
      );
    }
    if (names.length === 0)
      throw fleetError("knowledge_base_invalid", `Cannot use facts of "${folder}": it has no file named *.json`);
    return names.sort();
  } catch (error) {
    throw wrapReadError(error, folder);
  }
}

function readRegistryFile(path: string, name: string): string {
  try {
    const { size } = statSync(path);
    if (size > maxRegistryFileSizeBytes) {
      throw fleetError(
        "knowledge_base_invalid",
        `Cannot use facts of "${name}": it has ${size} bytes, at most ${maxRegistryFileSizeBytes} are allowed`,
      );
    }
    return readFileSync(path, "utf8");
  } catch (error) {
    throw wrapReadError(error, name);
  }
}

function wrapReadError(error: unknown, name: string): unknown {
  if (!(error instanceof Error) || !("code" in error) || !("syscall" in error)) return error;
  return fleetError(
    "knowledge_base_invalid",
    `Cannot use facts of "${name}": it cannot be read (${String(error.code)})`,
    { cause: error },
  );
}

function parseJson(content: string, name: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    const state = error instanceof Error ? error.message : "it is no JSON";
    throw fleetError("knowledge_base_invalid", `Cannot use facts of "${name}": ${state}`, { cause: error });
  }
}
