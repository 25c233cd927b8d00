import t from "tap";
import { branchingError, branchingErrors } from "../../src/branching/errors.ts";
import { statusByKind } from "../../src/platform/errors/status-map.ts";

/** The statuses of the contract, by what went wrong. */
const contract: Readonly<Record<string, number>> = {
  invalid_request: 400,
  version_mismatch: 400,
  quota_reached: 403,
  layer_depth_reached: 403,
  source_not_found: 404,
  branch_not_found: 404,
  name_taken: 409,
  wrong_state: 409,
  source_has_branches: 409,
  nothing_to_recover: 409,
  held_by_runtime: 409,
  seed_failed: 422,
  mask_failed: 422,
  destroy_failed: 500,
  runtime_unreachable: 502,
  operation_stopped: 503,
  operation_timed_out: 504,
};

t.test("each error has the status that the contract gives it", async (t) => {
  for (const [code, status] of Object.entries(contract)) {
    const definition = branchingErrors[code as keyof typeof branchingErrors];
    t.equal(statusByKind[definition.kind].http, status, code);
  }
  for (const [code, definition] of Object.entries(branchingErrors)) {
    t.equal(branchingError(code as keyof typeof branchingErrors, "text").kind, definition.kind, code);
  }
});
