/** What clients did and saw, in the order of completion. Times are simulated milliseconds. */
export type Operation = AppendOperation | ReadOperation;

export interface AppendOperation {
  readonly kind: "append";
  readonly producer: string;
  readonly sequence: number;
  readonly partition: string;
  readonly value: string;
  readonly startMs: number;
  endMs: number;
  /** `unknown` until an answer came: then it may or may not have happened, now or later. */
  outcome: "acknowledged" | "failed" | "unknown";
  offset: number | undefined;
}

export interface ReadOperation {
  readonly kind: "read";
  readonly reader: string;
  readonly partition: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly fromOffset: number;
  readonly values: readonly string[];
  /** The read promised to see every append that was acknowledged before it began. */
  readonly isFresh: boolean;
}

export interface History {
  readonly operations: readonly Operation[];
  /** The logs at the end, by node and partition, when all is healed. */
  readonly finalLogs: readonly {
    readonly node: string;
    readonly partition: string;
    readonly values: readonly string[];
  }[];
}
