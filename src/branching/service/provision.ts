/**
 * The steps that bring a writable layer up on a base: volume, container, gate closed; then masks and the branch's own
 * password over the local socket; and last the gate. Create, reset and diff share them, so that no way into a branch
 * forgets a step.
 */
import { assert } from "../../platform/errors/assert.ts";
import { isDomainError } from "../../platform/errors/domain-error.ts";
import { branchingError } from "../errors.ts";
import { formatReleaseScript } from "../model/branch-script.ts";
import { callerBytesMax, clipToolOutput } from "../model/failure-text.ts";
import type { MaskScript } from "../model/records.ts";
import { choosePort } from "../model/resource-names.ts";
import { computeScramVerifier } from "../model/scram.ts";
import { quoteIdentifier } from "../model/sql-text.ts";
import { type BranchBase, buildBranchInstance } from "./branch-instance.ts";
import type { EngineContext } from "./engine-context.ts";
import { runSql } from "./run-sql.ts";
import type { Step } from "./saga.ts";

export interface ProvisionInput {
  readonly branchName: string;
  readonly base: BranchBase;
  readonly volume: string;
  readonly user: string;
  readonly database: string;
  readonly masks: readonly MaskScript[];
  readonly rotates: boolean;
  /** False keeps the gate closed for good: the throwaway side of a diff. */
  readonly opensGate: boolean;
}

/** Filled in by the steps. */
export interface Provisioned {
  instanceId: string | undefined;
  port: number | undefined;
  sealedPassword: string | undefined;
}

const localHost = "127.0.0.1";
const portAttempts = 3;
const maskTimeoutMs = 60 * 60_000;
const shortExecTimeoutMs = 30_000;

export function listProvisionSteps(
  context: EngineContext,
  input: ProvisionInput,
  result: Provisioned,
): readonly Step[] {
  const isGated = input.masks.length > 0 || input.rotates || !input.opensGate;
  const steps: Step[] = [
    {
      name: "volume",
      run: () => context.runtime.createVolume(input.volume, { kind: "branch", name: input.branchName }, true),
      undo: () => context.runtime.removeVolume(input.volume),
    },
    {
      name: "instance",
      run: (signal) => startInstance(context, { ...input, isReleased: !isGated }, result, signal),
      undo: async () => {
        if (result.instanceId !== undefined) await context.runtime.removeInstance(result.instanceId);
      },
    },
    { name: "answer", run: (signal) => untilAnswering(context, result, isGated ? "any" : "admission", signal) },
  ];
  if (input.masks.length > 0) steps.push({ name: "mask", run: (signal) => applyMasks(context, input, result, signal) });
  if (input.rotates) steps.push({ name: "rotate", run: (signal) => rotatePassword(context, input, result, signal) });
  if (isGated && input.opensGate) {
    steps.push({ name: "release", run: (signal) => openGate(context, input, result, signal) });
  }
  return steps;
}

export interface StartInput {
  readonly branchName: string;
  readonly base: BranchBase;
  readonly volume: string;
  readonly isReleased: boolean;
}

/** Starts the container; a port that somebody else took is replaced by another, a few times. */
export async function startInstance(
  context: EngineContext,
  input: StartInput,
  result: Provisioned,
  signal: AbortSignal,
): Promise<void> {
  const refused = new Set<number>();
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    const port =
      result.port !== undefined && !refused.has(result.port) ? result.port : await pickPort(context, refused);
    result.port = port;
    result.instanceId = await context.runtime.createInstance(buildBranchInstance(context, { ...input, port }));
    try {
      await context.runtime.startInstance(result.instanceId);
      return;
    } catch (error) {
      if (!isDomainError(error) || error.code !== "port_taken" || attempt === portAttempts) throw error;
      refused.add(port);
      await context.runtime.removeInstance(result.instanceId);
      result.instanceId = undefined;
    }
  }
}

async function pickPort(context: EngineContext, refused: ReadonlySet<number>): Promise<number> {
  const branches = await context.registry.branches.listLiveBranches();
  const taken = new Set([...refused, ...branches.flatMap((branch) => branch.port ?? [])]);
  const port = choosePort(taken, context.random.fraction());
  if (port === undefined) throw branchingError("runtime_failed", "Cannot find a port for the branch: all are taken");
  return port;
}

export async function untilAnswering(
  context: EngineContext,
  result: Provisioned,
  wanted: "any" | "admission",
  signal: AbortSignal,
): Promise<void> {
  const { instanceId, port } = result;
  assert(instanceId !== undefined && port !== undefined, "the instance was started before");
  const options = { timeoutMs: context.settings.readyTimeoutMs, wanted };
  await context.runtime.waitUntilAnswering(instanceId, { host: localHost, port }, options, signal);
}

async function applyMasks(
  context: EngineContext,
  input: ProvisionInput,
  result: Provisioned,
  signal: AbortSignal,
): Promise<void> {
  assert(result.instanceId !== undefined, "the instance was started before");
  const startedMs = context.clock.monotonicMs();
  for (const mask of input.masks) {
    const outcome = await runSql(context.runtime, {
      instanceId: result.instanceId,
      user: input.user,
      database: input.database,
      sql: mask.sql,
      timeoutMs: maskTimeoutMs,
      signal,
    });
    if (outcome.exitCode !== 0) {
      const output = clipToolOutput(outcome.stderr, callerBytesMax);
      throw branchingError("mask_failed", `Cannot mask branch "${input.branchName}" with "${mask.name}": ${output}`);
    }
  }
  context.observer.onMasked?.(context.clock.monotonicMs() - startedMs);
}

async function rotatePassword(
  context: EngineContext,
  input: ProvisionInput,
  result: Provisioned,
  signal: AbortSignal,
): Promise<void> {
  assert(result.instanceId !== undefined, "the instance was started before");
  if (context.secrets === undefined) {
    throw branchingError(
      "secret_key_missing",
      "Cannot rotate the branch's password: no key to store it under is configured",
    );
  }
  const password = Buffer.from(context.random.bytes(16)).toString("hex");
  const verifier = computeScramVerifier(password, context.random.bytes(16));
  const outcome = await runSql(context.runtime, {
    instanceId: result.instanceId,
    user: input.base.generation.superuser,
    database: input.database,
    sql: `SET log_statement = 'none'; SET log_min_duration_statement = -1; SET log_min_error_statement = panic;
ALTER ROLE ${quoteIdentifier(input.user)} PASSWORD '${verifier}';`,
    timeoutMs: shortExecTimeoutMs,
    signal,
  });
  if (outcome.exitCode !== 0) {
    throw branchingError("start_failed", `Cannot rotate the password of branch "${input.branchName}"`, {
      details: { output: outcome.stderr },
    });
  }
  result.sealedPassword = context.secrets.seal(password);
}

async function openGate(
  context: EngineContext,
  input: ProvisionInput,
  result: Provisioned,
  signal: AbortSignal,
): Promise<void> {
  assert(result.instanceId !== undefined, "the instance was started before");
  const script = formatReleaseScript(input.base.generation.layout);
  const outcome = await context.runtime.exec(
    result.instanceId,
    { argv: ["sh", "-c", script], timeoutMs: shortExecTimeoutMs },
    signal,
  );
  if (outcome.exitCode !== 0) {
    throw branchingError("start_failed", `Cannot open branch "${input.branchName}"`, {
      details: { output: outcome.stderr },
    });
  }
  await untilAnswering(context, result, "admission", signal);
}
