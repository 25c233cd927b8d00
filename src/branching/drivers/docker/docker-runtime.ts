/**
 * Containers and volumes on a Docker engine. Every object carries the labels `branchsvc.instance`, `.kind` and `.name`,
 * and only those with our instance are ever listed or touched. Nothing here depends on paths of the client: the engine
 * may be remote. Every call has a time limit, since an engine that hangs must not hang the registry.
 */
import Docker from "dockerode";
import { assert } from "../../../platform/errors/assert.ts";
import type { Random } from "../../../platform/random/random.ts";
import { sleep } from "../../../platform/time/clock.ts";
import { branchingError } from "../../errors.ts";
import type {
  AnswerOptions,
  Endpoint,
  ExecResult,
  ExecSession,
  ExecSpec,
  ImageFacts,
  InstanceNetwork,
  InstanceSpec,
  InstanceStatus,
  ObservedInstance,
  ObservedVolume,
  ResourceLabels,
  Runtime,
  RuntimeFacts,
} from "../../service/ports.ts";
import { probePostgres } from "../postgres-probe.ts";
import { createDirectoryVolumes } from "./directory-volumes.ts";
import { createDockerCalls, type DockerCalls } from "./docker-calls.ts";
import type { DockerEndpoint } from "./docker-endpoint.ts";
import { textOf, toRuntimeError } from "./docker-errors.ts";
import { openExecSession, runExec } from "./docker-exec.ts";
import { isKeeperRunning, keeperRoot, startKeeper } from "./keeper.ts";
import { createNamedVolumes } from "./named-volumes.ts";
import { formatLabels, labelPrefix, readLabels, type VolumeBackend } from "./volume-backend.ts";
import { openPool } from "./volume-pool.ts";

/** `named`: the engine's own volumes; `directory`: folders under a root on its host; `pool`: folders on our own filesystem. */
export type VolumePlacement =
  | { readonly kind: "named" }
  | { readonly kind: "directory"; readonly root: string }
  | { readonly kind: "pool"; readonly sizeBytes: number };

export interface DockerRuntimeOptions {
  readonly endpoint: DockerEndpoint;
  readonly instanceId: string;
  readonly random: Random;
  /** Longest time of one call that is not a stream. */
  readonly callTimeoutMs: number;
  readonly placement: VolumePlacement;
}

const keeperImageMajors = ["17", "18", "16", "15", "14"] as const;
const postgresPort = "5432/tcp";
const probeIntervalMs = 10;
const livenessIntervalMs = 200;
/** Our own limit speaks first; this one only takes the connection away. */
const requestGraceMs = 1000;
const pullTimeoutMs = 15 * 60_000;

export function createDockerRuntime(options: DockerRuntimeOptions): Runtime {
  return new DockerRuntime(options);
}

class DockerRuntime implements Runtime {
  readonly #docker: Docker;
  /** For what may be silent for long: programs, pulls, stops. A request of the other one ends with its time limit. */
  readonly #patientDocker: Docker;
  readonly #options: DockerRuntimeOptions;
  readonly #calls: DockerCalls;
  #volumes: Promise<VolumeBackend> | undefined;
  readonly #imageVolumes = new Map<string, readonly string[]>();
  #network: Promise<string> | undefined;

  constructor(options: DockerRuntimeOptions) {
    this.#options = options;
    const target = toDockerOptions(options.endpoint);
    this.#docker = new Docker({ ...target, timeout: options.callTimeoutMs + requestGraceMs });
    this.#patientDocker = new Docker(target);
    this.#calls = createDockerCalls(options.callTimeoutMs);
  }

  async ensureImage(reference: string, onProgress: (text: string) => void, signal: AbortSignal): Promise<ImageFacts> {
    const found = await this.#findImage(reference);
    if (found !== undefined) return found;
    await this.#pull(reference, onProgress, signal);
    const pulled = await this.#findImage(reference);
    if (pulled === undefined)
      throw branchingError("runtime_failed", `Cannot pull image "${reference}": it is not there afterwards`);
    return pulled;
  }

