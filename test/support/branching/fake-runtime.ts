/**
 * Containers and volumes in memory, strict about what would destroy data on a real engine: a volume is written by one
 * running container at most, a volume that something reads is written by none, a name is used once. A volume's content is
 * a list of words; the first start of a branch takes over what its base holds.
 */
import { branchingError } from "../../../src/branching/errors.ts";
import { releasedMarker, writableMount } from "../../../src/branching/model/branch-script.ts";
import type {
  Endpoint,
  ExecResult,
  ExecSession,
  ExecSpec,
  InstanceSpec,
  InstanceStatus,
  ObservedInstance,
  ObservedVolume,
  ResourceLabels,
  Runtime,
} from "../../../src/branching/service/ports.ts";

interface FakeInstance {
  readonly id: string;
  readonly spec: InstanceSpec;
  readonly createdAtMs: number;
  status: InstanceStatus;
}

interface FakeVolume {
  readonly labels: ResourceLabels;
  readonly createdAtMs: number;
  readonly words: string[];
  isSeeded: boolean;
  isReleased: boolean;
}

export interface RuntimeCall {
  readonly name: string;
  readonly index: number;
}

export interface FakeRuntimeOptions {
  nowMs(): number;
  /** May throw to make the call fail; called before anything happens. */
  onCall?(call: RuntimeCall): void;
  readonly canClone: boolean;
}

export class FakeRuntime implements Runtime {
  readonly instances = new Map<string, FakeInstance>();
  readonly volumes = new Map<string, FakeVolume>();
  readonly sqlSeen: string[] = [];
  /** Standard error that the next script with this text in it fails with. */
  readonly failingSql = new Map<string, string>();
  readonly #options: FakeRuntimeOptions;
  readonly #namesUsed = new Set<string>();
  #callCount = 0;
  #nextId = 1;

  constructor(options: FakeRuntimeOptions) {
    this.#options = options;
  }

  get callCount(): number {
    return this.#callCount;
  }

  async ensureImage(reference: string): Promise<{ id: string; reference: string }> {
    this.#called("ensureImage");
    return { id: `sha256:${reference}`, reference };
  }

