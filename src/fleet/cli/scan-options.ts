import type { CommandExample, OptionSpec } from "../../platform/cli/command.ts";
import { exportFormats } from "../exports/render-export.ts";
import { defaultAnnotationDomain, defaultTeamLabel } from "../manifests/inventory-builder.ts";
import { failOnChoices } from "../service/judge.ts";

export const outputChoices: readonly string[] = ["table", ...exportFormats];

export const scanOptions: Readonly<Record<string, OptionSpec>> = {
  files: {
    kind: "string",
    isRepeatable: true,
    alias: "f",
    valueName: "PATH",
    description: "Manifests: a file, a folder, or - for standard input; without it a live cluster is scanned",
  },
  target: {
    kind: "string",
    isRepeatable: true,
    alias: "t",
    isRequired: true,
    valueName: "MINOR",
    description: "Kubernetes minor to judge against, such as 1.36; several are shown side by side",
  },
  output: { kind: "string", alias: "o", choices: outputChoices, default: "table", description: "Format of the report" },
  "output-file": {
    kind: "string",
    valueName: "FILE",
    description: "Write the report there instead of standard output",
  },
  "fail-on": { kind: "string", choices: failOnChoices, default: "blocker", description: "What makes the exit code 2" },
  "allow-incomplete": {
    kind: "boolean",
    description: "Pass although something that is needed for a verdict could not be seen",
  },
  config: {
    kind: "string",
    valueName: "FILE",
    description: "YAML with `ignore` rules: what is accepted, why, until when",
  },
  "team-map": {
    kind: "string",
    valueName: "FILE",
    description: "YAML list of `pattern` and `team`: who owns which namespace",
  },
  "team-label": {
    kind: "string",
    default: defaultTeamLabel,
    valueName: "LABEL",
    description: "Label of a namespace that names its team",
  },
  include: {
    kind: "string",
    isRepeatable: true,
    valueName: "GLOB",
    description: "Files of a folder to read (default: *.yaml, *.yml and *.json)",
  },
  exclude: { kind: "string", isRepeatable: true, valueName: "GLOB", description: "Files of a folder to leave out" },
  diff: {
    kind: "string",
    valueName: "BASE",
    description: "Report only what is new against another folder, or against the same paths at a git reference",
  },
  explain: { kind: "string", valueName: "KEY", description: "Show one finding with all its objects and sources" },
  "annotation-domain": {
    kind: "string",
    default: defaultAnnotationDomain,
    valueName: "DOMAIN",
    description: "Prefix of the annotations `ignore` and `ignore-reason` on objects",
  },
  "registry-dir": {
    kind: "string",
    valueName: "DIR",
    description: "Folder of JSON files that add facts to the built-in ones",
  },
  date: { kind: "string", valueName: "YYYY-MM-DD", description: "Day to judge on instead of today" },
  kubeconfig: {
    kind: "string",
    valueName: "FILE",
    description:
      "Kubeconfig of the live cluster (default: $KUBECONFIG or ~/.kube/config); with --files, the cluster that they go to",
  },
  context: {
    kind: "string",
    valueName: "NAME",
    description: "Context of the kubeconfig; with --files, the cluster that they go to",
  },
};

export const scanExamples: readonly CommandExample[] = [
  { command: "fleetscope scan --files k8s/ --target 1.36", description: "What in a folder breaks at the next minor" },
  {
    command: "helm template shop | fleetscope scan --files - --target 1.36",
    description: "A chart before it is installed",
  },
  {
    command: "fleetscope scan --files k8s/ --target 1.36 --diff main -o markdown",
    description: "What a branch brings in, as a comment",
  },
  {
    command: "fleetscope scan --target 1.35 --target 1.36",
    description: "The cluster of the current context, two targets side by side",
  },
];

export const scanExitCodes: Readonly<Record<number, string>> = {
  0: "ready: the gate passed",
  1: "error: nothing was judged",
  2: "the gate failed",
};
