import { type Assignment, assignmentKey, assignPartitions } from "./assignor.ts";

/**
 * A consumer group as its coordinator's shard keeps it, and the decisions about it. Pure: each function returns the
 * next record, or the same one when nothing changes.
 *
 * Hand-over. A partition that changes its owner while the old one lives is *moving*: the old owner gets nothing new
 * from it, the new one nothing yet, until all that the old one holds is settled or the deadline has passed. Partitions
 * that do not move are untouched. The generation rises with each change of members or assignment, not when a
 * hand-over ends.
 */
export type GroupMode = "consumer" | "share";
export type AutoOffsetReset = "earliest" | "latest" | "none";

export interface GroupMember {
  readonly memberId: string;
  readonly clientId?: string | undefined;
  readonly clientHost?: string | undefined;
  readonly topics: readonly string[];
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly autoOffsetReset: AutoOffsetReset;
  readonly visibilityTimeoutMs?: number | undefined;
  readonly isAutoExtend: boolean;
  readonly joinedAtMs: number;
  readonly isDraining: boolean;
}

export interface Move {
  readonly from: string;
  /** Steady time. */
  readonly deadlineMs: number;
}

export interface GroupRecord {
  readonly name: string;
  readonly mode: GroupMode;
  readonly generation: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** When the last member went; undefined while there is one. Wall clock. */
  readonly emptySinceMs?: number | undefined;
  /** In the order they joined; the first is called the leader. */
  readonly members: readonly GroupMember[];
  /** Partition key → owner, the moving ones under their new owner. Empty in mode share. */
  readonly owners: Readonly<Record<string, string>>;
  readonly moving: Readonly<Record<string, Move>>;
}

export interface GroupContext {
  readonly nowMs: number;
  readonly steadyMs: number;
  /** Of all topics that exist. */
  readonly partitionCount: (topic: string) => number | undefined;
}

export function createGroup(name: string, mode: GroupMode, nowMs: number): GroupRecord {
  return {
    name,
    mode,
    generation: 0,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    emptySinceMs: nowMs,
    members: [],
    owners: {},
    moving: {},
  };
}

export function findMember(group: GroupRecord, memberId: string): GroupMember | undefined {
  return group.members.find((member) => member.memberId === memberId);
}

/** Adds a member, or takes one that comes back under its id: then nothing changes unless its topics did. */
export function joinGroup(group: GroupRecord, member: GroupMember, context: GroupContext): GroupRecord {
  const known = findMember(group, member.memberId);
  if (known !== undefined) {
    const merged = { ...member, joinedAtMs: known.joinedAtMs };
    const next = replaceMember(group, merged);
    const isSame = sameTopics(known.topics, member.topics) && known.isDraining === member.isDraining;
    return isSame ? next : rebalance(next, context);
  }
  return rebalance({ ...group, members: [...group.members, member], emptySinceMs: undefined }, context);
}

/** Takes a member out. Its partitions pass on at once: what it held was given back before. */
export function removeMember(group: GroupRecord, memberId: string, context: GroupContext): GroupRecord {
  if (findMember(group, memberId) === undefined) return group;
  const members = group.members.filter((member) => member.memberId !== memberId);
  const moving = Object.fromEntries(Object.entries(group.moving).filter(([, move]) => move.from !== memberId));
  return rebalance(
    { ...group, members, moving, emptySinceMs: members.length === 0 ? context.nowMs : undefined },
    context,
  );
}

export function setDraining(
  group: GroupRecord,
  memberId: string,
  isDraining: boolean,
  context: GroupContext,
): GroupRecord {
  const member = findMember(group, memberId);
  if (member === undefined || member.isDraining === isDraining) return group;
  return rebalance(replaceMember(group, { ...member, isDraining }), context);
}

/** Adapts the assignment to topics that came, grew or went. */
export function refreshGroup(group: GroupRecord, context: GroupContext): GroupRecord {
  const owners = planOwners(group, context);
  return sameOwners(group.owners, owners) ? group : rebalance(group, context);
}

/** A change that members should notice without one of members or assignment: offsets were reset. */
export function bumpGeneration(group: GroupRecord, nowMs: number): GroupRecord {
  return { ...group, generation: group.generation + 1, updatedAtMs: nowMs };
}

