import type { BranchState } from "../model/branch-state.ts";
import type { Branch, Generation, GenerationState, Layer, LayoutKind, Source, SourceState } from "../model/records.ts";

/** Rows as the database holds them; times are milliseconds since the epoch, booleans 0 and 1. */
export interface FactRow {
  key: string;
  value: string;
}

export interface SourceRow {
  id: string;
  name: string;
  host: string;
  port: number;
  db_user: string;
  db_name: string;
  network: string | null;
  pg_version: string;
  via: "basebackup" | "dump";
  dump_schemas: string;
  image: string | null;
  state: SourceState;
  generation: number;
  is_refreshing: number;
  created_at_ms: number;
  updated_at_ms: number;
}

export interface GenerationRow {
  id: string;
  source_id: string;
  source_name: string;
  number: number;
  state: GenerationState;
  volume: string;
  layout: LayoutKind;
  clones_extents: number;
  image_id: string;
  superuser: string;
  max_connections: number;
  wal_segment_bytes: number;
  created_at_ms: number;
  updated_at_ms: number;
}

export interface LayerRow {
  id: string;
  volume: string;
  generation_id: string;
  parent_id: string | null;
  layout: LayoutKind;
  created_at_ms: number;
}

export interface BranchRow {
  id: string;
  name: string;
  source_name: string;
  generation_id: string;
  parent_name: string | null;
  parent_id: string | null;
  state: BranchState;
  base_layer_id: string | null;
  top_layer_id: string | null;
  volume: string | null;
  pending_volume: string | null;
  instance_id: string | null;
  host: string | null;
  port: number | null;
  db_user: string;
  db_name: string;
  sealed_password: string | null;
  is_released: number;
  is_throwaway: number;
  expires_at_ms: number | null;
  created_at_ms: number;
  updated_at_ms: number;
}

export interface TransitionRow {
  branch_id: string;
  sequence: number;
  from_state: BranchState | null;
  to_state: BranchState;
  reason: string;
  actor: string;
  at_ms: number;
}

export interface MaskRow {
  source_name: string;
  position: number;
  name: string;
  sql_text: string;
}

export interface TokenRow {
  name: string;
  role: string;
  hash: string;
  created_at_ms: number;
}

export interface RegistrySchema {
  facts: FactRow;
  sources: SourceRow;
  generations: GenerationRow;
  layers: LayerRow;
  branches: BranchRow;
  transitions: TransitionRow;
  masks: MaskRow;
  tokens: TokenRow;
}

export function toSource(row: SourceRow): Source {
  return {
    id: row.id,
    name: row.name,
    host: row.host,
    port: row.port,
    user: row.db_user,
    database: row.db_name,
    network: row.network ?? undefined,
    pgVersion: row.pg_version,
    via: row.via,
    dumpSchemas: JSON.parse(row.dump_schemas) as string[],
    image: row.image ?? undefined,
    state: row.state,
    generation: row.generation,
    isRefreshing: row.is_refreshing === 1,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
}

export function fromSource(source: Source): SourceRow {
  return {
    id: source.id,
    name: source.name,
    host: source.host,
    port: source.port,
    db_user: source.user,
    db_name: source.database,
    network: source.network ?? null,
    pg_version: source.pgVersion,
    via: source.via,
    dump_schemas: JSON.stringify(source.dumpSchemas),
    image: source.image ?? null,
    state: source.state,
    generation: source.generation,
    is_refreshing: source.isRefreshing ? 1 : 0,
    created_at_ms: source.createdAtMs,
    updated_at_ms: source.updatedAtMs,
  };
}

export function toGeneration(row: GenerationRow): Generation {
  return {
    id: row.id,
    sourceId: row.source_id,
    sourceName: row.source_name,
    number: row.number,
    state: row.state,
    volume: row.volume,
    layout: row.layout,
    clonesExtents: row.clones_extents === 1,
    imageId: row.image_id,
    superuser: row.superuser,
    maxConnections: row.max_connections,
    walSegmentBytes: row.wal_segment_bytes,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
}

export function fromGeneration(generation: Generation): GenerationRow {
  return {
    id: generation.id,
    source_id: generation.sourceId,
    source_name: generation.sourceName,
    number: generation.number,
    state: generation.state,
    volume: generation.volume,
    layout: generation.layout,
    clones_extents: generation.clonesExtents ? 1 : 0,
    image_id: generation.imageId,
    superuser: generation.superuser,
    max_connections: generation.maxConnections,
    wal_segment_bytes: generation.walSegmentBytes,
    created_at_ms: generation.createdAtMs,
    updated_at_ms: generation.updatedAtMs,
  };
}

export function toLayer(row: LayerRow): Layer {
  return {
    id: row.id,
    volume: row.volume,
    generationId: row.generation_id,
    parentId: row.parent_id ?? undefined,
    layout: row.layout,
    createdAtMs: row.created_at_ms,
  };
}

export function fromLayer(layer: Layer): LayerRow {
  return {
    id: layer.id,
    volume: layer.volume,
    generation_id: layer.generationId,
    parent_id: layer.parentId ?? null,
    layout: layer.layout,
    created_at_ms: layer.createdAtMs,
  };
}

export function toBranch(row: BranchRow): Branch {
  return {
    id: row.id,
    name: row.name,
    sourceName: row.source_name,
    generationId: row.generation_id,
    parentName: row.parent_name ?? undefined,
    parentId: row.parent_id ?? undefined,
    state: row.state,
    baseLayerId: row.base_layer_id ?? undefined,
    topLayerId: row.top_layer_id ?? undefined,
    volume: row.volume ?? undefined,
    pendingVolume: row.pending_volume ?? undefined,
    instanceId: row.instance_id ?? undefined,
    host: row.host ?? undefined,
    port: row.port ?? undefined,
    user: row.db_user,
    database: row.db_name,
    sealedPassword: row.sealed_password ?? undefined,
    isReleased: row.is_released === 1,
    isThrowaway: row.is_throwaway === 1,
    expiresAtMs: row.expires_at_ms ?? undefined,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
}
