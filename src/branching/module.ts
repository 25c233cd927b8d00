/**
 * Postgres branches: what the rest of the program may use of this feature. Engine and daemon are loaded when a command
 * runs, so that help stays quick.
 */
export { bsctlCommand } from "./cli/bsctl.ts";
export { bsdCommand } from "./cli/bsd.ts";
export { branchingUpService } from "./up-service.ts";
