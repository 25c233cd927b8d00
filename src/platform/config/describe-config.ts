import type { ConfigRow, OptionSpec } from "../cli/command.ts";
import type { Field } from "./field.ts";
import type { ConfigOf, ConfigSchema, ConfigSources } from "./load-config.ts";

/** The effective configuration for people, without secrets: what `slipway config check` prints. */
export function describeConfig<Schema extends ConfigSchema>(
  schema: Schema,
  config: ConfigOf<Schema>,
  sources: ConfigSources,
): readonly ConfigRow[] {
  return Object.entries(schema).map(([key, field]: [string, Field<unknown>]) => ({
    name: field.environment ?? `--${field.flag ?? key}`,
    value: showValue(field, config[key as keyof Schema]),
    source: sourceOf(field, sources),
  }));
}

function showValue(field: Field<unknown>, value: unknown): string {
  if (value === undefined) return "";
  if (field.isSecret) return "[set]";
  if (field.format) return field.format(value);
  if (Array.isArray(value)) return value.map(String).join(",");
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

function sourceOf(field: Field<unknown>, sources: ConfigSources): ConfigRow["source"] {
  if (field.flag !== undefined && sources.flags?.[field.flag] !== undefined) return "flag";
  for (const name of [field.environment, ...(field.environmentAliases ?? [])]) {
    if (name === undefined) continue;
    if (sources.environment[name]) return "environment";
    if (sources.environment[`${name}_FILE`]) return "file";
  }
  return field.defaultValue === undefined ? "unset" : "default";
}

/** The command-line options of a schema, for the command that reads it. */
export function optionsOf(schema: ConfigSchema): Readonly<Record<string, OptionSpec>> {
  const options: Record<string, OptionSpec> = {};
  for (const field of Object.values(schema) as Field<unknown>[]) {
    if (field.flag === undefined) continue;
    options[field.flag] = {
      kind: field.isBoolean ? "boolean" : "string",
      description: describeField(field),
      ...(field.flagAlias === undefined ? {} : { alias: field.flagAlias }),
      ...(field.isRepeatable ? { isRepeatable: true } : {}),
      ...(field.valueName === undefined ? {} : { valueName: field.valueName }),
    };
  }
  return options;
}

function describeField(field: Field<unknown>): string {
  const shownDefault =
    field.defaultText ??
    (field.defaultValue === undefined || field.isSecret
      ? undefined
      : (field.format?.(field.defaultValue) ?? String(field.defaultValue)));
  const notes = [
    shownDefault === undefined || shownDefault === "" ? undefined : `default ${shownDefault}`,
    field.environment === undefined ? undefined : `$${field.environment}`,
  ].filter((note) => note !== undefined);
  return notes.length === 0 ? field.description : `${field.description} (${notes.join(", ")})`;
}
