import { readFileSync } from "node:fs";
import { Ajv, type Options, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import t from "tap";
import { loadEmbeddedKnowledgeBase } from "../../../src/fleet/drivers/knowledge-base-files.ts";
import { guardFormulas } from "../../../src/fleet/exports/csv.ts";
import type { ExportInput } from "../../../src/fleet/exports/export-input.ts";
import { renderTrend } from "../../../src/fleet/exports/html.ts";
import { maxMarkdownLength } from "../../../src/fleet/exports/markdown.ts";
import {
  type ExportFormat,
  exportFormats,
  exportTypes,
  parseExportFormat,
  renderExport,
} from "../../../src/fleet/exports/render-export.ts";
import { maxSarifResults } from "../../../src/fleet/exports/sarif.ts";
import { renderTable } from "../../../src/fleet/exports/table.ts";
import { evaluate } from "../../../src/fleet/model/evaluate.ts";
import type { Finding, Report } from "../../../src/fleet/model/report.ts";
import { inventoryOf } from "../../support/fleet-manifests.ts";

const knowledgeBase = loadEmbeddedKnowledgeBase();
// The package is CommonJS; under ESM its default is the module itself.
const addFormats =
  (addFormatsModule as unknown as { default?: (ajv: Ajv) => void }).default ??
  (addFormatsModule as unknown as (ajv: Ajv) => void);

function validatorOf(schema: object, options: Options = {}): ValidateFunction {
  const { $schema: draft, ...rest } = schema as Record<string, unknown>;
  const settings = { strict: false, allErrors: true, ...options };
  const ajv = String(draft).includes("2020-12") ? new Ajv2020(settings) : new Ajv(settings);
  addFormats(ajv as Ajv);
  delete rest["id"];
  return ajv.compile(rest);
}

function readJson(path: string): object {
  return JSON.parse(readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8")) as object;
}

/** Names that try to break out of every format. */
const hostileName = `x<script>alert(1)</script>&"'\`|]]>\n=cmd()`;
const manifests = `# Source: shop/templates/a.yaml
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata:
  name: ${JSON.stringify(hostileName)}
  namespace: shop
---
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata:
  name: accepted
  namespace: shop
  annotations: {fleetscope.dev/ignore: removed-api, fleetscope.dev/ignore-reason: "=later & <soon>"}
---
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: twice, namespace: shop}
---
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: twice, namespace: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: i, namespace: ingress}
spec: {template: {spec: {containers: [{name: c, image: "registry.k8s.io/ingress-nginx/controller:v1.8.1"}]}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: "storefront"}}
`;

function reportFor(target: "1.24" | "1.25" | "1.60"): Report {
  return evaluate({
    inventory: inventoryOf(manifests, { file: "k8s/a b#é.yaml" }),
    knowledgeBase,
    target,
    date: "2026-11-21",
    toolVersion: "1.2.3",
  });
}

const cluster = evaluate({
  inventory: {
    schemaVersion: 1,
    source: "cluster",
    clusterId: "uid",
    serverVersion: "v1.31.1",
    capabilities: {},
    nodes: [{ name: "n1", kubeletVersion: "v1.20.1" }],
  },
  knowledgeBase,
  target: "1.32",
  date: "2026-11-21",
});

function inputOf(reports: readonly Report[], extra: Partial<ExportInput> = {}): ExportInput {
  return {
    name: `k8s ${hostileName}`,
    reports,
    toolVersion: "1.2.3",
    failOn: "blocker",
    warnings: [`a.yaml:1: ${hostileName}`],
    ...extra,
  };
}

const inputs: readonly { readonly name: string; readonly input: ExportInput }[] = [
  { name: "one target", input: inputOf([reportFor("1.25")]) },
  {
    name: "two targets",
    input: inputOf([reportFor("1.24"), reportFor("1.25")], { evaluatedAt: "2026-11-21T12:00:00Z" }),
  },
  { name: "a target beyond the facts", input: inputOf([reportFor("1.60")], { warnings: [] }) },
  { name: "a cluster", input: inputOf([cluster]) },
  {
    name: "nothing found",
    input: inputOf([
      evaluate({
        inventory: inventoryOf("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"),
        knowledgeBase,
        target: "1.36",
        date: "2026-11-21",
      }),
    ]),
  },
];

const codeQualitySchema = {
  type: "array",
  items: {
    type: "object",
    required: ["description", "check_name", "fingerprint", "severity", "location"],
    properties: {
      description: { type: "string", minLength: 1 },
      check_name: { type: "string", minLength: 1 },
      fingerprint: { type: "string", pattern: "^[0-9a-f]{64}$" },
      severity: { enum: ["info", "minor", "major", "critical", "blocker"] },
      location: {
        type: "object",
        required: ["path", "lines"],
        properties: {
          path: { type: "string", pattern: "^[^/]" },
          lines: { type: "object", required: ["begin"], properties: { begin: { type: "integer", minimum: 1 } } },
        },
      },
    },
  },
};

t.test("JSON, SARIF and Code Quality fit their published schemas", async (t) => {
  const schemas: readonly (readonly [ExportFormat, ValidateFunction])[] = [
    ["json", validatorOf(readJson("src/fleet/exports/schema/report.schema.json"))],
    ["sarif", validatorOf(readJson("test/fixtures/fleet/exports/sarif-2.1.0.schema.json"), { unicodeRegExp: false })],
    ["codequality", validatorOf(codeQualitySchema)],
  ];
  for (const [format, validate] of schemas) {
    for (const { name, input } of inputs) {
      const isValid = validate(JSON.parse(renderExport(format, input)));
      t.ok(isValid, `${format}, ${name}: ${JSON.stringify(validate.errors?.slice(0, 3))}`);
    }
    t.notOk(validate({ nonsense: true }), `${format} refuses nonsense`);
  }
});

interface SarifRun {
  readonly tool: {
    readonly driver: { readonly rules: { readonly id: string; readonly properties: { readonly tags: string[] } }[] };
  };
  readonly results: {
    ruleId: string;
    ruleIndex: number;
    level: string;
    suppressions?: object[];
    partialFingerprints: Record<string, string>;
    locations: { physicalLocation: { artifactLocation: { uri: string }; region: { startLine: number } } }[];
  }[];
  readonly invocations: { toolExecutionNotifications: { descriptor: { id: string } }[] }[];
}

t.test("SARIF: rules by key, located results, stable distinct fingerprints, the rest as notifications", async (t) => {
  const { runs } = JSON.parse(renderExport("sarif", inputOf([reportFor("1.25"), cluster]))) as { runs: SarifRun[] };
  const [first, second] = runs;
  t.equal(
    first?.results.length,
    5,
    "four budgets and a deployment, one of them accepted, and the retired controller once",
  );
  t.ok(first?.results.every(({ ruleId, ruleIndex }) => first.tool.driver.rules[ruleIndex]?.id === ruleId));
  t.equal(first?.results.filter(({ suppressions }) => suppressions !== undefined).length, 1);
  t.equal(
    new Set(first?.results.map((result) => result.partialFingerprints["fleetscope/v1"])).size,
    5,
    "distinct, also for two objects of one name",
  );
  t.ok(
    first?.results.every(
      ({ locations }) => locations[0]?.physicalLocation.artifactLocation.uri === "k8s/a%20b%23%C3%A9.yaml",
    ),
  );
  t.strictSame(second?.results, [], "a cluster has no files");
  t.ok(
    second?.invocations[0]?.toolExecutionNotifications.some(
      ({ descriptor }) => descriptor.id === "version-skew/kubelet-post-upgrade",
    ),
  );
  const moved = JSON.parse(
    renderExport(
      "sarif",
      inputOf([
        evaluate({
          inventory: inventoryOf(`\n\n${manifests}`, { file: "k8s/a b#é.yaml" }),
          knowledgeBase,
          target: "1.25",
          date: "2026-11-21",
        }),
      ]),
    ),
  ) as { runs: SarifRun[] };
  t.strictSame(
    moved.runs[0]?.results.map((result) => result.partialFingerprints),
    first?.results.map((result) => result.partialFingerprints),
    "a moved line keeps its fingerprint",
  );
});

t.test("SARIF is cut at what services accept, and says so", async (t) => {
  const [finding] = reportFor("1.25").findings;
  if (finding === undefined) throw new Error("no finding");
  const objects = Array.from({ length: 100 }, (_, index) => ({ name: `o${index}`, file: "a.yaml", line: 1 }));
  const many = Array.from(
    { length: maxSarifResults / 100 + 1 },
    (_, index): Finding => ({ ...finding, key: `removed-api/g/v/K${index}`, objects }),
  );
  const report = { ...reportFor("1.25"), findings: many, suppressed: [] };
  const { runs } = JSON.parse(renderExport("sarif", inputOf([report]))) as {
    runs: { results: object[]; properties: { omittedFindings: number } }[];
  };
  t.equal(runs[0]?.results.length, maxSarifResults);
  t.ok((runs[0]?.properties.omittedFindings ?? 0) >= 100);
});

t.test("Code Quality: distinct fingerprints, required gaps are critical, accepted findings are left out", async (t) => {
  const issues = JSON.parse(renderExport("codequality", inputOf([reportFor("1.60"), reportFor("1.25")]))) as {
    check_name: string;
    fingerprint: string;
    severity: string;
    description: string;
  }[];
  t.equal(new Set(issues.map(({ fingerprint }) => fingerprint)).size, issues.length);
  t.ok(issues.some(({ check_name: name, severity }) => name === "not-assessed/kb-coverage" && severity === "critical"));
  t.notOk(issues.some(({ description }) => description.includes("accepted")));
  t.strictSame(
    JSON.parse(renderExport("codequality", inputOf([{ ...reportFor("1.25"), findings: [], notAssessed: [] }]))),
    [],
  );
});

interface XmlNode {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: XmlNode[];
  text: string;
}

/** A strict reader of the XML that reports use; anything it does not know fails the test. */
function parseXml(text: string): XmlNode {
  const root: XmlNode = { name: "", attributes: {}, children: [], text: "" };
  const stack = [root];
  const pattern = /<\?xml version="1\.0" encoding="UTF-8"\?>|<(\/?)([a-z-]+)((?: [a-z]+="[^"<]*")*)(\/?)>|([^<]+)|(<)/g;
  for (const [, closing, name, attributes = "", selfClosing, content, stray] of text.matchAll(pattern)) {
    const top = stack.at(-1);
    if (stray !== undefined || top === undefined) throw new Error("a stray <");
    if (content !== undefined) {
      if (/&(?!(?:amp|lt|gt|quot|apos);)/.test(content)) throw new Error(`a stray & in ${content}`);
      top.text += content;
    } else if (name !== undefined && closing === "/") {
      if (stack.pop()?.name !== name) throw new Error(`</${name}> closes something else`);
    } else if (name !== undefined) {
      const pairs = [...attributes.matchAll(/ ([a-z]+)="([^"]*)"/g)].map(
        ([, key = "", value = ""]) => [key, value] as const,
      );
      const node: XmlNode = { name, attributes: Object.fromEntries(pairs), children: [], text: "" };
      top.children.push(node);
      if (selfClosing !== "/") stack.push(node);
    }
  }
  if (stack.length !== 1) throw new Error("an element is not closed");
  return root;
}

const junitShape: Readonly<
  Record<string, { readonly attributes: readonly string[]; readonly children: readonly string[] }>
> = {
  testsuites: { attributes: ["name", "time", "tests", "failures", "disabled", "errors"], children: ["testsuite"] },
  testsuite: {
    attributes: [
      "name",
      "tests",
      "failures",
      "errors",
      "time",
      "disabled",
      "skipped",
      "timestamp",
      "hostname",
      "id",
      "package",
    ],
    children: ["testcase"],
  },
  testcase: {
    attributes: ["name", "assertions", "time", "classname", "status"],
    children: ["skipped", "error", "failure", "system-out"],
  },
  skipped: { attributes: ["message"], children: [] },
  error: { attributes: ["type", "message"], children: [] },
  failure: { attributes: ["type", "message"], children: [] },
  "system-out": { attributes: [], children: [] },
};

t.test("JUnit has the elements and attributes that readers know; a case fails when it reaches the bound", async (t) => {
  const check = (node: XmlNode): void => {
    const shape = junitShape[node.name];
    if (shape === undefined) throw new Error(`unknown element ${node.name}`);
    for (const name of Object.keys(node.attributes))
      if (!shape.attributes.includes(name)) throw new Error(`unknown attribute ${name}`);
    for (const child of node.children) {
      if (!shape.children.includes(child.name)) throw new Error(`${child.name} in ${node.name}`);
      check(child);
    }
  };
  for (const { name, input } of inputs) {
    const [suites] = parseXml(renderExport("junit", input)).children;
    if (suites === undefined) throw new Error("no suites");
    check(suites);
    for (const suite of suites.children) {
      const count = (kind: string): string =>
        String(suite.children.filter(({ children }) => children.some((child) => child.name === kind)).length);
      t.strictSame(
        [
          suite.attributes["tests"],
          suite.attributes["failures"],
          suite.attributes["errors"],
          suite.attributes["skipped"],
        ],
        [String(suite.children.length), count("failure"), count("error"), count("skipped")],
        name,
      );
    }
  }
  const failures = (failOn: ExportInput["failOn"], target: "1.24" | "1.25"): number =>
    (renderExport("junit", inputOf([reportFor(target)], { failOn })).match(/<failure /g) ?? []).length;
  t.equal(failures("blocker", "1.25") > 0, true);
  t.equal(failures("never", "1.25"), 0);
  t.equal(failures("warning", "1.24") > failures("blocker", "1.24"), true);
});

/** RFC 4180. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  let cell = "";
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (text.charAt(at + 1) === '"') cell += text.charAt(++at);
      else isQuoted = false;
    } else if (character === '"') isQuoted = true;
    else if (character === "," || character === "\n") {
      rows.at(-1)?.push(cell);
      cell = "";
      if (character === "\n") rows.push([]);
    } else if (character !== "\r") cell += character;
  }
  return rows.slice(0, -1);
}

t.test("CSV keeps its columns and begins no formula", async (t) => {
  for (const { name, input } of inputs) {
    const text = renderExport("csv", input);
    const rows = parseCsv(text);
    t.ok(
      rows.every((row) => row.length === 15),
      `${name}: 15 columns everywhere`,
    );
    t.ok(text.endsWith("\r\n"));
    t.ok(
      rows.flat().every((cell) => !/^[=+\-@\t\r]/.test(cell)),
      `${name}: no cell begins a formula`,
    );
    t.equal(rows[1]?.[7], "summary");
  }
  const cases = [
    ["=1", "'=1"],
    ["a,=1", "a,'=1"],
    ["a; @x", "a; '@x"],
    ["a\n+1", "a\n'+1"],
    ["\t=1", "'\t'=1"],
    ["a-b", "a-b"],
    ["1-2=3", "1-2=3"],
    ["-", "'-"],
  ] as const;
  for (const [given, expected] of cases) t.equal(guardFormulas(given), expected, JSON.stringify(given));
});

t.test("Markdown and HTML hold what names try to break out of", async (t) => {
  for (const { name, input } of inputs) {
    const html = renderExport("html", input);
    t.notMatch(html, /<script/i, `${name}: no script`);
    t.match(html, /<meta http-equiv="Content-Security-Policy" content="default-src 'none'/);
    t.notMatch(html, /(?:src|href)="(?!https?:)/, `${name}: nothing is loaded, links are http`);
    const markdown = renderExport("markdown", input);
    t.notMatch(markdown.replaceAll(/`[^`\n]*`/g, ""), /<script|\n=cmd/, `${name}: no raw HTML outside code`);
    t.equal(
      (markdown.match(/<details>/g) ?? []).length,
      (markdown.match(/<\/details>/g) ?? []).length,
      `${name}: folds are closed`,
    );
  }
  const [finding] = reportFor("1.25").findings;
  if (finding === undefined) throw new Error("no finding");
  const long = { ...reportFor("1.25"), findings: Array.from({ length: 500 }, () => finding) };
  const cut = renderExport("markdown", inputOf([long]));
  t.ok(cut.length < maxMarkdownLength + 300);
  t.match(cut, /Cut here/);
  t.equal((cut.match(/<details>/g) ?? []).length, (cut.match(/<\/details>/g) ?? []).length);
});

t.test("the trend is one line of scores within its frame", async (t) => {
  t.equal(renderTrend([]), "");
  t.equal(renderTrend([{ at: "2026-01-01T00:00:00Z", score: 5 }]), "");
  const svg = renderTrend([
    { at: "2026-01-01T00:00:00Z", score: 0 },
    { at: "2026-01-02T00:00:00Z", score: 100 },
    { at: "2026-01-03T00:00:00Z", score: 50 },
  ]);
  t.match(svg, /points="4\.0,60\.0 160\.0,4\.0 316\.0,32\.0"/);
  t.match(svg, /aria-label="Score from 0 on 2026-01-01 to 50 on 2026-01-03"/);
  t.ok(
    renderExport(
      "html",
      inputOf([cluster], {
        history: Array.from({ length: 2000 }, (_, index) => ({ at: "2026-01-01T00:00:00Z", score: index % 101 })),
      }),
    ).length < 60_000,
  );
});

t.test("formats have names, aliases, types and endings", async (t) => {
  t.equal(parseExportFormat("gitlab-codequality"), "codequality");
  t.equal(parseExportFormat("md"), "markdown");
  t.equal(parseExportFormat("xlsx"), undefined);
  for (const format of exportFormats) t.match(exportTypes[format], { contentType: /\//, extension: /^[a-z.]+$/ });
});

t.test("the table groups by severity and by the moment a problem bites, and shows every fix", async (t) => {
  const report = reportFor("1.25");
  const text = renderTable(inputOf([report]), { paint: (_, plain) => plain, columns: 100, maxObjects: 1 });
  t.ok(
    text.indexOf("BLOCKERS") < text.indexOf("when the control plane moves") ||
      !text.includes("when the control plane moves"),
  );
  t.equal(
    (text.match(/^ {4}fix: /gm) ?? []).length,
    report.findings.filter(({ remediation }) => remediation !== undefined).length,
  );
  t.match(text, /- and 2 more/);
  t.ok(text.split("\n").every((line) => line.length <= 160 || line.includes("http")));
});
