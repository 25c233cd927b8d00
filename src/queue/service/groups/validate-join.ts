import { queueError } from "../../errors.ts";
import { visibilityTimeoutMsMax } from "../../model/topics/topic.ts";
import type { JoinRequest, PollRequest } from "../queue-service.ts";

const nameSizeMax = 249;
const sessionTimeoutMsMin = 6_000;
const sessionTimeoutMsMax = 30 * 60_000;
const rebalanceTimeoutMsMax = 30 * 60_000;
const topicCountMax = 1_000;
const pollMessagesMax = 1_000;
const pollTimeoutMsMax = 60_000;
export const defaultSessionTimeoutMs = 30_000;
export const defaultRebalanceTimeoutMs = 60_000;

export function validateJoin(request: JoinRequest): void {
  assertGroupName(request.group);
  const { memberId, clientId, topics, sessionTimeoutMs, rebalanceTimeoutMs, visibilityTimeoutMs } = request;
  if (memberId === undefined && clientId === undefined) {
    throw invalid(request.group, "member_id", "a member id or a client id is needed");
  }
  for (const id of [memberId, clientId]) {
    if (id !== undefined && !isName(id))
      throw invalid(request.group, "member_id", `an id has 1 to ${nameSizeMax} bytes`);
  }
  if (topics.length === 0 || topics.length > topicCountMax) {
    throw invalid(request.group, "topics", `a member has 1 to ${topicCountMax} topics, not ${topics.length}`);
  }
  assertRange(request.group, "session_timeout_ms", sessionTimeoutMs, sessionTimeoutMsMin, sessionTimeoutMsMax);
  assertRange(request.group, "rebalance_timeout_ms", rebalanceTimeoutMs, 0, rebalanceTimeoutMsMax);
  assertRange(request.group, "visibility_timeout_ms", visibilityTimeoutMs, 1, visibilityTimeoutMsMax);
}

export function validatePoll(request: PollRequest): void {
  const { group, maxMessages, timeoutMs, visibilityTimeoutMs } = request;
  assertRange(group, "max_messages", maxMessages, 1, pollMessagesMax);
  assertRange(group, "timeout", timeoutMs, 0, pollTimeoutMsMax);
  assertRange(group, "visibility_timeout_ms", visibilityTimeoutMs, 1, visibilityTimeoutMsMax);
}

export function assertGroupName(group: string): void {
  if (!isName(group)) throw invalid(group, "group", `the name of a group has 1 to ${nameSizeMax} printable bytes`);
  if (group.startsWith("__")) throw invalid(group, "group", 'names that begin with "__" are reserved');
}

function isName(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  return text !== "" && Buffer.byteLength(text) <= nameSizeMax && !/[\u0000-\u001f\u007f]/.test(text);
}

function assertRange(group: string, field: string, value: number | undefined, min: number, max: number): void {
  if (value === undefined || (value >= min && value <= max)) return;
  throw invalid(group, field, `${field} is ${value}, wanted are ${min} to ${max}`);
}

function invalid(group: string, field: string, text: string): Error {
  return queueError("INVALID_ARGUMENT", `Cannot use group "${group}": ${text}`, { details: { group, field } });
}
