/**
 * The state machine of a delivery, as a checker: it is told what clients asked and what they were answered, in the order
 * of the answers, and names every step that no correct broker could have taken. It knows nothing of the broker's inside.
 *
 *   available → held by one member → done (acknowledged, dead-lettered, dropped)
 *                  ↓        ↑
 *               waiting ────┘
 *
 * A crash may forget acquisitions of its last moments: such a message may come again under the same attempt number.
 */
export interface DeliveryName {
  readonly group: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export type DeliveryEvent =
  | (DeliveryName & {
      readonly kind: "delivered";
      readonly memberId: string;
      readonly attempt: number;
      readonly atMs: number;
      readonly untilMs: number;
    })
  | (DeliveryName & { readonly kind: "acked"; readonly attempt: number; readonly isAlreadyAcked: boolean })
  /** Given back: it may go out again from `visibleAtMs` on. */
  | (DeliveryName & { readonly kind: "returned"; readonly attempt: number; readonly visibleAtMs: number })
  | (DeliveryName & { readonly kind: "extended"; readonly attempt: number; readonly untilMs: number })
  | (DeliveryName & { readonly kind: "deadLettered"; readonly attempt: number })
  | (DeliveryName & { readonly kind: "dropped"; readonly attempt: number })
  /** Settled without an answer: it may be done, given back, or still held. */
  | (DeliveryName & { readonly kind: "unknown" })
  | { readonly kind: "memberGone"; readonly group: string; readonly memberId: string }
  | {
      readonly kind: "floor";
      readonly group: string;
      readonly topic: string;
      readonly partition: number;
      readonly offset: number;
    }
  | { readonly kind: "reset"; readonly group: string; readonly topic: string; readonly partition: number }
  /** Acquisitions younger than `windowMs` may be forgotten. */
  | { readonly kind: "crash"; readonly atMs: number; readonly windowMs: number };

export type AnomalyKind =
  | "delivered-after-done"
  | "held-by-two"
  | "attempt-not-next"
  | "delivered-too-early"
  | "settled-twice"
  | "stale-attempt-settled"
  | "floor-moved-back"
  | "dead-letter-missing"
  | "dead-letter-twice"
  | "never-done";

export interface Anomaly {
  readonly kind: AnomalyKind;
  readonly text: string;
}

interface Known {
  attempt: number;
  memberId: string;
  isHeld: boolean;
  untilMs: number;
  deliveredAtMs: number;
  visibleAtMs: number;
  isDone: boolean;
  mayBeDone: boolean;
  /** A crash may have forgotten the last acquisition. */
  mayBeForgotten: boolean;
}

export class DeliveryModel {
  readonly #known = new Map<string, Known>();
  readonly #floors = new Map<string, number>();
  readonly #deadLettered = new Set<string>();
  readonly anomalies: Anomaly[] = [];

