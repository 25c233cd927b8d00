/**
 * Finds out what the filesystem under the engine's volumes can do, by trying it: clone a file from one volume into
 * another, and mount an overlay over both. What works decides the layout of a generation; the branches follow it.
 */
import { branchingError } from "../errors.ts";
import type { LayoutKind } from "../model/records.ts";
import { instanceName, volumeName } from "../model/resource-names.ts";
import { type EngineContext, randomSuffix } from "./engine-context.ts";

export interface LayoutProbe {
  readonly canClone: boolean;
  readonly canOverlay: boolean;
  /** What the tools said where something cannot be done. */
  readonly notes: string;
  readonly filesystem: string;
}

const probeTimeoutMs = 60_000;

const probeScript = [
  "head -c 1048576 /dev/zero >/p0/file",
  "cp --reflink=always /p0/file /p1/file 2>/tmp/clone && echo clone",
  "mkdir -p /p1/upper /p1/work /tmp/merged",
  "if command -v mount >/dev/null; then",
  "  mount -t overlay -o lowerdir=/p0,upperdir=/p1/upper,workdir=/p1/work probe /tmp/merged 2>/tmp/mount &&",
  "  echo x >>/tmp/merged/file && [ $(wc -c </p0/file) = 1048576 ] && echo overlay",
  "else echo 'the image has no mount program' >/tmp/mount; fi",
  "echo fs=$(stat -f -c %T /p1)",
  "cat /tmp/clone /tmp/mount 2>/dev/null >&2",
  "exit 0",
].join("\n");

export async function probeLayout(context: EngineContext, imageId: string, signal: AbortSignal): Promise<LayoutProbe> {
  const { runtime, registry } = context;
  const volumes = [0, 1].map(() => volumeName(registry.instanceId, "layer", "probe", randomSuffix(context)));
  let helperId: string | undefined;
  try {
    for (const volume of volumes) await runtime.createVolume(volume, { kind: "helper", name: "probe" });
    helperId = await runtime.createInstance({
      name: instanceName(registry.instanceId, "helper", "probe", randomSuffix(context)),
      labels: { kind: "helper", name: "probe" },
      imageId,
      script: "trap 'exit 0' TERM INT; sleep 600 & wait",
      environment: {},
      mounts: volumes.map((volume, index) => ({ volume, target: `/p${index}`, isReadOnly: false })),
      mayMount: true,
      memoryBytes: context.settings.branchMemoryBytes,
      sharedMemoryBytes: context.settings.branchSharedMemoryBytes,
      network: { kind: "none" },
      publishedPort: undefined,
      restarts: false,
    });
    await runtime.startInstance(helperId);
    const result = await runtime.exec(helperId, { argv: ["sh", "-c", probeScript], timeoutMs: probeTimeoutMs }, signal);
    const lines = result.stdout.toString("utf8").split("\n");
    if (!lines.some((line) => line.startsWith("fs="))) {
      throw branchingError("runtime_failed", "Cannot probe the volumes: the helper's answer was cut off");
    }
    return {
      canClone: lines.includes("clone"),
      canOverlay: lines.includes("overlay"),
      notes: result.stderr.trim(),
      filesystem: lines.find((line) => line.startsWith("fs="))?.slice(3) ?? "unknown",
    };
  } finally {
    if (helperId !== undefined) await runtime.removeInstance(helperId).catch(() => {});
    for (const volume of volumes) await runtime.removeVolume(volume).catch(() => {});
  }
}

/** The wanted layout if it works here; with `auto`, clones before overlay. */
export function chooseLayout(wanted: "auto" | LayoutKind, probe: LayoutProbe): LayoutKind {
  if (wanted !== "overlay" && probe.canClone) return "reflink";
  if (wanted !== "reflink" && probe.canOverlay) return "overlay";
  const missing = wanted === "reflink" ? "its filesystem does not clone extents" : "an overlay cannot be mounted";
  throw branchingError(
    "layout_unavailable",
    `Cannot keep branches on the engine's volumes (${probe.filesystem}): ${missing}; ${probe.notes.split("\n")[0] ?? ""}`,
  );
}
