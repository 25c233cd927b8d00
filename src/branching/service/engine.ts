/** The engine as one object: what the local CLI, the daemon and the tests call. */
import type { Branch, MaskScript, Source, Transition } from "../model/records.ts";
import type { CreateBranchRequest, CreateSourceRequest } from "../model/requests.ts";
import { branchNotFound } from "./branch-errors.ts";
import { createBranch } from "./create-branch.ts";
import { destroyBranch } from "./destroy-branch.ts";
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

  listBranches(): Promise<readonly Branch[]> {
    return this.#context.registry.branches.listLiveBranches();
  }

  async getBranch(name: string): Promise<Branch> {
    const branch = await this.#context.registry.branches.findLiveBranch(name);
    if (branch === undefined) throw branchNotFound(name);
    return branch;
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
