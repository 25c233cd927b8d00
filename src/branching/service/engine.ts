/** The engine as one object: what the local CLI, the daemon and the tests call. */
import type { DiffResult } from "../model/branch-diff.ts";
import type { ReconcileAction } from "../model/reconcile-plan.ts";
import type { Branch, LayoutKind, MaskScript, Source, Transition } from "../model/records.ts";
import type { CreateBranchRequest, CreateSourceRequest } from "../model/requests.ts";
import { branchNotFound } from "./branch-errors.ts";
import { createBranch } from "./create-branch.ts";
import { destroyBranch } from "./destroy-branch.ts";
import { diffBranch } from "./diff-branch.ts";
import type { Caller, EngineContext } from "./engine-context.ts";
import {
  addSource,
  getSource,
  listMasks,
  refreshSource,
  removeSource,
  type SeedReport,
  setMasks,
} from "./manage-sources.ts";

import { measureUsage } from "./measure-usage.ts";
import type { RuntimeFacts } from "./ports.ts";
import { planActions, type ReconcileOutcome, reconcile } from "./reconcile.ts";
import { recoverBranch } from "./recover-branch.ts";
import { type ResealOutcome, resealPasswords } from "./reseal-passwords.ts";
import { resetBranch } from "./reset-branch.ts";

/** A branch's own password: absent without rotation, unavailable when no configured key opens it. */
export type BranchPassword =
  | { readonly kind: "none" }
  | { readonly kind: "known"; readonly password: string }
  | { readonly kind: "unavailable" };

export class BranchingEngine {
  readonly #context: EngineContext;

  constructor(context: EngineContext) {
    this.#context = context;
  }

  get instanceId(): string {
    return this.#context.registry.instanceId;
  }

  addSource(request: CreateSourceRequest, caller: Caller, report: SeedReport = () => {}): Promise<Source> {
    return addSource(this.#context, request, caller, report);
  }

  refreshSource(name: string, password: string, caller: Caller, report: SeedReport = () => {}): Promise<Source> {
    return refreshSource(this.#context, name, password, caller, report);
  }

  listSources(): Promise<readonly Source[]> {
    return this.#context.registry.sources.listSources();
  }

  getSource(name: string): Promise<Source> {
    return getSource(this.#context, name);
  }

  removeSource(name: string): Promise<void> {
    return removeSource(this.#context, name);
  }

  setMasks(name: string, masks: readonly MaskScript[]): Promise<readonly MaskScript[]> {
    return setMasks(this.#context, name, masks);
  }

  listMasks(name: string): Promise<readonly MaskScript[]> {
    return listMasks(this.#context, name);
  }

  createBranch(request: CreateBranchRequest, caller: Caller): Promise<Branch> {
    return createBranch(this.#context, request, caller);
  }

  async listBranches(): Promise<readonly Branch[]> {
    const branches = await this.#context.registry.branches.listLiveBranches();
    return branches.filter((branch) => !branch.isThrowaway);
  }

  async getBranch(name: string): Promise<Branch> {
    const branch = await this.#context.registry.branches.findLiveBranch(name);
    if (branch === undefined) throw branchNotFound(name);
    return branch;
  }

  resetBranch(name: string, caller: Caller): Promise<Branch> {
    return resetBranch(this.#context, name, caller);
  }

  recoverBranch(name: string, caller: Caller): Promise<Branch> {
    return recoverBranch(this.#context, name, caller);
  }

  diffBranch(name: string, sampleRows: number, caller: Caller): Promise<DiffResult> {
    return diffBranch(this.#context, name, sampleRows, caller);
  }

  measureUsage(name: string, signal: AbortSignal): Promise<number> {
    return measureUsage(this.#context, name, signal);
  }

  openPassword(branch: Branch): BranchPassword {
    if (branch.sealedPassword === undefined) return { kind: "none" };
    const password = this.#context.secrets?.open(branch.sealedPassword);
    return password === undefined ? { kind: "unavailable" } : { kind: "known", password };
  }

  /** Seals every password that an older key sealed under the primary one; for the daemon, before it serves. */
  resealPasswords(): Promise<ResealOutcome> {
    return resealPasswords(this.#context);
  }

  planReconcile(): Promise<readonly ReconcileAction[]> {
    return planActions(this.#context);
  }

  reconcile(caller: Caller): Promise<ReconcileOutcome> {
    return reconcile(this.#context, caller);
  }

  /** How each source's current generation keeps its data. */
  async listLayouts(): Promise<readonly { source: string; layout: LayoutKind; clonesExtents: boolean }[]> {
    const generations = await this.#context.registry.sources.listGenerations();
    return generations
      .filter((generation) => generation.state === "ready")
      .map(({ sourceName, layout, clonesExtents }) => ({ source: sourceName, layout, clonesExtents }));
  }

  describeRuntime(): Promise<RuntimeFacts> {
    return this.#context.runtime.describe();
  }

  isRegistryReachable(): Promise<boolean> {
    return this.#context.registry.isReachable();
  }

  destroyBranch(name: string, caller: Caller): Promise<void> {
    return destroyBranch(this.#context, name, caller);
  }

  async getHistory(name: string): Promise<readonly Transition[]> {
    const history = await this.#context.registry.branches.findHistory(name);
    if (history === undefined) throw branchNotFound(name);
    return history;
  }

  async close(): Promise<void> {
    await this.#context.registry.close();
  }
}
