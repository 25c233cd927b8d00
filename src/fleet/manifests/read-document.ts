/**
 * Text of one document → its objects. JSON is read as JSON, plain YAML by the fast reader, everything else by the
 * general parser; which of them ran cannot be told from the result.
 */
import { readBlockYaml } from "./block-yaml.ts";
import { readFullYaml } from "./full-yaml.ts";
import { readJson } from "./json-text.ts";
import { maxLayoutTokens, maxNestingDepth } from "./limits.ts";
import type { DuplicateKey, ManifestNode } from "./manifest-node.ts";
import type { NodeBudget } from "./node-budget.ts";
import { objectSelection } from "./object-selection.ts";
import type { Selection } from "./selection.ts";

export type DocumentReading =
  | { readonly kind: "read"; readonly root: ManifestNode | undefined; readonly duplicates: readonly DuplicateKey[] }
  | { readonly kind: "refused"; readonly line: number; readonly reason: RefusalReason; readonly problem: string };

export type RefusalReason = "syntax" | "limit";

export interface DocumentOptions {
  readonly budget: NodeBudget;
  /** Line of the first line of the text in its file. */
  readonly firstLine: number;
  readonly selection?: Selection;
}

export function readDocument(text: string, options: DocumentOptions): DocumentReading {
  const { budget, firstLine, selection = objectSelection } = options;
  const used = budget.used;
  if (beginsLikeJson(text)) {
    const json = readJson(text, { selection, budget, firstLine });
    if (json.kind === "read") return json;
    if (json.kind === "over-budget") return overBudget(json.line, budget);
    if (json.kind === "too-deep") return tooDeep(json.line);
    // Flow mappings of YAML begin the same way.
    budget.restore(used);
    const yaml = readFullYaml(text, { selection, budget, firstLine });
    if (yaml.kind === "invalid") return syntax(json.line, text, `it is no JSON: ${json.expected} is missing`);
    return fromYaml(yaml, text, budget);
  }
  const block = readBlockYaml(text, { selection, budget, firstLine });
  if (block.kind === "read") return block;
  if (block.kind === "over-budget") return overBudget(block.line, budget);
  budget.restore(used);
  return fromYaml(readFullYaml(text, { selection, budget, firstLine }), text, budget);
}

function fromYaml(reading: ReturnType<typeof readFullYaml>, text: string, budget: NodeBudget): DocumentReading {
  switch (reading.kind) {
    case "read":
      return reading;
    case "over-budget":
      return overBudget(reading.line, budget);
    case "too-deep":
      return tooDeep(reading.line);
    case "too-sparse":
      return tooSparse(reading.line);
    case "invalid":
      return isOnlyDirectives(text)
        ? { kind: "read", root: undefined, duplicates: [] }
        : syntax(reading.line, text, `it is no YAML: ${lowerFirst(reading.problem)}`);
  }
}

function overBudget(line: number, budget: NodeBudget): DocumentReading {
  const problem = `it has more than ${budget.limit} nodes (a node counts 1, a sequence entry 4 more, an alias what it names)`;
  return { kind: "refused", line, reason: "limit", problem };
}

function tooDeep(line: number): DocumentReading {
  return { kind: "refused", line, reason: "limit", problem: `it nests deeper than ${maxNestingDepth} levels` };
}

function tooSparse(line: number): DocumentReading {
  const problem = `it has more than ${maxLayoutTokens} line ends and comments outside of texts`;
  return { kind: "refused", line, reason: "limit", problem };
}

function syntax(line: number, text: string, problem: string): DocumentReading {
  const isTemplate = /\{\{-?\s*[$.\w"/(]/.test(text);
  const hint = isTemplate
    ? "; it looks like an unrendered template: render it first, for example by `helm template`"
    : "";
  return { kind: "refused", line, reason: "syntax", problem: `${problem}${hint}` };
}

/** A `%YAML` line is cut off from its document by the `---` behind it. */
function isOnlyDirectives(text: string): boolean {
  return text.split("\n").every((line) => /^\s*$|^%|^\s*#/.test(line));
}

const startPattern = /^\s*\{/;

function beginsLikeJson(text: string): boolean {
  return startPattern.test(text);
}

function lowerFirst(text: string): string {
  const [line = ""] = text.split("\n");
  return line.charAt(0).toLowerCase() + line.slice(1);
}
