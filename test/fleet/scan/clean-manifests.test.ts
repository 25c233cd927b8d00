import { resolve } from "node:path";
import t from "tap";
import { loadEmbeddedKnowledgeBase } from "../../../src/fleet/drivers/knowledge-base-files.ts";
import { createManifestFiles } from "../../../src/fleet/drivers/manifest-files.ts";
import type { KubernetesMinor } from "../../../src/fleet/model/kubernetes-minor.ts";
import { readManifests } from "../../../src/fleet/service/read-manifests.ts";
import { scan } from "../../../src/fleet/service/scan.ts";

const folder = resolve(import.meta.dirname, "..", "..", "fixtures", "fleet", "manifests", "clean");

t.test(
  "a hundred and more current manifests give no finding at all, at any target since they are current",
  async (t) => {
    const knowledgeBase = loadEmbeddedKnowledgeBase();
    const source = createManifestFiles({
      paths: ["."],
      cwd: folder,
      includes: [],
      excludes: [],
      readInput: async function* () {},
    });
    const reading = await readManifests({
      source,
      knowledgeBase,
      annotationDomain: "fleetscope.dev",
      teamLabel: "team",
    });
    t.ok(reading.objectCount >= 100, `${reading.objectCount} objects`);
    t.equal(reading.strangerCount, 0);
    t.strictSame(reading.warnings, []);
    const targets: KubernetesMinor[] = ["1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"];
    const { results, isPassed } = scan({
      inventory: reading.inventory,
      knowledgeBase,
      targets,
      date: "2026-11-21",
      policy: { failOn: "warning", allowIncomplete: false },
    });
    t.ok(isPassed);
    for (const { report } of results) {
      t.strictSame(
        report.findings.map(({ key }) => key),
        [],
        report.target,
      );
      t.equal(report.verdict, "ready");
    }
  },
);
