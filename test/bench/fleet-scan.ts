// `fleetscope scan` of 10,000 manifests in 60 MB: time, memory and the share of the start, beside our own reading and
// cutting of the same bytes and beside pluto on the same files. Runs alone too: `node test/bench/fleet-scan.ts`.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { type BenchRow, type BenchTable, createTable, formatTable, interleave, type Spread } from "../support/bench.ts";

const fileCount = 10_000;
const goalRssMb = 250;
const root = resolve(import.meta.dirname, "..", "..");
const packed = join(root, "dist", "slipway");

interface Measured {
  readonly ms: number;
  readonly rssMb: number;
}

/** A mix as repositories have it: workloads, settings, roles, CRDs with long schemas, a few removed APIs. */
function createManifests(folder: string): number {
  let sizeBytes = 0;
  for (let index = 0; index < fileCount; index += 1) {
    const namespace = `team-${index % 40}`;
    const name = `app-${index}`;
    const text = manifestKinds[index % manifestKinds.length]?.(name, namespace, index) ?? "";
    const parent = join(folder, namespace);
    if (index < 40) mkdirSync(parent, { recursive: true });
    writeFileSync(join(parent, `${name}.yaml`), text);
    sizeBytes += Buffer.byteLength(text);
  }
  return sizeBytes;
}

type ManifestKind = (name: string, namespace: string, index: number) => string;

const deployment: ManifestKind = (name, namespace, index) => `# Source: shop/templates/${name}.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
  namespace: ${namespace}
  labels: {app.kubernetes.io/name: ${name}, app.kubernetes.io/managed-by: Helm}
spec:
  replicas: ${1 + (index % 5)}
  selector:
    matchLabels:
      app: ${name}
  template:
    metadata:
      labels:
        app: ${name}
    spec:
      containers:
        - name: main
          image: "registry.example.com/${namespace}/${name}:1.${index % 90}.0"
          args: ["--port=8080", "--config=/etc/app/config.yaml"]
          env:
${Array.from({ length: 70 }, (_, line) => `            - name: SETTING_${line}\n              value: "value ${line} of ${name}"`).join("\n")}
          resources:
            requests: {cpu: 100m, memory: 128Mi}
          volumeMounts:
            - name: config
              mountPath: /etc/app
      volumes:
        - name: config
          configMap:
            name: ${name}
`;

const configMap: ManifestKind = (name, namespace) => `apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}
  namespace: ${namespace}
data:
  config.yaml: |
${Array.from({ length: 130 }, (_, line) => `    key_${line}: some text with the number ${line} and more of it # ${name}`).join("\n")}
`;

const role: ManifestKind = (name, namespace) => `---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: ${name}
  namespace: ${namespace}
rules:
${Array.from({ length: 60 }, (_, line) => `- apiGroups: ["group-${line}.example.com", ""]\n  resources: ["things", "things/status"]\n  verbs: ["get", "list", "watch"]`).join("\n")}
`;

const crd: ManifestKind = (name) => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ${name}s.example.com
spec:
  group: example.com
  names: {kind: ${name.replace("-", "")}, plural: ${name}s}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
${Array.from({ length: 70 }, (_, line) => `          field${line}:\n            description: A field of ${name} that is described in a line\n              and goes on in the next\n            type: string`).join("\n")}
`;

const oldIngress: ManifestKind = (name, namespace) => `apiVersion: ${"networking.k8s.io/v1beta1"}
kind: Ingress
metadata:
  name: ${name}
  namespace: ${namespace}
spec:
  rules:
${Array.from({ length: 40 }, (_, line) => `  - host: h${line}.${name}.example.com\n    http:\n      paths:\n      - path: /\n        backend:\n          serviceName: ${name}\n          servicePort: 80`).join("\n")}
`;

const manifestKinds: readonly ManifestKind[] = [
  deployment,
  configMap,
  role,
  deployment,
  crd,
  configMap,
  deployment,
  role,
  configMap,
  oldIngress,
];

function measure(command: string, args: readonly string[], allowedExitCodes: readonly number[]): number {
  const start = performance.now();
  const child = spawnSync(command, args, { cwd: root, encoding: "utf8", stdio: ["ignore", "ignore", "pipe"] });
  const ms = performance.now() - start;
  if (!allowedExitCodes.includes(child.status ?? -1))
    throw new Error(`${command} ended with ${child.status}: ${child.stderr}`);
  return ms;
}

/** Runs the command in this process's place, so that the peak memory of the process is the peak of the scan. */
function measureScan(folder: string | undefined): Measured {
  const runner = `
    import { fleetscopeCommand } from "${join(root, "src/fleet/module.ts")}";
    import { runCli } from "${join(root, "src/platform/cli/run-cli.ts")}";
    import { createProcessContext } from "${join(root, "src/platform/cli/terminal.ts")}";
    const table = [{ name: "fleetscope", summary: "", isCallName: false, load: async () => fleetscopeCommand }];
    const args = ${JSON.stringify(folder === undefined ? ["kb", "list"] : ["scan", "--files", folder, "--target", "1.36", "--output", "json"])};
    await runCli({ programName: "slipway", table, banner: "", examples: [] }, { args: ["fleetscope", ...args], isLinked: false }, createProcessContext(new AbortController().signal, "0.0.0"));
    process.stderr.write("\\nRSS " + process.resourceUsage().maxRSS);
  `;
  const start = performance.now();
  const child = spawnSync(process.execPath, ["--input-type=module", "--eval", runner], {
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024,
  });
  const ms = performance.now() - start;
  const rss = /RSS (\d+)/.exec(child.stderr)?.[1];
  if (rss === undefined) throw new Error(`the scan failed: ${child.stderr.slice(0, 2000)}`);
  return { ms, rssMb: Number(rss) / 1024 };
}

