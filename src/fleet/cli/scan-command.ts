/** `fleetscope scan`: manifests or a live cluster against one or more Kubernetes minors. */
import type { Command, CommandContext, ParsedArguments } from "../../platform/cli/command.ts";
import { createProgress } from "../../platform/cli/progress.ts";
import { createStyle } from "../../platform/cli/style.ts";
import { UsageError } from "../../platform/cli/usage-error.ts";
import { fleetError } from "../errors.ts";
import type { ExportInput } from "../exports/export-input.ts";
import { parseExportFormat, renderExport } from "../exports/render-export.ts";
import { renderExplanation, renderTable, type TableOptions } from "../exports/table.ts";
import { isCalendarDate } from "../model/calendar-date.ts";
import type { IgnoreRule } from "../model/ignore-rules.ts";
import type { Inventory } from "../model/inventory.ts";
import type { KnowledgeBase } from "../model/knowledge-base.ts";
import type { TeamMap } from "../model/team-map.ts";
import { type FailOn, failOnChoices } from "../service/judge.ts";
import type { ManifestSource } from "../service/manifest-source.ts";
import { readManifests } from "../service/read-manifests.ts";
import { parseTargets, type ScanResult, scan } from "../service/scan.ts";
import { scanExamples, scanExitCodes, scanOptions } from "./scan-options.ts";

/** What a scan needs from outside; the module gives the real ones. */
export interface ScanPorts {
  readonly loadKnowledgeBase: (registryFolder: string | undefined) => KnowledgeBase;
  readonly openFiles: (options: OpenFilesOptions) => ManifestSource;
  /** The same paths at a commit, or another folder. */
  readonly openBaseline: (options: OpenFilesOptions & { readonly base: string }) => ManifestSource;
  readonly readIgnoreConfig: (path: string, cwd: string) => IgnoreRule[];
  readonly readTeamMap: (
    path: string,
    cwd: string,
  ) => { readonly teamMap: TeamMap; readonly warnings: readonly string[] };
  readonly collectCluster: (options: CollectOptions) => Promise<CollectedCluster>;
  readonly writeFile: (path: string, cwd: string, text: string) => void;
  /** `YYYY-MM-DD` in UTC. */
  readonly today: () => string;
}

export interface OpenFilesOptions {
  readonly paths: readonly string[];
  readonly cwd: string;
  readonly includes: readonly string[];
  readonly excludes: readonly string[];
  readonly readInput: () => AsyncIterable<Uint8Array>;
}

export interface CollectOptions {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly knowledgeBase: KnowledgeBase;
  readonly annotationDomain: string;
  readonly teamLabel: string;
  readonly onProgress: (note: string) => void;
  readonly command: CommandContext;
}

export interface CollectedCluster {
  readonly name: string;
  readonly inventory: Inventory;
}

const gateFailedExitCode = 2;
const shownObjects = 10;

export function createScanCommand(ports: ScanPorts): Command {
  return {
    name: "scan",
    summary: "Judge manifests or a live cluster against a Kubernetes minor",
    description:
      "Finds removed and deprecated APIs, add-ons past their end of life or outside their range, volume plugins, flags and settings that a later Kubernetes refuses. Every finding names its place, the fix and its source.",
    options: scanOptions,
    examples: scanExamples,
    exitCodes: scanExitCodes,
    usageExitCode: 1,
    failureExitCode: 1,
    run: (args, context) => runScan(ports, args, context),
  };
}

async function runScan(ports: ScanPorts, args: ParsedArguments, context: CommandContext): Promise<number> {
  const targets = parseTargets(args.strings("target"));
  if (targets.length === 0)
    throw new UsageError("Missing --target: name the Kubernetes minor to judge against", "slipway fleetscope scan");
  const date = readDate(args.string("date") ?? ports.today());
  const knowledgeBase = ports.loadKnowledgeBase(args.string("registry-dir"));
  const config = args.string("config");
  const map = args.string("team-map");
  const ignoreRules = config === undefined ? [] : ports.readIgnoreConfig(config, context.cwd);
  const teams = map === undefined ? { teamMap: [], warnings: [] } : ports.readTeamMap(map, context.cwd);
  const input = await readInput(ports, args, { context, knowledgeBase });
  const failOn = failOnOf(args);
  const result = scan({
    inventory: input.inventory,
    baseline: input.baseline,
    cluster: input.cluster,
    knowledgeBase,
    targets,
    date,
    teamMap: teams.teamMap,
    ignoreRules,
    toolVersion: context.version,
    policy: { failOn, allowIncomplete: args.boolean("allow-incomplete") },
  });
  await present(ports, args, {
    context,
    result,
    input: {
      name: input.name,
      reports: result.results.map(({ report }) => report),
      toolVersion: context.version,
      warnings: [...teams.warnings, ...input.warnings],
      failOn,
    },
  });
  return result.isPassed ? 0 : gateFailedExitCode;
}

interface ReadContext {
  readonly context: CommandContext;
  readonly knowledgeBase: KnowledgeBase;
}

interface ReadResult {
  readonly name: string;
  readonly inventory: Inventory;
  readonly baseline: Inventory | undefined;
  /** The cluster that the manifests go to. */
  readonly cluster?: Inventory;
  readonly warnings: readonly string[];
}

/** Manifests, a cluster, or manifests on their way to a cluster that is named on purpose. */
async function readInput(ports: ScanPorts, args: ParsedArguments, reading: ReadContext): Promise<ReadResult> {
  if (args.strings("files").length === 0) return readCluster(ports, args, reading);
  const files = await readFiles(ports, args, reading);
  if (args.string("context") === undefined && args.string("kubeconfig") === undefined) return files;
  const { name, inventory } = await collect(ports, args, reading);
  return { ...files, name: `${files.name} in ${name}`, cluster: inventory };
}

