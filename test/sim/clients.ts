import { isDomainError } from "../../src/platform/errors/domain-error.ts";
import type { AppendOperation, Operation, ReadOperation } from "./history.ts";
import type { SimNode } from "./node.ts";
import type { World } from "./world.ts";

/** Producers and readers. They know the nodes, guess the leader, and try elsewhere when they are refused. */
export interface ClientsOptions {
  readonly world: World;
  readonly nodes: readonly SimNode[];
  readonly shardCount: number;
  readonly partitionsPerShard: number;
  readonly thinkMs: () => number;
  /** Broken rule: a node that believes to lead answers reads without asking anyone. */
  readonly readsWithoutMajority: boolean;
}

/** Errors that say that nothing happened and nothing will. */
const definiteCodes = new Set([
  "NOT_LEADER",
  "LEADER_NOT_AVAILABLE",
  "DISK_FULL",
  "RATE_LIMITED",
  "NOT_READY",
  "SHUTTING_DOWN",
]);
const attemptsMax = 6;
/** Never gives up: it shows that the cluster works again. */
export const finalProducer = "final";

export class Clients {
  readonly operations: Operation[] = [];
  readonly #options: ClientsOptions;
  #isStopped = false;
  #appendsUnderWay = 0;
  acknowledgedCount = 0;

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#appendsUnderWay === 0;
  }

  start(producerCount: number, readerCount: number): void {
    for (let number = 1; number <= producerCount; number += 1)
      this.startProducer(`p${number}`, Number.POSITIVE_INFINITY);
    for (let number = 1; number <= readerCount; number += 1) this.#startReader(`r${number}`);
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** One producer with one append after the other; it goes on with the next when it gives one up. */
  startProducer(producer: string, count: number, onEnd: () => void = () => undefined): void {
    const { world, partitionsPerShard, shardCount } = this.#options;
    let sequence = 0;
    const shard = world.wholeBetween(0, shardCount);
    const partition = world.wholeBetween(0, partitionsPerShard - 1);
    const next = (): void => {
      if ((this.#isStopped && count === Number.POSITIVE_INFINITY) || sequence >= count) {
        onEnd();
        return;
      }
      sequence += 1;
      const operation: AppendOperation = {
        kind: "append",
        producer,
        sequence,
        partition: `${shard}-${partition}`,
        value: `${producer}:${sequence}`,
        startMs: world.nowMs,
        endMs: world.nowMs,
        outcome: "failed",
        offset: undefined,
      };
      this.operations.push(operation);
      this.#appendsUnderWay += 1;
      this.#attempt(operation, shard, partition, 1, world.pick(this.#options.nodes), () => {
        this.#appendsUnderWay -= 1;
        world.after(this.#options.thinkMs(), next);
      });
    };
    world.after(this.#options.thinkMs(), next);
  }

  #attempt(
    operation: AppendOperation,
    shard: number,
    partition: number,
    attempt: number,
    node: SimNode | undefined,
    onEnd: () => void,
  ): void {
    const { world, nodes } = this.#options;
    const { producer, sequence, value } = operation;
    const machine = node?.machine(shard);
    const isPersistent = operation.producer === finalProducer;
    const finish = (error: unknown, result: unknown): void => {
      operation.endMs = world.nowMs;
      if (error === undefined && machine !== undefined) {
        operation.outcome = "acknowledged";
        operation.offset = machine.toAppendResult(result).offset;
        this.acknowledgedCount += 1;
        onEnd();
        return;
      }
      if (!isDefinite(error)) operation.outcome = "unknown";
      if (attempt >= attemptsMax && !isPersistent) {
        onEnd();
        return;
      }
      const hinted = nodes.find(({ id }) => id === leaderHint(error));
      const other = hinted ?? world.pick(nodes);
      world.after(this.#options.thinkMs(), () => this.#attempt(operation, shard, partition, attempt + 1, other, onEnd));
    };
    if (node?.host === undefined || machine === undefined) {
      finish(connectionRefused, undefined);
      return;
    }
    const { host } = node;
    const answer = this.#once(node, finish);
    world.after(world.between(0, 1), () => {
      if (node.host !== host) return;
      const command = machine.encode({ partition, producer, sequence, value }, node.commandTime);
      host.submit(shard, command, {}, answer);
    });
  }

  #startReader(reader: string): void {
    const { world, nodes, partitionsPerShard, shardCount } = this.#options;
    const positions = new Map<string, number>();
    const next = (): void => {
      if (this.#isStopped) return;
      const shard = world.wholeBetween(0, shardCount);
      const number = world.wholeBetween(0, partitionsPerShard - 1);
      const partition = `${shard}-${number}`;
      const node = world.pick(nodes);
      const startMs = world.nowMs;
      const again = (): void => world.after(this.#options.thinkMs(), next);
      if (node?.host === undefined) {
        again();
        return;
      }
      const take = (error: unknown): void => {
        const machine = node.machine(shard);
        if (error === undefined && machine !== undefined) {
          const position = positions.get(partition) ?? 0;
          const fromOffset = Math.max(0, Math.min(machine.endOffset(number), position - rereadCount));
          const values = machine.values(number, fromOffset);
          positions.set(partition, fromOffset + values.length);
          const read: ReadOperation = {
            kind: "read",
            reader,
            partition,
            startMs,
            endMs: world.nowMs,
            fromOffset,
            values,
            isFresh: true,
          };
          this.operations.push(read);
        }
        again();
      };
      if (this.#options.readsWithoutMajority && node.host.isLeader(shard)) take(undefined);
      else node.host.read(shard, this.#once(node, take));
    };
    world.after(this.#options.thinkMs(), next);
  }

  /** The answer, or the end of the node that would have given it: then nobody knows. */
  #once(
    node: SimNode,
    callback: (error: unknown, result: unknown) => void,
  ): (error?: unknown, result?: unknown) => void {
    let isOver = false;
    const finish = (error?: unknown, result?: unknown): void => {
      if (isOver) return;
      isOver = true;
      forget();
      callback(error, result);
    };
    const forget = node.onEnd(() => finish(connectionLost));
    return finish;
  }
}

const rereadCount = 3;
const connectionRefused = Object.assign(new Error("connection refused"), { isDefinite: true });
const connectionLost = new Error("connection lost");

function isDefinite(error: unknown): boolean {
  return error === connectionRefused || (isDomainError(error) && definiteCodes.has(error.code));
}

function leaderHint(error: unknown): unknown {
  return isDomainError(error) ? error.details["leader"] : undefined;
}