/** Ends the hand-over of these partitions. */
export function finishMoves(group: GroupRecord, keys: readonly string[]): GroupRecord {
  const done = new Set(keys.filter((key) => group.moving[key] !== undefined));
  if (done.size === 0) return group;
  return { ...group, moving: Object.fromEntries(Object.entries(group.moving).filter(([key]) => !done.has(key))) };
}

function rebalance(group: GroupRecord, context: GroupContext): GroupRecord {
  const owners = planOwners(group, context);
  const moving: Record<string, Move> = {};
  for (const [key, owner] of Object.entries(owners)) {
    const holder = group.moving[key]?.from ?? group.owners[key];
    if (holder === undefined || holder === owner) continue;
    const from = findMember(group, holder);
    if (from === undefined) continue;
    const deadlineMs = group.moving[key]?.deadlineMs ?? context.steadyMs + from.rebalanceTimeoutMs;
    moving[key] = { from: holder, deadlineMs };
  }
  return { ...group, owners, moving, generation: group.generation + 1, updatedAtMs: context.nowMs };
}

function planOwners(group: GroupRecord, context: GroupContext): Record<string, string> {
  if (group.mode === "share") return {};
  const active = group.members.filter((member) => !member.isDraining);
  const counts = new Map<string, number>();
  for (const topic of groupTopics(group)) {
    const count = context.partitionCount(topic);
    if (count !== undefined) counts.set(topic, count);
  }
  const current: Assignment = new Map(Object.entries(group.owners));
  return Object.fromEntries(assignPartitions(active, counts, current));
}

/** Topics of all members, sorted. */
export function groupTopics(group: GroupRecord): readonly string[] {
  return [...new Set(group.members.flatMap((member) => member.topics))].sort();
}

export interface MemberPartitions {
  /** Owned now or soon. */
  readonly assigned: readonly string[];
  /** Of these, what may be delivered from now. */
  readonly deliverable: readonly string[];
  /** Of these, what the old owner still settles. */
  readonly pending: readonly string[];
  /** Not assigned any more, but not handed over yet. */
  readonly toRevoke: readonly string[];
  readonly revocationDeadlineMs: number | undefined;
}

export function partitionsOfMember(group: GroupRecord, memberId: string, context: GroupContext): MemberPartitions {
  const member = findMember(group, memberId);
  if (group.mode === "share") {
    const assigned = member === undefined || member.isDraining ? [] : sharedPartitions(member, context);
    return { assigned, deliverable: assigned, pending: [], toRevoke: [], revocationDeadlineMs: undefined };
  }
  const assigned = Object.keys(group.owners).filter((key) => group.owners[key] === memberId);
  const pending = assigned.filter((key) => group.moving[key] !== undefined && group.moving[key]?.from !== memberId);
  const deliverable = assigned.filter((key) => group.moving[key] === undefined || group.moving[key]?.from === memberId);
  const leaving = Object.entries(group.moving).filter(
    ([key, move]) => move.from === memberId && group.owners[key] !== memberId,
  );
  return {
    assigned,
    deliverable,
    pending,
    toRevoke: leaving.map(([key]) => key),
    revocationDeadlineMs: leaving.length === 0 ? undefined : Math.min(...leaving.map(([, move]) => move.deadlineMs)),
  };
}

function sharedPartitions(member: GroupMember, context: GroupContext): readonly string[] {
  return [...member.topics].sort().flatMap((topic) => {
    const count = context.partitionCount(topic) ?? 0;
    return Array.from({ length: count }, (_, partition) => assignmentKey(topic, partition));
  });
}

export function stateOf(group: GroupRecord): "empty" | "rebalancing" | "stable" {
  if (group.members.length === 0) return "empty";
  return Object.keys(group.moving).length > 0 ? "rebalancing" : "stable";
}

function replaceMember(group: GroupRecord, member: GroupMember): GroupRecord {
  return { ...group, members: group.members.map((other) => (other.memberId === member.memberId ? member : other)) };
}

function sameTopics(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && [...a].sort().every((topic, index) => topic === [...b].sort()[index]);
}

function sameOwners(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
