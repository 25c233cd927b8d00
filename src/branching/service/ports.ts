/**
 * What the engine needs from the outside. `Runtime` is the only way to containers and volumes (Docker, or an
 * orchestrator); everything it makes carries the instance id of this registry, and it lists nothing else. All removals
 * are idempotent and return when the thing is gone, so that a step may be repeated after a crash.
 */
import type { BranchState, BranchTrigger } from "../model/branch-state.ts";
import type { Branch, Generation, Layer, MaskScript, Source, SourceState, Transition } from "../model/records.ts";

export type ResourceKind = "branch" | "helper" | "source" | "layer" | "pool";

export interface ResourceLabels {
  readonly kind: ResourceKind;
  /** Name of the branch or source it was made for. */
  readonly name: string;
}

export interface Mount {
  readonly volume: string;
  readonly target: string;
  readonly isReadOnly: boolean;
}

export interface InstanceSpec {
  readonly name: string;
  readonly labels: ResourceLabels;
  readonly imageId: string;
  /** POSIX shell, run as root; it ends in `exec` of the real program. */
  readonly script: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly mounts: readonly Mount[];
  /** Allows mount(2) inside, for the overlay layout. */
  readonly mayMount: boolean;
  readonly memoryBytes: number;
  readonly sharedMemoryBytes: number;
  readonly network: InstanceNetwork;
  /** Published on the loopback address of the container host, onto 5432. */
  readonly publishedPort: number | undefined;
  /** Restarted by the runtime after a crash or a reboot, until it is stopped on purpose. */
  readonly restarts: boolean;
}

/** `isolated` is reached from its host but has no way out; `bridge` is the runtime's default; else one by name. */
export type InstanceNetwork =
  | { readonly kind: "none" | "isolated" | "bridge" }
  | { readonly kind: "named"; readonly name: string };

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export type InstanceStatus = "created" | "running" | "paused" | "exited" | "unknown";

export interface ObservedInstance {
  readonly id: string;
  readonly labels: ResourceLabels;
  readonly status: InstanceStatus;
  readonly endpoint: Endpoint | undefined;
  readonly createdAtMs: number;
}

export interface ObservedVolume {
  readonly name: string;
  readonly labels: ResourceLabels;
  readonly createdAtMs: number;
}

export interface ExecSpec {
  readonly argv: readonly string[];
  readonly user?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Everything that the program reads; its input ends behind it. */
  readonly input?: Uint8Array;
  readonly timeoutMs: number;
  /** Standard output beyond this fails the call. Default 1 MiB. */
  readonly outputBytesMax?: number;
  /** Called with each complete line of standard error, for progress. */
  onErrorLine?(line: string): void;
}

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  /** The last 16 KiB. */
  readonly stderr: string;
}

/** A program that waits for a word on its input and answers with lines. */
export interface ExecSession {
  send(text: string): void;
  /** The next line of standard output; rejects when the program ends first. */
  nextLine(): Promise<string>;
  close(): void;
}

export interface ImageFacts {
  readonly id: string;
  readonly reference: string;
}

export interface Runtime {
  /** Makes sure that the image is there, pulling it when needed, and pins it. */
  ensureImage(reference: string, onProgress: (text: string) => void, signal: AbortSignal): Promise<ImageFacts>;
  createInstance(spec: InstanceSpec): Promise<string>;
  /** Starts it; the error tells "port is taken" apart by code `port_taken`. */
  startInstance(id: string): Promise<void>;
  /** SIGINT (a fast shutdown of Postgres), then SIGKILL after the grace. */
  stopInstance(id: string, graceMs: number): Promise<void>;
  /** Kills and removes with everything anonymous; returns when it is gone. */
  removeInstance(id: string): Promise<void>;
  pauseInstance(id: string): Promise<void>;
  unpauseInstance(id: string): Promise<void>;
  findInstance(id: string): Promise<ObservedInstance | undefined>;
  listInstances(): Promise<readonly ObservedInstance[]>;
  /** The end of what it wrote, for error texts. */
  readLog(id: string, bytesMax: number): Promise<string>;
  exec(id: string, spec: ExecSpec, signal: AbortSignal): Promise<ExecResult>;
  openSession(id: string, argv: readonly string[], signal: AbortSignal): Promise<ExecSession>;
  /**
   * Never adopts: a volume of that name that is already there is a `volume_exists` error. With `isOnDemand` the runtime
   * may leave the making to the start of the container that mounts it for writing, where that saves time.
   */
  createVolume(name: string, labels: ResourceLabels, isOnDemand?: boolean): Promise<void>;
  removeVolume(name: string): Promise<void>;
  hasVolume(name: string): Promise<boolean>;
  listVolumes(): Promise<readonly ObservedVolume[]>;
  waitUntilAnswering(id: string, endpoint: Endpoint, options: AnswerOptions, signal: AbortSignal): Promise<void>;
  describe(): Promise<RuntimeFacts>;
}

