import { parseAssignmentKey } from "../../model/groups/assignor.ts";
import {
  findMember,
  type GroupMember,
  type GroupRecord,
  groupTopics,
  type MemberPartitions,
  partitionsOfMember,
  stateOf,
} from "../../model/groups/group-record.ts";
import type { Broker } from "../broker.ts";
import type { DispatchService } from "../delivery/dispatch-service.ts";
import type { GroupMemberStatus, GroupStatus, MemberState, MemberView } from "../queue-service.ts";
import { progressIn, refsOfGroup } from "./group-progress.ts";
import type { GroupStore } from "./group-store.ts";
import type { MemberSessions } from "./member-sessions.ts";

/** A group's record together with what is in memory, as members and operators see it. */
export class GroupViews {
  readonly #broker: Broker;
  readonly #store: GroupStore;
  readonly #dispatch: DispatchService;
  readonly #sessions: MemberSessions;

  constructor(broker: Broker, store: GroupStore, dispatch: DispatchService, sessions: MemberSessions) {
    this.#broker = broker;
    this.#store = store;
    this.#dispatch = dispatch;
    this.#sessions = sessions;
  }

  /** The group as one member is told of it. */
  view(record: GroupRecord, memberId: string): MemberView {
    const partitions: MemberPartitions = partitionsOfMember(record, memberId, this.#store.context());
    const { assigned, pending, toRevoke, revocationDeadlineMs } = partitions;
    return {
      group: record.name,
      memberId,
      generation: record.generation,
      state: stateOf(record),
      isRebalanceRequired: toRevoke.length > 0,
      isDraining: findMember(record, memberId)?.isDraining ?? false,
      assignedPartitions: assigned.map(parseAssignmentKey),
      partitionsToRevoke: toRevoke.map(parseAssignmentKey),
      partitionsPending: pending.map(parseAssignmentKey),
      revocationDeadlineMs:
        revocationDeadlineMs === undefined ? undefined : this.#dispatch.toWallMs(revocationDeadlineMs),
    };
  }

  status(record: GroupRecord): GroupStatus {
    const topics = groupTopics(record);
    const refs = refsOfGroup(this.#broker, record.name, topics);
    return {
      group: record.name,
      state: stateOf(record),
      mode: record.mode,
      generation: record.generation,
      leaderId: record.members[0]?.memberId,
      topics: topics.length > 0 ? topics : [...new Set(refs.map((ref) => ref.topic.name))],
      members: record.members.map((member) => this.#memberStatus(record, member)),
      progress: refs.map((ref) => progressIn(this.#broker, this.#dispatch, record.name, ref)),
      createdAtMs: record.createdAtMs,
      updatedAtMs: record.updatedAtMs,
    };
  }

  #memberStatus(record: GroupRecord, member: GroupMember): GroupMemberStatus {
    const inFlightCount = this.#dispatch.inFlightCountOf(record.name, member.memberId);
    return {
      memberId: member.memberId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      state: memberState(member.isDraining, inFlightCount),
      topics: member.topics,
      assignedPartitions: this.view(record, member.memberId).assignedPartitions,
      lastHeartbeatMs: this.#sessions.lastSeenWallMs(record.name, member.memberId) ?? member.joinedAtMs,
      joinedAtMs: member.joinedAtMs,
      inFlightCount,
    };
  }
}

export function memberState(isDraining: boolean, inFlightCount: number): MemberState {
  if (!isDraining) return "active";
  return inFlightCount === 0 ? "drained" : "draining";
}
