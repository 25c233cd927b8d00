/**
 * Manifests that were posted → decision. One at a time, since judging is work for the processor; who waits too long, and
 * whom there is no room to wait with, is told to come again.
 */
import type { Clock } from "../../platform/time/clock.ts";
import { formatInstant, sleep } from "../../platform/time/clock.ts";
import { fleetError } from "../errors.ts";
import type { IgnoreRule } from "../model/ignore-rules.ts";
import type { KnowledgeBase } from "../model/knowledge-base.ts";
import type { KubernetesMinor } from "../model/kubernetes-minor.ts";
import type { TeamMap } from "../model/team-map.ts";
import { type GateResult, judgeChange } from "./gate.ts";
import type { GatePolicy } from "./judge.ts";
import { readManifests } from "./read-manifests.ts";

export interface GateRequest {
  readonly body: Uint8Array;
  /** Name of the posted stream in findings. */
  readonly file: string;
  readonly target: KubernetesMinor;
  readonly policy: GatePolicy;
  readonly ignoreRules: readonly IgnoreRule[];
  readonly signal: AbortSignal;
}

export interface GateAnswer extends GateResult {
  readonly warnings: readonly string[];
  /** RFC 3339. */
  readonly evaluatedAt: string;
}

export interface GateServiceOptions {
  readonly knowledgeBase: KnowledgeBase;
  readonly annotationDomain: string;
  readonly teamLabel: string;
  readonly teamMap: TeamMap;
  readonly toolVersion: string;
  readonly clock: Clock;
}

const slotWaitMs = 30_000;
const waitingMax = 64;
const retryAfterSeconds = 5;

export class GateService {
  readonly #options: GateServiceOptions;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(options: GateServiceOptions) {
    this.#options = options;
  }

  get knowledgeBase(): KnowledgeBase {
    return this.#options.knowledgeBase;
  }

  /** @throws DomainError busy, manifest_*, target_invalid */
  async judge(request: GateRequest): Promise<GateAnswer> {
    if (this.#waiting >= waitingMax) throw busy("too many requests wait already");
    this.#waiting += 1;
    const before = this.#last;
    const { promise: done, resolve: release } = Promise.withResolvers<void>();
    this.#last = before.then(() => done);
    try {
      await untilTurn(before, request.signal);
      return await this.#judgeNow(request);
    } finally {
      this.#waiting -= 1;
      release();
    }
  }

  async #judgeNow(request: GateRequest): Promise<GateAnswer> {
    const { knowledgeBase, annotationDomain, teamLabel, teamMap, toolVersion, clock } = this.#options;
    const { file, body, target, policy, ignoreRules, signal } = request;
    const source = { list: async () => [{ file, read: (onChunk: (chunk: Uint8Array) => void) => onChunk(body) }] };
    const reading = await readManifests({ source, knowledgeBase, annotationDomain, teamLabel, signal });
    if (reading.objectCount === 0) {
      throw fleetError("manifest_missing", "Cannot judge the manifests: the stream holds no Kubernetes objects");
    }
    const evaluatedAt = formatInstant(clock.nowMs());
    const result = judgeChange({
      manifests: reading.inventory,
      knowledgeBase,
      target,
      date: evaluatedAt.slice(0, 10),
      teamMap,
      ignoreRules,
      toolVersion,
      policy,
    });
    return { ...result, warnings: reading.warnings, evaluatedAt };
  }
}

async function untilTurn(before: Promise<void>, signal: AbortSignal): Promise<void> {
  const controller = new AbortController();
  const limit = sleep(slotWaitMs, AbortSignal.any([controller.signal, signal])).then(() => {
    throw busy(`no turn came within ${slotWaitMs / 1000} s`);
  });
  try {
    await Promise.race([before, limit]);
  } finally {
    controller.abort();
    limit.catch(() => {});
  }
}

function busy(state: string): Error {
  return fleetError("busy", `Cannot judge the manifests now: ${state}`, { retryAfterSeconds });
}
