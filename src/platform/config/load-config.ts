import { closest } from "fastest-levenshtein";
import { type Field, FieldProblem } from "./field.ts";

/**
 * Text from flags and the environment in, one typed and frozen object out. Every problem is found before the first is
 * reported; a variable with one of our prefixes that nobody knows is a problem too, with the nearest name that exists.
 */
// biome-ignore lint/suspicious/noExplicitAny: a schema holds fields of every type; each keeps its own.
export type ConfigSchema = Readonly<Record<string, Field<any>>>;

export type ConfigOf<Schema extends ConfigSchema> = {
  readonly [Key in keyof Schema]: Schema[Key] extends Field<infer T> ? T : never;
};

export interface ConfigSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Parsed options by long name; a repeated option is a list. */
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly readFile: (path: string) => string;
}

export interface ConfigOptions<Schema extends ConfigSchema> {
  readonly schema: Schema;
  /** Variables with one of these prefixes must be known. */
  readonly prefixes: readonly string[];
  /** Known elsewhere under the same prefix (other commands share it), so not a problem here. */
  readonly otherKnownVariables?: readonly string[];
  /** Rules over more than one field; each returned text is a problem. */
  readonly crossChecks?: (config: ConfigOf<Schema>) => readonly string[];
}

export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `configuration validation failed:\n${problems.map((problem, index) => `  ${index + 1}. ${problem}`).join("\n")}`,
    );
    this.name = "ConfigError";
    this.problems = problems;
  }
}

interface FoundText {
  readonly text: string;
  readonly origin: string;
}

export function loadConfig<Schema extends ConfigSchema>(
  options: ConfigOptions<Schema>,
  sources: ConfigSources,
): ConfigOf<Schema> {
  const problems = findUnknownVariables(options, sources.environment);
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(options.schema)) {
    try {
      values[name] = loadField(field, sources);
    } catch (error) {
      if (!(error instanceof FieldProblem)) throw error;
      problems.push(error.message);
    }
  }
  const config = Object.freeze(values) as ConfigOf<Schema>;
  if (problems.length === 0 && options.crossChecks) problems.push(...options.crossChecks(config));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

function loadField(field: Field<unknown>, sources: ConfigSources): unknown {
  const found = findTexts(field, sources);
  if (found.length === 0) {
    if (field.isRequired) throw new FieldProblem(`${nameOf(field)} is required: ${field.description}`);
    return field.defaultValue;
  }
  const joined = { text: found.map((item) => item.text).join(","), origin: found[0]?.origin ?? "" };
  try {
    return field.parse(joined.text);
  } catch (error) {
    if (!(error instanceof FieldProblem)) throw error;
    throw new FieldProblem(
      `${joined.origin}: ${field.isSecret ? hideValue(error.message, joined.text) : error.message}`,
    );
  }
}

function hideValue(message: string, text: string): string {
  return text === "" ? message : message.replaceAll(text, "[hidden]");
}

function findTexts(field: Field<unknown>, sources: ConfigSources): readonly FoundText[] {
  const flagValue = field.flag === undefined ? undefined : sources.flags?.[field.flag];
  if (flagValue !== undefined) {
    const list = Array.isArray(flagValue) ? flagValue : [flagValue];
    return list.map((value) => ({ text: String(value), origin: `--${field.flag}` }));
  }
  for (const variable of variablesOf(field)) {
    const found = findVariable(field, variable, sources);
    if (found) return [found];
  }
  return [];
}

function findVariable(field: Field<unknown>, variable: string, sources: ConfigSources): FoundText | undefined {
  const text = sources.environment[variable];
  const path = field.isSecret || field.hasFileVariant ? sources.environment[`${variable}_FILE`] : undefined;
  if (text !== undefined && text !== "" && path !== undefined && path !== "") {
    throw new FieldProblem(`${variable} and ${variable}_FILE are both set: use one of them`);
  }
  if (text !== undefined && text !== "") return { text, origin: variable };
  if (path === undefined || path === "") return undefined;
  try {
    return { text: sources.readFile(path).replace(/\r?\n$/, ""), origin: `${variable}_FILE` };
  } catch (error) {
    throw new FieldProblem(
      `${variable}_FILE: cannot read "${path}": ${(error as NodeJS.ErrnoException).code ?? "unreadable"}`,
    );
  }
}

function variablesOf(field: Field<unknown>): readonly string[] {
  return [...(field.environment === undefined ? [] : [field.environment]), ...(field.environmentAliases ?? [])];
}

function nameOf(field: Field<unknown>): string {
  const names = [field.flag === undefined ? undefined : `--${field.flag}`, field.environment];
  return names.filter((name) => name !== undefined).join(" or ");
}

export function knownVariables(schema: ConfigSchema): readonly string[] {
  return Object.values(schema).flatMap((field: Field<unknown>) =>
    variablesOf(field).flatMap((name) => (field.isSecret || field.hasFileVariant ? [name, `${name}_FILE`] : [name])),
  );
}

function findUnknownVariables(
  options: Omit<ConfigOptions<ConfigSchema>, "crossChecks">,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const known = [...knownVariables(options.schema), ...(options.otherKnownVariables ?? [])];
  return Object.keys(environment)
    .filter((name) => options.prefixes.some((prefix) => name.startsWith(prefix)))
    .filter((name) => !known.includes(name))
    .sort()
    .map(
      (name) => `${name} is not a known variable${known.length > 0 ? `: did you mean ${closest(name, known)}` : ""}`,
    );
}
