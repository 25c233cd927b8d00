/**
 * SARIF 2.1.0, for code scanning. A run for each target; a rule for each finding key, a result for each place. Findings
 * without a file have no place in a repository, so they are told as notifications of the run: services that show
 * results refuse those without a location.
 */
import { createHash } from "node:crypto";
import {
  type ExportInput,
  type Finding,
  gapText,
  messageOf,
  type ObjectRef,
  type Report,
  type Suppressed,
  untitledCount,
  urlOf,
} from "./export-input.ts";

/** Services refuse a run with more. */
export const maxSarifResults = 25_000;
const schemaUrl =
  "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/main/sarif-2.1/schema/sarif-schema-2.1.0.json";
const informationUrl = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/";

type Level = "error" | "warning" | "note";

export function renderSarif(input: ExportInput): string {
  return `${JSON.stringify({ $schema: schemaUrl, version: "2.1.0", runs: input.reports.map((report) => renderRun(input, report)) }, null, 2)}\n`;
}

function renderRun(input: ExportInput, report: Report): object {
  const all: readonly (Finding | Suppressed)[] = [...report.findings, ...report.suppressed];
  const ruleIndexes = new Map<string, number>();
  for (const finding of all) if (!ruleIndexes.has(finding.key)) ruleIndexes.set(finding.key, ruleIndexes.size);
  const rules = [...ruleIndexes.keys()].map((key) => renderRule(all.find((finding) => finding.key === key)));
  const located = all.flatMap((finding) =>
    finding.objects.filter((object) => object.file !== undefined).map((object) => ({ finding, object })),
  );
  const fingerprints = new FingerprintMaker(report.target);
  const results = located
    .slice(0, maxSarifResults)
    .map(({ finding, object }) => renderResult({ input, finding, object, ruleIndexes, fingerprints }));
  const omitted =
    Math.max(0, located.length - maxSarifResults) + all.reduce((sum, finding) => sum + finding.objectsOmitted, 0);
  return {
    tool: { driver: { name: "fleetscope", version: input.toolVersion, informationUri: informationUrl, rules } },
    automationDetails: { id: `fleetscope/${report.target}/` },
    invocations: [{ executionSuccessful: true, toolExecutionNotifications: renderNotifications(report) }],
    results,
    properties: {
      target: report.target,
      kbVersion: report.kbVersion,
      ready: report.ready,
      verdict: report.verdict,
      score: report.score,
      findings: report.findings.length,
      omittedFindings: omitted,
    },
  };
}

function renderRule(finding: Finding | undefined): object {
  if (finding === undefined) return {};
  const fix = finding.remediation ?? "See the sources for what to do.";
  const sources = finding.citations.map((citation) => `- ${citation}`).join("\n");
  const [help] = finding.citations.flatMap((citation) => urlOf(citation) ?? []);
  return {
    id: finding.key,
    name: finding.rule,
    shortDescription: { text: untitledCount(finding.title) },
    fullDescription: { text: finding.detail },
    help: {
      text: `${finding.detail}\n${fix}`,
      markdown: `${finding.detail}\n\n**Fix:** ${fix}${sources === "" ? "" : `\n\n**Sources:**\n${sources}`}`,
    },
    ...(help === undefined ? {} : { helpUri: help }),
    defaultConfiguration: { level: levelOf(finding) },
    properties: { tags: ["kubernetes", "upgrade", finding.category], phase: finding.phase },
  };
}

interface ResultInput {
  readonly input: ExportInput;
  readonly finding: Finding | Suppressed;
  readonly object: ObjectRef;
  readonly ruleIndexes: ReadonlyMap<string, number>;
  readonly fingerprints: FingerprintMaker;
}

function renderResult({ input, finding, object, ruleIndexes, fingerprints }: ResultInput): object {
  return {
    ruleId: finding.key,
    ruleIndex: ruleIndexes.get(finding.key),
    level: levelOf(finding),
    message: { text: messageOf(finding, object) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: encodePath(`${input.pathPrefix ?? ""}${object.file ?? ""}`) },
          region: { startLine: Math.max(1, object.line ?? 1) },
        },
        logicalLocations: [
          { name: object.name, kind: "resource", fullyQualifiedName: `${object.namespace ?? ""}/${object.name}` },
        ],
      },
    ],
    partialFingerprints: { "fleetscope/v1": fingerprints.make(finding, object) },
    ...(finding.baselineState === undefined ? {} : { baselineState: finding.baselineState }),
    ...("suppressedBy" in finding ? { suppressions: [{ kind: "external", justification: finding.reason }] } : {}),
  };
}

function renderNotifications(report: Report): object[] {
  const unlocated = report.findings
    .filter((finding) => finding.objects.every((object) => object.file === undefined))
    .map((finding) => ({
      level: levelOf(finding),
      message: { text: messageOf(finding, undefined) },
      descriptor: { id: finding.key },
    }));
  const gaps = report.notAssessed.map((gap) => ({
    level: gap.required === true ? "error" : "note",
    message: { text: `Not assessed: ${gap.capability}: ${gapText(gap)}` },
    descriptor: { id: `not-assessed/${gap.capability}` },
  }));
  return [...unlocated, ...gaps];
}

function levelOf({ severity }: Finding): Level {
  return severity === "blocker" ? "error" : severity === "warning" ? "warning" : "note";
}

/** Relative references: separators stay, everything else is encoded. */
function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** Fingerprints outlive a moved line; what would collide is numbered in the order of the report. */
export class FingerprintMaker {
  readonly #seen = new Map<string, number>();
  readonly #salt: string;

  /** @param salt tells runs apart that share one list; empty for none */
  constructor(salt = "") {
    this.#salt = salt;
  }

  make(finding: Pick<Finding, "key">, object: Pick<ObjectRef, "namespace" | "name" | "file"> | undefined): string {
    const parts = [finding.key, object?.file ?? "", object?.namespace ?? "", object?.name ?? ""];
    const identity = (this.#salt === "" ? parts : [...parts, this.#salt]).join("\0");
    const count = (this.#seen.get(identity) ?? 0) + 1;
    this.#seen.set(identity, count);
    return createHash("sha256")
      .update(count === 1 ? identity : `${identity}\0${count}`)
      .digest("hex");
  }
}
