import { createSeededRandom, type Random } from "../../src/platform/random/random.ts";
import type { Clock, TimerHandle, Timers } from "../../src/platform/time/clock.ts";

/**
 * Simulated time: one queue of events ordered by (time, order of scheduling), and nothing else that happens. A run
 * depends on its seed alone, so it can be repeated to the letter. Promises are allowed where the code under test has
 * them (snapshots, checkpoints): between two events a fixed number of microtasks runs.
 */
interface ScheduledEvent {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

export class World {
  readonly random: Random;
  nowMs = 0;
  eventCount = 0;
  #order = 0;
  readonly #heap: ScheduledEvent[] = [];
  #soon: (() => void)[] = [];

  constructor(seed: number) {
    this.random = createSeededRandom(seed);
  }

  /** Uniform in [low, high). */
  between(low: number, high: number): number {
    return low + this.random.fraction() * (high - low);
  }
  wholeBetween(low: number, highInclusive: number): number {
    return Math.floor(this.between(low, highInclusive + 1));
  }
  chance(probability: number): boolean {
    return this.random.fraction() < probability;
  }
  pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.random.fraction() * items.length)];
  }

  after(delayMs: number, run: () => void): void {
    this.#order += 1;
    this.#push({ atMs: this.nowMs + Math.max(0, delayMs), order: this.#order, run });
  }

  /** After the current event, before time goes on. */
  defer(run: () => void): void {
    this.#soon.push(run);
  }

  /** Runs events until `isDone` holds, or until the time is reached; returns whether it was done. */
  async runUntil(endMs: number, isDone: () => boolean = () => false): Promise<boolean> {
    while (true) {
      if (isDone()) return true;
      const next = this.#heap[0];
      if (next === undefined || next.atMs > endMs) {
        this.nowMs = Math.max(this.nowMs, endMs);
        return isDone();
      }
      this.#pop();
      this.nowMs = next.atMs;
      this.eventCount += 1;
      next.run();
      this.#runSoon();
      for (let turn = 0; turn < microtasksPerEvent; turn += 1) await undefined;
      this.#runSoon();
    }
  }

  #runSoon(): void {
    for (let round = 0; this.#soon.length > 0; round += 1) {
      if (round > roundsPerEventMax) throw new Error("no end of turns in one event");
      const soon = this.#soon;
      this.#soon = [];
      for (const run of soon) run();
    }
  }

  #push(event: ScheduledEvent): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = heap[parentAt];
      if (parent === undefined || !isBefore(event, parent)) break;
      heap[at] = parent;
      at = parentAt;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    while (true) {
      let childAt = 2 * at + 1;
      let child = heap[childAt];
      const right = heap[childAt + 1];
      if (child !== undefined && right !== undefined && isBefore(right, child)) {
        childAt += 1;
        child = right;
      }
      if (child === undefined || !isBefore(child, last)) break;
      heap[at] = child;
      at = childAt;
    }
    heap[at] = last;
  }
}

const microtasksPerEvent = 8;
const roundsPerEventMax = 10_000;

function isBefore(a: ScheduledEvent, b: ScheduledEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** The time of one life of one node: all of it ends when the life does. */
export class NodeTime implements Clock, Timers {
  readonly #world: World;
  /** How far the node's wall clock is off. */
  wallOffsetMs: number;
  isOver = false;
  /** While set, the node is stopped as a debugger or a long collection would stop it. */
  #pausedUntilMs = 0;

  constructor(world: World, wallOffsetMs: number) {
    this.#world = world;
    this.wallOffsetMs = wallOffsetMs;
  }

  nowMs(): number {
    return Math.floor(simulatedEpochMs + this.#world.nowMs + this.wallOffsetMs);
  }
  monotonicMs(): number {
    return this.#world.nowMs;
  }

  pause(durationMs: number): void {
    this.#pausedUntilMs = this.#world.nowMs + durationMs;
  }

  /** Runs when the node lives and is not stopped; a stopped one catches up later. */
  guard(run: () => void): () => void {
    const guarded = (): void => {
      if (this.isOver) return;
      const leftMs = this.#pausedUntilMs - this.#world.nowMs;
      if (leftMs > 0) this.#world.after(leftMs, guarded);
      else run();
    };
    return guarded;
  }

  schedule(delayMs: number, run: () => void): void {
    this.#world.after(delayMs, this.guard(run));
  }

  after(delayMs: number, callback: () => void): TimerHandle {
    let isCancelled = false;
    this.schedule(delayMs, () => {
      if (!isCancelled) callback();
    });
    return {
      cancel: () => {
        isCancelled = true;
      },
    };
  }

  every(intervalMs: number, callback: () => void): TimerHandle {
    let isCancelled = false;
    const next = (): void => {
      if (isCancelled) return;
      this.schedule(intervalMs, next);
      callback();
    };
    this.schedule(intervalMs * (0.5 + this.#world.random.fraction() / 2), next);
    return {
      cancel: () => {
        isCancelled = true;
      },
    };
  }
}

const simulatedEpochMs = 1_700_000_000_000;
