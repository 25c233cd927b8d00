/** Postgres branches: what the rest of the program may use of this feature. */
export { bsctlCommand } from "./cli/bsctl.ts";
export { bsdCommand } from "./cli/bsd.ts";
export {
  type EngineConfig,
  engineSchema,
  environmentPrefix,
  homeFolderOf,
  otherVariables,
  toEngineSettings,
} from "./config.ts";
export { type EngineOptions, openEngine } from "./open-engine.ts";
export type { BranchingEngine } from "./service/engine.ts";
export { branchingUpService } from "./up-service.ts";
