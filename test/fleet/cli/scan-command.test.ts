import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { fleetscopeCommand } from "../../../src/fleet/module.ts";
import { runCli } from "../../../src/platform/cli/run-cli.ts";
import { startFakeKubernetes } from "../../support/fake-kubernetes.ts";
import { createFakeContext, createFakeTerminal } from "../../support/fake-terminal.ts";

interface Run {
  readonly exitCode: number;
  readonly output: string;
  readonly errorOutput: string;
}

interface RunOptions {
  readonly cwd?: string;
  readonly input?: string;
  readonly isTty?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

async function fleetscope(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const terminal = createFakeTerminal({
    isTty: options.isTty ?? false,
    ...(options.input === undefined ? {} : { input: [options.input] }),
  });
  const context = createFakeContext({
    terminal,
    cwd: options.cwd ?? "/",
    homeDir: "/nowhere",
    ...(options.env === undefined ? {} : { env: options.env }),
  });
  const table = [{ name: "fleetscope", summary: "", isCallName: true, load: async () => fleetscopeCommand }];
  const cli = { programName: "slipway", table, banner: "", examples: [] };
  const exitCode = await runCli(cli, { args: ["fleetscope", ...args], isLinked: false }, context);
  return { exitCode, output: terminal.output(), errorOutput: terminal.errorOutput() };
}

function folderOf(t: Test, files: Readonly<Record<string, string>>): string {
  const folder = t.testdir();
  writeFiles(folder, files);
  return folder;
}

function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

const escapeCharacter = "\u001b";
const budget = (name: string, extra = ""): string =>
  `# Source: shop/templates/pdb.yaml\napiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata:\n  name: ${name}\n  namespace: shop\n${extra}spec:\n  maxUnavailable: 1\n  selector:\n    matchLabels:\n      app: web\n`;
const cronJob =
  "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: nightly, namespace: ops}\nspec: {schedule: '@daily'}\n";
const clean = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: shop\ndata:\n  a: b\n";
const base = ["scan", "--target", "1.25", "--date", "2026-11-21"];
const removedBudget = "removed-api/policy/v1beta1/PodDisruptionBudget";

t.test(
  "a folder with a removed API fails the gate and names file, line, object, removal, fix and source",
  async (t) => {
    const cwd = folderOf(t, {
      "k8s/a/pdb.yaml": `---\n${budget("web")}`,
      "k8s/b/clean.yml": clean,
      "k8s/readme.md": "apiVersion: v1",
    });
    const { exitCode, output, errorOutput } = await fleetscope([...base, "--files", "k8s"], { cwd });
    t.equal(exitCode, 2);
    for (const text of [
      "Kubernetes 1.25: blocked, score 75/100, 1 blocker, 0 warnings",
      "BLOCKERS\n  at the next apply\n",
      "policy/v1beta1 PodDisruptionBudget is removed in 1.25 (1 object)",
      "policy/v1: change `apiVersion`",
      "an empty selector selects all",
      "- shop/web  k8s/a/pdb.yaml:3 (shop/templates/pdb.yaml)",
      removedBudget,
      "https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-25",
      "NOT ASSESSED",
    ]) {
      t.ok(output.includes(text), text);
    }
    t.notOk(output.includes(escapeCharacter), "no colour where there is no terminal");
    t.equal(errorOutput, "fleetscope: gate failed for 1.25: 1 blocker\n");
  },
);

t.test("on a terminal there are colours and a progress line", async (t) => {
  const cwd = folderOf(t, { "a.yaml": clean });
  const { exitCode, output } = await fleetscope([...base, "--files", "a.yaml"], { cwd, isTty: true });
  t.equal(exitCode, 0);
  t.ok(output.includes(`${escapeCharacter}[`));
});

const exitCases: readonly {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly exitCode: number;
  readonly error?: RegExp;
}[] = [
  { name: "clean", files: { "a.yaml": clean }, args: ["--files", "."], exitCode: 0 },
  {
    name: "a blocker, never failing",
    files: { "a.yaml": cronJob },
    args: ["--files", ".", "--fail-on", "never"],
    exitCode: 0,
  },
  { name: "a warning", files: { "a.yaml": cronJob }, args: ["--files", ".", "--target", "1.24"], exitCode: 2 },
  {
    name: "no such path",
    files: {},
    args: ["--files", "missing"],
    exitCode: 1,
    error: /Cannot scan "missing": it does not exist/,
  },
  {
    name: "an empty folder",
    files: { "x/readme.md": "" },
    args: ["--files", "x"],
    exitCode: 1,
    error: /Cannot find manifests in "x": there is no file ending in \.yaml/,
  },
  {
    name: "no objects",
    files: { "values.yaml": "replicas: 1\n" },
    args: ["--files", "."],
    exitCode: 1,
    error: /no document has `apiVersion` and `kind`/,
  },
  {
    name: "broken YAML",
    files: { "a.yaml": clean, "b.yaml": "a: [\n" },
    args: ["--files", "."],
    exitCode: 1,
    error: /Cannot read "b.yaml" line \d+: it is no YAML/,
  },
  {
    name: "several broken files",
    files: { "a.yaml": "a: [\n", "b.yaml": "\tb: 1\n", "c.yaml": clean },
    args: ["--files", "."],
    exitCode: 1,
    error: /"a.yaml"[\s\S]*"b.yaml"[\s\S]*2 files cannot be read/,
  },
  {
    name: "an unknown target",
    files: { "a.yaml": clean },
    args: ["--files", ".", "--target", "soon"],
    exitCode: 1,
    error: /Cannot use target "soon"/,
  },
  {
    name: "a target before the facts",
    files: { "a.yaml": clean },
    args: ["--files", ".", "--target", "1.15"],
    exitCode: 1,
    error: /targets start at 1\.16/,
  },
  {
    name: "an unknown format",
    files: { "a.yaml": clean },
    args: ["--files", ".", "-o", "xml"],
    exitCode: 1,
    error: /xml/,
  },
  { name: "an unknown flag", files: { "a.yaml": clean }, args: ["--files", ".", "--fail"], exitCode: 1, error: /fail/ },
  {
    name: "standard input twice",
    files: {},
    args: ["--files", "-", "--files", "-"],
    exitCode: 1,
    error: /can be given once/,
  },
  {
    name: "a bad date",
    files: { "a.yaml": clean },
    args: ["--files", ".", "--date", "2026-13-01"],
    exitCode: 1,
    error: /2026-13-01/,
  },
  {
    name: "rules without a reason",
    files: { "a.yaml": clean, "rules.txt": "ignore:\n- key: x\n" },
    args: ["--files", ".", "--config", "rules.txt"],
    exitCode: 1,
    error: /gives no `reason`/,
  },
  {
    name: "a rule file of another shape",
    files: { "a.yaml": clean, "rules.txt": "ignores: []\n" },
    args: ["--files", ".", "--config", "rules.txt"],
    exitCode: 1,
    error: /field "ignores" is not known/,
  },
  {
    name: "a missing rule file",
    files: { "a.yaml": clean },
    args: ["--files", ".", "--config", "none"],
    exitCode: 1,
    error: /Cannot read "none": it does not exist/,
  },
  {
    name: "a team map with the reserved name",
    files: { "a.yaml": clean, "map.txt": "- pattern: x\n  team: (unattributed)\n" },
    args: ["--files", ".", "--team-map", "map.txt"],
    exitCode: 1,
    error: /unattributed/,
  },
  {
    name: "a registry that is not there",
    files: { "a.yaml": clean },
    args: ["--files", ".", "--registry-dir", "none"],
    exitCode: 1,
    error: /cannot be read/,
  },
  {
    name: "a comparison with nothing",
    files: { "a.yaml": clean },
    args: ["--files", ".", "--diff", "no-such-ref"],
    exitCode: 1,
    error: /Cannot compare with "no-such-ref"/,
  },
  {
    name: "a comparison that looks like an option",
    files: { "a.yaml": clean },
    args: ["--files", ".", "--diff=--output=/tmp/x"],
    exitCode: 1,
    error: /no folder and no git reference/,
  },
  {
    name: "an include without files",
    files: {},
    args: ["--include", "*"],
    exitCode: 1,
    error: /--include needs --files/,
  },
];

t.test("the exit code is 0 for ready, 2 for a failed gate and 1 for everything else", async (t) => {
  for (const { name, files, args, exitCode, error } of exitCases) {
    const cwd = folderOf(t, files);
    const hasTarget = args.includes("--target");
    const date = args.includes("--date") ? [] : ["--date", "2026-11-21"];
    const all = ["scan", ...(hasTarget ? [] : ["--target", "1.25"]), ...date, ...args];
    if (name === "a warning") {
      t.equal((await fleetscope(all, { cwd })).exitCode, 0, "a warning passes by default");
      all.push("--fail-on", "warning");
    }
    const run = await fleetscope(all, { cwd });
    t.equal(run.exitCode, exitCode, `${name}: ${run.errorOutput}`);
    if (error !== undefined) t.match(run.errorOutput, error, name);
  }
});

t.test("a target beyond the facts fails unless incomplete evidence is accepted", async (t) => {
  const cwd = folderOf(t, { "a.yaml": clean });
  const args = ["scan", "--files", ".", "--target", "1.60", "--date", "2026-11-21"];
  const strict = await fleetscope(args, { cwd });
  t.equal(strict.exitCode, 2);
  t.match(strict.errorOutput, /not assessed: kb-coverage/);
  t.equal((await fleetscope([...args, "--allow-incomplete"], { cwd })).exitCode, 0);
});

t.test("standard input, globs, several paths and several targets", async (t) => {
  const piped = await fleetscope([...base, "--files", "-", "-o", "json"], { input: `${clean}---\n${cronJob}` });
  t.equal(piped.exitCode, 2);
  t.match(JSON.parse(piped.output), {
    verdict: "blocked",
    findings: [{ key: "removed-api/batch/v1beta1/CronJob", objects: [{ file: "<stdin>", line: 9 }] }],
  });
  const cwd = folderOf(t, {
    "k8s/old.yaml": cronJob,
    "k8s/new.yaml": clean,
    "k8s/deep/x.json": JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" } }),
    "k8s/.git/x.yaml": cronJob,
    "one.txt": budget("x"),
  });
  t.equal((await fleetscope([...base, "--files", "k8s", "--exclude", "old.*"], { cwd })).exitCode, 0, "excluded");
  t.equal((await fleetscope([...base, "--files", "k8s", "--include", "deep/**"], { cwd })).exitCode, 0, "included");
  const both = await fleetscope(
    [
      "scan",
      "--date",
      "2026-11-21",
      "--files",
      "k8s",
      "--files",
      "one.txt",
      "--target",
      "1.25",
      "--target",
      "1.20",
      "--target",
      "v1.25",
      "-o",
      "json",
    ],
    { cwd },
  );
  const { reports } = JSON.parse(both.output) as {
    reports: { target: string; findings: { key: string; objects: { file: string }[] }[] }[];
  };
  t.strictSame(
    reports.map(({ target }) => target),
    ["1.20", "1.25"],
  );
  t.strictSame(
    reports[1]?.findings
      .filter(({ key }) => key.startsWith("removed-api"))
      .flatMap(({ objects }) => objects.map(({ file }) => file))
      .sort(),
    ["k8s/old.yaml", "one.txt"],
  );
  const table = await fleetscope(
    ["scan", "--date", "2026-11-21", "--files", "k8s", "--target", "1.24", "--target", "1.25"],
    { cwd },
  );
  t.match(table.output, /KEY +1\.24 +1\.25\nremoved-api\/batch\/v1beta1\/CronJob +W +B/);
});

t.test("findings are accepted by configuration and by annotation, with the reason shown", async (t) => {
  const accepted = budget(
    "mine",
    '  annotations:\n    fleetscope.dev/ignore: "removed-api"\n    fleetscope.dev/ignore-reason: moves next week\n',
  );
  const cwd = folderOf(t, {
    "k8s/a.yaml": accepted,
    "rules.yaml": "ignore:\n  - key: removed-api/batch/*\n    reason: not deployed\n    expires: 2026-12-31\n",
    "k8s/b.yaml": cronJob,
  });
  const run = await fleetscope([...base, "--files", "k8s", "--config", "rules.yaml", "-o", "json"], { cwd });
  t.equal(run.exitCode, 0, run.errorOutput);
  const { suppressed } = JSON.parse(run.output) as { suppressed: { reason: string; suppressedBy: string }[] };
  t.strictSame(suppressed.map(({ reason, suppressedBy }) => `${suppressedBy}: ${reason}`).sort(), [
    "annotation: moves next week",
    "config: not deployed",
  ]);
  const other = await fleetscope([...base, "--files", "k8s/a.yaml", "--annotation-domain", "example.com"], { cwd });
  t.equal(other.exitCode, 2, "annotations of another domain say nothing");
  const later = await fleetscope(
    ["scan", "--target", "1.25", "--date", "2027-01-01", "--files", "k8s", "--config", "rules.yaml"],
    { cwd },
  );
  t.equal(later.exitCode, 2, "an acceptance ends");
});

t.test("teams own findings by label and by map", async (t) => {
  const namespace =
    "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  labels: {team: storefront, owner: others}\n---\n";
  const cwd = folderOf(t, { "a.yaml": namespace + budget("x"), "map.txt": "- pattern: sh*\n  team: mapped\n" });
  const teams = async (...args: string[]): Promise<readonly string[]> => {
    const run = await fleetscope([...base, "--files", "a.yaml", "-o", "json", ...args], { cwd });
    return (JSON.parse(run.output) as { findings: { teams: string[] }[] }).findings[0]?.teams ?? [];
  };
  t.strictSame(await teams(), ["storefront"]);
  t.strictSame(await teams("--team-label", "owner"), ["others"]);
  t.strictSame(await teams("--team-map", "map.txt"), ["mapped"]);
});

t.test("--diff reports what is new against a folder and against a commit", async (t) => {
  const cwd = folderOf(t, { "k8s/a.yaml": budget("old"), "base/a.yaml": budget("old") });
  const same = await fleetscope([...base, "--files", "k8s", "--diff", "base"], { cwd });
  t.equal(same.exitCode, 0, same.output);
  const git = (...args: string[]): string =>
    execFileSync("git", args, {
      cwd,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null" },
    });
  git("init", "-q");
  git("-c", "user.name=t", "-c", "user.email=t@example.com", "add", ".");
  git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "base");
  writeFiles(cwd, { "k8s/a.yaml": `# one line more\n${budget("old")}`, "k8s/b.yaml": budget("new") });
  for (const [reference, files] of [
    ["HEAD", "k8s"],
    ["base", "k8s"],
    ["HEAD", "./k8s/"],
    ["HEAD", join(cwd, "k8s")],
  ] as const) {
    const run = await fleetscope([...base, "--files", files, "--diff", reference, "-o", "json"], { cwd });
    t.equal(run.exitCode, 2, run.errorOutput);
    const { findings } = JSON.parse(run.output) as {
      findings: { key: string; title: string; baselineState: string; objects: { name: string }[] }[];
    };
    t.match(
      findings,
      [{ key: removedBudget, title: /\(1 object\)$/, baselineState: "new", objects: [{ name: "new" }] }],
      `${files} against ${reference}`,
    );
    t.equal(findings[0]?.objects.length, 1);
  }
  t.equal(git("status", "--porcelain", "k8s").split("\n").length, 3, "the working tree is left alone");
});

