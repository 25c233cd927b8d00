import type { CommandTime } from "../../src/queue/model/commands/shard-command.ts";
import type { ShardStateMachine } from "../../src/queue/service/ports.ts";

/** A state machine as the simulation uses it: partitions of values, and appends that may be repeated. */
export interface SimMachine extends ShardStateMachine {
  /** Values of a partition, read from where the machine keeps them; the offset of a value is its index. */
  values(partition: number, fromOffset: number): readonly string[];
  endOffset(partition: number): number;
  encode(command: AppendCommand, time: CommandTime): readonly Uint8Array[];
  /** What `apply` returned for an append. */
  toAppendResult(result: unknown): AppendResult;
}

export interface AppendCommand {
  readonly partition: number;
  readonly producer: string;
  readonly sequence: number;
  readonly value: string;
}

export interface AppendResult {
  /** -1: the command came too late, a later one of the producer has been appended. */
  readonly offset: number;
  readonly isDuplicate: boolean;
}
