/**
 * What the general parser may be given. Its tokens are counted while they are made, before it builds anything from them:
 * every scalar and collection is at least one unit, every `-` four, and no node has more than one tag and one anchor.
 * Blank lines and comments cost the parser as much as nodes do, so they have a bound of their own.
 */
import { Lexer } from "yaml";
import { maxLayoutTokens, maxNestingDepth } from "./limits.ts";
import { sequenceEntryUnits } from "./node-budget.ts";

export interface TokenExcess {
  /** `unbalanced`: a bracket closes nothing. The parser would need time for each that follows. */
  readonly kind: "over-budget" | "too-deep" | "too-sparse" | "unbalanced";
  readonly offset: number;
}

interface Counts {
  units: number;
  marks: number;
  layout: number;
  flowDepth: number;
}

const documentMark = "\u0002";
const flowErrorMark = "\u0018";
const scalarMark = "\u001f";
/** A block inside a block begins further right, or is a sequence in a mapping: two levels for a column at most. */
const maxColumn = 2 * maxNestingDepth;

export function findTokenExcess(text: string, maxUnits: number): TokenExcess | undefined {
  const counts: Counts = { units: 0, marks: 0, layout: 0, flowDepth: 0 };
  let offset = 0;
  let lineStart = 0;
  let isScalarNext = false;
  for (const token of new Lexer().lex(text)) {
    // Marks for the parser stand for no character of the text.
    if (token === documentMark || token === flowErrorMark) continue;
    if (token === scalarMark) {
      counts.units += 1;
      isScalarNext = true;
      continue;
    }
    if (isScalarNext) isScalarNext = false;
    else {
      countToken(counts, token);
      const column = offset - lineStart;
      const isIndicator = token === "-" || token === "?";
      const isIndentation = column === 0 && counts.flowDepth === 0 && token.startsWith(" ");
      if ((isIndicator && column > maxColumn) || (isIndentation && token.length > maxColumn))
        return { kind: "too-deep", offset };
    }
    if (counts.flowDepth < 0) return { kind: "unbalanced", offset };
    if (counts.flowDepth > maxNestingDepth) return { kind: "too-deep", offset };
    if (counts.units > maxUnits || counts.marks > maxUnits) return { kind: "over-budget", offset };
    if (counts.layout > maxLayoutTokens) return { kind: "too-sparse", offset };
    offset += token.length;
    const lineFeed = token.lastIndexOf("\n");
    if (lineFeed >= 0) lineStart = offset - token.length + lineFeed + 1;
  }
  return undefined;
}

function countToken(counts: Counts, token: string): void {
  switch (token.charAt(0)) {
    case "[":
    case "{":
      counts.flowDepth += 1;
      counts.units += 1;
      return;
    case "]":
    case "}":
      counts.flowDepth -= 1;
      return;
    case "-":
      counts.units += sequenceEntryUnits;
      return;
    case "?":
    case "*":
    case '"':
    case "'":
      counts.units += 1;
      return;
    case ",":
    case ":":
      // Every other one has a node beside it; a text of nothing else has an end too.
      counts.units += 0.25;
      return;
    case "!":
    case "&":
      counts.marks += 1;
      return;
    case "#":
    case "\n":
    case "\r":
      counts.layout += 1;
      return;
    default:
      return;
  }
}
