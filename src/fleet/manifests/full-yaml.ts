/**
 * The general path: anything that YAML allows, by the `yaml` package. Its tokens are counted before it builds a tree,
 * the tree is charged to the budget before values are built from it, and an alias costs what it names, so a document
 * of a few lines that stands for millions of nodes ends here and not in memory.
 *
 * The schema is the one where every scalar stays text; merge keys (`<<`) are resolved as kubectl does.
 */
import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { maxNestingDepth } from "./limits.ts";
import { type DuplicateKey, detached, isNullText, ManifestMap, type ManifestNode } from "./manifest-node.ts";
import { type NodeBudget, sequenceEntryUnits } from "./node-budget.ts";
import { type Selection, selectField } from "./selection.ts";
import { findTokenExcess } from "./token-excess.ts";

export type YamlReading =
  | { readonly kind: "read"; readonly root: ManifestNode | undefined; readonly duplicates: readonly DuplicateKey[] }
  | { readonly kind: "invalid"; readonly line: number; readonly problem: string }
  | { readonly kind: "too-deep"; readonly line: number }
  | { readonly kind: "too-sparse"; readonly line: number }
  | { readonly kind: "over-budget"; readonly line: number };

export interface FullYamlOptions {
  readonly selection: Selection;
  readonly budget: NodeBudget;
  readonly firstLine: number;
}

/** What can stand in a tree; null where nothing was written. */
type Tree = Alias | Scalar | YAMLMap | YAMLSeq;

class Stop {
  readonly kind: "invalid" | "too-deep" | "too-sparse" | "over-budget";
  readonly offset: number;
  readonly problem: string;

  constructor(kind: Stop["kind"], offset: number, problem = "") {
    this.kind = kind;
    this.offset = offset;
    this.problem = problem;
  }
}

export function readFullYaml(text: string, options: FullYamlOptions): YamlReading {
  const lines = new LineCounter();
  const lineOf = (offset: number): number => options.firstLine + countLineFeeds(text, offset);
  try {
    const excess = findTokenExcess(text, options.budget.remaining);
    if (excess?.kind === "unbalanced") throw new Stop("invalid", excess.offset, "A bracket closes nothing");
    if (excess !== undefined) throw new Stop(excess.kind, excess.offset);
    const document = parseDocument(text, {
      schema: "failsafe",
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: "silent",
      lineCounter: lines,
    });
    const [error] = document.errors;
    if (error !== undefined) throw new Stop("invalid", error.pos[0], error.message);
    const root = document.contents;
    if (!isTree(root) || isEmptyScalar(root)) return { kind: "read", root: undefined, duplicates: [] };
    const anchors = new TreeMeter(options.budget).measure(root);
    const builder = new ValueBuilder(anchors, (offset) => options.firstLine + lines.linePos(offset).line - 1);
    const value = builder.build(root, options.selection);
    return { kind: "read", root: value, duplicates: builder.duplicates };
  } catch (failure) {
    if (failure instanceof RangeError) return { kind: "too-deep", line: options.firstLine };
    if (!(failure instanceof Stop)) throw failure;
    const line = lineOf(failure.offset);
    if (failure.kind === "invalid") return { kind: "invalid", line, problem: failure.problem };
    return { kind: failure.kind, line };
  }
}

/** Charges a tree to the budget and finds what each alias names. */
class TreeMeter {
  readonly #budget: NodeBudget;
  readonly #anchors = new Map<string, { readonly node: Tree; units: number | undefined }>();
  readonly #targets = new Map<Alias, Tree>();

  constructor(budget: NodeBudget) {
    this.#budget = budget;
  }

  /** @returns the node behind each alias */
  measure(root: Tree): ReadonlyMap<Alias, Tree> {
    this.#measure(root, 0);
    return this.#targets;
  }

  #charge(units: number, node: Tree): number {
    if (!this.#budget.charge(units)) throw new Stop("over-budget", offsetOf(node));
    return units;
  }

  #measure(node: Tree, depth: number): number {
    if (depth > maxNestingDepth) throw new Stop("too-deep", offsetOf(node));
    if (isAlias(node)) return this.#measureAlias(node);
    const anchor = node.anchor === undefined ? undefined : { node, units: undefined as number | undefined };
    if (anchor !== undefined && node.anchor !== undefined) this.#anchors.set(node.anchor, anchor);
    let units = this.#charge(1, node);
    if (isMap(node)) {
      for (const pair of node.items) units += this.#measurePair(pair, node, depth);
    } else if (isSeq(node)) {
      for (const item of node.items) {
        units += this.#charge(sequenceEntryUnits, node);
        units += isTree(item)
          ? this.#measure(item, depth + 1)
          : isPair(item)
            ? this.#measurePair(item, node, depth)
            : this.#charge(1, node);
      }
    }
    if (anchor !== undefined) anchor.units = units;
    return units;
  }

  #measurePair(pair: Pair, parent: Tree, depth: number): number {
    let units = isTree(pair.key) ? this.#measure(pair.key, depth + 1) : this.#charge(1, parent);
    units += isTree(pair.value) ? this.#measure(pair.value, depth + 1) : this.#charge(1, parent);
    return units;
  }

  #measureAlias(alias: Alias): number {
    const anchor = this.#anchors.get(alias.source);
    if (anchor === undefined) throw new Stop("invalid", offsetOf(alias), `The alias "${alias.source}" names no anchor`);
    if (anchor.units === undefined)
      throw new Stop("invalid", offsetOf(alias), `The alias "${alias.source}" names what it is part of`);
    this.#targets.set(alias, anchor.node);
    return this.#charge(anchor.units, alias);
  }
}

