import t from "tap";
import { NodeBudget } from "../../../src/fleet/manifests/node-budget.ts";
import { readAll } from "../../support/fleet-manifests.ts";

function pod(name: string): string {
  return `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\n`;
}

/** `group/version kind namespace/name line` of everything read. */
function shapes(content: string | Uint8Array, step?: number): string[] {
  const { objects, error } = readAll(content, step === undefined ? {} : { step });
  if (error !== undefined) return [error];
  return objects.map(
    ({ group, version, kind, namespace, name, line }) => `${group}/${version} ${kind} ${namespace}/${name} ${line}`,
  );
}

const streams: readonly { readonly name: string; readonly content: string; readonly expected: readonly string[] }[] = [
  { name: "nothing", content: "", expected: [] },
  { name: "blank lines and comments", content: "\n# just this\n\n---\n---\n# and that\n", expected: [] },
  { name: "one document", content: pod("a"), expected: ["/v1 Pod /a 1"] },
  {
    name: "several documents",
    content: `${pod("a")}---\n${pod("b")}--- # comment\n${pod("c")}`,
    expected: ["/v1 Pod /a 1", "/v1 Pod /b 6", "/v1 Pod /c 11"],
  },
  {
    name: "a marker with content behind it",
    content: `--- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n${pod("b")}`,
    expected: ["/v1 Pod /a 1", "/v1 Pod /b 3"],
  },
  {
    name: "document end markers",
    content: `${pod("a")}...\n${pod("b")}...\n---\n${pod("c")}`,
    expected: ["/v1 Pod /a 1", "/v1 Pod /b 6", "/v1 Pod /c 12"],
  },
  { name: "a directive", content: `%YAML 1.1\n---\n${pod("a")}`, expected: ["/v1 Pod /a 3"] },
  {
    name: "no marker: dashes inside a block",
    content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: |\n    ---\n    y\n",
    expected: ["/v1 ConfigMap /a 1"],
  },
  { name: "four dashes are no marker", content: `a: 1\n----: 2\n`, expected: [] },
  { name: "a UTF-8 byte order mark", content: `\ufeff${pod("a")}`, expected: ["/v1 Pod /a 1"] },
  {
    name: "Windows line ends",
    content: `${pod("a")}---\n${pod("b")}`.replaceAll("\n", "\r\n"),
    expected: ["/v1 Pod /a 1", "/v1 Pod /b 6"],
  },
  {
    name: "comments behind values",
    content: "apiVersion: apps/v1 # now v1\nkind: Deployment   # a workload\nmetadata:\n  name: 'a' # name\n",
    expected: ["apps/v1 Deployment /a 1"],
  },
  { name: "apiVersion last", content: "kind: Pod\nmetadata:\n  name: a\napiVersion: v1\n", expected: ["/v1 Pod /a 4"] },
  {
    name: "quoted keys and values",
    content: `"apiVersion": "batch/v1"\n'kind': 'Job'\n"metadata": {"name": "a", namespace: 'b'}\n`,
    expected: ["batch/v1 Job b/a 1"],
  },
  {
    name: "generateName",
    content: "apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: run-\n",
    expected: ["batch/v1 Job /run-* 1"],
  },
  {
    name: "JSON",
    content: `{\n  "kind": "Pod",\n  "apiVersion": "v1",\n  "metadata": {"name": "a"}\n}\n`,
    expected: ["/v1 Pod /a 3"],
  },
  {
    name: "JSON one after the other",
    content: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}\n\n{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c } { \\" "}}`,
    expected: ["/v1 Pod /a 1", "/v1 Pod /b 1", '/v1 Pod /c } { "  3'],
  },
  {
    name: "JSON and YAML in one stream",
    content: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}\n---\n${pod("b")}`,
    expected: ["/v1 Pod /a 1", "/v1 Pod /b 3"],
  },
  {
    name: "kind List",
    content:
      "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n- apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    name: b\n    namespace: c\n",
    expected: ["/v1 Pod /a 4", "apps/v1 Deployment c/b 7"],
  },
  {
    name: "a typed list whose items leave their type out",
    content: "apiVersion: policy/v1beta1\nkind: PodDisruptionBudgetList\nitems:\n- metadata: {name: a}\n",
    expected: ["policy/v1beta1 PodDisruptionBudget /a 4"],
  },
  {
    name: "a list in a list",
    content: `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}]}]}`,
    expected: ["/v1 Pod /a 1"],
  },
  { name: "an empty list", content: "apiVersion: v1\nkind: List\nitems: []\n", expected: [] },
  {
    name: "a kind that ends in List without items",
    content: "apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}\n",
    expected: ["x.io/v1 AllowList /a 1"],
  },
  {
    name: "anchors and aliases",
    content:
      "apiVersion: v1\nkind: Pod\nmetadata: &m\n  name: a\n  namespace: &n shop\nother: *m\n---\napiVersion: v1\nkind: &k Pod\nmetadata: {name: *k}\n",
    expected: ["/v1 Pod shop/a 1", "/v1 Pod /Pod 8"],
  },
  {
    name: "merge keys",
    content: "base: &b {name: a, namespace: x}\napiVersion: v1\nkind: Pod\nmetadata:\n  <<: *b\n  name: c\n",
    expected: ["/v1 Pod x/c 2"],
  },
  {
    name: "an anchor given twice: the nearer one holds",
    content: "apiVersion: v1\nkind: Pod\na: &x one\nb: &x two\nmetadata: {name: *x}\n",
    expected: ["/v1 Pod /two 1"],
  },
  {
    name: "files of tools",
    content: "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n---\napiVersion: v1\nkind: Config\n",
    expected: [],
  },
];

