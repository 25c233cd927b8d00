/**
 * Which parts of a document are kept: a tree of field names. A list hands its selection on to its entries, `rest` stands
 * for every field that has no entry of its own.
 */
export interface Selection {
  readonly fields: ReadonlyMap<string, Selection>;
  readonly rest: Selection | undefined;
}

type Shape = { readonly [field: string]: Shape | "all" };

const everythingFields = new Map<string, Selection>();
/** Keeps the whole subtree. */
export const everything: Selection = {
  fields: everythingFields,
  get rest(): Selection {
    return everything;
  },
};

export function selectionOf(shape: Shape): Selection {
  const fields = new Map<string, Selection>();
  let rest: Selection | undefined;
  for (const [name, inner] of Object.entries(shape)) {
    const selection = inner === "all" ? everything : selectionOf(inner);
    if (name === "*") rest = selection;
    else fields.set(name, selection);
  }
  return { fields, rest };
}

export function selectField(selection: Selection | undefined, name: string): Selection | undefined {
  if (selection === undefined) return undefined;
  return selection.fields.get(name) ?? selection.rest;
}