class ValueBuilder {
  readonly duplicates: DuplicateKey[] = [];
  readonly #targets: ReadonlyMap<Alias, Tree>;
  readonly #lineOf: (offset: number) => number;

  constructor(targets: ReadonlyMap<Alias, Tree>, lineOf: (offset: number) => number) {
    this.#targets = targets;
    this.#lineOf = lineOf;
  }

  build(node: Tree, selection: Selection): ManifestNode {
    if (isAlias(node)) {
      const target = this.#targets.get(node);
      return target === undefined ? null : this.build(target, selection);
    }
    if (isMap(node)) return this.#buildMap(node, selection);
    if (isSeq(node)) return node.items.map((item) => (isTree(item) ? this.build(item, selection) : null));
    return scalarValue(node);
  }

  #buildMap(node: YAMLMap, selection: Selection): ManifestMap {
    const map = new ManifestMap(this.#lineOf(offsetOf(node)));
    const merged: ManifestMap[] = [];
    for (const { key, value } of node.items) {
      const name = this.#keyText(key);
      if (name === undefined || !isTree(key)) continue;
      if (name === "<<" && isScalar(key) && key.type === "PLAIN") {
        if (isTree(value)) merged.push(...this.#mergeSources(value, selection));
        continue;
      }
      const inner = selectField(selection, name);
      if (inner === undefined) continue;
      const line = this.#lineOf(offsetOf(key));
      if (map.fields.has(name)) this.duplicates.push({ key: name, line });
      if (name === "apiVersion") map.apiVersionLine = line;
      map.fields.delete(name);
      map.fields.set(name, isTree(value) ? this.build(value, inner) : null);
    }
    for (const source of merged) mergeInto(map, source);
    return map;
  }

  #mergeSources(value: Tree, selection: Selection): ManifestMap[] {
    const target = isAlias(value) ? this.#targets.get(value) : value;
    if (target !== undefined && isMap(target)) return [this.#buildMap(target, selection)];
    if (target === undefined || !isSeq(target))
      throw new Stop("invalid", offsetOf(value), "A merge key needs a mapping");
    return target.items.flatMap((item) => (isTree(item) && !isSeq(item) ? this.#mergeSources(item, selection) : []));
  }

  #keyText(key: unknown): string | undefined {
    if (!isTree(key)) return "";
    const target = isAlias(key) ? this.#targets.get(key) : key;
    if (target === undefined || !isScalar(target)) return undefined;
    return detached(scalarText(target));
  }
}

function mergeInto(map: ManifestMap, source: ManifestMap): void {
  for (const [name, value] of source.fields) {
    if (map.fields.has(name)) continue;
    map.fields.set(name, value);
    if (name === "apiVersion") map.apiVersionLine = source.apiVersionLine;
  }
}

function scalarText(scalar: Scalar): string {
  if (scalar.type === "PLAIN") return scalar.source ?? "";
  return typeof scalar.value === "string" ? scalar.value : (scalar.source ?? "");
}

function scalarValue(scalar: Scalar): string | null {
  const text = scalarText(scalar);
  return scalar.type === "PLAIN" && isNullText(text) ? null : detached(text);
}

function isEmptyScalar(node: Tree): boolean {
  return (
    isScalar(node) &&
    node.type === "PLAIN" &&
    (node.source ?? "") === "" &&
    node.tag === undefined &&
    node.anchor === undefined
  );
}

function isTree(node: unknown): node is Tree {
  return isAlias(node) || isScalar(node) || isMap(node) || isSeq(node);
}

function isPair(node: unknown): node is Pair {
  return typeof node === "object" && node !== null && "key" in node && "value" in node && !isTree(node);
}

function offsetOf(node: Tree): number {
  return node.range?.[0] ?? 0;
}

function countLineFeeds(text: string, end: number): number {
  let count = 0;
  for (let position = text.indexOf("\n"); position >= 0 && position < end; position = text.indexOf("\n", position + 1))
    count += 1;
  return count;
}
