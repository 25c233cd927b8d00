import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { evaluate } from "../../../src/fleet/model/evaluate.ts";
import { evaluateScenario, goldenFolder, inputOf, listScenarios, readScenario } from "./golden-scenarios.ts";

const names = listScenarios();

t.test("there are enough golden scenarios", async (t) => {
  t.ok(names.length >= 60, `${names.length} scenarios`);
});

t.test("every golden scenario gives its report", async (t) => {
  for (const name of names) {
    const expected = JSON.parse(readFileSync(join(goldenFolder, `${name}.report.json`), "utf8"));
    t.strictSame(JSON.parse(JSON.stringify(evaluateScenario(name))), expected, `${name}: ${readScenario(name).about}`);
  }
});

t.test("evaluating twice gives the same bytes", async (t) => {
  for (const name of names) {
    const input = inputOf(readScenario(name));
    t.equal(JSON.stringify(evaluate(input)), JSON.stringify(evaluate(input)), name);
  }
});

t.test("reversing every list of an inventory changes nothing", async (t) => {
  for (const name of names) {
    const input = inputOf(readScenario(name));
    const reversed = {
      ...input,
      inventory: reverseLists(input.inventory),
      ignoreRules: input.ignoreRules?.toReversed(),
    };
    t.equal(JSON.stringify(evaluate(reversed)), JSON.stringify(evaluate(input)), name);
  }
});

t.test("an evaluation leaves its input as it was", async (t) => {
  for (const name of names) {
    const input = inputOf(readScenario(name));
    const before = JSON.stringify(input.inventory);
    evaluate(input);
    t.equal(JSON.stringify(input.inventory), before, name);
  }
});

t.test("findings are ordered, keyed without counts, and say where the fact is from", async (t) => {
  for (const name of names) {
    const { findings } = evaluateScenario(name);
    const keys = findings.map(({ key }) => key);
    t.equal(new Set(keys).size, keys.length, `${name}: a key is there once`);
    for (const finding of findings) {
      t.ok(
        finding.key.startsWith(finding.category.split("/")[0] ?? ""),
        `${name}: ${finding.key} begins with its category`,
      );
      t.notMatch(finding.detail, /undefined|null|NaN/, `${name}: ${finding.key} has a whole detail`);
      t.notMatch(finding.title, /undefined|null|NaN/, `${name}: ${finding.key} has a whole title`);
      t.notMatch(finding.remediation ?? "", /undefined|null|NaN/, `${name}: ${finding.key} has a whole remediation`);
      t.ok(finding.remediation, `${name}: ${finding.key} says what to do`);
      const isCited = finding.citations.length > 0 || ["kb-stale", "addon-no-data"].includes(finding.category);
      t.ok(isCited, `${name}: ${finding.key} is cited`);
    }
  }
});

function reverseLists<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(reverseLists).reverse() as Value;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, entry]) => [key, reverseLists(entry)] as const);
  return Object.fromEntries(entries.reverse()) as Value;
}
