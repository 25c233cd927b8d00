/**
 * Reads the YAML that people and tools write for Kubernetes: block mappings and sequences, plain and quoted scalars,
 * literal blocks, flow collections on one line. It runs once over the lines, checks the form of everything and builds
 * only what a selection names, which makes it many times faster than a general parser.
 *
 * It never guesses. Whatever it does not know with certainty (anchors, tags, odd indentation, escapes in keys, errors)
 * ends in `unsupported`, and the general parser decides. A property test holds the two to the same values, the same
 * lines and the same units of the node budget.
 */
import { type DuplicateKey, detached, isNullText, ManifestMap, type ManifestNode } from "./manifest-node.ts";
import { type NodeBudget, sequenceEntryUnits } from "./node-budget.ts";
import { type Selection, selectField } from "./selection.ts";

export type BlockReading =
  | { readonly kind: "read"; readonly root: ManifestNode | undefined; readonly duplicates: readonly DuplicateKey[] }
  | { readonly kind: "unsupported" }
  | { readonly kind: "over-budget"; readonly line: number };

/** Thrown and caught in this file only; it carries no stack, since it is no error. */
const unsupported = { signal: "unsupported" } as const;
const overBudget = { signal: "over-budget" } as const;

const maxDepth = 100;
const tab = 9;
const lineFeed = 10;
const carriageReturn = 13;
const space = 32;
const doubleQuote = 34;
const hash = 35;
const singleQuote = 39;
const comma = 44;
const dash = 45;
const colon = 58;
const greater = 62;
const bracketOpen = 91;
const backslash = 92;
const bracketClose = 93;
const braceOpen = 123;
const bar = 124;
const braceClose = 125;

/** Characters of keys that need no thought: letters, digits and `_ . / $ -`. */
const isKeyCode = codes(/[\w./$-]/);
/** First characters of a plain scalar that cannot be an indicator. */
const isPlainStart = codes(/[\w./$+=^()\\~;<]/);
/** Characters of plain scalars inside flow collections that need no thought. */
const isFlowPlainCode = codes(/[\w./$+=*()@-]/);
/** Single-character escapes of double quotes. */
const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  "\\": "\\",
  '"': '"',
  "/": "/",
  "0": "\0",
};

export interface BlockYamlOptions {
  readonly selection: Selection;
  readonly budget: NodeBudget;
  /** Line number of the first line of the text. */
  readonly firstLine: number;
}

export function readBlockYaml(text: string, options: BlockYamlOptions): BlockReading {
  const reader = new BlockYamlReader(text, options);
  try {
    return { kind: "read", root: reader.read(), duplicates: reader.duplicates };
  } catch (signal) {
    if (signal === overBudget) return { kind: "over-budget", line: reader.lineNumber };
    if (signal === unsupported) return { kind: "unsupported" };
    throw signal;
  }
}

class BlockYamlReader {
  readonly duplicates: DuplicateKey[] = [];
  readonly #text: string;
  readonly #selection: Selection;
  readonly #budget: NodeBudget;
  /** Line of the current significant line. */
  lineNumber: number;
  /** Column of its content, and where content and line end. */
  #indent = 0;
  #content = 0;
  #lineEnd = 0;
  /** Start of the line after it. */
  #next = 0;
  #isAtEnd = false;
  /** A comment line stood between this line and the one before. */
  #isAfterComment = false;
  #depth = 0;

  constructor(text: string, options: BlockYamlOptions) {
    this.#text = text;
    this.#selection = options.selection;
    this.#budget = options.budget;
    this.lineNumber = options.firstLine - 1;
  }