export interface AnswerOptions {
  readonly timeoutMs: number;
  /** `any` is met by every answer but "starting up"; `admission` only when a password is asked for. */
  readonly wanted: "any" | "admission";
}

export interface RuntimeFacts {
  readonly version: string;
  readonly kernel: string;
  readonly storage: string;
}

export interface NewBranch extends Omit<Branch, "state" | "createdAtMs" | "updatedAtMs" | "isReleased"> {
  readonly nowMs: number;
}

export type BranchPatch = Partial<
  Pick<
    Branch,
    | "volume"
    | "pendingVolume"
    | "instanceId"
    | "host"
    | "port"
    | "sealedPassword"
    | "isReleased"
    | "topLayerId"
    | "baseLayerId"
    | "generationId"
    | "expiresAtMs"
  >
>;

export interface TransitionRequest {
  readonly branchId: string;
  readonly from: BranchState;
  readonly trigger: BranchTrigger;
  readonly reason: string;
  readonly actor: string;
  readonly atMs: number;
  readonly patch?: BranchPatch;
  /** Written in the same transaction. */
  readonly newLayer?: Layer;
  /** Refuses while a child is being created from this branch. */
  readonly isRefusedWhileForking?: boolean;
}

export interface BranchStore {
  /** Adds row and journal entry; undefined when the name is held or the quota is reached. */
  insertBranch(branch: NewBranch, limits: { readonly maxBranches: number }, actor: string): Promise<InsertOutcome>;
  findLiveBranch(name: string): Promise<Branch | undefined>;
  getBranch(id: string): Promise<Branch>;
  listLiveBranches(): Promise<readonly Branch[]>;
  /** Compare-and-swap on the state with the journal row in one transaction; false when the state had moved. */
  transition(request: TransitionRequest): Promise<boolean>;
  /** Changes fields of a live branch without a transition, only while it is in the given state. */
  patchBranch(branchId: string, state: BranchState, patch: BranchPatch, atMs: number): Promise<boolean>;
  touchBranch(branchId: string, atMs: number): Promise<void>;
  /** The whole journal of the newest branch of that name, destroyed ones included; undefined when there never was one. */
  findHistory(name: string): Promise<readonly Transition[] | undefined>;
}

export type InsertOutcome =
  | { readonly kind: "inserted" }
  | { readonly kind: "name-taken"; readonly state: BranchState }
  | { readonly kind: "quota-reached"; readonly count: number }
  | { readonly kind: "parent-changed" }
  | { readonly kind: "source-changed" };

export interface SourceStore {
  /** A failed source of the same name without live branches is replaced; the holder otherwise. */
  insertSource(source: Source): Promise<{ readonly holder: Source | undefined }>;
  findSource(name: string): Promise<Source | undefined>;
  listSources(): Promise<readonly Source[]>;
  setSourceState(id: string, from: SourceState, to: SourceState, atMs: number): Promise<boolean>;
  /** Claims the one refresh that may run; false when another one has a fresh heartbeat. */
  claimRefresh(id: string, atMs: number, staleBeforeMs: number): Promise<boolean>;
  releaseRefresh(id: string, atMs: number): Promise<void>;
  touchSource(id: string, atMs: number): Promise<void>;
  /** Removes the row unless live branches exist; the number of those otherwise. */
  deleteSource(id: string): Promise<{ readonly liveBranchCount: number }>;
  insertGeneration(generation: Generation): Promise<void>;
  /** Marks it ready, retires the older ones and moves the source to it, in one transaction. */
  activateGeneration(generation: Generation, atMs: number): Promise<boolean>;
  touchGeneration(id: string, atMs: number): Promise<void>;
  /** Deletes the row unless it is the source's current one or a live branch or a layer stands on it. */
  deleteUnusedGeneration(id: string): Promise<boolean>;
  getGeneration(id: string): Promise<Generation>;
  listGenerations(): Promise<readonly Generation[]>;
  setMasks(sourceName: string, masks: readonly MaskScript[]): Promise<void>;
  listMasks(sourceName: string): Promise<readonly MaskScript[]>;
}

export interface LayerStore {
  getLayer(id: string): Promise<Layer>;
  insertLayer(layer: Layer): Promise<void>;
  listLayers(): Promise<readonly Layer[]>;
  /** Deletes the row only when no live branch and no other layer stands on it. */
  deleteUnusedLayer(id: string): Promise<boolean>;
}

/** Settings that a registry keeps for good once they are made. */
export interface FactStore {
  find(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<void>;
}

export interface Registry {
  /** Minted when the registry was made; stamped on every container and volume. */
  readonly instanceId: string;
  readonly branches: BranchStore;
  readonly sources: SourceStore;
  readonly layers: LayerStore;
  readonly facts: FactStore;
  isReachable(): Promise<boolean>;
  close(): Promise<void>;
}

/** Seals branch passwords at rest. */
export interface SecretBox {
  seal(plain: string): string;
  /** Undefined when no configured key opens it. */
  open(sealed: string): string | undefined;
  /** True when it is sealed, but not under the primary key. */
  isStale(sealed: string): boolean;
}
