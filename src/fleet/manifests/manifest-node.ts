/**
 * A document as far as the rules look at it. Scalars stay the text that was written (`1.10` is not a number here, a
 * chart version must not lose its zero); a plain `null`, `~` or nothing is null. What no rule reads is checked for form
 * and then dropped, so that memory follows what is of interest and not what was sent.
 */
export type ManifestNode = string | null | readonly ManifestNode[] | ManifestMap;

export class ManifestMap {
  readonly fields = new Map<string, ManifestNode>();
  /** Line of the key `apiVersion`, from 1; 0 without one. */
  apiVersionLine = 0;
  /** Line of the first key, from 1. */
  readonly line: number;

  constructor(line: number) {
    this.line = line;
  }

  text(name: string): string | undefined {
    const value = this.fields.get(name);
    return typeof value === "string" ? value : undefined;
  }

  map(name: string): ManifestMap | undefined {
    const value = this.fields.get(name);
    return value instanceof ManifestMap ? value : undefined;
  }

  list(name: string): readonly ManifestNode[] {
    const value = this.fields.get(name);
    return isList(value) ? value : [];
  }

  /** The map behind a path of keys. */
  at(...path: readonly string[]): ManifestMap | undefined {
    let current: ManifestMap | undefined = this;
    for (const name of path) current = current?.map(name);
    return current;
  }

  /** Entries of a list that are maps. */
  maps(name: string): readonly ManifestMap[] {
    return this.list(name).filter((entry): entry is ManifestMap => entry instanceof ManifestMap);
  }

  /** Entries of a list that are text. */
  texts(name: string): readonly string[] {
    return this.list(name).filter((entry): entry is string => typeof entry === "string");
  }
}

export function isList(node: ManifestNode | undefined): node is readonly ManifestNode[] {
  return Array.isArray(node);
}

/** Plain scalars that mean nothing. */
export function isNullText(text: string): boolean {
  return text === "" || text === "~" || text === "null" || text === "Null" || text === "NULL";
}

/** A key that was given twice in one mapping; the last one holds. */
export interface DuplicateKey {
  readonly key: string;
  readonly line: number;
}

/** A copy of a text that does not hold on to the document it was cut from; V8 keeps longer slices as views. */
export function detached(text: string): string {
  return text.length < 13 ? text : ` ${text}`.slice(1);
}