t.test("--explain tells everything of a finding; an unknown key names the known ones", async (t) => {
  const cwd = folderOf(t, { "a.yaml": budget("x") });
  const run = await fleetscope([...base, "--files", ".", "--explain", removedBudget], { cwd });
  for (const text of [
    "severity   blocker",
    "bites      at the next apply",
    "sources    https://",
    `- key: "${removedBudget}"`,
    "shop/x  a.yaml:2",
  ])
    t.ok(run.output.includes(text), text);
  const unknown = await fleetscope([...base, "--files", ".", "--explain", "nothing"], { cwd });
  t.equal(unknown.exitCode, 1);
  t.match(unknown.errorOutput, new RegExp(`no finding has this key; there are\n  ${removedBudget}`));
});

t.test("--output-file takes the report, the terminal stays quiet", async (t) => {
  const cwd = folderOf(t, { "a.yaml": clean });
  const run = await fleetscope([...base, "--files", ".", "-o", "sarif", "--output-file", "out.sarif"], { cwd });
  t.equal(run.output, "");
  t.match(JSON.parse(readFileSync(join(cwd, "out.sarif"), "utf8")), { version: "2.1.0" });
});

t.test("two runs on the same input give the same bytes in every format", async (t) => {
  const cwd = folderOf(t, { "a.yaml": budget("x"), "b.yaml": cronJob });
  for (const format of ["table", "json", "sarif", "codequality", "junit", "csv", "markdown", "html"]) {
    const [first, second] = [
      await fleetscope([...base, "--files", ".", "-o", format], { cwd }),
      await fleetscope([...base, "--files", ".", "-o", format], { cwd }),
    ];
    t.equal(first.output, second.output, format);
  }
});