/** Our own reading and cutting into documents, without anything behind it, in a process of its own as the scan is. */
function measureSplit(folder: string): number {
  const runner = `
    import { createManifestFiles } from "${join(root, "src/fleet/drivers/manifest-files.ts")}";
    import { DocumentSplitter } from "${join(root, "src/fleet/manifests/document-splitter.ts")}";
    const start = performance.now();
    const files = createManifestFiles({ paths: [${JSON.stringify(folder)}], cwd: "/", includes: [], excludes: [], readInput: async function* () {} });
    let documents = 0;
    for (const stream of await files.list()) {
      const splitter = new DocumentSplitter();
      await stream.read((chunk) => { for (const _ of splitter.push(chunk)) documents += 1; });
      for (const document of splitter.finish()) { new TextDecoder().decode(document.bytes); documents += 1; }
    }
    process.stdout.write(String(performance.now() - start));
  `;
  const child = spawnSync(process.execPath, ["--input-type=module", "--eval", runner], { encoding: "utf8" });
  const ms = Number(child.stdout);
  if (!(ms > 0)) throw new Error(`reading and splitting failed: ${child.stderr.slice(0, 2000)}`);
  return ms;
}

function findPluto(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.map((folder) => join(folder, "pluto")).find((path) => existsSync(path));
}

export async function run(rounds: number): Promise<BenchTable> {
  const folder = mkdtempSync(join(tmpdir(), "fleet-scan-"));
  try {
    const sizeBytes = createManifests(folder);
    return await measureAll(folder, sizeBytes, rounds);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureAll(folder: string, sizeBytes: number, rounds: number): Promise<BenchTable> {
  const pluto = findPluto();
  let rssMb = 0;
  const sides: Record<string, () => Promise<number>> = {
    scan: async () => {
      const measured = measureScan(folder);
      rssMb = Math.max(rssMb, measured.rssMb);
      return measured.ms;
    },
    start: async () => measureScan(undefined).ms,
    split: async () => measureSplit(folder),
  };
  if (existsSync(packed)) {
    sides["packed"] = async () =>
      measure(packed, ["fleetscope", "scan", "--files", folder, "--target", "1.36", "-o", "json"], [2]);
  }
  if (pluto !== undefined) {
    sides["pluto"] = async () =>
      measure(pluto, ["detect-files", "-d", folder, "-o", "json", "--target-versions", "k8s=v1.36.0"], [0, 2, 3]);
  }
  const spreads = await interleave(rounds, sides);
  return createTable("fleet-scan", rowsOf({ spreads, sizeBytes, rssMb }));
}

interface Figures {
  readonly spreads: Readonly<Record<string, Spread>>;
  readonly sizeBytes: number;
  readonly rssMb: number;
}

function rowsOf({ spreads, sizeBytes, rssMb }: Figures): BenchRow[] {
  const { scan, start, split, packed: packedRun, pluto } = spreads;
  if (scan === undefined || start === undefined || split === undefined) throw new Error("nothing was measured");
  const size = `${fileCount.toLocaleString("en-US")} files, ${(sizeBytes / 1e6).toFixed(0)} MB`;
  const objectsPerSecond = Math.round((fileCount / scan.median) * 1000);
  const peer = pluto === undefined ? {} : { peerName: "pluto", peer: pluto, isReached: scan.median <= pluto.median };
  const work = scan.median - start.median;
  const memory = { min: rssMb, median: rssMb, max: rssMb, rounds: scan.rounds };
  return [
    {
      name: `scan ${size}`,
      unit: "ms",
      ours: scan,
      ...peer,
      goal: "≤ 1.0 × pluto",
      note: `${objectsPerSecond.toLocaleString("en-US")} objects/s`,
    },
    {
      name: "scan without the start",
      unit: "ms",
      ours: { ...scan, median: work },
      peerName: "read and split",
      peer: split,
      goal: "≤ 1.5 × reading and splitting the same bytes",
      isReached: work <= 1.5 * split.median,
    },
    {
      name: "start of the command",
      unit: "ms",
      ours: start,
      goal: "–",
      note: `${Math.round((100 * start.median) / scan.median)} % of the scan`,
    },
    { name: "peak memory", unit: "MB", ours: memory, goal: `≤ ${goalRssMb} MB`, isReached: rssMb <= goalRssMb },
    ...(packedRun === undefined
      ? []
      : [{ name: "scan by the packed executable", unit: "ms", ours: packedRun, goal: "–" }]),
  ];
}

if (process.argv[1] === import.meta.filename) {
  process.stdout.write(formatTable(await run(Number(process.argv[2] ?? "3"))));
}