  apply(event: DeliveryEvent): void {
    switch (event.kind) {
      case "delivered":
        this.#delivered(event);
        return;
      case "acked":
        if (event.isAlreadyAcked) return;
        this.#settled(event);
        return;
      case "deadLettered":
        this.#settled(event);
        this.#deadLettered.add(keyOf(event));
        return;
      case "dropped":
        this.#settled(event);
        return;
      case "unknown": {
        const known = this.#known.get(keyOf(event));
        if (known === undefined) return;
        known.mayBeDone = true;
        known.isHeld = false;
        // What was written just before may be lost with it.
        known.mayBeForgotten = true;
        return;
      }
      case "returned": {
        const known = this.#current(event);
        if (known === undefined) return;
        known.isHeld = false;
        known.visibleAtMs = event.visibleAtMs;
        return;
      }
      case "extended": {
        const known = this.#current(event);
        if (known !== undefined) known.untilMs = event.untilMs;
        return;
      }
      case "memberGone":
        for (const [key, known] of this.#known) {
          if (known.memberId === event.memberId && key.startsWith(`${event.group}\n`)) known.isHeld = false;
        }
        return;
      case "floor": {
        const key = `${event.group}\n${event.topic}\n${event.partition}`;
        const before = this.#floors.get(key) ?? 0;
        if (event.offset < before) this.#report("floor-moved-back", `${key} from ${before} to ${event.offset}`);
        this.#floors.set(key, event.offset);
        return;
      }
      case "reset": {
        const prefix = `${event.group}\n${event.topic}\n${event.partition}\n`;
        for (const key of this.#known.keys()) if (key.startsWith(prefix)) this.#known.delete(key);
        this.#floors.delete(prefix.slice(0, -1));
        return;
      }
      case "crash":
        for (const known of this.#known.values()) {
          if (known.isHeld && event.atMs - known.deliveredAtMs <= event.windowMs) known.mayBeForgotten = true;
        }
        return;
      default:
        event satisfies never;
    }
  }

  /** At the end: every message must be done, and every dead letter must be there exactly once. */
  finish(expected: readonly DeliveryName[], deadLetters: readonly DeliveryName[]): void {
    for (const name of expected) {
      const known = this.#known.get(keyOf(name));
      if (known?.isDone !== true && known?.mayBeDone !== true) this.#report("never-done", keyOf(name));
    }
    const counts = new Map<string, number>();
    for (const name of deadLetters) counts.set(keyOf(name), (counts.get(keyOf(name)) ?? 0) + 1);
    for (const [key, count] of counts) if (count > 1) this.#report("dead-letter-twice", `${key}: ${count} times`);
    for (const key of this.#deadLettered) if (!counts.has(key)) this.#report("dead-letter-missing", key);
  }

  #delivered(event: Extract<DeliveryEvent, { kind: "delivered" }>): void {
    const known = this.#known.get(keyOf(event));
    const what = `${keyOf(event)} attempt ${event.attempt} to ${event.memberId}`;
    if (known !== undefined) {
      if (known.isDone) this.#report("delivered-after-done", what);
      const isHeldByOther = known.isHeld && event.atMs < known.untilMs && !known.mayBeForgotten;
      if (isHeldByOther) this.#report("held-by-two", `${what}, held by ${known.memberId} until ${known.untilMs}`);
      if (!known.isHeld && event.atMs < known.visibleAtMs) {
        this.#report("delivered-too-early", `${what} at ${event.atMs}, wanted from ${known.visibleAtMs}`);
      }
    }
    const last = known?.attempt ?? 0;
    const isAgain = known?.mayBeForgotten === true && event.attempt === last;
    if (event.attempt !== last + 1 && !isAgain) this.#report("attempt-not-next", `${what}, the last was ${last}`);
    this.#known.set(keyOf(event), {
      attempt: event.attempt,
      memberId: event.memberId,
      isHeld: true,
      untilMs: event.untilMs,
      deliveredAtMs: event.atMs,
      visibleAtMs: 0,
      isDone: false,
      mayBeDone: false,
      mayBeForgotten: false,
    });
  }

  #settled(event: DeliveryName & { readonly attempt: number }): void {
    const known = this.#known.get(keyOf(event));
    if (known === undefined) return;
    if (known.isDone) this.#report("settled-twice", keyOf(event));
    this.#checkAttempt(event, known);
    known.isDone = true;
    known.isHeld = false;
  }

  #current(event: DeliveryName & { readonly attempt: number }): Known | undefined {
    const known = this.#known.get(keyOf(event));
    if (known === undefined) return undefined;
    if (known.isDone) this.#report("settled-twice", keyOf(event));
    this.#checkAttempt(event, known);
    return known;
  }

  /** The attempt before counts when a crash may have forgotten the last one. */
  #checkAttempt(event: DeliveryName & { readonly attempt: number }, known: Known): void {
    if (event.attempt === known.attempt) return;
    if (known.mayBeForgotten && event.attempt === known.attempt - 1) return;
    this.#report("stale-attempt-settled", `${keyOf(event)} attempt ${event.attempt}, current is ${known.attempt}`);
  }

  #report(kind: AnomalyKind, text: string): void {
    this.anomalies.push({ kind, text: text.replaceAll("\n", " ") });
  }
}

function keyOf(name: DeliveryName): string {
  return `${name.group}\n${name.topic}\n${name.partition}\n${name.offset}`;
}
