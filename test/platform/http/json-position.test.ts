import fc from "fast-check";
import t from "tap";
import { findJsonError } from "../../../src/platform/http/json-position.ts";
import { parseJsonBody } from "../../../src/platform/http/read-body.ts";

t.test("findJsonError() names line, column and character of the first mistake", async (t) => {
  const table: readonly (readonly [text: string, line: number, column: number, found: string])[] = [
    ["", 1, 1, "end of the body"],
    ["  \n ", 2, 2, "end of the body"],
    ["{", 1, 2, "end of the body"],
    ["[1,2", 1, 5, "end of the body"],
    ['{"a":1,}', 1, 8, '"}"'],
    ["[1,]", 1, 4, '"]"'],
    ["{a:1}", 1, 2, '"a"'],
    ["{'a':1}", 1, 2, `"'"`],
    ['{"a" 1}', 1, 6, '"1"'],
    ['{"a":1 "b":2}', 1, 8, '"\\""'],
    ["[1}", 1, 3, '"}"'],
    ['{"a":1]', 1, 7, '"]"'],
    ["nul", 1, 1, '"n"'],
    ["truey", 1, 1, '"t"'],
    ["01", 1, 1, '"0"'],
    ["1.", 1, 1, '"1"'],
    ["+1", 1, 1, '"+"'],
    ["NaN", 1, 1, '"N"'],
    ['"a\nb"', 1, 3, '"\\n"'],
    ['"a\\x"', 1, 3, '"\\\\"'],
    ['"\\u12g4"', 1, 2, '"\\\\"'],
    ['"abc', 1, 5, "end of the body"],
    ["{} {}", 1, 4, '"{" after the value'],
    ["1 x", 1, 3, '"x" after the value'],
    ["[1]\n\n]", 3, 1, '"]" after the value'],
    ["// c\n1", 1, 1, '"/"'],
  ];
  for (const [text, line, column, found] of table) t.strictSame(findJsonError(text), { line, column, found }, text);
});

t.test("what JSON.parse refuses is refused at a place inside the text, and what it takes is taken", async () => {
  const cut = fc.tuple(fc.json(), fc.nat(), fc.constantFrom("", "}", "]", ",", ":", '"', "x", "\\", "\n", "1"));
  fc.assert(
    fc.property(cut, ([text, position, inserted]) => {
      const at = position % (text.length + 1);
      const changed = text.slice(0, at) + inserted + text.slice(at + 1);
      const bytes = Buffer.from(changed);
      try {
        JSON.parse(bytes.toString());
      } catch {
        const { line, column } = findJsonError(bytes.toString());
        const lines = bytes.toString().split("\n");
        return line >= 1 && line <= lines.length && column >= 1 && column <= (lines[line - 1]?.length ?? 0) + 1;
      }
      return changed === "" || JSON.stringify(parseJsonBody(bytes)) === JSON.stringify(JSON.parse(changed));
    }),
    { numRuns: 2000, seed: 7 },
  );
});

t.test("hostile texts end quickly", async (t) => {
  const startedMs = performance.now();
  const size = 1_000_000;
  for (const text of [
    "[".repeat(size),
    `"${"\\".repeat(size)}`,
    `"${"a".repeat(size)}`,
    `${"1".repeat(size)}x`,
    " ".repeat(size),
  ]) {
    findJsonError(text);
  }
  t.ok(performance.now() - startedMs < 3000);
});
