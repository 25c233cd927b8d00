import type { Inventory, ObjectRef } from "../../model/inventory.ts";
import type { ManifestObject } from "../manifest-object.ts";
import type { Collector } from "./collector.ts";
import { UsageTally } from "./usage-tally.ts";

/** Every group, version and kind with its objects. */
export class ApiCollector implements Collector {
  readonly #usage = new UsageTally();

  add({ group, version, kind }: ManifestObject, ref: ObjectRef): void {
    this.#usage.add(`${group}/${version}/${kind}`, ref);
  }

  contribute(): Partial<Inventory> {
    const apiUsage = this.#usage.usages((key) => {
      const [group = "", version = "", kind = ""] = key.split("/", 3);
      return { group, version, kind };
    });
    return { apiUsage };
  }
}
