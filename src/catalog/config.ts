import { customField, FieldProblem, optionalField, parseInteger, parseText } from "../platform/config/field.ts";
import { type ConfigOf, type ConfigSources, loadConfig } from "../platform/config/load-config.ts";

function parsePostgresUrl(text: string): string {
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text)) {
    throw new FieldProblem("must be a URL such as postgres://user:password@host:5432/database");
  }
  return text;
}

/** `host:port`, or a `redis://` or `rediss://` URL. @returns a URL */
function parseRedisAddress(text: string): string {
  const url = text.includes("://") ? text : `redis://${parseText(text)}`;
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url) || new URL(url).hostname === "") {
    throw new FieldProblem("must be host:port or a redis:// URL");
  }
  return url;
}

/** Variables carry the plain names that the service is deployed with, so no prefix tells ours from others. */
export const catalogConfigSchema = {
  port: customField(parseInteger({ min: 0, max: 65_535 }), {
    environment: "PORT",
    description: "Port, on every interface",
    defaultValue: 8080,
  }),
  databaseUrl: optionalField(parsePostgresUrl, {
    environment: "DB_DSN",
    description: "Postgres with the table books; the sample in memory without it",
    isSecret: true,
  }),
  cacheUrl: optionalField(parseRedisAddress, {
    environment: "REDIS_ADDR",
    description: "Redis that keeps the list for a moment, host:port or URL",
    isSecret: true,
  }),
} as const;

export type CatalogConfig = ConfigOf<typeof catalogConfigSchema>;

/** @throws ConfigError with every problem */
export function loadCatalogConfig(sources: ConfigSources): CatalogConfig {
  return loadConfig({ schema: catalogConfigSchema, prefixes: [] }, sources);
}
