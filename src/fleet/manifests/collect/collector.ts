import type { Inventory, ObjectRef } from "../../model/inventory.ts";
import type { ManifestObject } from "../manifest-object.ts";

/** Gathers one part of an inventory from a stream of objects. */
export interface Collector {
  add(object: ManifestObject, ref: ObjectRef): void;
  contribute(): Partial<Inventory>;
}