  read(): ManifestNode | undefined {
    this.#advance();
    if (this.#isAtEnd) return undefined;
    if (this.#indent !== 0 || !this.#isKeyAt(this.#content)) throw unsupported;
    const root = this.#readMap(0, this.#selection);
    if (!this.#isAtEnd) throw unsupported;
    return root;
  }

  #charge(units: number): void {
    if (!this.#budget.charge(units)) throw overBudget;
  }

  /** Moves to the next line that holds more than blanks or a comment. */
  #advance(): void {
    const text = this.#text;
    this.#isAfterComment = false;
    for (;;) {
      if (this.#next >= text.length) {
        this.#isAtEnd = true;
        this.#indent = -1;
        return;
      }
      const start = this.#next;
      let position = start;
      let code = text.charCodeAt(position);
      while (code === space) code = text.charCodeAt(++position);
      this.#endLine(position);
      if (position === this.#lineEnd) continue;
      if (code === hash) {
        this.#isAfterComment = true;
        continue;
      }
      if (code === tab || code === carriageReturn) throw unsupported;
      this.#indent = position - start;
      this.#content = position;
      return;
    }
  }

  /** Finds the end of the line that `position` is in and counts it. */
  #endLine(position: number): void {
    const text = this.#text;
    const found = text.indexOf("\n", position);
    const end = found < 0 ? text.length : found;
    this.#next = found < 0 ? end : end + 1;
    this.#lineEnd = found > position && text.charCodeAt(end - 1) === carriageReturn ? end - 1 : end;
    this.lineNumber += 1;
  }

  #isSequenceAt(position: number): boolean {
    if (this.#text.charCodeAt(position) !== dash) return false;
    return position + 1 >= this.#lineEnd || this.#text.charCodeAt(position + 1) === space;
  }

  /** Whether a key and its colon stand there. Keys that need thought are answered as no key. */
  #isKeyAt(position: number): boolean {
    const end = this.#findKeyEnd(position);
    return end > 0;
  }

  /** Position of the colon after the key, or -1. */
  #findKeyEnd(start: number): number {
    const text = this.#text;
    const lineEnd = this.#lineEnd;
    let position = start;
    const first = text.charCodeAt(position);
    if (first === doubleQuote || first === singleQuote) {
      position = this.#findQuoteEnd(position, first);
      if (position < 0) return -1;
    } else {
      if (first === dash) return -1;
      while (position < lineEnd && isKeyCode[text.charCodeAt(position)] === 1) position += 1;
      if (position === start) return -1;
    }
    if (position >= lineEnd || text.charCodeAt(position) !== colon) return -1;
    if (position + 1 === lineEnd || text.charCodeAt(position + 1) === space) return position;
    return -1;
  }

