import { globSync } from "node:fs";

const needsServers = /^test\/(e2e|sim)\//;

/** Which test files run when. `quick` needs nothing but what npm installs and the database server of the machine. */
export const testGroups = {
  quick: (): readonly string[] =>
    globSync("test/**/*.test.ts")
      .filter((path) => !needsServers.test(path))
      .sort(),
  simulation: (): readonly string[] => globSync("test/sim/**/*.test.ts").sort(),
  endToEnd: (): readonly string[] => globSync("test/e2e/**/*.test.ts").sort(),
};
