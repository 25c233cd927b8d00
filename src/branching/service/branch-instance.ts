/** How a branch's container looks: from the base it stands on and the settings, nothing else. */
import { dataFolderOf, formatBranchScript, lowerMount, writableMount } from "../model/branch-script.ts";
import { listBranchSettings } from "../model/postgres-settings.ts";
import type { Generation, Layer } from "../model/records.ts";
import { instanceName } from "../model/resource-names.ts";
import { type EngineContext, randomSuffix } from "./engine-context.ts";
import type { InstanceSpec, Mount } from "./ports.ts";

/** What a writable layer stands on. `chain` goes from the bottom up. */
export interface BranchBase {
  readonly generation: Generation;
  readonly chain: readonly Layer[];
}

export interface BranchInstanceInput {
  readonly branchName: string;
  readonly base: BranchBase;
  readonly volume: string;
  readonly port: number;
  readonly isReleased: boolean;
}

/** Reads the chain below a layer; the generation alone when there is none. */
export async function loadBase(
  context: EngineContext,
  generationId: string,
  topLayerId: string | undefined,
): Promise<BranchBase> {
  const generation = await context.registry.sources.getGeneration(generationId);
  const chain: Layer[] = [];
  for (let id = topLayerId; id !== undefined; ) {
    const layer = await context.registry.layers.getLayer(id);
    chain.unshift(layer);
    id = layer.parentId;
  }
  return { generation, chain };
}

export function buildBranchInstance(context: EngineContext, input: BranchInstanceInput): InstanceSpec {
  const { settings, registry } = context;
  const { generation, chain } = input.base;
  const { layout } = generation;
  return {
    name: instanceName(registry.instanceId, "branch", input.branchName, randomSuffix(context)),
    labels: { kind: "branch", name: input.branchName },
    imageId: generation.imageId,
    script: formatBranchScript({
      layout,
      layerCount: layout === "overlay" ? chain.length : 0,
      isReleased: input.isReleased,
      settings: listBranchSettings({
        branchName: input.branchName,
        dataFolder: dataFolderOf(layout),
        sourceMaxConnections: generation.maxConnections,
        maxConnections: settings.branchMaxConnections,
        sharedBuffers: settings.branchSharedBuffers,
        walSegmentBytes: generation.walSegmentBytes,
        durability: settings.branchDurability,
        walRecycle: settings.branchWalRecycle,
        clonesExtents: generation.clonesExtents,
        overrides: settings.branchSettings,
      }),
    }),
    environment: {},
    mounts: listMounts(input.base, input.volume),
    mayMount: layout === "overlay",
    memoryBytes: settings.branchMemoryBytes,
    sharedMemoryBytes: settings.branchSharedMemoryBytes,
    network:
      settings.branchNetwork === undefined ? { kind: "isolated" } : { kind: "named", name: settings.branchNetwork },
    publishedPort: input.port,
    restarts: true,
  };
}

function listMounts(base: BranchBase, volume: string): readonly Mount[] {
  const writable = { volume, target: writableMount, isReadOnly: false };
  const lower = (name: string, index: number): Mount => ({ volume: name, target: lowerMount(index), isReadOnly: true });
  if (base.generation.layout === "reflink")
    return [lower(base.chain.at(-1)?.volume ?? base.generation.volume, 0), writable];
  return [
    lower(base.generation.volume, 0),
    ...base.chain.map((layer, index) => lower(layer.volume, index + 1)),
    writable,
  ];
}
