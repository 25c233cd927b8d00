/** The container that seeds: what it is told and how its failures become ours. */
import { branchingError } from "../errors.ts";
import { callerBytesMax, clipToolOutput } from "../model/failure-text.ts";
import type { Source } from "../model/records.ts";
import {
  formatClientScript,
  formatSettleStartScript,
  type SourceAddress,
  seedSocketFolder,
} from "../model/seed-scripts.ts";
import type { EngineContext } from "./engine-context.ts";
import type { ExecResult } from "./ports.ts";
import { runSql } from "./run-sql.ts";

export interface SeedProgress {
  readonly phase: string;
  readonly doneBytes?: number;
  readonly totalBytes?: number;
}

export interface SeedInput {
  readonly source: Source;
  readonly volume: string;
  readonly imageId: string;
  readonly password: string;
  readonly onProgress: (progress: SeedProgress) => void;
}

/** The open helper, and how to talk to it. */
export interface SeedHelper {
  readonly context: EngineContext;
  readonly input: SeedInput;
  readonly address: SourceAddress;
  readonly instanceId: string;
  readonly signal: AbortSignal;
}

export const seedStepTimeoutMs = 7 * 24 * 3_600_000;

/** A dump has started it already. */
export async function startPrivateServer(helper: SeedHelper): Promise<void> {
  const probe = await helper.context.runtime.exec(
    helper.instanceId,
    { argv: ["pg_isready", "-q", "-h", seedSocketFolder], timeoutMs: 30_000 },
    helper.signal,
  );
  if (probe.exitCode === 0) return;
  await runShell(helper, formatSettleStartScript(helper.address.major), "start the copied data");
}

export interface SeedQuery {
  readonly user: string;
  readonly database: string;
  readonly sql: string;
}

/** SQL on the private server; rows of fields. */
export async function querySeed(helper: SeedHelper, query: SeedQuery): Promise<readonly (readonly string[])[]> {
  const result = await runSql(helper.context.runtime, {
    instanceId: helper.instanceId,
    ...query,
    socketFolder: seedSocketFolder,
    isTabular: true,
    timeoutMs: seedStepTimeoutMs,
    signal: helper.signal,
  });
  if (result.exitCode !== 0) throw seedFailure(helper, "query the copied data", result.stderr);
  return parseRows(result.stdout.toString("utf8"));
}

export function parseRows(text: string): readonly (readonly string[])[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split("\t"));
}

export function runShell(helper: SeedHelper, script: string, what: string): Promise<ExecResult> {
  return runHelperExec(helper, { argv: ["sh", "-c", script], what, user: "0:0" });
}

export function runTool(helper: SeedHelper, argv: readonly string[], what: string): Promise<ExecResult> {
  return runHelperExec(helper, { argv, what, user: "postgres" });
}

interface HelperExec {
  readonly argv: readonly string[];
  readonly what: string;
  readonly user: string;
}

async function runHelperExec(helper: SeedHelper, run: HelperExec): Promise<ExecResult> {
  const spec = { argv: run.argv, user: run.user, timeoutMs: seedStepTimeoutMs };
  const result = await helper.context.runtime.exec(helper.instanceId, spec, helper.signal);
  if (result.exitCode !== 0) throw seedFailure(helper, run.what, result.stderr);
  return result;
}

export function seedFailure(helper: SeedHelper, what: string, output: string): Error {
  const text = clipToolOutput(output, callerBytesMax, [helper.input.password]);
  return branchingError("seed_failed", `Cannot ${what} for source "${helper.input.source.name}": ${text}`);
}

/** Runs a client program against the source, with the password on its input. */
export function runOnSource(
  helper: SeedHelper,
  argv: readonly string[],
  onErrorLine?: (line: string) => void,
): ReturnType<SeedHelper["context"]["runtime"]["exec"]> {
  return helper.context.runtime.exec(
    helper.instanceId,
    {
      argv: ["sh", "-c", formatClientScript(helper.address), "seed", ...argv],
      user: "postgres",
      input: Buffer.from(`${helper.input.password}\n`),
      timeoutMs: seedStepTimeoutMs,
      ...(onErrorLine === undefined ? {} : { onErrorLine }),
    },
    helper.signal,
  );
}
