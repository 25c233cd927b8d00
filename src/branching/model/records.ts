/**
 * What the registry holds. A generation is one seed of a source and never changes once it is ready; a branch keeps the
 * generation it was made from, whatever its source does later. Layers are frozen data that more than one branch may
 * stand on: who uses a layer is derived from the rows, never counted.
 */
import type { BranchState } from "./branch-state.ts";

export type LayoutKind = "overlay" | "reflink";
export type SeedMethod = "basebackup" | "dump";
export type SourceState = "seeding" | "ready" | "failed";
export type GenerationState = "seeding" | "ready" | "retired";

export interface Source {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly network: string | undefined;
  readonly pgVersion: string;
  readonly via: SeedMethod;
  readonly dumpSchemas: readonly string[];
  /** Undefined means the stock image of the version. */
  readonly image: string | undefined;
  readonly state: SourceState;
  /** Number of the generation that new branches use; 0 before the first seed is done. */
  readonly generation: number;
  readonly createdAtMs: number;
  /** Moved by the heartbeat of a running seed. */
  readonly updatedAtMs: number;
  /** True while a refresh runs beside the ready generation. */
  readonly isRefreshing: boolean;
}

export interface Generation {
  readonly id: string;
  readonly sourceId: string;
  readonly sourceName: string;
  readonly number: number;
  readonly state: GenerationState;
  readonly volume: string;
  readonly layout: LayoutKind;
  /** True when a changed block of a shared file costs that block only, on either layout. */
  readonly clonesExtents: boolean;
  /** Exactly this image runs every branch of the generation, even when the tag moves on. */
  readonly imageId: string;
  /** A login superuser of the seeded cluster, for what a branch needs done inside. */
  readonly superuser: string;
  /** `max_connections` of the seeded cluster; branches get at most this many. */
  readonly maxConnections: number;
  readonly walSegmentBytes: number;
  readonly createdAtMs: number;
  /** Moved by the heartbeat of a running seed. */
  readonly updatedAtMs: number;
}

export interface Layer {
  readonly id: string;
  readonly volume: string;
  readonly generationId: string;
  /** The layer below; undefined when the generation itself is below. */
  readonly parentId: string | undefined;
  readonly layout: LayoutKind;
  readonly createdAtMs: number;
}

export interface Branch {
  readonly id: string;
  readonly name: string;
  readonly sourceName: string;
  readonly generationId: string;
  readonly parentName: string | undefined;
  readonly parentId: string | undefined;
  readonly state: BranchState;
  /** Where a reset returns to; undefined is the generation itself. */
  readonly baseLayerId: string | undefined;
  /** What the writable layer stands on today: the base, or a layer frozen from this branch since. */
  readonly topLayerId: string | undefined;
  readonly volume: string | undefined;
  /** Claimed before it is created, so that a crash in between leaves a name to look for. */
  readonly pendingVolume: string | undefined;
  readonly instanceId: string | undefined;
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly user: string;
  readonly database: string;
  readonly sealedPassword: string | undefined;
  /** True when the data of `volume` is masked and may be served. */
  readonly isReleased: boolean;
  readonly expiresAtMs: number | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** True for the throwaway instance that a diff compares against. */
  readonly isThrowaway: boolean;
}

export interface Transition {
  readonly fromState: BranchState | undefined;
  readonly toState: BranchState;
  readonly reason: string;
  readonly actor: string;
  readonly atMs: number;
}

export interface MaskScript {
  readonly name: string;
  readonly sql: string;
}