t.test("texts of manifests do not steer the terminal", async (t) => {
  const cwd = folderOf(t, { "a.yaml": budget('"\\e[31mred\\e]0;title\\a"') });
  const run = await fleetscope([...base, "--files", "."], { cwd });
  t.equal(run.exitCode, 2);
  t.notOk(run.output.includes(escapeCharacter) || run.output.includes("\u0007"));
});

t.test("without --files the cluster of the kubeconfig is scanned", async (t) => {
  await using server = await startFakeKubernetes({
    gitVersion: "v1.31.0",
    resources: [{ group: "", version: "v1", kind: "Node", plural: "nodes", items: [] }],
  });
  const cwd = folderOf(t, { kubeconfig: server.kubeconfig });
  const run = await fleetscope(
    ["scan", "--target", "1.32", "--date", "2026-11-21", "--kubeconfig", join(cwd, "kubeconfig"), "-o", "json"],
    { cwd },
  );
  t.equal(run.exitCode, 2, "an empty cluster is not known to be ready");
  t.match(JSON.parse(run.output), { serverVersion: "v1.31.0", verdict: "unknown" });
  const same = await fleetscope(["scan", "--target", "1.31", "--date", "2026-11-21", "--allow-incomplete"], {
    cwd,
    env: { KUBECONFIG: join(cwd, "kubeconfig") },
  });
  t.equal(same.exitCode, 2, "a target that is no upgrade is never excused");
  t.match(same.errorOutput, /1\.31 is no upgrade/);
  const none = await fleetscope(["scan", "--target", "1.32"], { cwd });
  t.equal(none.exitCode, 1);
  t.match(
    none.errorOutput,
    /Cannot use the kubeconfig: there is none: name one by --kubeconfig, or name manifests by --files/,
  );
});

