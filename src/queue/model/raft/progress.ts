/**
 * What a leader knows of one follower, and how much it may send.
 *
 * `probe`: where the logs agree is not known; one message at a time. `replicate`: it is known; messages follow each
 * other without waiting, up to a window. `snapshot`: the log no longer holds what the follower needs; an image of the
 * state is on its way and nothing else is sent.
 */
export interface Recovery {
  /** Tells one recovery of the follower from its others. */
  readonly id: number;
  /** An entry of this leader's term: the follower has all it ever confirmed once it holds this one, committed. */
  readonly barrierIndex: number;
  isOver: boolean;
}

export class Progress {
  state: "probe" | "replicate" | "snapshot" = "probe";
  /** The follower's log agrees up to here, durably. */
  matchIndex = 0;
  nextIndex: number;
  /** Probe: a message is out and unanswered. */
  isPaused = false;
  isActive = false;
  readRound = 0;
  recovery: Recovery | undefined;
  /** Snapshot: the host has been asked to send one. */
  isSnapshotAsked = false;
  /** Ticks since the follower last confirmed something new while messages were out. */
  #stalledTicks = 0;
  readonly #inFlight: number[] = [];
  #endedRecovery: Recovery | undefined;
  readonly #knownRecoveries = new Set<number>();

  constructor(nextIndex: number, isActive: boolean) {
    this.nextIndex = nextIndex;
    this.isActive = isActive;
  }

  /** The follower is counted in majorities. */
  get isCounted(): boolean {
    return this.recovery === undefined;
  }

  canSend(inFlightMax: number): boolean {
    switch (this.state) {
      case "probe":
        return !this.isPaused;
      case "replicate":
        return this.#inFlight.length < inFlightMax;
      case "snapshot":
        return false;
    }
  }

  noteSent(lastIndex: number): void {
    if (this.state === "probe") {
      this.isPaused = true;
      return;
    }
    this.nextIndex = lastIndex + 1;
    this.#inFlight.push(lastIndex);
  }

  /** The follower holds everything up to `index`; returns whether that is news. */
  noteAccepted(index: number): boolean {
    const isNews = index > this.matchIndex;
    if (isNews) {
      this.matchIndex = index;
      this.#stalledTicks = 0;
    }
    while ((this.#inFlight[0] ?? Number.POSITIVE_INFINITY) <= index) this.#inFlight.shift();
    if (this.state === "probe" || (this.state === "snapshot" && !this.isSnapshotAsked)) this.#replicate();
    this.nextIndex = Math.max(this.nextIndex, index + 1);
    return isNews;
  }

  /** The follower's log does not have the entry before `nextIndex`; `tryIndex` may fit. */
  noteRefused(refusedIndex: number, tryIndex: number): void {
    if (this.state === "snapshot") return;
    if (this.state === "replicate" && refusedIndex <= this.matchIndex) return;
    if (this.state === "probe" && refusedIndex !== this.nextIndex - 1) return;
    const nextIndex = Math.max(this.matchIndex, Math.min(tryIndex, refusedIndex - 1)) + 1;
    // NOTE: the follower lost what it had confirmed; asking the same again at once would only fill the network.
    const isFutile = this.state === "probe" && nextIndex === this.nextIndex;
    this.probe(nextIndex);
    this.isPaused = isFutile;
  }

  probe(nextIndex: number): void {
    this.state = "probe";
    this.nextIndex = Math.max(1, nextIndex);
    this.isPaused = false;
    this.isSnapshotAsked = false;
    this.#inFlight.length = 0;
    this.#stalledTicks = 0;
  }

  /** A late answer of a recovery that is over, or that gave way to another, would otherwise begin it again. */
  wasInRecovery(id: number): boolean {
    return this.#knownRecoveries.has(id);
  }

  endRecovery(): void {
    this.#endedRecovery = this.recovery;
    this.recovery = undefined;
  }

  /** The end was taken from an answer of an earlier life: the follower has not heard that its recovery is over. */
  resumeRecovery(id: number): boolean {
    if (this.recovery !== undefined || this.#endedRecovery?.id !== id) return false;
    this.recovery = this.#endedRecovery;
    return true;
  }

  /** What the follower held is no longer believed. */
  restart(nextIndex: number, recovery: Recovery): void {
    this.#knownRecoveries.add(recovery.id);
    this.matchIndex = 0;
    this.recovery = recovery;
    this.probe(nextIndex);
  }

  needSnapshot(): void {
    this.state = "snapshot";
    this.isPaused = false;
    this.isSnapshotAsked = false;
    this.#inFlight.length = 0;
  }

  /** Time to doubt: a lost message would otherwise stop the follower for ever. */
  tick(): void {
    if (this.state === "probe") this.isPaused = false;
    if (this.state !== "replicate") return;
    if (this.matchIndex + 1 === this.nextIndex) {
      this.#stalledTicks = 0;
      return;
    }
    this.#stalledTicks += 1;
    if (this.#stalledTicks > stalledTicksMax) this.probe(this.matchIndex + 1);
  }

  #replicate(): void {
    this.state = "replicate";
    this.isPaused = false;
    this.#inFlight.length = 0;
    this.nextIndex = this.matchIndex + 1;
    this.#stalledTicks = 0;
  }
}

const stalledTicksMax = 4;