  async createInstance(spec: InstanceSpec): Promise<string> {
    this.#called("createInstance");
    if (this.#namesUsed.has(spec.name)) throw new Error(`container name ${spec.name} is used twice`);
    this.#namesUsed.add(spec.name);
    const id = `c${this.#nextId++}`;
    this.instances.set(id, { id, spec, createdAtMs: this.#options.nowMs(), status: "created" });
    return id;
  }

  async startInstance(id: string): Promise<void> {
    this.#called("startInstance");
    const instance = this.#get(id);
    for (const mount of instance.spec.mounts) {
      const volume = this.volumes.get(mount.volume);
      if (volume === undefined) throw branchingError("runtime_failed", `no such volume: ${mount.volume}`);
      this.#checkSharing(instance, mount.volume, mount.isReadOnly);
    }
    this.#checkPort(instance);
    this.#takeOverBase(instance);
    instance.status = "running";
  }

  async stopInstance(id: string): Promise<void> {
    this.#called("stopInstance");
    const instance = this.instances.get(id);
    if (instance) instance.status = "exited";
  }

  async removeInstance(id: string): Promise<void> {
    this.#called("removeInstance");
    this.instances.delete(id);
  }

  async pauseInstance(id: string): Promise<void> {
    this.#called("pauseInstance");
    const instance = this.#get(id);
    if (instance.status !== "running") throw new Error(`cannot pause a container that is ${instance.status}`);
    instance.status = "paused";
  }

  async unpauseInstance(id: string): Promise<void> {
    this.#called("unpauseInstance");
    const instance = this.instances.get(id);
    if (instance?.status === "paused") instance.status = "running";
  }

  async findInstance(id: string): Promise<ObservedInstance | undefined> {
    this.#called("findInstance");
    const instance = this.instances.get(id);
    return instance && observe(instance);
  }

  async listInstances(): Promise<readonly ObservedInstance[]> {
    this.#called("listInstances");
    return [...this.instances.values()].map(observe);
  }

  async readLog(): Promise<string> {
    this.#called("readLog");
    return "";
  }

  async exec(id: string, spec: ExecSpec): Promise<ExecResult> {
    this.#called("exec");
    const instance = this.#get(id);
    if (instance.status !== "running") throw new Error(`exec in a container that is ${instance.status}`);
    const script = `${spec.argv.join(" ")}\n${Buffer.from(spec.input ?? []).toString("utf8")}`;
    this.sqlSeen.push(script);
    for (const [part, stderr] of this.failingSql) {
      if (script.includes(part)) return { exitCode: 3, stdout: Buffer.alloc(0), stderr };
    }
    if (script.includes(releasedMarker)) this.#writableOf(instance).isReleased = true;
    const written = script.match(/INSERT (\S+);/)?.[1];
    if (written !== undefined) this.#writableOf(instance).words.push(written);
    return { exitCode: 0, stdout: this.#answer(instance, script), stderr: "" };
  }

  async openSession(id: string): Promise<ExecSession> {
    this.#called("openSession");
    const instance = this.#get(id);
    const lines = ["waiting"];
    return {
      send: () => {
        const from = this.#volumeAt(instance, "/p");
        const to = this.#volumeAt(instance, "/l");
        to.words.push(...from.words);
        to.isSeeded = true;
        lines.push("copied", "done");
      },
      nextLine: async () => lines.shift() ?? "nothing",
      close: () => {},
    };
  }

  async createVolume(name: string, labels: ResourceLabels): Promise<void> {
    this.#called("createVolume");
    if (this.volumes.has(name) || this.#namesUsed.has(name)) {
      throw branchingError("volume_exists", `Cannot create volume "${name}": volume already exists`);
    }
    this.#namesUsed.add(name);
    const createdAtMs = this.#options.nowMs();
    this.volumes.set(name, { labels, createdAtMs, words: [], isSeeded: false, isReleased: false });
  }

  async removeVolume(name: string): Promise<void> {
    this.#called("removeVolume");
    const holder = [...this.instances.values()].find((item) => item.spec.mounts.some((mount) => mount.volume === name));
    if (holder) throw branchingError("held_by_runtime", `volume ${name} is in use by ${holder.spec.name}`);
    this.volumes.delete(name);
  }

  async hasVolume(name: string): Promise<boolean> {
    this.#called("hasVolume");
    return this.volumes.has(name);
  }

  async listVolumes(): Promise<readonly ObservedVolume[]> {
    this.#called("listVolumes");
    return [...this.volumes].map(([name, { labels, createdAtMs }]) => ({ name, labels, createdAtMs }));
  }

  async waitUntilAnswering(id: string, _endpoint: Endpoint, options: { wanted: "any" | "admission" }): Promise<void> {
    this.#called("waitUntilAnswering");
    const instance = this.#get(id);
    if (instance.status !== "running")
      throw branchingError("start_failed", "Cannot start Postgres: its container ended");
    if (options.wanted === "admission" && !this.admits(id)) throw branchingError("start_failed", "the gate is closed");
  }

  async describe(): Promise<{ version: string; kernel: string; storage: string }> {
    return { version: "fake", kernel: "fake", storage: "fake" };
  }

  /** True when a client with the right password would get in. */
  admits(id: string): boolean {
    const instance = this.#get(id);
    const isOpenFromStart = instance.spec.script.includes("\nif true; then printf");
    return instance.status === "running" && (isOpenFromStart || this.#writableOf(instance).isReleased);
  }

  /** What a reader of the branch sees: its own words on those of its layers. */
  readWords(id: string): readonly string[] {
    const instance = this.#get(id);
    if (isClone(instance.spec)) return this.#writableOf(instance).words;
    return instance.spec.mounts.flatMap((mount) => this.volumes.get(mount.volume)?.words ?? []);
  }

  write(id: string, word: string): void {
    this.#writableOf(this.#get(id)).words.push(word);
  }

  #called(name: string): void {
    this.#options.onCall?.({ name, index: this.#callCount++ });
  }

  #get(id: string): FakeInstance {
    const instance = this.instances.get(id);
    if (instance === undefined) throw branchingError("runtime_failed", `no such container: ${id}`);
    return instance;
  }

  #volumeAt(instance: FakeInstance, target: string): FakeVolume {
    const name = instance.spec.mounts.find((mount) => mount.target === target)?.volume;
    const volume = name === undefined ? undefined : this.volumes.get(name);
    if (volume === undefined) throw new Error(`nothing is mounted at ${target}`);
    return volume;
  }

  #writableOf(instance: FakeInstance): FakeVolume {
    const target = instance.spec.mounts.some((mount) => mount.target === writableMount) ? writableMount : "/seed";
    return this.#volumeAt(instance, target);
  }

  #checkSharing(instance: FakeInstance, volume: string, isReadOnly: boolean): void {
    for (const other of this.instances.values()) {
      if (other.id === instance.id || (other.status !== "running" && other.status !== "paused")) continue;
      const mount = other.spec.mounts.find((item) => item.volume === volume);
      // A helper that only reads may stand beside the one writer: a paused parent is copied that way.
      const isClone = instance.spec.labels.kind === "helper" || other.spec.labels.kind === "helper";
      if (mount === undefined || (isReadOnly && mount.isReadOnly) || (isClone && (isReadOnly || mount.isReadOnly)))
        continue;
      throw new Error(`volume ${volume} would be shared for writing by ${instance.spec.name} and ${other.spec.name}`);
    }
  }