t.test("a stream is read as kubectl reads it", async (t) => {
  for (const { name, content, expected } of streams) {
    t.strictSame(shapes(content), expected, name);
    t.strictSame(shapes(content, 1), expected, `${name}, byte by byte`);
    t.strictSame(shapes(content, 7), expected, `${name}, seven bytes at a time`);
  }
});

t.test("documents that are no objects are told, keys given twice are warned of", async (t) => {
  const { objects, warnings } = readAll(
    "# head\n\nreplicas: 3\n---\napiVersion: v2\nname: chart\n---\n- a\n---\napiVersion: v1\napiVersion: apps/v1\nkind: A\nkind: B\nmetadata: {name: x}\n",
  );
  t.strictSame(
    objects.map(({ group, kind }) => `${group} ${kind}`),
    ["apps B"],
    "the last one holds",
  );
  t.strictSame(
    warnings.map(({ kind, line }) => `${kind} ${line}`),
    ["no-object 3", "no-object 5", "no-object 8", "duplicate-key 11", "duplicate-key 13"],
  );
  t.equal(objects[0]?.line, 11);
});

t.test("the template of a Helm chart is told", async (t) => {
  const { sources } = readAll(
    `---\n# Source: shop/templates/a.yaml\n${pod("a")}---\n# other\n# Source: shop/templates/b.yaml\n\n${pod("b")}---\n${pod("c")}# Source: no/longer.yaml\n`,
  );
  t.strictSame(sources, ["shop/templates/a.yaml", "shop/templates/b.yaml", undefined]);
});

const refusals: readonly { readonly name: string; readonly content: string | Uint8Array; readonly error: RegExp }[] = [
  {
    name: "UTF-16 little endian",
    content: Buffer.from(`\ufeff${pod("a")}`, "utf16le"),
    error: /^manifest_invalid: Cannot read "a.yaml" line 1: it begins with a UTF-16 byte order mark/,
  },
  {
    name: "UTF-16 big endian",
    content: Buffer.from(`\ufeff${pod("a")}`, "utf16le").swap16(),
    error: /UTF-16 byte order mark/,
  },
  { name: "UTF-16 without a mark", content: Buffer.from(pod("a"), "utf16le"), error: /line 1: it looks like UTF-16/ },
  { name: "NUL", content: `${pod("a")}---\na: 1\nb: "\0"\n`, error: /line 7: it has a NUL character/ },
  {
    name: "invalid UTF-8",
    content: Buffer.concat([Buffer.from(`${pod("a")}---\na: 1\nb: `), Buffer.from([0xc3, 0x28, 0x0a])]),
    error: /line 7: it is not valid UTF-8/,
  },
  {
    name: "a tab as indentation",
    content: "apiVersion: v1\nmetadata:\n\tname: a\n",
    error: /^manifest_invalid: Cannot read "a.yaml" line 3: it is no YAML/,
  },
  { name: "an unknown alias", content: "a: *b\n", error: /line 1: it is no YAML: .*alias/ },
  { name: "an alias inside what it names", content: "a: &x [*x]\n", error: /line 1: it is no YAML: .*alias/ },
  { name: "a broken mapping", content: "a: 1\n b: 2\n", error: /line 1: it is no YAML/ },
  { name: "JSON cut off", content: `{"a": [1, 2`, error: /line 1: it is no JSON/ },
  { name: "JSON with a trailing comma", content: `{\n"a": 1,\n}`, error: /^$/ },
  {
    name: "an unrendered template",
    content: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.name }}\n  {{- if .x }}\n",
    error: /unrendered template: render it first, for example by `helm template`/,
  },
  {
    name: "a template that begins with braces",
    content: `{{- if .Values.enabled }}\n${pod("a")}{{- end }}\n`,
    error: /unrendered template/,
  },
];