t.test("with --files and a context the manifests are judged for what they bring into that cluster", async (t) => {
  const crd = {
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      names: { kind: "Thing", plural: "things" },
      versions: [
        { name: "v1", served: true, storage: true },
        { name: "v1beta1", served: false, storage: false },
      ],
    },
  };
  await using server = await startFakeKubernetes({
    gitVersion: "v1.24.1",
    resources: [
      {
        group: "",
        version: "v1",
        kind: "Node",
        plural: "nodes",
        items: [{ metadata: { name: "n" }, status: { nodeInfo: { kubeletVersion: "v1.10.0" } } }],
      },
      {
        group: "apiextensions.k8s.io",
        version: "v1",
        kind: "CustomResourceDefinition",
        plural: "customresourcedefinitions",
        items: [crd],
      },
    ],
  });
  const cwd = folderOf(t, {
    kubeconfig: server.kubeconfig,
    "ok.yaml": clean,
    "thing.yaml": "apiVersion: example.com/v1beta1\nkind: Thing\nmetadata: {name: t, namespace: shop}\n",
  });
  const args = [...base, "--kubeconfig", join(cwd, "kubeconfig"), "--context", "fake", "-o", "json"];
  const harmless = await fleetscope([...args, "--files", "ok.yaml"], { cwd });
  t.equal(harmless.exitCode, 0, "nodes that are too old were there before");
  t.match(JSON.parse(harmless.output).findings, [{ source: "cluster" }]);
  const thing = await fleetscope([...args, "--files", "thing.yaml"], { cwd });
  t.equal(thing.exitCode, 2);
  t.match(thing.errorOutput, /1 blocker\n/);
});

