/**
 * The life cycle of a branch as one table. Every change of state in the registry names one of these rows; a change
 * that is not in the table is a programmer's error, whatever the caller believes.
 */
export const branchStates = ["creating", "ready", "resetting", "failed", "destroying", "destroyed"] as const;
export type BranchState = (typeof branchStates)[number];

export type BranchTrigger =
  | "create"
  | "provisioned"
  | "failed"
  | "reset"
  | "freeze"
  | "recover"
  | "repaired"
  | "destroy"
  | "destroy-failed"
  | "destroyed";

interface TransitionRow {
  /** Undefined is the state before there is a row. */
  readonly from: BranchState | undefined;
  readonly trigger: BranchTrigger;
  readonly to: BranchState;
}

export const branchTransitions: readonly TransitionRow[] = [
  { from: undefined, trigger: "create", to: "creating" },
  { from: "creating", trigger: "provisioned", to: "ready" },
  { from: "creating", trigger: "failed", to: "failed" },
  { from: "creating", trigger: "destroy", to: "destroying" },
  { from: "ready", trigger: "reset", to: "resetting" },
  { from: "ready", trigger: "freeze", to: "resetting" },
  { from: "ready", trigger: "repaired", to: "ready" },
  { from: "ready", trigger: "failed", to: "failed" },
  { from: "ready", trigger: "destroy", to: "destroying" },
  { from: "resetting", trigger: "provisioned", to: "ready" },
  { from: "resetting", trigger: "failed", to: "failed" },
  { from: "resetting", trigger: "destroy", to: "destroying" },
  { from: "failed", trigger: "reset", to: "resetting" },
  { from: "failed", trigger: "recover", to: "ready" },
  { from: "failed", trigger: "destroy", to: "destroying" },
  { from: "destroying", trigger: "destroy-failed", to: "destroying" },
  { from: "destroying", trigger: "destroyed", to: "destroyed" },
];

/** The state that the trigger leads to, or undefined when it is refused in this state. */
export function nextBranchState(from: BranchState | undefined, trigger: BranchTrigger): BranchState | undefined {
  return branchTransitions.find((row) => row.from === from && row.trigger === trigger)?.to;
}

/** In these states an operation must be running; without its heartbeat the branch is stuck. */
export function isInProgress(state: BranchState): boolean {
  return state === "creating" || state === "resetting";
}
