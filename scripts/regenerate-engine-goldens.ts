/**
 * Writes the expected report of every golden scenario anew. Run it after a change that is meant to change reports, and
 * read the whole diff: a golden file is worth what its last reading was.
 *
 *   node scripts/regenerate-engine-goldens.ts
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { evaluateScenario, goldenFolder, listScenarios } from "../test/fleet/model/golden-scenarios.ts";

for (const name of listScenarios()) {
  writeFileSync(join(goldenFolder, `${name}.report.json`), `${JSON.stringify(evaluateScenario(name), undefined, 1)}\n`);
}
