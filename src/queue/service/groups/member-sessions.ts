/**
 * When each member was last heard of. In the coordinator's memory only: after a change of leaders every member starts
 * with a full session. While a member waits in a long poll it is alive.
 */
interface Session {
  lastSeenMs: number;
  /** Wall clock, for people. */
  lastSeenWallMs: number;
  openPolls: number;
}

export class MemberSessions {
  readonly #sessions = new Map<string, Session>();

  touch(group: string, memberId: string, steadyMs: number, wallMs: number): void {
    const session = this.#ensure(group, memberId, steadyMs, wallMs);
    session.lastSeenMs = steadyMs;
    session.lastSeenWallMs = wallMs;
  }

  beginPoll(group: string, memberId: string, steadyMs: number, wallMs: number): void {
    this.#ensure(group, memberId, steadyMs, wallMs).openPolls += 1;
  }
  endPoll(group: string, memberId: string, steadyMs: number, wallMs: number): void {
    const session = this.#sessions.get(keyOf(group, memberId));
    if (session === undefined) return;
    session.openPolls = Math.max(0, session.openPolls - 1);
    session.lastSeenMs = steadyMs;
    session.lastSeenWallMs = wallMs;
  }

  /** Begins a session for a member that is not known yet (after a change of leaders). */
  isExpired(group: string, memberId: string, sessionTimeoutMs: number, steadyMs: number, wallMs: number): boolean {
    const session = this.#ensure(group, memberId, steadyMs, wallMs);
    return session.openPolls === 0 && steadyMs - session.lastSeenMs > sessionTimeoutMs;
  }

  lastSeenWallMs(group: string, memberId: string): number | undefined {
    return this.#sessions.get(keyOf(group, memberId))?.lastSeenWallMs;
  }

  delete(group: string, memberId: string): void {
    this.#sessions.delete(keyOf(group, memberId));
  }
  clear(): void {
    this.#sessions.clear();
  }

  #ensure(group: string, memberId: string, steadyMs: number, wallMs: number): Session {
    const key = keyOf(group, memberId);
    let session = this.#sessions.get(key);
    if (session === undefined) {
      session = { lastSeenMs: steadyMs, lastSeenWallMs: wallMs, openPolls: 0 };
      this.#sessions.set(key, session);
    }
    return session;
  }
}

function keyOf(group: string, memberId: string): string {
  return `${group}\n${memberId}`;
}
