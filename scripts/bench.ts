// npm run bench [-- AREA …] [--rounds N] [--json FILE]: measures, prints each figure beside its peer and its goal, and
// writes the tables as JSON. Without AREA: every area. Nothing here is part of a timed test.
import { globSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type BenchTable, formatTable } from "../test/support/bench.ts";

interface BenchModule {
  /** @param rounds counted rounds of each side */
  run(rounds: number): Promise<BenchTable>;
}

process.chdir(resolve(import.meta.dirname, ".."));
const { values, positionals } = parseArgs({
  options: { rounds: { type: "string", default: "5" }, json: { type: "string", default: "dist/bench.json" } },
  allowPositionals: true,
});
const areas = new Map(globSync("test/bench/*.ts").map((path) => [basename(path, ".ts"), resolve(path)]));
const wanted = positionals.length > 0 ? positionals : [...areas.keys()].sort();
const tables: BenchTable[] = [];
for (const area of wanted) {
  const path = areas.get(area);
  if (path === undefined) {
    console.error(`bench: "${area}" is no area; there are ${[...areas.keys()].sort().join(", ")}`);
    process.exitCode = 64;
    break;
  }
  console.error(`bench: ${area} …`);
  const module = (await import(path)) as BenchModule;
  const table = await module.run(Number(values.rounds));
  tables.push(table);
  console.log(formatTable(table));
}
writeFileSync(values.json, `${JSON.stringify(tables, null, 2)}\n`);