t.test("what cannot be read is refused with file, line and reason", async (t) => {
  for (const { name, content, error } of refusals) {
    const reading = readAll(content);
    // A flow mapping of YAML may end in a comma, JSON may not: the reader is as lenient as kubectl.
    if (error.source === "^$") t.equal(reading.error, undefined, name);
    else t.match(reading.error, error, name);
  }
});

t.test("a document may have 4 MiB and not a byte more", async (t) => {
  const limit = 4 * 1024 * 1024;
  const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: ";
  for (const [size, isAccepted] of [
    [limit - 1, true],
    [limit, true],
    [limit + 1, false],
  ] as const) {
    const content = `${head}${"x".repeat(size - head.length)}`;
    for (const step of [undefined, 65_536]) {
      const { objects, error } = readAll(content, step === undefined ? {} : { step });
      t.equal(error === undefined, isAccepted, `${size} bytes, chunks of ${step}`);
      if (isAccepted) t.equal(objects.length, 1);
      else
        t.equal(error, 'manifest_limit_exceeded: Cannot read "a.yaml" line 1: a document is larger than 4194304 bytes');
    }
  }
  const { objects, error } = readAll(`${pod("a")}---\n`.repeat(150_000 / 10), { step: 65_536 });
  t.equal(error, undefined, "a stream may be larger than a document");
  t.equal(objects.length, 15_000);
});

t.test("a stream may have 20,000 documents and not one more; empty ones do not count", async (t) => {
  const document = "---\na: b\n";
  t.equal(readAll(`${document.repeat(20_000)}---\n---\n# end\n`).error, undefined);
  t.match(
    readAll(document.repeat(20_001)).error,
    /^manifest_limit_exceeded: Cannot read "a.yaml" line 40001: it has more than 20000 documents/,
  );
});

t.test("nodes are charged: 1 each, 4 more for a sequence entry, what it names for an alias", async (t) => {
  const cases: readonly { readonly content: string; readonly units: number }[] = [
    { content: "a: b\n", units: 3 },
    { content: "a:\n- b\n- c\n", units: 1 + 1 + 1 + 2 * 5 },
    { content: "a: [b, c]\n", units: 1 + 1 + 1 + 2 * 5 },
    { content: `{"a": ["b", "c"]}`, units: 1 + 1 + 1 + 2 * 5 },
    { content: "a: &x {b: c}\nd: *x\n", units: 1 + (1 + 3) + (1 + 3) },
    { content: "a:\n", units: 3 },
  ];
  for (const { content, units } of cases) {
    for (const [limit, isAccepted] of [
      [units - 1, false],
      [units, true],
      [units + 1, true],
    ] as const) {
      const { error } = readAll(content, { budget: new NodeBudget(limit) });
      t.equal(error === undefined, isAccepted, `${JSON.stringify(content)} with ${limit}`);
    }
  }
  const shared = new NodeBudget(7);
  t.match(
    readAll("a: b\n---\nc: d\n---\ne: f\n", { budget: shared }).error,
    /line 5: it has more than 7 nodes/,
    "one budget for a stream",
  );
});

