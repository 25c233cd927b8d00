/**
 * Accepting findings, in three ways: a rule of the caller's configuration, a rule of the agent, or tokens in an
 * object's own annotation. A rule names a key or a category (never both), may narrow itself to objects by namespace, name
 * and file, and always gives a reason; it holds up to and including its day of expiry.
 */
import { fleetError } from "../errors.ts";
import { type CalendarDate, isCalendarDate } from "./calendar-date.ts";
import { type Glob, matchesGlob, parseGlob } from "./glob.ts";

export interface IgnoreRule {
  readonly key?: string;
  readonly category?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly file?: string;
  readonly reason: string;
  readonly expires?: CalendarDate;
  readonly source: "config" | "agent";
}

/** An ignore rule with its globs compiled. */
export interface CompiledIgnoreRule {
  readonly rule: IgnoreRule;
  readonly key: Glob | undefined;
  readonly namespace: Glob | undefined;
  readonly name: Glob | undefined;
  readonly file: Glob | undefined;
}

export const maxIgnoreRules = 1000;
const selectorFields = ["key", "namespace", "name", "file"] as const;
const knownFields = new Set<string>([...selectorFields, "category", "reason", "expires"]);

/**
 * Reads the list under `ignore` of a configuration document.
 * @throws DomainError ignore_config_invalid
 */
export function parseIgnoreRules(value: unknown, source: "config" | "agent"): IgnoreRule[] {
  if (!Array.isArray(value)) throw invalid("`ignore` is not a list");
  if (value.length > maxIgnoreRules)
    throw invalid(`\`ignore\` has ${value.length} rules, at most ${maxIgnoreRules} are allowed`);
  return value.map((entry: unknown, index) => parseRule(entry, index + 1, source));
}

export function compileIgnoreRules(rules: readonly IgnoreRule[]): CompiledIgnoreRule[] {
  return rules.map((rule) => ({
    rule,
    key: compileKey(rule.key),
    namespace: compileField(rule.namespace),
    name: compileField(rule.name),
    file: compileField(rule.file),
  }));
}

export function isExpired(rule: IgnoreRule, date: CalendarDate): boolean {
  return rule.expires !== undefined && rule.expires < date;
}

export function namesFinding(compiled: CompiledIgnoreRule, finding: { key: string; category: string }): boolean {
  if (compiled.rule.category !== undefined) return compiled.rule.category === finding.category;
  return compiled.key !== undefined && matchesGlob(compiled.key, finding.key);
}

export function hasObjectSelector({ rule }: CompiledIgnoreRule): boolean {
  return rule.namespace !== undefined || rule.name !== undefined || rule.file !== undefined;
}

/** Tokens of an ignore annotation, parted by commas and white space. */
export function parseIgnoreTokens(text: string): string[] {
  return text.split(/[\s,]+/).filter((token) => token !== "");
}

/** A token accepts a category, a rule or a key: it is the key or whole leading segments of it. */
export function acceptsKey(token: string, key: string): boolean {
  return key === token || key.startsWith(`${token}/`);
}

/** In a key `*` crosses segments, so that `removed-api/*` reads as everything of the category. */
function compileKey(pattern: string | undefined): Glob | undefined {
  const glob = compileField(pattern);
  return glob?.map((token) => (token.kind === "star" ? { ...token, kind: "globstar" } : token));
}

function compileField(pattern: string | undefined): Glob | undefined {
  return pattern === undefined ? undefined : parseGlob(pattern);
}

function parseRule(entry: unknown, position: number, source: "config" | "agent"): IgnoreRule {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry))
    throw invalid(`rule ${position} is not a mapping`);
  const fields = entry as Record<string, unknown>;
  for (const field of Object.keys(fields)) {
    if (!knownFields.has(field)) throw invalid(`rule ${position} has the unknown field "${field}"`);
  }
  const text = (field: string): string | undefined => textField(fields, field, position);
  const [key, category, reason, expires] = [text("key"), text("category"), text("reason"), text("expires")];
  if (key === undefined && category === undefined)
    throw invalid(`rule ${position} names neither \`key\` nor \`category\``);
  if (key !== undefined && category !== undefined)
    throw invalid(`rule ${position} names both \`key\` and \`category\``);
  if (reason === undefined || reason.trim() === "") throw invalid(`rule ${position} gives no \`reason\``);
  if (expires !== undefined && !isCalendarDate(expires)) {
    throw invalid(`rule ${position} expires on "${expires}", which is no date of the form YYYY-MM-DD`);
  }
  for (const field of selectorFields) {
    const pattern = text(field);
    if (pattern !== undefined && parseGlob(pattern) === undefined) {
      throw invalid(`\`${field}\` of rule ${position} has an unclosed "["`);
    }
  }
  const selectors = { namespace: text("namespace"), name: text("name"), file: text("file") };
  return {
    ...(key === undefined ? {} : { key }),
    ...(category === undefined ? {} : { category }),
    ...Object.fromEntries(Object.entries(selectors).filter(([, pattern]) => pattern !== undefined)),
    reason,
    ...(expires === undefined ? {} : { expires }),
    source,
  };
}

function textField(fields: Record<string, unknown>, field: string, position: number): string | undefined {
  const value = fields[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw invalid(`\`${field}\` of rule ${position} is not text`);
  if (value === "") throw invalid(`\`${field}\` of rule ${position} is empty`);
  return value;
}

function invalid(state: string): Error {
  return fleetError("ignore_config_invalid", `Cannot read ignore rules: ${state}`);
}