t.test("a baseline that cannot be read is left out and told, the change is not stopped by it", async (t) => {
  const cwd = folderOf(t, { "k8s/a.yaml": clean, "base/a.yaml": clean, "base/broken.yaml": "a: [\n" });
  const run = await fleetscope([...base, "--files", "k8s", "--diff", "base"], { cwd });
  t.equal(run.exitCode, 0);
  t.match(run.output, /left out of the comparison: Cannot read "k8s\/broken.yaml"/);
});

t.test("kb lists, shows and checks the facts", async (t) => {
  t.match((await fleetscope(["kb", "list"])).output, /horizon +1\.\d+/);
  t.match((await fleetscope(["kb", "list", "addons"])).output, /cert-manager/);
  t.match(JSON.parse((await fleetscope(["kb", "list", "apis", "--json"])).output), [{ citations: Array }]);
  for (const section of ["apis", "facts", "calendars", "migrations"])
    t.equal((await fleetscope(["kb", "list", section])).exitCode, 0, section);
  t.match((await fleetscope(["kb", "show", "policy/v1beta1/PodDisruptionBudget"])).output, /"removed": "1\.25"/);
  const missing = await fleetscope(["kb", "show", "nothing"]);
  t.equal(missing.exitCode, 1);
  t.match(missing.errorOutput, /no fact has this name/);
  t.match((await fleetscope(["kb", "check"])).output, /no contradiction/);
});
