/** Reads the YAML files that steer a scan: ignore rules and team maps. */
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { parse } from "yaml";
import { fleetError } from "../errors.ts";
import { type IgnoreRule, parseIgnoreRules } from "../model/ignore-rules.ts";
import { parseTeamMap, type TeamMap } from "../model/team-map.ts";

export const maxConfigFileSizeBytes = 1024 * 1024;

/** @throws DomainError ignore_config_invalid, scan_input_invalid */
export function readIgnoreConfig(path: string, cwd: string): IgnoreRule[] {
  return parseIgnoreConfig(readText(path, cwd));
}

/**
 * A document whose only field is `ignore`.
 * @throws DomainError ignore_config_invalid
 */
export function parseIgnoreConfig(text: string): IgnoreRule[] {
  const value = parseYaml(text, (state) => fleetError("ignore_config_invalid", `Cannot read ignore rules: ${state}`));
  if (value === null || value === undefined) return [];
  if (typeof value !== "object" || Array.isArray(value)) {
    throw fleetError("ignore_config_invalid", "Cannot read ignore rules: the document is no mapping with `ignore`");
  }
  const { ignore, ...others } = value as Record<string, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw fleetError("ignore_config_invalid", `Cannot read ignore rules: the field "${unknown}" is not known`);
  }
  return ignore === undefined || ignore === null ? [] : parseIgnoreRules(ignore, "config");
}

/** @throws DomainError team_map_invalid, scan_input_invalid */
export function readTeamMap(
  path: string,
  cwd: string,
): { readonly teamMap: TeamMap; readonly warnings: readonly string[] } {
  const value = parseYaml(readText(path, cwd), (state) =>
    fleetError("team_map_invalid", `Cannot read team map: ${state}`),
  );
  return parseTeamMap(value);
}

function parseYaml(text: string, fail: (state: string) => Error): unknown {
  try {
    return parse(text, { maxAliasCount: 0, logLevel: "silent" });
  } catch (error) {
    const [state = "it is no YAML"] = error instanceof Error ? error.message.split("\n") : [];
    throw fail(state);
  }
}

function readText(path: string, cwd: string): string {
  const absolute = resolve(cwd, path);
  try {
    const { size } = statSync(absolute);
    if (size > maxConfigFileSizeBytes) {
      throw fleetError(
        "scan_input_invalid",
        `Cannot read "${path}": it has ${size} bytes, at most ${maxConfigFileSizeBytes} are allowed`,
      );
    }
    return readFileSync(absolute, "utf8");
  } catch (error) {
    if (!(error instanceof Error) || !("syscall" in error) || !("code" in error)) throw error;
    throw fleetError(
      "scan_input_invalid",
      `Cannot read "${path}": ${error.code === "ENOENT" ? "it does not exist" : String(error.code)}`,
      {
        cause: error,
      },
    );
  }
}