t.test("bombs end in an error, soon and in bounded memory", async (t) => {
  const levels = (open: string, count: number): string => open.repeat(count);
  const laughs = [
    "a0: &a0 lol\n",
    ...Array.from(
      { length: 30 },
      (_, index) => `a${index + 1}: &a${index + 1} [${Array.from({ length: 9 }, () => `*a${index}`).join(", ")}]\n`,
    ),
  ].join("");
  const bombs: readonly { readonly name: string; readonly content: string; readonly error: RegExp }[] = [
    {
      name: "billion laughs",
      content: laughs,
      error: /manifest_limit_exceeded.*line 7: it has more than 400000 nodes/,
    },
    {
      name: "quadratic aliases",
      content: `a: &a [${"x, ".repeat(2000)}]\nb: [${"*a, ".repeat(2000)}]\n`,
      error: /line 2: it has more than 400000 nodes/,
    },
    {
      name: "merge bomb",
      content: `a: &a {${Array.from({ length: 500 }, (_, index) => `k${index}: v`).join(", ")}}\n${Array.from({ length: 1000 }, (_, index) => `m${index}: {<<: *a}\n`).join("")}`,
      error: /more than 400000 nodes/,
    },
    { name: "deep flow sequences", content: levels("[", 1_000_000), error: /nests deeper than 200 levels/ },
    { name: "deep flow mappings", content: levels("{a: ", 500_000), error: /nests deeper than 200 levels/ },
    { name: "deep JSON", content: `{"a":${levels("[", 300_000)}`, error: /nests deeper than 200 levels/ },
    {
      name: "deep block sequences",
      content: `a:\n${levels("- ", 1_000_000)}b\n`,
      error: /nests deeper than 200 levels/,
    },
    {
      name: "deep explicit keys",
      content: `${levels("? ", 1_000_000)}b\n`,
      error: /nests deeper than 200 levels|no YAML/,
    },
    {
      name: "deep block mappings",
      content: Array.from({ length: 2000 }, (_, index) => `${" ".repeat(index)}a:\n`).join(""),
      error: /nests deeper than 200 levels/,
    },
    { name: "many entries", content: `a:\n${"- b\n".repeat(900_000)}`, error: /more than 400000 nodes/ },
    { name: "many flow entries", content: `a: [${"b,".repeat(1_500_000)}]`, error: /more than 400000 nodes/ },
    { name: "many anchors and tags", content: `a: [${"&a !b c, ".repeat(400_000)}]`, error: /more than 400000 nodes/ },
    { name: "many tags on nothing", content: `a: ${"!a ".repeat(1_300_000)}`, error: /more than 400000 nodes/ },
    {
      name: "brackets that close nothing",
      content: `&x a: b\n${"]".repeat(4_000_000)}`,
      error: /no YAML: a bracket closes nothing/,
    },
    {
      name: "braces that close nothing",
      content: `&x a: b\n${"}".repeat(4_000_000)}`,
      error: /no YAML: a bracket closes nothing/,
    },
    {
      name: "quoted texts one after the other",
      content: `&x a: b\n${'"a" '.repeat(1_000_000)}`,
      error: /more than 400000 nodes/,
    },
    {
      name: "many comments",
      content: `a: &x 1\n${"#\n".repeat(2_000_000)}`,
      error: /more than 400000 line ends and comments/,
    },
    {
      name: "many blank lines",
      content: `a: &x 1\n${"\n".repeat(4_000_000)}`,
      error: /more than 400000 line ends and comments/,
    },
    { name: "an endless quoted text", content: `a: "${"x\n ".repeat(1_300_000)}`, error: /no YAML/ },
    { name: "an endless single quoted text", content: `a: '${"''".repeat(1_900_000)}x`, error: /no YAML/ },
    { name: "an endless JSON text", content: `{"a": "${"\\\\".repeat(1_900_000)}`, error: /no JSON/ },
  ];
  const before = process.memoryUsage().rss;
  for (const { name, content, error } of bombs) {
    const start = performance.now();
    const reading = readAll(content);
    const ms = performance.now() - start;
    t.match(reading.error, error, name);
    t.ok(ms < 15_000, `${name}: ${Math.round(ms)} ms`);
  }
  const grown = (process.memoryUsage().rss - before) / 2 ** 20;
  t.ok(grown < 700, `grew by ${Math.round(grown)} MiB`);
});

t.test("a large document in tiny pieces costs about as much as in one", async (t) => {
  const content = `${pod("a")}data: |\n${"  some text of the document\n".repeat(100_000)}---\n${pod("b")}`;
  for (const step of [40, 1000]) {
    const start = performance.now();
    t.equal(readAll(content, { step }).objects.length, 2);
    t.ok(performance.now() - start < 3000, `${step} bytes at a time`);
  }
});

t.test("large documents of ordinary form are read", async (t) => {
  const text = "x".repeat(3_900_000);
  for (const content of [
    `${pod("a")}data: "${text}"\n`,
    `${pod("a")}data: '${text}'\n`,
    `${pod("a")}data: |\n  ${text}\n`,
    `${pod("a")}data: >\n  ${text}\n`,
    `${pod("a")}data: ${text}\n`,
  ]) {
    const start = performance.now();
    t.strictSame(readAll(content).objects.length, 1);
    t.ok(performance.now() - start < 2000);
  }
});
