import fc from "fast-check";
import t from "tap";
import { readBlockYaml } from "../../../src/fleet/manifests/block-yaml.ts";
import { readFullYaml } from "../../../src/fleet/manifests/full-yaml.ts";
import { isList, ManifestMap, type ManifestNode } from "../../../src/fleet/manifests/manifest-node.ts";
import { NodeBudget } from "../../../src/fleet/manifests/node-budget.ts";
import { everything, type Selection, selectionOf } from "../../../src/fleet/manifests/selection.ts";

/** The fast reader must answer what the general parser answers, or nothing. */

const some: Selection = selectionOf({
  apiVersion: "all",
  kind: "all",
  metadata: { name: "all", labels: "all" },
  spec: { image: "all", a: { b: "all" }, items: { "*": {} } },
});

const word = fc.constantFrom(
  "a",
  "b",
  "name",
  "kind",
  "apiVersion",
  "metadata",
  "labels",
  "spec",
  "image",
  "items",
  "x-y",
  "k8s.io/x",
  "A_1",
  "1",
  "true",
);
const usual = fc.constantFrom(
  "v1",
  "policy/v1beta1",
  "1.10",
  "null",
  "",
  "nginx:1.2",
  '"a: b"',
  "'it''s'",
  "[a, b]",
  "[]",
  "{}",
  "--x=1",
  "a b",
  "x # y",
);
const odd = fc.oneof(
  fc.constantFrom(
    "v1",
    "policy/v1beta1",
    "1.10",
    "null",
    "~",
    "",
    "true",
    "nginx:1.2",
    "a b  c",
    "http://x.y/z?a=b#c",
    "-x",
    "--flag=1",
    "--",
    "$(X)",
    '""',
    "''",
    '"a: b"',
    "'it''s'",
    '"tab\\t\\"q\\""',
    '"# no"',
    "'{}'",
    "a#b",
    "x # comment",
    "'y'  # c",
    "[]",
    "{}",
    "[a, b]",
    '["a", b-c, 1]',
    "{a: b, name: [x]}",
    '{"a": 1}',
    "[[a], {b: c}]",
    "[a,b]",
    "[a, ]",
    "&anchor v",
    "*anchor",
    "!!str 1",
    "@x",
    "%x",
    "`x`",
    "? x",
    ": x",
    "a: b",
    "a:",
    ":a",
    "|",
    ">",
    "é",
    "a\u00a0b",
    "<<",
    "=",
    ".5",
    "\\x",
    "(a)",
    "a, b",
    "a]",
    "[a",
    '"open',
    "'open",
    '"\\x41"',
    '"\\q"',
    "key:value",
    "[a: b]",
    "{a}",
    "[ ]",
    "{ }",
    "[a b]",
    "[a#b]",
    "[a #b]",
    "['a''b']",
    "{a: }",
    "{a: 'x', b: \"y\"}",
    "- a",
    "-",
    "- - b",
    "?",
    "[*a]",
    "[null, ~]",
    "'null'",
  ),
  fc.string({ maxLength: 12 }).filter((text) => !/[\n\r]/.test(text)),
);
const scalar = fc.oneof({ weight: 40, arbitrary: usual }, { weight: 1, arbitrary: odd });
const blockHeader = fc.constantFrom("|", "|", "|-", "|-", "|+", "|+", ">", ">-", "|2", "| # c", "|  ", "|x");
const eol = fc.constantFrom(
  "\n",
  "\n",
  "\n",
  "\n",
  "\n",
  "\n",
  "\n",
  "\n",
  "\n",
  "\r\n",
  "\n\n",
  " \n",
  "\n# comment\n",
  "\n  # comment\n",
  "   # c\n",
  "\n\n",
  "\n   \n",
);

