/**
 * Reads one JSON value as the manifest reader needs it: charged to the node budget value by value, with the lines of its
 * `apiVersion` keys, building only what is selected. `JSON.parse` could do neither.
 */

import { maxNestingDepth } from "./limits.ts";
import { type DuplicateKey, detached, ManifestMap, type ManifestNode } from "./manifest-node.ts";
import { type NodeBudget, sequenceEntryUnits } from "./node-budget.ts";
import { type Selection, selectField } from "./selection.ts";

export type JsonReading =
  | { readonly kind: "read"; readonly root: ManifestNode; readonly duplicates: readonly DuplicateKey[] }
  | { readonly kind: "invalid"; readonly line: number; readonly expected: string }
  | { readonly kind: "too-deep"; readonly line: number }
  | { readonly kind: "over-budget"; readonly line: number };

export interface JsonOptions {
  readonly selection: Selection;
  readonly budget: NodeBudget;
  readonly firstLine: number;
}

/** Reads a text that is one JSON value with white space around it. */
export function readJson(text: string, options: JsonOptions): JsonReading {
  const reader = new JsonReader(text, options);
  try {
    const root = reader.read();
    return { kind: "read", root, duplicates: reader.duplicates };
  } catch (failure) {
    if (!(failure instanceof Stop)) throw failure;
    const { line } = reader;
    if (failure.kind === "invalid") return { kind: "invalid", line, expected: failure.expected };
    return { kind: failure.kind, line };
  }
}

class Stop {
  readonly kind: "invalid" | "too-deep" | "over-budget";
  readonly expected: string;

  constructor(kind: "invalid" | "too-deep" | "over-budget", expected = "") {
    this.kind = kind;
    this.expected = expected;
  }
}

const quote = 34;
const backslash = 92;
const wordPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

class JsonReader {
  readonly duplicates: DuplicateKey[] = [];
  line: number;
  readonly #text: string;
  readonly #selection: Selection;
  readonly #budget: NodeBudget;
  #position = 0;

  constructor(text: string, options: JsonOptions) {
    this.#text = text;
    this.#selection = options.selection;
    this.#budget = options.budget;
    this.line = options.firstLine;
  }

  read(): ManifestNode {
    this.#skipSpace();
    const root = this.#readValue(this.#selection, 0);
    this.#skipSpace();
    if (this.#position < this.#text.length) throw new Stop("invalid", "the end of the value");
    return root;
  }

  #charge(units: number): void {
    if (!this.#budget.charge(units)) throw new Stop("over-budget");
  }

  #skipSpace(): void {
    const text = this.#text;
    for (;;) {
      const code = text.charCodeAt(this.#position);
      if (code === 10) this.line += 1;
      else if (code !== 32 && code !== 9 && code !== 13) return;
      this.#position += 1;
    }
  }

  #readValue(selection: Selection | undefined, depth: number): ManifestNode {
    if (depth > maxNestingDepth) throw new Stop("too-deep");
    this.#charge(1);
    switch (this.#text.charAt(this.#position)) {
      case "{":
        return this.#readObject(selection, depth);
      case "[":
        return this.#readArray(selection, depth);
      case '"':
        return this.#readString(selection !== undefined);
      default:
        return this.#readWord(selection);
    }
  }

  #readObject(selection: Selection | undefined, depth: number): ManifestNode {
    this.#position += 1;
    this.#skipSpace();
    const map = selection === undefined ? undefined : new ManifestMap(this.line);
    while (!this.#takes("}")) {
      this.#charge(1);
      if (this.#text.charCodeAt(this.#position) !== quote) throw new Stop("invalid", "a key in double quotes");
      const { line } = this;
      const key = this.#readString(map !== undefined);
      this.#skipSpace();
      if (!this.#takes(":")) throw new Stop("invalid", '":"');
      this.#skipSpace();
      const inner = map === undefined || key === null ? undefined : selectField(selection, key);
      const value = this.#readValue(inner, depth + 1);
      if (map !== undefined && key !== null && inner !== undefined) this.#setField(map, key, value, line);
      this.#endEntry("}");
    }
    return map ?? null;
  }

  #setField(map: ManifestMap, key: string, value: ManifestNode, line: number): void {
    if (map.fields.has(key)) this.duplicates.push({ key, line });
    if (key === "apiVersion") map.apiVersionLine = line;
    map.fields.delete(key);
    map.fields.set(key, value);
  }

  #readArray(selection: Selection | undefined, depth: number): ManifestNode {
    this.#position += 1;
    this.#skipSpace();
    const entries: ManifestNode[] | undefined = selection === undefined ? undefined : [];
    while (!this.#takes("]")) {
      this.#charge(sequenceEntryUnits);
      const entry = this.#readValue(selection, depth + 1);
      entries?.push(entry);
      this.#endEntry("]");
    }
    return entries ?? null;
  }

  #endEntry(closing: string): void {
    this.#skipSpace();
    if (this.#text.charAt(this.#position) === closing) return;
    if (!this.#takes(",")) throw new Stop("invalid", `"," or "${closing}"`);
    this.#skipSpace();
    if (this.#text.charAt(this.#position) === closing) throw new Stop("invalid", "another entry after the comma");
  }

  #takes(character: string): boolean {
    if (this.#text.charAt(this.#position) !== character) return false;
    this.#position += 1;
    return true;
  }

  #readString(isWanted: boolean): string | null {
    const text = this.#text;
    const start = this.#position;
    let hasEscape = false;
    let position = start + 1;
    for (; ; position += 1) {
      const code = text.charCodeAt(position);
      if (code === quote) break;
      if (code === backslash) {
        hasEscape = true;
        position += 1;
      } else if (!(code >= 32)) {
        // Control characters, and NaN behind the end of the text.
        throw new Stop("invalid", "the closing quote of a text");
      }
    }
    this.#position = position + 1;
    if (!hasEscape) return isWanted ? detached(text.slice(start + 1, position)) : null;
    return this.#unescape(text.slice(start, position + 1));
  }

  #unescape(literal: string): string {
    try {
      return String(JSON.parse(literal));
    } catch {
      throw new Stop("invalid", "a valid escape in a text");
    }
  }

  #readWord(selection: Selection | undefined): ManifestNode {
    wordPattern.lastIndex = this.#position;
    const word = wordPattern.exec(this.#text)?.[0];
    if (word === undefined || word === "") throw new Stop("invalid", "a value");
    this.#position += word.length;
    return selection === undefined || word === "null" ? null : word;
  }
}
