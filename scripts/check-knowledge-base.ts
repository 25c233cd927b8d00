/**
 * Checks the committed facts: shape of every row, citations, and rows that contradict each other.
 *
 *   node scripts/check-knowledge-base.ts [registry folder]
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  knowledgeBaseAssets,
  loadEmbeddedKnowledgeBase,
  loadKnowledgeBase,
} from "../src/fleet/drivers/knowledge-base-files.ts";
import { findContradictions } from "../src/fleet/model/knowledge-base-contradictions.ts";
import { parseSections } from "../src/fleet/model/knowledge-base-sections.ts";

const [registry] = process.argv.slice(2);
const problems: string[] = [];

for (const name of knowledgeBaseAssets.sections) {
  const content = readFileSync(join(import.meta.dirname, "..", "src", name), "utf8");
  collect(() => parseSections(JSON.parse(content), name));
}
problems.push(...findContradictions(loadEmbeddedKnowledgeBase()));
if (registry !== undefined) collect(() => loadKnowledgeBase(registry));

for (const problem of problems) console.error(problem);
const { version, apis, addOns, facts } = loadEmbeddedKnowledgeBase();
console.log(
  `${version}: ${apis.length} APIs, ${addOns.length} add-ons, ${facts.length} facts, ${problems.length} problems`,
);
if (problems.length > 0) process.exitCode = 1;

function collect(load: () => unknown): void {
  try {
    load();
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
}
