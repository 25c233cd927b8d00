/**
 * Who owns which partition: balanced, and moving as little as possible. Deterministic: the same members, topics and
 * present owners give the same answer.
 *
 * Three steps: whoever still may keep a partition keeps it; free partitions go to the member with the fewest; while
 * somebody has two more than somebody else who could take one, one moves. Within that, topics are spread too.
 */
export interface AssignableMember {
  readonly memberId: string;
  readonly topics: readonly string[];
}

/** Key: "topic/partition". */
export type Assignment = ReadonlyMap<string, string>;

export function assignmentKey(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
export function parseAssignmentKey(key: string): { readonly topic: string; readonly partition: number } {
  const at = key.lastIndexOf("/");
  return { topic: key.slice(0, at), partition: Number(key.slice(at + 1)) };
}

interface Load {
  readonly member: AssignableMember;
  readonly owned: Set<string>;
  readonly countByTopic: Map<string, number>;
}

export function assignPartitions(
  members: readonly AssignableMember[],
  partitionCounts: ReadonlyMap<string, number>,
  current: Assignment,
): Assignment {
  const loads = [...members]
    .sort((a, b) => (a.memberId < b.memberId ? -1 : 1))
    .map((member): Load => ({ member, owned: new Set(), countByTopic: new Map() }));
  const byId = new Map(loads.map((load) => [load.member.memberId, load]));
  const free: string[] = [];
  for (const key of allKeys(partitionCounts)) {
    const owner = byId.get(current.get(key) ?? "");
    if (owner?.member.topics.includes(parseAssignmentKey(key).topic)) give(owner, key);
    else free.push(key);
  }
  for (const key of free) {
    const { topic } = parseAssignmentKey(key);
    const taker = leastLoaded(loads, topic);
    if (taker !== undefined) give(taker, key);
  }
  balance(loads);
  const owners = new Map(loads.flatMap((load) => [...load.owned].map((key) => [key, load.member.memberId] as const)));
  const sorted = new Map<string, string>();
  for (const key of allKeys(partitionCounts)) {
    const owner = owners.get(key);
    if (owner !== undefined) sorted.set(key, owner);
  }
  return sorted;
}

function* allKeys(partitionCounts: ReadonlyMap<string, number>): Iterable<string> {
  for (const topic of [...partitionCounts.keys()].sort()) {
    const count = partitionCounts.get(topic) ?? 0;
    for (let partition = 0; partition < count; partition += 1) yield assignmentKey(topic, partition);
  }
}

function leastLoaded(loads: readonly Load[], topic: string): Load | undefined {
  let best: Load | undefined;
  for (const load of loads) {
    if (!load.member.topics.includes(topic)) continue;
    if (best === undefined || isLighter(load, best, topic)) best = load;
  }
  return best;
}

function isLighter(load: Load, other: Load, topic: string): boolean {
  if (load.owned.size !== other.owned.size) return load.owned.size < other.owned.size;
  return (load.countByTopic.get(topic) ?? 0) < (other.countByTopic.get(topic) ?? 0);
}

/** Each move takes from a member with at least two more: the sum of squares falls, so it ends. */
function balance(loads: readonly Load[]): void {
  for (;;) {
    const move = findMove(loads);
    if (move === undefined) return;
    take(move.from, move.key);
    give(move.to, move.key);
  }
}

function findMove(loads: readonly Load[]): { from: Load; to: Load; key: string } | undefined {
  const heaviestFirst = [...loads].sort((a, b) => b.owned.size - a.owned.size);
  const lightestFirst = [...loads].sort((a, b) => a.owned.size - b.owned.size);
  for (const from of heaviestFirst) {
    for (const to of lightestFirst) {
      if (from.owned.size - to.owned.size < 2) break;
      const key = pickKey(from, to);
      if (key !== undefined) return { from, to, key };
    }
  }
  return undefined;
}

/** Of the topic that `from` has most of compared to `to`, the last partition. */
function pickKey(from: Load, to: Load): string | undefined {
  let best: string | undefined;
  let bestDifference = Number.NEGATIVE_INFINITY;
  for (const key of from.owned) {
    const { topic } = parseAssignmentKey(key);
    if (!to.member.topics.includes(topic)) continue;
    const difference = (from.countByTopic.get(topic) ?? 0) - (to.countByTopic.get(topic) ?? 0);
    if (difference < bestDifference) continue;
    best = key;
    bestDifference = difference;
  }
  return best;
}

function give(load: Load, key: string): void {
  const { topic } = parseAssignmentKey(key);
  load.owned.add(key);
  load.countByTopic.set(topic, (load.countByTopic.get(topic) ?? 0) + 1);
}

function take(load: Load, key: string): void {
  const { topic } = parseAssignmentKey(key);
  load.owned.delete(key);
  load.countByTopic.set(topic, (load.countByTopic.get(topic) ?? 0) - 1);
}
