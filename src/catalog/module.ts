/** The sample catalog service: what the rest of the program may use of this feature. */
export { catalogCommand } from "./cli/catalog-command.ts";