  async createInstance(spec: InstanceSpec): Promise<string> {
    const volumes = await this.#openVolumes();
    const networkMode = await this.#networkMode(spec.network);
    const tmpfs = await this.#coverImageVolumes(spec.imageId);
    const container = await this.#calls.call(`create container "${spec.name}"`, () =>
      this.#docker.createContainer({
        name: spec.name,
        Image: spec.imageId,
        Entrypoint: ["/bin/sh", "-c"],
        Cmd: [spec.script],
        User: "0:0",
        WorkingDir: "/",
        Env: Object.entries(spec.environment).map(([name, value]) => `${name}=${value}`),
        Labels: formatLabels(this.#options.instanceId, spec.labels),
        StopSignal: "SIGINT",
        Healthcheck: { Test: ["NONE"] },
        ...(spec.publishedPort === undefined ? {} : { ExposedPorts: { [postgresPort]: {} } }),
        HostConfig: {
          NetworkMode: networkMode,
          ...volumes.toMounts(spec.mounts),
          Tmpfs: tmpfs,
          Memory: spec.memoryBytes,
          ShmSize: spec.sharedMemoryBytes,
          CapDrop: ["ALL"],
          CapAdd: [...baseCapabilities, ...(spec.mayMount ? ["SYS_ADMIN"] : [])],
          SecurityOpt: ["no-new-privileges:true", ...(spec.mayMount ? ["apparmor=unconfined"] : [])],
          RestartPolicy: { Name: spec.restarts ? "unless-stopped" : "no" },
          LogConfig: { Type: "json-file", Config: { "max-size": "5m", "max-file": "2" } },
          ...(spec.publishedPort === undefined
            ? {}
            : { PortBindings: { [postgresPort]: [{ HostIp: "127.0.0.1", HostPort: String(spec.publishedPort) }] } }),
          ...(networkMode === "none" ? {} : { ExtraHosts: ["host.docker.internal:host-gateway"] }),
        },
      }),
    );
    return container.id;
  }

  async startInstance(id: string): Promise<void> {
    await this.#calls.call("start the container", () => this.#docker.getContainer(id).start(), [304]);
  }

  async stopInstance(id: string, graceMs: number): Promise<void> {
    const seconds = Math.ceil(graceMs / 1000);
    const container = this.#patientDocker.getContainer(id);
    await this.#calls.call("stop the container", () => container.stop({ t: seconds }), [304, 404], graceMs + 10_000);
  }

  async removeInstance(id: string): Promise<void> {
    try {
      await this.#calls.call(
        "remove the container",
        () => this.#docker.getContainer(id).remove({ force: true, v: true }),
        [404],
      );
    } catch (error) {
      if (!/already in progress/.test(textOf(error))) throw error;
    }
    await this.#untilGone(id);
  }

  async pauseInstance(id: string): Promise<void> {
    await this.#calls.call("pause the container", () => this.#docker.getContainer(id).pause());
  }

  async unpauseInstance(id: string): Promise<void> {
    try {
      await this.#calls.call("continue the container", () => this.#docker.getContainer(id).unpause(), [404]);
    } catch (error) {
      if (!/is not paused/.test(textOf(error))) throw error;
    }
  }

  async findInstance(id: string): Promise<ObservedInstance | undefined> {
    const found = await this.#inspect(id);
    if (found === undefined || found.Config.Labels[`${labelPrefix}.instance`] !== this.#options.instanceId)
      return undefined;
    return {
      id: found.Id,
      labels: readLabels(found.Config.Labels),
      status: toStatus(found.State.Status),
      endpoint: readEndpoint(found.NetworkSettings.Ports),
      createdAtMs: Date.parse(found.Created),
    };
  }

  async listInstances(): Promise<readonly ObservedInstance[]> {
    const found = await this.#calls.call("list containers", () =>
      this.#docker.listContainers({ all: true, filters: { label: [this.#instanceFilter()] } }),
    );
    return found.map((container) => {
      const published = container.Ports.find((port) => port.PrivatePort === 5432 && port.PublicPort !== undefined);
      return {
        id: container.Id,
        labels: readLabels(container.Labels),
        status: toStatus(container.State),
        endpoint: published && { host: published.IP || "127.0.0.1", port: published.PublicPort },
        createdAtMs: container.Created * 1000,
      };
    });
  }

  async readLog(id: string, bytesMax: number): Promise<string> {
    const log = await this.#calls.call("read the container's log", () =>
      this.#docker.getContainer(id).logs({ stdout: true, stderr: true, tail: 100, follow: false }),
    );
    return stripHeaders(log).subarray(-bytesMax).toString("utf8");
  }

  exec(id: string, spec: ExecSpec, signal: AbortSignal): Promise<ExecResult> {
    return runExec(this.#patientDocker.getContainer(id), spec, signal);
  }

  openSession(id: string, argv: readonly string[], signal: AbortSignal): Promise<ExecSession> {
    return openExecSession(this.#patientDocker.getContainer(id), argv, signal);
  }

  async createVolume(name: string, labels: ResourceLabels, isOnDemand = false): Promise<void> {
    await (await this.#openVolumes()).create(name, labels, isOnDemand);
  }

  async removeVolume(name: string): Promise<void> {
    await (await this.#openVolumes()).remove(name);
  }

  async hasVolume(name: string): Promise<boolean> {
    return (await this.#openVolumes()).has(name);
  }

  async listVolumes(): Promise<readonly ObservedVolume[]> {
    return (await this.#openVolumes()).list();
  }

  async waitUntilAnswering(id: string, endpoint: Endpoint, options: AnswerOptions, signal: AbortSignal): Promise<void> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]);
    const liveness = this.#watchLiveness(id, limit);
    try {
      const answered =
        this.#options.endpoint.kind === "unix"
          ? untilProbed(endpoint, options, limit)
          : this.#untilReadyInside(id, limit);
      await Promise.race([answered, liveness.ended]);
    } catch (error) {
      if (signal.aborted || !limit.aborted || error !== limit.reason) throw error;
      const log = await this.readLog(id, 2048).catch(() => "");
      throw branchingError(
        "start_failed",
        `Cannot start Postgres: it did not accept connections within ${options.timeoutMs / 1000} s`,
        {
          details: { output: log },
        },
      );
    } finally {
      liveness.stop();
    }
  }

  async describe(): Promise<RuntimeFacts> {
    const facts = (await this.#calls.call("ask the engine", () => this.#docker.info())) as Record<string, unknown>;
    return {
      version: String(facts["ServerVersion"] ?? "unknown"),
      kernel: String(facts["KernelVersion"] ?? "unknown"),
      storage: String(facts["Driver"] ?? "unknown"),
    };
  }

  async #untilReadyInside(id: string, signal: AbortSignal): Promise<void> {
    const script = "until pg_isready -q -h /var/run/postgresql -t 1; do sleep 0.02; done";
    const result = await this.exec(id, { argv: ["sh", "-c", script], timeoutMs: 10 * 60_000 }, signal);
    if (result.exitCode !== 0)
      throw branchingError("start_failed", `Cannot see whether Postgres is ready: ${result.stderr}`);
  }

  /** Rejects as soon as the container has ended: no need to wait for the time limit then. */
  #watchLiveness(id: string, signal: AbortSignal): { readonly ended: Promise<never>; stop(): void } {
    const stopper = new AbortController();
    const limit = AbortSignal.any([signal, stopper.signal]);
    const watch = async (): Promise<never> => {
      for (;;) {
        await sleep(livenessIntervalMs, limit);
        const found = await this.#inspect(id);
        const isAlive = found?.State.Running === true && !found.State.Restarting && found.RestartCount === 0;
        if (!isAlive) {
          const log = found === undefined ? "" : await this.readLog(id, 4096);
          throw branchingError("start_failed", "Cannot start Postgres: its container ended", {
            details: { output: log },
          });
        }
      }
    };
    const ended = watch();
    ended.catch(() => {});
    return { ended, stop: () => stopper.abort() };
  }

  async #untilGone(id: string): Promise<void> {
    const limit = AbortSignal.timeout(this.#options.callTimeoutMs);
    while ((await this.#inspect(id)) !== undefined) await sleep(probeIntervalMs, limit);
  }

  async #inspect(id: string): Promise<Docker.ContainerInspectInfo | undefined> {
    return this.#calls.optional("inspect the container", () => this.#docker.getContainer(id).inspect());
  }

  async #findImage(reference: string): Promise<ImageFacts | undefined> {
    const image = await this.#calls.optional(`inspect image "${reference}"`, () =>
      this.#docker.getImage(reference).inspect(),
    );
    if (image === undefined) return undefined;
    this.#imageVolumes.set(image.Id, Object.keys(image.Config.Volumes ?? {}));
    return { id: image.Id, reference };
  }

  async #pull(reference: string, onProgress: (text: string) => void, signal: AbortSignal): Promise<void> {
    const name = /[:@][^/]*$/.test(reference) ? reference : `${reference}:latest`;
    onProgress(`pulling image ${name}`);
    const stream = await this.#calls.call(
      `pull image "${name}"`,
      () => this.#patientDocker.pull(name),
      [],
      pullTimeoutMs,
    );
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        (stream as unknown as { destroy(): void }).destroy();
        reject(signal.reason);
      };
      signal.addEventListener("abort", stop, { once: true });
      this.#docker.modem.followProgress(stream, (error: Error | null) => {
        signal.removeEventListener("abort", stop);
        if (error) reject(toRuntimeError(`pull image "${name}"`, error));
        else resolve();
      });
    });
  }

  /** An image's VOLUME would leave one anonymous volume behind per container; a tiny tmpfs takes its place. */
  async #coverImageVolumes(imageId: string): Promise<Record<string, string>> {
    if (!this.#imageVolumes.has(imageId)) await this.#findImage(imageId);
    const paths = this.#imageVolumes.get(imageId) ?? [];
    return Object.fromEntries(paths.map((path) => [path, "size=1m,mode=1777"]));
  }

  async #networkMode(network: InstanceNetwork): Promise<string> {
    if (network.kind === "named") return network.name;
    if (network.kind !== "isolated") return network.kind;
    this.#network ??= this.#ensureNetwork();
    try {
      return await this.#network;
    } catch (error) {
      this.#network = undefined;
      throw error;
    }
  }

  /**
   * A bridge of our own without address translation and without traffic between its members: what a branch sends out
   * carries an address that nobody answers to, while the host reaches it through the published port.
   */
  async #ensureNetwork(): Promise<string> {
    const name = `${labelPrefix}-${this.#options.instanceId}`;
    const found = await this.#calls.optional(`inspect network "${name}"`, () =>
      this.#docker.getNetwork(name).inspect(),
    );
    if (found !== undefined) return name;
    await this.#calls.call(
      `create network "${name}"`,
      () =>
        this.#docker.createNetwork({
          Name: name,
          Driver: "bridge",
          CheckDuplicate: true,
          Labels: { [`${labelPrefix}.instance`]: this.#options.instanceId },
          Options: {
            "com.docker.network.bridge.enable_ip_masquerade": "false",
            "com.docker.network.bridge.enable_icc": "false",
          },
        }),
      [409],
    );
    return name;
  }

  #instanceFilter(): string {
    return `${labelPrefix}.instance=${this.#options.instanceId}`;
  }

  #openVolumes(): Promise<VolumeBackend> {
    this.#volumes ??= this.#prepareVolumes();
    this.#volumes.catch(() => {
      this.#volumes = undefined;
    });
    return this.#volumes;
  }

  async #prepareVolumes(): Promise<VolumeBackend> {
    const { placement, instanceId, random } = this.#options;
    if (placement.kind === "named") return createNamedVolumes(this.#docker, this.#calls, instanceId, random);
    const tools = { docker: this.#patientDocker, calls: this.#calls, instanceId };
    if (placement.kind === "directory") {
      if (!(await isKeeperRunning(tools))) {
        const mount: Docker.MountSettings = { Type: "bind", Source: placement.root, Target: keeperRoot };
        await startKeeper(tools, await this.#findKeeperImage(), mount);
      }
      return createDirectoryVolumes(tools, placement.root);
    }
    if (await isKeeperRunning(tools)) {
      const found = await this.#docker.getVolume(`${labelPrefix}-${instanceId}-pool-mount`).inspect();
      return createDirectoryVolumes(tools, found.Mountpoint);
    }
    const root = await openPool(tools, { imageId: await this.#findKeeperImage(), sizeBytes: placement.sizeBytes });
    return createDirectoryVolumes(tools, root);
  }

  /** Any image with a shell does; the stock one of a supported version is most likely there. */
  async #findKeeperImage(): Promise<string> {
    for (const major of keeperImageMajors) {
      const found = await this.#findImage(`postgres:${major}`);
      if (found !== undefined) return found.id;
    }
    const pulled = await this.ensureImage(`postgres:${keeperImageMajors[0]}`, () => {}, new AbortController().signal);
    return pulled.id;
  }
}

const baseCapabilities = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"];

export function toDockerOptions(endpoint: DockerEndpoint): Docker.DockerOptions {
  if (endpoint.kind === "unix") return { socketPath: endpoint.socketPath };
  const { host, port, tls } = endpoint;
  if (tls === undefined) return { host, port, protocol: "http" };
  return {
    host,
    port,
    protocol: "https",
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
    ...(tls.isVerified ? {} : { rejectUnauthorized: false }),
  };
}

async function untilProbed(endpoint: Endpoint, options: AnswerOptions, signal: AbortSignal): Promise<void> {
  for (;;) {
    const answer = await probePostgres(endpoint.host, endpoint.port);
    if (answer === "admitting" || (answer === "refusing" && options.wanted === "any")) return;
    await sleep(probeIntervalMs, signal);
  }
}

function toStatus(text: string): InstanceStatus {
  if (text === "created" || text === "running" || text === "paused" || text === "exited") return text;
  return text === "dead" ? "exited" : "unknown";
}

function readEndpoint(
  ports: Readonly<Record<string, readonly { HostIp: string; HostPort: string }[] | null>>,
): Endpoint | undefined {
  const published = ports[postgresPort]?.[0];
  return published && { host: published.HostIp || "127.0.0.1", port: Number(published.HostPort) };
}

function stripHeaders(log: Buffer): Buffer {
  const pieces: Buffer[] = [];
  let position = 0;
  while (position + 8 <= log.length) {
    const size = log.readUInt32BE(position + 4);
    pieces.push(log.subarray(position + 8, position + 8 + size));
    position += 8 + size;
  }
  assert(position >= log.length || pieces.length > 0 || log.length < 8, "the log is framed");
  return Buffer.concat(pieces);
}
