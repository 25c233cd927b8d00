/**
 * Small checks that a value has a shape, each naming where it has not. They only look, they build nothing: after a clean
 * run the value may be taken for the type it was checked against.
 */
export interface Problems {
  readonly found: string[];
}

export type Check = (value: unknown, path: string, problems: Problems) => void;

/** Problems past this number are not told. */
export const maxProblems = 50;

export function runCheck(check: Check, value: unknown, path: string): string[] {
  const problems: Problems = { found: [] };
  check(value, path, problems);
  return problems.found;
}

export function text(
  options: { readonly pattern?: RegExp; readonly what?: string; readonly mayBeEmpty?: boolean } = {},
): Check {
  return (value, path, problems) => {
    if (typeof value !== "string") report(problems, path, "is not text");
    else if (value.length > maxTextLength) report(problems, path, `is longer than ${maxTextLength} characters`);
    else if (value === "" && options.mayBeEmpty !== true) report(problems, path, "is empty");
    else if (options.pattern !== undefined && !options.pattern.test(value)) {
      report(problems, path, `is "${value.slice(0, 60)}", which is no ${options.what ?? "valid text"}`);
    }
  };
}

export function oneOf(allowed: readonly string[]): Check {
  return (value, path, problems) => {
    if (typeof value === "string" && allowed.includes(value)) return;
    report(problems, path, `is not one of ${allowed.map((name) => `"${name}"`).join(", ")}`);
  };
}

export const truth: Check = (value, path, problems) => {
  if (typeof value !== "boolean") report(problems, path, "is neither true nor false");
};

export function list(entry: Check, options: { readonly most: number; readonly least?: number }): Check {
  return (value, path, problems) => {
    if (!Array.isArray(value)) {
      report(problems, path, "is not a list");
      return;
    }
    if (value.length > options.most)
      report(problems, path, `has ${value.length} entries, at most ${options.most} are allowed`);
    if (value.length < (options.least ?? 0))
      report(problems, path, `has ${value.length} entries, at least ${options.least} are needed`);
    for (const [position, element] of value.slice(0, options.most).entries())
      entry(element, `${path}[${position}]`, problems);
  };
}

export type Fields = Readonly<Record<string, Check>>;

export function fields(required: Fields, optional: Fields = {}): Check {
  return (value, path, problems) => {
    if (!isMapping(value)) {
      report(problems, path, "is not a mapping");
      return;
    }
    for (const [name, check] of Object.entries(required)) {
      if (value[name] === undefined) report(problems, join(path, name), "is missing");
      else check(value[name], join(path, name), problems);
    }
    for (const [name, check] of Object.entries(optional)) {
      if (value[name] !== undefined) check(value[name], join(path, name), problems);
    }
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(required, name) && !Object.hasOwn(optional, name))
        report(problems, join(path, name), "is not known");
    }
  };
}

/** A mapping whose `kind` says which check holds for it. */
export function byKind(checks: Fields): Check {
  return (value, path, problems) => {
    const kind = isMapping(value) ? value["kind"] : undefined;
    const check = typeof kind === "string" && Object.hasOwn(checks, kind) ? checks[kind] : undefined;
    if (check === undefined) oneOf(Object.keys(checks))(kind, join(path, "kind"), problems);
    else check(value, path, problems);
  };
}

const maxTextLength = 4096;

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function report({ found }: Problems, path: string, state: string): void {
  if (found.length < maxProblems) found.push(`${path === "" ? "it" : path} ${state}`);
}
