/**
 * Local mode: one command, one engine on the home folder. Commands that change something hold the home's lock; another
 * process that works there makes them wait a little and then refuse.
 */
import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import type { CommandContext, OptionSpec, ParsedArguments } from "../../platform/cli/command.ts";
import { type ConfigSchema, loadConfig } from "../../platform/config/load-config.ts";
import { assert } from "../../platform/errors/assert.ts";
import { isDomainError } from "../../platform/errors/domain-error.ts";
import { acquireLockFile, type LockFile } from "../../platform/files/lock-file.ts";
import { createLogger } from "../../platform/log/logger.ts";
import { sleep, systemClock } from "../../platform/time/clock.ts";
import { type EngineConfig, engineSchema, environmentPrefix, homeFolderOf, otherVariables } from "../config.ts";
import { branchingError } from "../errors.ts";
import type { BranchingEngine } from "../service/engine.ts";
import type { Caller } from "../service/engine-context.ts";

export interface LocalSession {
  readonly engine: BranchingEngine;
  readonly caller: Caller;
  readonly config: EngineConfig;
}

export type Access = "reads" | "writes";

const lockWaitMs = 15_000;
const lockRetryMs = 100;

export async function withLocalEngine<T>(
  args: ParsedArguments,
  context: CommandContext,
  access: Access,
  work: (session: LocalSession) => Promise<T>,
): Promise<T> {
  const config = loadLocalConfig(args, context);
  const homeFolder = homeFolderOf(config, context.homeDir);
  const lock = access === "writes" ? await acquireHome(homeFolder, context.signal) : undefined;
  try {
    const logger = createLogger({ name: "bsctl", level: "error", format: "auto", isTty: context.terminal.isErrorTty });
    // Loaded here and not above: help and usage errors need none of it.
    const { openEngine } = await import("../open-engine.ts");
    const engine = await openEngine({
      config,
      homeFolder,
      environment: context.env,
      userHome: context.homeDir,
      logger,
      hooks: { onStep: createCrashHook(context.env["BRANCHSVC_CRASH_AT"]) },
    });
    try {
      const caller = { actor: `local:${userName(context)}`, signal: context.signal };
      return await work({ engine, caller, config });
    } finally {
      await engine.close();
    }
  } finally {
    lock?.release();
  }
}

export function loadLocalConfig(args: ParsedArguments, context: CommandContext): EngineConfig {
  const flags = Object.fromEntries(
    Object.values(engineSchema as ConfigSchema).flatMap((field) => {
      if (field.flag === undefined) return [];
      const value = field.isRepeatable ? emptyAsAbsent(args.strings(field.flag)) : args.string(field.flag);
      return value === undefined ? [] : [[field.flag, value]];
    }),
  );
  return loadConfig(
    { schema: engineSchema, prefixes: [environmentPrefix], otherKnownVariables: otherVariables },
    { environment: context.env, flags, readFile: (path) => readFileSync(path, "utf8") },
  );
}

function emptyAsAbsent(values: readonly string[]): readonly string[] | undefined {
  return values.length === 0 ? undefined : values;
}

/** The flags of the engine that a local command takes, by field name. */
export function engineOptions(...names: readonly (keyof typeof engineSchema)[]): Record<string, OptionSpec> {
  const entries = names.flatMap((name) => {
    const field = (engineSchema as ConfigSchema)[name];
    assert(field, `the schema has a field ${name}`);
    if (field.flag === undefined) return [];
    const option: OptionSpec = {
      kind: field.isBoolean ? "boolean" : "string",
      description: field.description,
      ...(field.valueName === undefined ? {} : { valueName: field.valueName }),
      ...(field.isRepeatable ? { isRepeatable: true } : {}),
    };
    return [[field.flag, option] as const];
  });
  return Object.fromEntries(entries);
}

async function acquireHome(homeFolder: string, signal: AbortSignal): Promise<LockFile> {
  const deadlineMs = systemClock.monotonicMs() + lockWaitMs;
  for (;;) {
    try {
      return acquireLockFile(join(homeFolder, "bsd.lock"));
    } catch (error) {
      if (!isDomainError(error) || error.code !== "FILE_LOCKED") throw error;
      if (systemClock.monotonicMs() >= deadlineMs) throw homeLocked(homeFolder, error);
    }
    await sleep(lockRetryMs, signal);
  }
}

function homeLocked(homeFolder: string, cause: unknown): Error {
  const pid = isDomainError(cause) ? cause.details["pid"] : undefined;
  const holder = pid === undefined ? "another process" : `process ${pid}`;
  return branchingError(
    "home_locked",
    `Cannot use "${homeFolder}": ${holder} works there; wait for it, or use --server when it is the daemon`,
    { cause },
  );
}

function userName(context: CommandContext): string {
  try {
    return userInfo().username;
  } catch {
    return context.env["USER"] ?? "unknown";
  }
}

/** For crash tests: ends the process without a word at a named step. */
function createCrashHook(point: string | undefined): (step: string) => void {
  return (step) => {
    if (point !== undefined && step === point) process.kill(process.pid, "SIGKILL");
  };
}