/** Lines in the manner of a document, mostly well-formed. */
function emit(depth: number): fc.Arbitrary<(indent: number) => string> {
  const flat = fc.tuple(scalar, eol).map(
    ([value, end]) =>
      () =>
        ` ${value}${end}`,
  );
  const block = fc
    .tuple(
      blockHeader,
      fc.array(
        fc.tuple(
          fc.constantFrom("text", "  more", "# hash", "", "a: b", "    ", "\tx", "- a", "x \t"),
          fc.constantFrom("\n", "\n", "\r\n"),
        ),
        { maxLength: 4 },
      ),
      fc.constantFrom(1, 2, 2, 2, 0),
    )
    .map(
      ([header, lines, step]) =>
        (indent: number) =>
          ` ${header}\n${lines.map(([line, end]) => `${line === "" ? "" : " ".repeat(indent + step)}${line}${end}`).join("")}`,
    );
  const folded = fc
    .tuple(
      fc.constantFrom("plain text", '"double', "'single", "x"),
      fc.constantFrom("more text", 'end"', "end'", "a: b", "# c", "x # y", ""),
      fc.constantFrom(0, 1, 2),
      eol,
    )
    .map(
      ([first, second, step, end]) =>
        (indent: number) =>
          ` ${first}\n${" ".repeat(indent + step)}${second}${end}`,
    );
  if (depth === 0) return fc.oneof({ weight: 12, arbitrary: flat }, block, folded);
  const inner = emit(depth - 1);
  const map = fc
    .tuple(
      fc.array(fc.tuple(word, inner, fc.constantFrom("", "", "", '"', "'")), { minLength: 1, maxLength: 4 }),
      fc.constantFrom(2, 2, 4, 1),
      eol,
    )
    .map(
      ([pairs, step, end]) =>
        (indent: number) =>
          `${end}${pairs.map(([key, value, quote]) => `${" ".repeat(indent + step)}${quote}${key}${quote}:${value(indent + step)}`).join("")}`,
    );
  const list = fc
    .tuple(
      fc.array(
        fc.oneof(
          inner.map((value) => (indent: number) => value(indent)),
          fc.tuple(word, inner, word, inner).map(
            ([one, first, two, second]) =>
              (indent: number) =>
                ` ${one}:${first(indent + 2)}${" ".repeat(indent + 2)}${two}:${second(indent + 2)}`,
          ),
        ),
        { minLength: 1, maxLength: 3 },
      ),
      fc.constantFrom(0, 2),
      eol,
    )
    .map(
      ([entries, step, end]) =>
        (indent: number) =>
          `${end}${entries.map((entry) => `${" ".repeat(indent + step)}-${entry(indent + step)}`).join("")}`,
    );
  return fc.oneof(
    { weight: 9, arbitrary: flat },
    block,
    folded,
    { weight: 6, arbitrary: map },
    { weight: 4, arbitrary: list },
  );
}

const document = fc
  .tuple(
    fc.constantFrom("", "# head\n", "\n", "  # head\n"),
    fc.array(fc.tuple(word, emit(3)), { minLength: 1, maxLength: 4 }),
  )
  .map(([head, pairs]) => head + pairs.map(([key, value]) => `${key}:${value(0)}`).join(""));

/** A document with one character put in, taken out or replaced. */
const mutated = fc
  .tuple(
    document,
    fc.nat(),
    fc.constantFrom("", " ", "  ", "\n", "-", ":", "#", "'", '"', "|", "\t", "x", "&a ", "*a", "{", "]", "\r", ","),
    fc.nat(2),
  )
  .map(([text, at, insert, remove]) => {
    const position = text.length === 0 ? 0 : at % text.length;
    return text.slice(0, position) + insert + text.slice(position + remove);
  });

function plain(node: ManifestNode | undefined): unknown {
  if (node instanceof ManifestMap) {
    return {
      line: node.line,
      apiVersionLine: node.apiVersionLine,
      fields: [...node.fields].map(([key, value]) => [key, plain(value)]),
    };
  }
  return isList(node) ? node.map(plain) : node;
}

let readCount = 0;
let runCount = 0;

function assertEqualReadings(text: string, selection: Selection): void {
  const fastBudget = new NodeBudget(1e9);
  const fast = readBlockYaml(text, { selection, budget: fastBudget, firstLine: 1 });
  runCount += 1;
  if (fast.kind !== "read") return;
  readCount += 1;
  const fullBudget = new NodeBudget(1e9);
  const full = readFullYaml(text, { selection, budget: fullBudget, firstLine: 1 });
  if (full.kind !== "read") throw new Error(`the general parser refuses: ${JSON.stringify(full)}`);
  const got = JSON.stringify([plain(fast.root), fast.duplicates, fastBudget.used]);
  const wanted = JSON.stringify([plain(full.root), full.duplicates, fullBudget.used]);
  if (got !== wanted) throw new Error(`\nfast ${got}\nfull ${wanted}`);
}

const runs = Number(process.env["FUZZ_RUNS"] ?? 1500);

t.test("the fast reader equals the general parser on well-formed documents, kept whole", async () => {
  fc.assert(
    fc.property(document, (text) => assertEqualReadings(text, everything)),
    { numRuns: runs },
  );
});

t.test("the fast reader equals the general parser on mutated documents, kept whole", async () => {
  fc.assert(
    fc.property(mutated, (text) => assertEqualReadings(text, everything)),
    { numRuns: runs },
  );
});

t.test("the fast reader equals the general parser when only some of a document is kept", async () => {
  fc.assert(
    fc.property(mutated, (text) => assertEqualReadings(text, some)),
    { numRuns: runs },
  );
});

t.test("the fast reader reads a fair share of the documents", async (t) => {
  t.ok(readCount > runCount / 10, `${readCount} of ${runCount}`);
});