  /** Position after the closing quote on this line for a quoted text without escapes, else -1. */
  #findQuoteEnd(start: number, quote: number): number {
    const text = this.#text;
    for (let position = start + 1; position < this.#lineEnd; position += 1) {
      const code = text.charCodeAt(position);
      if (code === backslash && quote === doubleQuote) return -1;
      if (code !== quote) continue;
      return quote === singleQuote && text.charCodeAt(position + 1) === singleQuote ? -1 : position + 1;
    }
    return -1;
  }

  #readBlock(parentIndent: number, selection: Selection | undefined): ManifestNode {
    if (this.#isSequenceAt(this.#content)) return this.#readSequence(this.#indent, selection);
    if (this.#isKeyAt(this.#content)) return this.#readMap(this.#indent, selection);
    if (parentIndent >= this.#indent) throw unsupported;
    return this.#readScalar(this.#content, parentIndent, selection);
  }

  #readMap(indent: number, selection: Selection | undefined): ManifestNode {
    this.#enter();
    const map = selection === undefined ? undefined : new ManifestMap(this.lineNumber);
    while (this.#indent === indent) {
      const start = this.#content;
      const keyEnd = this.#findKeyEnd(start);
      if (keyEnd < 0) throw unsupported;
      this.#charge(1);
      if (map === undefined) {
        this.#readValue(keyEnd + 1, indent, undefined);
        continue;
      }
      const key = this.#keyText(start, keyEnd);
      const inner = selectField(selection, key);
      if (inner === undefined) {
        this.#readValue(keyEnd + 1, indent, undefined);
        continue;
      }
      if (map.fields.has(key)) this.duplicates.push({ key, line: this.lineNumber });
      if (key === "apiVersion") map.apiVersionLine = this.lineNumber;
      // Deleted first, so that the order of fields is the order of the keys that hold.
      map.fields.delete(key);
      map.fields.set(key, this.#readValue(keyEnd + 1, indent, inner));
    }
    if (this.#indent > indent) throw unsupported;
    this.#depth -= 1;
    return map ?? null;
  }

  #keyText(start: number, end: number): string {
    const first = this.#text.charCodeAt(start);
    const isQuoted = first === doubleQuote || first === singleQuote;
    return detached(isQuoted ? this.#text.slice(start + 1, end - 1) : this.#text.slice(start, end));
  }

  #enter(): void {
    this.#charge(1);
    this.#depth += 1;
    if (this.#depth > maxDepth) throw unsupported;
  }

  #readSequence(indent: number, selection: Selection | undefined): ManifestNode {
    this.#enter();
    const entries: ManifestNode[] | undefined = selection === undefined ? undefined : [];
    while (this.#indent === indent && this.#isSequenceAt(this.#content)) {
      this.#charge(sequenceEntryUnits);
      const entry = this.#readEntry(indent, selection);
      entries?.push(entry);
    }
    if (this.#indent > indent) throw unsupported;
    this.#depth -= 1;
    return entries ?? null;
  }

  #readEntry(indent: number, selection: Selection | undefined): ManifestNode {
    const text = this.#text;
    let position = this.#content + 1;
    while (position < this.#lineEnd && text.charCodeAt(position) === space) position += 1;
    if (position >= this.#lineEnd || text.charCodeAt(position) === hash) {
      this.#advance();
      return this.#indent > indent ? this.#readBlock(indent, selection) : this.#absent();
    }
    if (this.#isSequenceAt(position) || this.#isKeyAt(position)) {
      this.#indent += position - this.#content;
      this.#content = position;
      return this.#readBlock(indent, selection);
    }
    return this.#readScalar(position, indent, selection);
  }

  #absent(): null {
    this.#charge(1);
    return null;
  }

  /** The value behind a colon. */
  #readValue(afterColon: number, indent: number, selection: Selection | undefined): ManifestNode {
    const text = this.#text;
    let position = afterColon;
    while (position < this.#lineEnd && text.charCodeAt(position) === space) position += 1;
    if (position < this.#lineEnd && text.charCodeAt(position) !== hash) {
      return this.#readScalar(position, indent, selection);
    }
    this.#advance();
    if (this.#indent > indent) return this.#readBlock(indent, selection);
    if (this.#indent === indent && this.#isSequenceAt(this.#content)) return this.#readSequence(indent, selection);
    return this.#absent();
  }

  /** A value that begins on this line; afterwards the reader stands on the next significant line. */
  #readScalar(start: number, parentIndent: number, selection: Selection | undefined): ManifestNode {
    const code = this.#text.charCodeAt(start);
    if (code === doubleQuote || code === singleQuote) return this.#readQuoted(start, parentIndent, code, selection);
    if (code === bar || code === greater) return this.#readBlockScalar(start, parentIndent, selection);
    if (code === bracketOpen || code === braceOpen) return this.#readFlow(start, parentIndent, selection);
    return this.#readPlain(start, parentIndent, selection);
  }

  #readPlain(start: number, parentIndent: number, selection: Selection | undefined): ManifestNode {
    const text = this.#text;
    const first = text.charCodeAt(start);
    if (isPlainStart[first] !== 1 && !this.#isDashStart(start)) throw unsupported;
    this.#charge(1);
    const end = this.#findPlainEnd(start);
    const hasComment = end < this.#lineEnd && end >= 0 && this.#hasCommentAfter(end);
    this.#advance();
    if (this.#indent > parentIndent) {
      if (hasComment || this.#isAfterComment) throw unsupported;
      this.#skipPlainContinuation(parentIndent, selection);
      return null;
    }
    if (selection === undefined) return null;
    const value = text.slice(start, end);
    return isNullText(value) ? null : detached(value);
  }

  /** `-` begins a plain scalar when something other than a blank follows. */
  #isDashStart(start: number): boolean {
    return (
      this.#text.charCodeAt(start) === dash &&
      start + 1 < this.#lineEnd &&
      isKeyCode[this.#text.charCodeAt(start + 1)] === 1
    );
  }

  #hasCommentAfter(end: number): boolean {
    let position = end;
    while (this.#text.charCodeAt(position) === space) position += 1;
    return position < this.#lineEnd;
  }

  /** End of a plain scalar on this line without trailing blanks. */
  #findPlainEnd(start: number): number {
    const text = this.#text;
    const lineEnd = this.#lineEnd;
    let end = start;
    for (let position = start; position < lineEnd; position += 1) {
      const code = text.charCodeAt(position);
      if (code > colon) {
        end = position + 1;
      } else if (code === space) {
        // Blanks count only when something follows.
      } else if (code === colon) {
        const after = text.charCodeAt(position + 1);
        if (position + 1 === lineEnd || after === space || after === tab) throw unsupported;
        end = position + 1;
      } else if (code === hash && text.charCodeAt(position - 1) === space) {
        return end;
      } else if (code < space) {
        throw unsupported;
      } else {
        end = position + 1;
      }
    }
    return end;
  }

  /** Further lines of a plain scalar that no rule reads; one that is read goes to the general parser. */
  #skipPlainContinuation(parentIndent: number, selection: Selection | undefined): void {
    if (selection !== undefined) throw unsupported;
    while (this.#indent > parentIndent) {
      if (this.#isAfterComment) throw unsupported;
      const end = this.#findPlainEnd(this.#content);
      if (this.#hasCommentAfter(end)) throw unsupported;
      this.#advance();
    }
  }

  #readQuoted(start: number, parentIndent: number, quote: number, selection: Selection | undefined): ManifestNode {
    this.#charge(1);
    const closing = this.#findClosingQuote(start, quote);
    if (closing < 0) {
      if (selection !== undefined) throw unsupported;
      this.#skipQuotedLines(parentIndent, quote);
      return null;
    }
    const value = selection === undefined ? null : detached(this.#quotedText(start + 1, closing, quote));
    this.#assertOnlyCommentAfter(closing + 1);
    this.#advance();
    if (this.#indent > parentIndent) throw unsupported;
    return value;
  }

  /** Position of the closing quote on the current line, or -1 when the text goes on. Escapes are checked. */
  #findClosingQuote(from: number, quote: number): number {
    const text = this.#text;
    for (let position = from + 1; position < this.#lineEnd; position += 1) {
      const code = text.charCodeAt(position);
      if (code === quote) {
        if (quote === doubleQuote || text.charCodeAt(position + 1) !== singleQuote) return position;
        position += 1;
      } else if (code === backslash && quote === doubleQuote) {
        position += 1;
        if (position >= this.#lineEnd || escapes[text.charAt(position)] === undefined) throw unsupported;
      } else if (code < space && code !== tab) {
        throw unsupported;
      }
    }
    return -1;
  }

  #skipQuotedLines(parentIndent: number, quote: number): void {
    for (;;) {
      if (this.#next >= this.#text.length) throw unsupported;
      const start = this.#next;
      let position = start;
      while (this.#text.charCodeAt(position) === space) position += 1;
      this.#endLine(position);
      if (position === this.#lineEnd) continue;
      if (position - start <= parentIndent) throw unsupported;
      // One before: the search begins behind the position that it is given.
      const closing = this.#findClosingQuote(position - 1, quote);
      if (closing < 0) continue;
      this.#assertOnlyCommentAfter(closing + 1);
      this.#advance();
      if (this.#indent > parentIndent) throw unsupported;
      return;
    }
  }

  #quotedText(start: number, end: number, quote: number): string {
    const raw = this.#text.slice(start, end);
    if (quote === singleQuote) return raw.includes("'") ? raw.replaceAll("''", "'") : raw;
    if (!raw.includes("\\")) return raw;
    return raw.replace(/\\(.)/g, (_match, mark: string) => escapes[mark] ?? "");
  }

  #assertOnlyCommentAfter(start: number): void {
    let position = start;
    while (position < this.#lineEnd && this.#text.charCodeAt(position) === space) position += 1;
    if (position === this.#lineEnd) return;
    if (this.#text.charCodeAt(position) !== hash || position === start) throw unsupported;
  }

  #readBlockScalar(start: number, parentIndent: number, selection: Selection | undefined): ManifestNode {
    this.#charge(1);
    const text = this.#text;
    let position = start + 1;
    const mark = text.charAt(position);
    const chomping = mark === "-" || mark === "+" ? mark : "";
    if (chomping !== "") position += 1;
    this.#assertOnlyCommentAfter(position);
    const isFolded = text.charCodeAt(start) === greater;
    if (isFolded && selection !== undefined) throw unsupported;
    const lines = this.#readBlockLines(parentIndent, selection !== undefined);
    this.#advance();
    if (this.#indent > parentIndent) throw unsupported;
    return lines === undefined ? null : chomp(lines, chomping);
  }

  /** Lines of a literal block without their indentation; undefined when they are not wanted. */
  #readBlockLines(parentIndent: number, isWanted: boolean): string[] | undefined {
    const text = this.#text;
    const lines: string[] | undefined = isWanted ? [] : undefined;
    let indent = -1;
    let blankIndent = 0;
    while (this.#next < text.length) {
      const start = this.#next;
      let position = start;
      let code = text.charCodeAt(position);
      // A line of the block is known by its indentation; what follows is content, blanks included.
      while (code === space && (indent < 0 || position - start < indent)) code = text.charCodeAt(++position);
      const column = position - start;
      const isBlank =
        position >= text.length ||
        code === lineFeed ||
        (code === carriageReturn && text.charCodeAt(position + 1) === lineFeed);
      if (isBlank) {
        if (indent < 0) blankIndent = Math.max(blankIndent, column);
        lines?.push("");
      } else {
        if (code === tab && (indent < 0 || column < indent)) throw unsupported;
        if (column <= parentIndent) return lines;
        if (indent < 0) {
          indent = column;
          if (blankIndent > indent) throw unsupported;
        } else if (column < indent) {
          throw unsupported;
        }
      }
      this.#endLine(position);
      if (lines !== undefined && !isBlank) {
        const line = text.slice(start + indent, this.#lineEnd);
        if (line.includes("\r")) throw unsupported;
        lines.push(line);
      }
    }
    return lines;
  }

  /** A flow collection that ends on this line. */
  #readFlow(start: number, parentIndent: number, selection: Selection | undefined): ManifestNode {
    const flow = new FlowReader(
      this.#text,
      this.#lineEnd,
      this.lineNumber,
      (units) => this.#charge(units),
      this.duplicates,
    );
    const value = flow.read(start, selection, this.#depth);
    this.#assertOnlyCommentAfter(flow.position);
    this.#advance();
    if (this.#indent > parentIndent) throw unsupported;
    return value;
  }
}

/** Clip, strip or keep the line feeds at the end of a literal block. */
function chomp(lines: string[], chomping: string): string {
  let end = lines.length;
  while (end > 0 && lines[end - 1] === "") end -= 1;
  const content = lines.slice(0, end).join("\n");
  if (chomping === "-") return content;
  if (chomping === "+") return end === 0 ? "\n".repeat(lines.length) : content + "\n".repeat(lines.length - end + 1);
  return end === 0 ? "" : `${content}\n`;
}

/** Flow collections of plain words, quoted texts and further collections, all on one line. */
class FlowReader {
  position = 0;
  readonly #text: string;
  readonly #lineEnd: number;
  readonly #lineNumber: number;
  readonly #charge: (units: number) => void;
  readonly #duplicates: DuplicateKey[];

  constructor(
    text: string,
    lineEnd: number,
    lineNumber: number,
    charge: (units: number) => void,
    duplicates: DuplicateKey[],
  ) {
    this.#text = text;
    this.#lineEnd = lineEnd;
    this.#lineNumber = lineNumber;
    this.#charge = charge;
    this.#duplicates = duplicates;
  }

  read(start: number, selection: Selection | undefined, depth: number): ManifestNode {
    this.position = start;
    if (depth > maxDepth) throw unsupported;
    const code = this.#code();
    if (code === bracketOpen) return this.#readList(selection, depth);
    if (code === braceOpen) return this.#readMap(selection, depth);
    this.#charge(1);
    const isQuoted = code === doubleQuote || code === singleQuote;
    const value = this.#readText();
    if (selection === undefined) return null;
    return !isQuoted && isNullText(value) ? null : detached(value);
  }

  #readList(selection: Selection | undefined, depth: number): ManifestNode {
    this.#charge(1);
    this.position += 1;
    const entries: ManifestNode[] = [];
    this.#skipBlanks();
    while (this.#code() !== bracketClose) {
      this.#charge(sequenceEntryUnits);
      const entry = this.read(this.position, selection, depth + 1);
      if (selection !== undefined) entries.push(entry);
      this.#endEntry(bracketClose);
    }
    this.position += 1;
    return selection === undefined ? null : entries;
  }

  #readMap(selection: Selection | undefined, depth: number): ManifestNode {
    this.#charge(1);
    this.position += 1;
    const map = new ManifestMap(this.#lineNumber);
    this.#skipBlanks();
    while (this.#code() !== braceClose) {
      this.#charge(1);
      const key = this.#readText();
      if (this.#code() !== colon || this.#text.charCodeAt(this.position + 1) !== space) throw unsupported;
      this.position += 1;
      this.#skipBlanks();
      const inner = selectField(selection, key);
      const value = this.read(this.position, inner, depth + 1);
      if (inner !== undefined) this.#setField(map, detached(key), value);
      this.#endEntry(braceClose);
    }
    this.position += 1;
    return selection === undefined ? null : map;
  }

  #setField(map: ManifestMap, key: string, value: ManifestNode): void {
    if (map.fields.has(key)) this.#duplicates.push({ key, line: this.#lineNumber });
    if (key === "apiVersion") map.apiVersionLine = this.#lineNumber;
    map.fields.delete(key);
    map.fields.set(key, value);
  }

  /** A comma or the end; a comma before the end is left to the general parser. */
  #endEntry(closing: number): void {
    this.#skipBlanks();
    if (this.#code() === closing) return;
    if (this.#code() !== comma) throw unsupported;
    this.position += 1;
    this.#skipBlanks();
    if (this.#code() === closing) throw unsupported;
  }

  #readText(): string {
    const text = this.#text;
    const start = this.position;
    const first = this.#code();
    let position = start;
    if (first === doubleQuote || first === singleQuote) {
      for (position = start + 1; position < this.#lineEnd; position += 1) {
        const code = text.charCodeAt(position);
        if (code === backslash || code < space) throw unsupported;
        if (code === first) break;
      }
      if (position >= this.#lineEnd || text.charCodeAt(position + 1) === first) throw unsupported;
      this.position = position + 1;
      return text.slice(start + 1, position);
    }
    while (position < this.#lineEnd && isFlowPlainCode[text.charCodeAt(position)] === 1) position += 1;
    if (position === start || isPlainStart[first] !== 1) throw unsupported;
    this.position = position;
    const after = this.#code();
    // Anything but the end of the entry means that the text goes on in a way this reader does not know.
    if (after !== comma && after !== bracketClose && after !== braceClose && after !== space && after !== colon)
      throw unsupported;
    return text.slice(start, position);
  }

  #skipBlanks(): void {
    while (this.#code() === space) this.position += 1;
    if (this.position >= this.#lineEnd) throw unsupported;
  }

  #code(): number {
    return this.position < this.#lineEnd ? this.#text.charCodeAt(this.position) : -1;
  }
}

function codes(pattern: RegExp): Uint8Array {
  const table = new Uint8Array(65_536);
  for (let code = 0; code < 128; code += 1) if (pattern.test(String.fromCharCode(code))) table[code] = 1;
  return table;
}