async function readCluster(ports: ScanPorts, args: ParsedArguments, reading: ReadContext): Promise<ReadResult> {
  for (const name of ["diff", "include", "exclude"]) {
    if (args.strings(name).length === 0) continue;
    throw new UsageError(`--${name} needs --files: it says which manifests are read`, "slipway fleetscope scan");
  }
  return { ...(await collect(ports, args, reading)), baseline: undefined, warnings: [] };
}

async function collect(
  ports: ScanPorts,
  args: ParsedArguments,
  { context, knowledgeBase }: ReadContext,
): Promise<CollectedCluster> {
  const progress = createProgress(context.terminal, { label: "Reading the cluster" });
  let steps = 0;
  try {
    return await ports.collectCluster({
      kubeconfig: args.string("kubeconfig"),
      context: args.string("context"),
      knowledgeBase,
      annotationDomain: args.requiredString("annotation-domain"),
      teamLabel: args.requiredString("team-label"),
      onProgress: (note) => progress.update(++steps, undefined, note),
      command: context,
    });
  } finally {
    progress.stop();
  }
}

async function readFiles(
  ports: ScanPorts,
  args: ParsedArguments,
  { context, knowledgeBase }: ReadContext,
): Promise<ReadResult> {
  const paths = args.strings("files");
  if (paths.filter((path) => path === "-").length > 1)
    throw new UsageError("--files - can be given once", "slipway fleetscope scan");
  const open: OpenFilesOptions = {
    paths,
    cwd: context.cwd,
    includes: args.strings("include"),
    excludes: args.strings("exclude"),
    readInput: () => context.terminal.readInput(),
  };
  const builder = {
    knowledgeBase,
    annotationDomain: args.requiredString("annotation-domain"),
    teamLabel: args.requiredString("team-label"),
    signal: context.signal,
  };
  const progress = createProgress(context.terminal, { label: "Reading manifests" });
  try {
    const onProgress = (done: number, total: number, file: string): void => progress.update(done, total, file);
    const reading = await readManifests({ ...builder, source: ports.openFiles(open), onProgress });
    if (reading.objectCount === 0) throw noManifests(paths, reading.fileCount);
    const base = args.string("diff");
    const baseline =
      base === undefined
        ? undefined
        : await readManifests({ ...builder, source: ports.openBaseline({ ...open, base }), isLenient: true });
    const strangers =
      reading.strangerCount === 0
        ? []
        : [`${reading.strangerCount} documents are no Kubernetes objects and were not judged`];
    return {
      name: paths.map((path) => (path === "-" ? "standard input" : path)).join(", "),
      inventory: reading.inventory,
      baseline: baseline?.inventory,
      warnings: [
        ...reading.warnings,
        ...strangers,
        ...(baseline?.warnings ?? []).filter((text) => text.startsWith("left out")),
      ],
    };
  } finally {
    progress.stop();
  }
}

function noManifests(paths: readonly string[], fileCount: number): Error {
  const where = paths.map((path) => `"${path}"`).join(", ");
  const state =
    fileCount === 0
      ? "there is no file ending in .yaml, .yml or .json (see --include)"
      : "no document has `apiVersion` and `kind`";
  return fleetError("manifest_missing", `Cannot find manifests in ${where}: ${state}`);
}

interface Presentation {
  readonly context: CommandContext;
  readonly result: ScanResult;
  readonly input: ExportInput;
}

async function present(
  ports: ScanPorts,
  args: ParsedArguments,
  { context, result, input }: Presentation,
): Promise<void> {
  const { terminal } = context;
  const file = args.string("output-file");
  const key = args.string("explain");
  const style = createStyle(terminal.hasColor && file === undefined);
  const options: TableOptions = { paint: style, columns: terminal.columns, maxObjects: shownObjects };
  const format = args.requiredString("output");
  const exportFormat = parseExportFormat(format);
  const text =
    key !== undefined
      ? explain(input, key, options)
      : exportFormat === undefined
        ? renderTable(input, options)
        : renderExport(exportFormat, input);
  if (file === undefined) await terminal.write(text);
  else ports.writeFile(file, context.cwd, text);
  for (const { report, decision } of result.results) {
    if (!decision.isPassed) terminal.writeError(`fleetscope: gate failed for ${report.target}: ${decision.reason}\n`);
  }
}

function explain(input: ExportInput, key: string, options: TableOptions): string {
  const found = input.reports.flatMap((report) =>
    report.findings
      .filter((finding) => finding.key === key)
      .map((finding) => renderExplanation(report, finding, options)),
  );
  if (found.length > 0) return found.join("\n");
  const known = [...new Set(input.reports.flatMap((report) => report.findings.map((finding) => finding.key)))].sort();
  throw fleetError(
    "scan_input_invalid",
    `Cannot explain "${key}": no finding has this key${known.length === 0 ? "" : `; there are\n  ${known.join("\n  ")}`}`,
  );
}

function failOnOf(args: ParsedArguments): FailOn {
  const text = args.requiredString("fail-on");
  const choice = failOnChoices.find((candidate) => candidate === text);
  if (choice === undefined)
    throw new UsageError(`--fail-on is one of ${failOnChoices.join(", ")}`, "slipway fleetscope scan");
  return choice;
}

function readDate(text: string): string {
  if (isCalendarDate(text)) return text;
  throw new UsageError(`--date "${text}" is no day of the form YYYY-MM-DD`, "slipway fleetscope scan");
}