  #checkPort(instance: FakeInstance): void {
    const port = instance.spec.publishedPort;
    const isTaken = [...this.instances.values()].some(
      (other) => other.id !== instance.id && other.status === "running" && other.spec.publishedPort === port,
    );
    if (port !== undefined && isTaken) throw branchingError("port_taken", `port ${port} is taken`);
  }

  #takeOverBase(instance: FakeInstance): void {
    const base = instance.spec.mounts.find((mount) => mount.target === "/b/0");
    if (base === undefined) return;
    const writable = this.#volumeAt(instance, writableMount);
    const below = this.volumes.get(base.volume);
    if (below?.isSeeded !== true) throw new Error("the base is not seeded");
    if (isClone(instance.spec) && !writable.isSeeded) writable.words.push(...below.words);
    writable.isSeeded = true;
  }

  #answer(instance: FakeInstance, script: string): Buffer {
    if (script.includes("/p0/file")) return Buffer.from(`${this.#options.canClone ? "clone\n" : ""}overlay\nfs=fake\n`);
    if (script.includes("pg_control")) return encodeControlFile();
    if (script.includes("rolsuper")) return Buffer.from("postgres\n");
    if (script.includes("wal_segment_size")) return Buffer.from("100\n16777216\n");
    if (script.includes("server_version_num")) return Buffer.from("170004\tUTF8\tC\tC\n");
    if (script.includes("PG_VERSION; postgres -V")) return Buffer.from("17\npostgres (PostgreSQL) 17.4\n");
    if (script.includes("pg_basebackup")) this.#volumeAt(instance, "/seed").isSeeded = true;
    if (script.includes("du -sk")) return Buffer.from("4096\n");
    return Buffer.alloc(0);
  }
}

/** On the reflink layout a branch has a full copy and does not look at its base again. */
function isClone(spec: InstanceSpec): boolean {
  return spec.script.includes("cp -a --reflink=always /b/0");
}

/** A control file that says "shut down". */
function encodeControlFile(): Buffer {
  const bytes = Buffer.alloc(512);
  bytes.writeUInt32LE(1, 16);
  bytes.writeBigUInt64LE(0x300_0028n, 40);
  bytes.writeUInt32LE(1, 48);
  return bytes;
}

function observe(instance: FakeInstance): ObservedInstance {
  const port = instance.spec.publishedPort;
  const isUp = instance.status === "running" || instance.status === "paused";
  return {
    id: instance.id,
    labels: instance.spec.labels,
    status: instance.status,
    endpoint: isUp && port !== undefined ? { host: "127.0.0.1", port } : undefined,
    createdAtMs: instance.createdAtMs,
  };
}
