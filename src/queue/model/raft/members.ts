import { assert } from "../../../platform/errors/assert.ts";
import type { MemberChange, Members, NodeId } from "./raft-types.ts";

/**
 * The members of a group. One node is added or removed at a time, so that any majority before the change and any after
 * it share a node; a change counts from the moment its entry is in the log, committed or not.
 */

/** How many voters make a majority. */
export function majorityOf(members: Members): number {
  return Math.floor(members.voters.length / 2) + 1;
}

export function isVoter(members: Members, node: NodeId): boolean {
  return members.voters.includes(node);
}

export function allMembers(members: Members): readonly NodeId[] {
  return [...members.voters, ...members.learners];
}

/** The members after a change, or why it makes no sense. */
export function planMembers(
  members: Members,
  change: MemberChange,
  index: number,
): { readonly kind: "ok"; readonly members: Members } | { readonly kind: "refused"; readonly reason: string } {
  const { voters, learners } = members;
  const { node } = change;
  switch (change.kind) {
    case "addLearner":
      if (voters.includes(node) || learners.includes(node)) return refused(`'${node}' is a member already`);
      return { kind: "ok", members: { index, voters, learners: [...learners, node] } };
    case "promote":
      if (!learners.includes(node)) return refused(`'${node}' is not a learner`);
      return { kind: "ok", members: { index, voters: [...voters, node], learners: without(learners, node) } };
    case "remove":
      if (voters.length === 1 && voters[0] === node) return refused(`'${node}' is the last voter`);
      if (!voters.includes(node) && !learners.includes(node)) return refused(`'${node}' is not a member`);
      return { kind: "ok", members: { index, voters: without(voters, node), learners: without(learners, node) } };
  }
}

export function encodeMembers(members: Members): Uint8Array {
  return Buffer.from(JSON.stringify({ voters: members.voters, learners: members.learners }));
}

/** The members that the entry at `index` brings. */
export function decodeMembers(index: number, payload: readonly Uint8Array[]): Members {
  const stored: { voters?: unknown; learners?: unknown } = JSON.parse(Buffer.concat(payload).toString("utf8"));
  assert(isNames(stored.voters) && isNames(stored.learners), `entry ${index} holds members`);
  return { index, voters: stored.voters, learners: stored.learners };
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

function without(nodes: readonly NodeId[], node: NodeId): readonly NodeId[] {
  return nodes.filter((other) => other !== node);
}

function refused(reason: string): { readonly kind: "refused"; readonly reason: string } {
  return { kind: "refused", reason };
}
