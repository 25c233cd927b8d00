import type { Logger } from "../../platform/log/logger.ts";
import type { Metrics } from "../../platform/metrics/metrics.ts";
import type { Dependency } from "./book-service.ts";

/** The check of a dependency, with a line in the log when its state changes and a gauge of the state. */
export function createObserver(metrics: Metrics, logger: Logger) {
  const gauge = metrics.gauge({
    name: "catalog_dependency_up",
    help: "1 when the dependency answered the last check, else 0.",
    labels: ["dependency"],
  });
  return (dependency: Dependency): Dependency["check"] => {
    const { name } = dependency;
    let wasUp: boolean | undefined;
    const note = (isUp: boolean, error?: unknown): void => {
      gauge.set({ dependency: name }, isUp ? 1 : 0);
      if (isUp && wasUp !== true) logger.info({ dependency: name }, "dependency is reachable");
      if (!isUp && wasUp !== false) logger.warn({ dependency: name, err: error }, "dependency is unreachable");
      wasUp = isUp;
    };
    return async (signal) => {
      try {
        await dependency.check(signal);
        note(true);
      } catch (error) {
        note(false, error);
        throw error;
      }
    };
  };
}
